// What immutable and append-only forbid.

import AccessControl
import FlagRules
import Testing

@Suite("What flags forbid") struct FlagProtectionTests {
  /// An operation by the rights it asks on one object, and which of the columns of the table let it pass.
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let rights: Rights
    let onDirectory: Bool
    let immutable: Bool
    let appendOnly: Bool
    let noUnlink: Bool

    init(
      _ sentence: String, _ rights: Rights, directory: Bool = false, immutable: Bool = false,
      appendOnly: Bool = false, noUnlink: Bool = true
    ) {
      testDescription = sentence
      self.rights = rights
      onDirectory = directory
      self.immutable = immutable
      self.appendOnly = appendOnly
      self.noUnlink = noUnlink
    }
  }

  static let rows = [
    Row("reading a file", .read, immutable: true, appendOnly: true),
    Row("running a file", .execute, immutable: true, appendOnly: true),
    Row("stat of a file", [.readAttributes, .readSecurity], immutable: true, appendOnly: true),
    Row("reading extended attributes of a file", .readExtended, immutable: true, appendOnly: true),
    Row("listing a directory", .list, directory: true, immutable: true, appendOnly: true),
    Row("searching a directory", .search, directory: true, immutable: true, appendOnly: true),
    Row("opening a file for writing", .write),
    Row("opening a file for reading and writing", [.read, .write]),
    Row("opening a file for appending", .append, appendOnly: true),
    Row("opening a file for reading and appending", [.read, .append], appendOnly: true),
    Row("opening a file for appending, cut to nothing", [.append, .write]),
    Row("truncating a file", .write),
    Row("mapping a file shared and writable", .checkImmutable),
    Row("making a file in a directory", .addFile, directory: true, appendOnly: true),
    Row("making a directory in a directory", .addSubdirectory, directory: true, appendOnly: true),
    Row("removing an entry of a directory", .deleteChild, directory: true),
    Row("removing an entry and adding one", [.deleteChild, .addFile], directory: true),
    Row("setting an extended attribute of a file", .writeExtended, appendOnly: true),
    Row("setting an extended attribute of a directory", .writeExtended, directory: true, appendOnly: true),
    Row("chmod of a file", .writeSecurity),
    Row("chmod of a directory", .writeSecurity, directory: true),
    Row("chown of a file", .takeOwnership),
    Row("setting times of a file", .writeAttributes),
    Row("setting times of a directory", .writeAttributes, directory: true),
    Row("removing a file", .delete, noUnlink: false),
    Row("removing a directory", .delete, directory: true, noUnlink: false),
    Row("a hard link to a file", .linkTarget),
    Row("changing the flags of a file", [.writeSecurity, .ignoringFlags], immutable: true, appendOnly: true),
    Row("nothing", [], immutable: true, appendOnly: true),
  ]

  @Test(arguments: rows) func table(_ row: Row) {
    func passes(_ flags: FileFlags) -> Bool {
      flags.forbidding(row.rights, onDirectory: row.onDirectory) == nil
    }
    #expect(passes([]))
    #expect(passes(.userImmutable) == row.immutable)
    #expect(passes(.systemImmutable) == row.immutable)
    #expect(passes(.userAppendOnly) == row.appendOnly)
    #expect(passes(.systemAppendOnly) == row.appendOnly)
    #expect(passes(.systemNoUnlink) == row.noUnlink)
    #expect(
      passes([
        .noDump, .opaque, .compressed, .tracked, .dataVault, .hidden, .archived, .restricted, .dataless,
      ]))
  }

  @Test("A flag counts as a lock if it forbids anything at all") func locks() {
    let locks: FileFlags = [
      .userImmutable, .systemImmutable, .userAppendOnly, .systemAppendOnly, .systemNoUnlink,
    ]
    for bit in 0..<32 {
      let flag = FileFlags(rawValue: 1 << bit)
      #expect(flag.areLocking == locks.contains(flag), "\(flag)")
      #expect(flag.union(.hidden).areLocking == flag.areLocking, "\(flag)")
    }
    #expect(!FileFlags().areLocking)
  }

  @Test("Every set of enforced flags against every set of modifying rights") func exhaustive() {
    let enforced: [FileFlags] = [
      .userImmutable, .systemImmutable, .userAppendOnly, .systemAppendOnly, .systemNoUnlink,
    ]
    let modifying: [Rights] = [
      .write, .delete, .append, .deleteChild, .writeAttributes, .writeExtended, .writeSecurity,
      .takeOwnership, .linkTarget, .checkImmutable,
    ]
    for flagBits in 0..<32 {
      var flags: FileFlags = [.hidden, .noDump]
      for index in 0..<5 where flagBits & (1 << index) != 0 { flags.insert(enforced[index]) }
      for rightBits in 0..<1024 {
        var rights: Rights = [.read, .execute, .readAttributes]
        var asked: [Rights] = []
        for index in 0..<10 where rightBits & (1 << index) != 0 {
          rights.insert(modifying[index])
          asked.append(modifying[index])
        }
        for onDirectory in [false, true] {
          // The table, one right at a time.
          let isRefused = asked.contains { right in
            if flagBits & 0b00011 != 0 { return true }
            if flagBits & 0b01100 != 0 {
              let isKept = right == .append || right == .writeExtended || (right == .write && onDirectory)
              if !isKept { return true }
            }
            return flagBits & 0b10000 != 0 && right == .delete
          }
          let named = flags.forbidding(rights, onDirectory: onDirectory)
          if (named != nil) != isRefused {
            Issue.record(
              "\(flags.text), rights \(rights.rawValue), directory \(onDirectory): \(named?.text ?? "passes")"
            )
          }
          // The reason names flags that are set, and nothing else.
          if let named, named.isEmpty || !named.isSubset(of: flags) {
            Issue.record("\(named.text) of \(flags.text)")
          }
          if flags.forbidding(rights.union(.ignoringFlags), onDirectory: onDirectory) != nil {
            Issue.record("a change of flags is stopped by \(flags.text)")
          }
        }
      }
    }
  }
}
