// What setting an NFSv4 list does to an object that has a list and a mode already.

import AccessControl
import Testing

@Suite("Changes by NFSv4 lists") struct NFSv4ChangeTests {
  private func entries(_ list: AccessList?, mode: UInt16, for kind: ObjectKind) throws -> [AccessEntry] {
    try NFSv4List.decode(
      NFSv4List.encode(list, mode: mode, for: kind, names: .testing), names: .testing)
  }

  @Test("List flags stay, since NFSv4 cannot say them") func keepsFlags() throws {
    let present = AccessList([AccessEntry(.deny, .everyone, .write)], flags: .noInherit)
    for view in [NFSv4View.names, .numbers] {
      func list(_ entries: [AccessEntry], _ present: AccessList?) throws -> AccessList? {
        try NFSv4List.change(to: entries, from: present, mode: 0o640, for: .file, as: view).list
      }
      let wanted = [AccessEntry(.allow, .user(7), .read)]
      #expect(try list(wanted, present) == AccessList(wanted, flags: .noInherit))
      #expect(try list(wanted, nil) == AccessList(wanted))
      #expect(try list([], present) == AccessList([], flags: .noInherit))
      #expect(try list([], AccessList(present.entries)) == nil)
    }
  }

  @Test("A list that shows the same as what is written stays as it is") func staysAsItIs() throws {
    let present = AccessList(
      [
        AccessEntry(.allow, .user(1), .genericRead), AccessEntry(.deny, .nobody, .read),
        AccessEntry(.allow, .group(12), [.write, .genericExecute], .fileInherit),
      ], flags: .noInherit)
    let shorter = AccessList(Array(present.entries.dropLast()))
    let named = try entries(present, mode: 0o640, for: .file)
    let numbered = try NFSv4List.decodeNumbers(NFSv4List.encodeNumbers(present, mode: 0o640, for: .file))
    for (view, written) in [(NFSv4View.names, named), (.numbers, numbered)] {
      let same = NFSv4Change(list: present, mode: 0o640)
      #expect(try NFSv4List.change(to: written, from: present, mode: 0, for: .file, as: view) == same)
      let other = try NFSv4List.change(to: written, from: shorter, mode: 0, for: .file, as: view).list
      #expect(other?.entries == Array(written.dropLast(3)))
    }
  }

  @Test("What edited text cannot say stays with the entries that were not touched") func edits() throws {
    let kept = AccessEntry(
      .allow, .group(12), [.read, .deleteChild], [.inherited, .fileInherit, .directoryInherit])
    let general = AccessEntry(.allow, .user(1), .genericRead)
    let present = AccessList([kept, general], flags: .noInherit)
    let ann = AccessEntry(.deny, .user(2), .write)
    // As nfs4_setfacl sends them for a file.
    let seen = [
      AccessEntry(.allow, .group(12), .read), AccessEntry(.allow, .user(1), Rights.genericRead.expanded),
    ]
    func list(_ entries: [AccessEntry], _ kind: ObjectKind, _ writing: NFSv4Writing) throws -> [AccessEntry]?
    {
      try NFSv4List.change(to: entries, from: present, mode: 0, for: kind, as: .names, writing: writing)
        .list?.entries
    }
    #expect(try list(seen, .file, .edit) == [kept, general])
    #expect(try list([ann] + seen, .file, .edit) == [ann, kept, general])
    #expect(try list([seen[0], seen[0]], .file, .edit) == [kept, seen[0]])
    // A list that is written anew says what it says.
    #expect(try list(seen, .file, .anew) == seen)
    let told = AccessEntry(.allow, .group(12), .read, .inherited)
    #expect(try list([ann, told, seen[1]], .file, .edit) == [ann, kept, general])
    // Where one entry is said to be inherited, the others are said not to be.
    let other = AccessEntry(.allow, .user(1), Rights.genericRead.expanded, .inherited)
    #expect(try list([seen[0], other], .file, .edit) == [seen[0], other])
    // On a directory the letters mean something.
    #expect(try list(seen, .directory, .edit) == [seen[0], general])
  }

