// A written list that does not end with a mode says everything: the mode becomes the one it implies.

import AccessControl
import Testing

@Suite("NFSv4 lists that say everything") struct NFSv4CompleteListTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: ObjectKind
    let present: UInt16
    let written: [AccessEntry]
    let mode: UInt16
    /// What is stored; none: all of it.
    let stored: [AccessEntry]?

    init(
      _ sentence: String, on kind: ObjectKind = .file, from present: UInt16 = 0o777, _ written: [AccessEntry],
      gives mode: UInt16, storing stored: [AccessEntry]? = nil
    ) {
      testDescription = sentence
      self.kind = kind
      self.present = present
      self.written = written
      self.mode = mode
      self.stored = stored
    }
  }

  private static let r: Rights = [.read, .readExtended]
  private static let w: Rights = [.write, .append, .writeExtended, .writeAttributes]
  private static let x: Rights = .execute
  private static let free: Rights = [.readAttributes, .readSecurity]
  private static let ann = AccessEntry(.allow, .user(1), [.read, .write, .execute])

  private static func allow(
    _ identity: Identity, _ rights: Rights, _ words: AccessEntry.Inheritance = []
  )
    -> AccessEntry
  { AccessEntry(.allow, identity, rights, words) }

  private static func deny(
    _ identity: Identity, _ rights: Rights, _ words: AccessEntry.Inheritance = []
  )
    -> AccessEntry
  { AccessEntry(.deny, identity, rights, words) }

  /// The end of a list that says `mode`.
  private static func end(_ mode: UInt16, _ kind: ObjectKind = .file) -> [AccessEntry] {
    // What does not decode has no entries, and then no row comes out right.
    (try? NFSv4List.decodeNumbers(NFSv4List.encodeNumbers(nil, mode: mode, for: kind))) ?? []
  }

  static let rows: [Row] = [
    Row("the entry of everyone taken out", Array(end(0o644).dropLast()), gives: 0o640, storing: []),
    Row("the entry of the owner taken out", Array(end(0o644).dropFirst()), gives: 0o444, storing: []),
    Row(
      "the entry of the group taken out", [end(0o664)[0], end(0o664)[2]], gives: 0o644, storing: []),
    Row("only named users", [ann], gives: 0),
    Row("named users behind the end of a mode", end(0o640) + [ann], gives: 0o640, storing: [ann]),
    Row("everyone counts for all three", [allow(.everyone, r.union(x))], gives: 0o555),
    Row(
      "what is denied first is not granted later", [deny(.owningGroup, r), allow(.everyone, r.union(w))],
      gives: 0o622),
    Row(
      "what is granted first is not denied later", [allow(.owner, r.union(w)), deny(.everyone, r.union(w))],
      gives: 0o600),
    Row(
      "a deny of a named user says nothing about others", [deny(.user(1), r), allow(.everyone, r)],
      gives: 0o444),
    Row(
      "entries only for what is made below", on: .directory,
      [allow(.everyone, .specific, [.fileInherit, .onlyInherit])], gives: 0),
    Row(
      "denies only for what is made below", on: .directory,
      [
        deny(.everyone, r, [.directoryInherit, .onlyInherit]),
        allow(.everyone, r.union(x), .directoryInherit),
      ],
      gives: 0o555),
    Row("audit grants nothing", [AccessEntry(.audit, .everyone, .specific)], gives: 0),
    Row("nobody is not everyone", [allow(.nobody, .specific)], gives: 0),
    Row("generic rights are what they stand for", [allow(.everyone, [.genericAll])], gives: 0o777),
    // The bits of a mode stand for more than one right, and would grant the rest of it to people no entry names.
    Row("half a read bit is none", [allow(.everyone, .read)], gives: 0),
    Row("half a write bit is none", [allow(.everyone, [.write, .append])], gives: 0),
    Row("write without append", [allow(.everyone, w.subtracting(.append))], gives: 0),
    Row("the owner may always set times", [allow(.owner, w.subtracting(.writeAttributes))], gives: 0o200),
    Row("writing without removing", on: .directory, [allow(.everyone, w)], gives: 0),
    Row("writing and removing", on: .directory, [allow(.everyone, w.union(.deleteChild))], gives: 0o222),
    Row(
      "in a sticky directory the write bit removes only items of the caller, but for the owner",
      on: .directory,
      from: 0o1777, [allow(.owner, .deleteChild), allow(.everyone, w)], gives: 0o222),
    Row("what the owner would have to be denied first", [allow(.owningGroup, r.union(w))], gives: 0),
    Row(
      "what the group would have to be denied first",
      [deny(.owningGroup, r), allow(.owner, r.union(x)), allow(.everyone, r.union(x))], gives: 0o511),
    Row(
      "a sorted list", from: 0o600,
      [deny(.user(2), r), end(0o754)[2], ann, end(0o754)[1], end(0o754)[0]], gives: 0o754,
      storing: [deny(.user(2), r), ann]),
  ]

  @Test(arguments: rows) func implies(_ row: Row) throws {
    for writing in [NFSv4Writing.anew, .edit] {
      for view in [NFSv4View.names, .numbers] {
        let change = try NFSv4List.change(
          to: row.written, from: nil, mode: row.present, for: row.kind, as: view, writing: writing)
        #expect(change.mode == row.mode, "\(String(change.mode ?? 0o7777, radix: 8))")
        #expect(change.list?.entries ?? [] == row.stored ?? row.written)
      }
    }
  }

  @Test("Whatever stands behind it, the end of a mode implies that mode, but for what takes a deny to say")
  func ends() throws {
    for kind in [ObjectKind.file, .directory] {
      for mode in UInt16(0)...0o1777 {
        let end = Self.end(mode, kind)
        let change = try NFSv4List.change(
          to: end + [Self.ann], from: nil, mode: mode & 0o1000, for: kind, as: .names)
        let group = mode >> 3 & mode >> 6 & 7
        let implied = mode & 0o700 | group << 3 | mode & group
        let isPlain = end.allSatisfy { $0.kind == .allow }
        if change.mode != implied || (change.list?.entries == [Self.ann]) != isPlain {
          Issue.record("\(kind) \(String(mode, radix: 8)): \(change)")
        }
      }
    }
  }

  @Test("An edited list implies what its entries mean, not what the text can say of them") func edited()
    throws
  {
    // On a file the text has no letter for "only_inherit", so the entry looks like one that grants.
    let below = Self.allow(.everyone, Self.r, [.fileInherit, .onlyInherit])
    let written = [Self.allow(.everyone, Self.r), Self.ann]
    let change = try NFSv4List.change(
      to: written, from: AccessList([below]), mode: 0o644, for: .file, as: .names, writing: .edit)
    #expect(change == NFSv4Change(list: AccessList([below, Self.ann]), mode: 0))
  }
}
