import AccessControl
import Testing

/// A program without a word for "inherited" writes the list of a file it has made; what was inherited stays so.
@Suite("Inherited marks") struct InheritedMarkTests {
  private static let team = AccessEntry(.allow, .group(20), [.read, .write, .deleteChild], .inherited)
  private static let ann = AccessEntry(.allow, .user(10), [.read], .inherited)
  private static let below = AccessEntry(
    .allow, .group(20), .read, [.inherited, .fileInherit, .directoryInherit])

  private func marked(
    _ entries: [AccessEntry], over present: [AccessEntry] = [], handedDown: [AccessEntry] = [],
    flags: AccessList.Flags = [], for kind: ObjectKind = .file, writing: NFSv4Writing = .anew
  ) throws -> [AccessEntry] {
    let source = InheritanceSource(user: 10, group: 20, handedDown: handedDown)
    let present = present.isEmpty && flags.isEmpty ? nil : AccessList(present, flags: flags)
    return try NFSv4List.change(
      to: entries, from: present, mode: 0, for: kind, as: .names, writing: writing, inheritingFrom: source
    ).list?.entries ?? []
  }

  private func unmarked(_ entry: AccessEntry) -> AccessEntry {
    var entry = entry
    entry.inheritance.remove(.inherited)
    return entry
  }

  @Test("What the item had inherited keeps its mark, in the words of Samba as well") func kept() throws {
    let written = [unmarked(Self.team), unmarked(Self.ann)]
    #expect(try marked(written, over: [Self.team, Self.ann]) == [Self.team, Self.ann])
    // `group@` for the file's own group, `owner@` for its user; a file has nothing to delete in it.
    let samba = [
      AccessEntry(.allow, .owningGroup, [.read, .write]), AccessEntry(.allow, .owner, [.read, .synchronize]),
    ]
    #expect(try marked(samba, over: [Self.team, Self.ann]) == [Self.team, Self.ann])
    #expect(try marked(samba, over: [Self.team, Self.ann], for: .directory).first == samba[0])
  }

  @Test("What the directory hands down gets the mark, unless the item turned inheritance off")
  func handedDown()
    throws
  {
    let written = [unmarked(Self.team)]
    #expect(try marked(written, handedDown: [Self.team]) == [Self.team])
    #expect(try marked(written, handedDown: [Self.ann]) == written)
    #expect(try marked(written, handedDown: [Self.team], flags: .noInherit) == written)
    #expect(try marked(written) == written)
  }

  @Test("Of two entries that say the same, one is inherited: the last") func twice() throws {
    let own = unmarked(Self.team)
    #expect(try marked([own, own], over: [own, Self.team]) == [own, Self.team])
    #expect(try marked([own, Self.team], handedDown: [Self.team]) == [own, Self.team])
  }

  @Test("What was an entry of the item's own stays one, whatever the directory hands down by now")
  func ownEntries()
    throws
  {
    let own = AccessEntry(.deny, .user(11), .read)
    var inherited = own
    inherited.inheritance.insert(.inherited)
    #expect(
      try marked([own, unmarked(Self.team)], over: [own], handedDown: [inherited, Self.team])
        == [own, Self.team])
    // Whoever says of one entry that it is inherited means it of the others, too.
    #expect(try marked([own, Self.team], handedDown: [inherited, Self.team]) == [own, Self.team])
    // Who a denial is about stays as it was written.
    let denied = AccessEntry(.deny, .owner, .read, .inherited)
    #expect(
      try marked([AccessEntry(.deny, .user(10), .read)], over: [denied])
        == [AccessEntry(.deny, .user(10), .read, .inherited)])
  }

  @Test("An entry that says anything else is one of the item's own") func others() throws {
    for other in [
      AccessEntry(.deny, .group(20), Self.team.rights), AccessEntry(.allow, .group(21), Self.team.rights),
      AccessEntry(.allow, .group(20), .read), AccessEntry(.allow, .everyone, Self.team.rights),
    ] {
      #expect(try marked([other], over: [Self.team]) == [other])
    }
    // What is handed on means whoever owns what is made below, not the owner here.
    let own = AccessEntry(.allow, .owningGroup, .read, [.fileInherit, .directoryInherit])
    #expect(try marked([own], over: [Self.below], for: .directory) == [own])
    #expect(try marked([unmarked(Self.below)], over: [Self.below], for: .directory) == [Self.below])
  }

  @Test("A list that was read, edited and written back is marked by its own rules") func edited() throws {
    let own = unmarked(Self.team)
    #expect(try marked([own], over: [own], handedDown: [Self.team], writing: .edit) == [own])
  }
}