  @Test(
    "In a sticky directory the write bit removes only items of the caller, and the pattern is known again")
  func sticky() throws {
    let shown = try entries(nil, mode: 0o1777, for: .directory)
    #expect(shown.map { $0.rights.contains(.deleteChild) } == [true, false, false])
    let plain = try entries(nil, mode: 0o777, for: .directory)
    for (present, written, mode, stored): (UInt16, [AccessEntry], UInt16, ArraySlice<AccessEntry>) in [
      (0o1700, shown, 0o777, []), (0o700, plain, 0o777, []),
      // Such permits would let everybody remove what others own, or take something away: they are what was meant.
      (0o1700, plain, 0o777, plain[1...]), (0o700, shown, 0o755, shown[1...]),
    ] {
      let change = try NFSv4List.change(
        to: written, from: nil, mode: present, for: .directory, as: .names)
      #expect(change.mode == mode, "\(String(present, radix: 8))")
      #expect(change.list?.entries ?? [] == Array(stored), "\(String(present, radix: 8))")
    }
    for mode in UInt16(0o1000)...0o1777 {
      let bytes = NFSv4List.encode(Shorthand.list("!a b"), mode: mode, for: .directory, names: .testing)
      let change = try NFSv4List.change(bytes, for: .directory, mode: mode)
      #expect(change == NFSv4Change(list: Shorthand.list("!a b"), mode: mode & 0o777))
    }
  }

  @Test("Permits that repeat the mode are not stored, wherever a program has sorted them")
  func repetition() throws {
    let ann = AccessEntry(.allow, .user(1), .write)
    let bob = AccessEntry(.deny, .user(2), .read)
    let staff = AccessEntry(.audit, .group(12), .read)
    let mode = try entries(nil, mode: 0o640, for: .file)
    let (owner, group, other) = (mode[0], mode[1], mode[2])
    let rows: [(written: [AccessEntry], stored: [AccessEntry], mode: UInt16)] = [
      ([other, group, owner, ann], [ann], 0o640),
      ([bob, other, ann, group, staff, owner], [bob, ann, staff], 0o640),
      ([group, owner], [], 0o640), ([other, owner], [], 0o600), ([other], [], 0),
      // The group holds more than the owner here: no mode says that without a deny.
      ([group, other], [group], 0),
      // Before a deny a permit says something that the mode cannot say.
      ([owner, other, bob, group, ann], [owner, other, bob, ann], 0o640),
      ([AccessEntry(.allow, .everyone, other.rights, .fileInherit)], nil, 0),
      ([AccessEntry(.allow, .everyone, other.rights.union(.read))], nil, 0),
      ([AccessEntry(.allow, .user(1), other.rights)], nil, 0),
    ].map { ($0.0, $0.1 ?? $0.0, $0.2) }
    for row in rows {
      for present: UInt16 in [0o640, 0o777, 0] {
        let change = try NFSv4List.change(
          to: row.written, from: nil, mode: present, for: .file, as: .names)
        #expect(change.list?.entries ?? [] == row.stored)
        #expect(change.mode == row.mode)
      }
    }
  }

  @Test("Where a class holds less than a later one, permits that look like the mode's are stored")
  func exclusiveClasses() throws {
    let mode = try entries(nil, mode: 0o606, for: .file)
    let permits = mode.filter { $0.kind == .allow }
    // Without the deny the group holds what everyone holds, and its own permit is none of that mode.
    let change = try NFSv4List.change(to: permits, from: nil, mode: 0o606, for: .file, as: .names)
    #expect(change == NFSv4Change(list: AccessList([permits[1]]), mode: 0o666))
    let denial = mode.filter { $0.kind == .deny }
    let torn = try NFSv4List.change(to: denial + permits, from: nil, mode: 0o777, for: .file, as: .names)
    #expect(torn == NFSv4Change(list: AccessList(denial + [permits[2]]), mode: 0o600))
  }
}
