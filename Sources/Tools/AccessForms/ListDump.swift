// The file `acl dump` writes, `acl restore` reads, and `--undo` keeps: items of a tree, line by line.
//
//     varve-acl 1                                    varve-acl 2
//     root /srv/team                                 root /srv/team
//     directory 1 .                                  directory - mode=0755 .
//     	group:7 allow list,file_inherit               file - owner=user:7,group=7,mode=0644 notes/odd\012name
//     file 0 notes/odd\012name                       link - flags=02 latest
//     end                                            end
//
// Version 1 holds access lists alone; version 2 whatever a record says, and `-` where it says nothing. A record
// tells how many lines belong to it, so that one that was cut off is known for what it is. Paths are relative to
// the root in force, and written as `PathText` has it. Lines beginning with # are comments.

import TextForms

/// The versions of the format.
///
/// In files since they were written; never renumber.
package enum DumpVersion: Int, CaseIterable, Comparable, Sendable {
  case lists = 1
  case items = 2

  /// The first line of the file.
  package var header: String { "varve-acl \(rawValue)" }

  /// What a reader expects, for a sentence.
  package static var expected: String {
    allCases.map { "'\($0.header)'" }.joined(separator: " or ") + " was expected"
  }

  package static func < (left: DumpVersion, right: DumpVersion) -> Bool { left.rawValue < right.rawValue }
}

/// A line that does not belong into a dump.
package struct DumpFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package let line: Int
  package let problem: String

  package var description: String { "line \(line): \(problem)" }
}

/// Takes a dump apart, a line at a time.
package struct DumpReader: Sendable {
  /// The line at the end.
  package static let end = "end"

  private var line = 0
  /// Known from the first line on.
  package private(set) var version = DumpVersion.lists
  private var open: (record: DumpRecord, missing: Int)?

  package init() {}

  /// The line that opens the records below `root`.
  package static func rootLine(_ root: [UInt8]) -> String { "root \(PathText.escaped(root))" }

  /// Whether the first line was there.
  package var hasBegun: Bool { line > 0 }

  /// Whether lines of the last record are still to come.
  package var isInRecord: Bool { open != nil }

  /// Reads the next line, without its newline; answers what is complete with it.
  package mutating func read(_ bytes: [UInt8]) throws(DumpFailure) -> DumpPiece? {
    line += 1
    if line == 1 {
      guard let known = DumpVersion.allCases.first(where: { bytes.elementsEqual($0.header.utf8) }) else {
        throw failure("this is no dump of access lists: \(DumpVersion.expected)")
      }
      version = known
      return nil
    }
    if let (record, missing) = open { return try readEntry(bytes, of: record, missing) }
    if bytes.isEmpty || bytes.first == UInt8(ascii: "#") { return nil }
    if bytes.elementsEqual(DumpReader.end.utf8) { return .end }
    let words = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
    guard words.count == 2 else { throw failure("a path is missing") }
    switch String(decoding: words[0], as: UTF8.self) {
    case "root":
      guard let root = PathText.bytes(words[1]), root.first == UInt8(ascii: "/") else {
        throw failure("a root is a path that begins with '/'")
      }
      return .root(root)
    case "directory": return try readItem(words[1], .directory)
    case "file": return try readItem(words[1], .file)
    case "link" where version >= .items: return try readItem(words[1], .link)
    default: throw failure("neither 'root', 'directory', 'file' nor 'end'")
    }
  }

  private mutating func readItem(
    _ rest: ArraySlice<UInt8>, _ kind: DumpRecord.Kind
  ) throws(DumpFailure) -> DumpPiece? {
    var words = rest.split(
      separator: UInt8(ascii: " "), maxSplits: version == .lists ? 1 : 2, omittingEmptySubsequences: false)
    var facts = ItemFacts()
    if version >= .items {
      guard words.count == 3, let read = ItemFacts(String(decoding: words[1], as: UTF8.self)) else {
        throw failure("the number of lines, what is said of the item, and a path were expected")
      }
      facts = read
      words.remove(at: 1)
    }
    // A list that is not spoken of.
    let isSilent = version >= .items && words.first?.elementsEqual("-".utf8) == true
    guard words.count == 2, let count = isSilent ? 0 : Int(String(decoding: words[0], as: UTF8.self)),
      // The entries a list can have, and the line of list flags.
      (0...129).contains(count)
    else { throw failure("the number of lines (0 to 129) and a path were expected") }
    guard let path = PathText.bytes(words[1]) else {
      throw failure("a backslash in a path is followed by three octal digits")
    }
    guard kind != .link || facts.mode == nil else { throw failure("a link has no mode") }
    let record = DumpRecord(kind, path: try checked(path), facts: facts, lines: isSilent ? nil : [])
    guard count > 0 else { return .record(record) }
    open = (record, count)
    return nil
  }

  /// A path that stays below the root: no `..`, nothing empty, not absolute.
  private func checked(_ path: [UInt8]) throws(DumpFailure) -> [UInt8] {
    if path.elementsEqual(".".utf8) { return [] }
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isSound = parts.allSatisfy { part in
      !part.isEmpty && part.count <= 255 && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
    }
    guard isSound else { throw failure("the path leads out of the root, or nowhere") }
    return path
  }

  private mutating func readEntry(
    _ bytes: [UInt8], of record: DumpRecord, _ missing: Int
  ) throws(DumpFailure) -> DumpPiece? {
    guard bytes.first == UInt8(ascii: "\t"), let text = String(validating: bytes.dropFirst(), as: UTF8.self)
    else { throw failure("\(missing) more lines of a list, each after a tab, were expected") }
    var record = record
    record.lines?.append(text)
    open = missing > 1 ? (record, missing - 1) : nil
    return missing > 1 ? nil : .record(record)
  }

  private func failure(_ problem: String) -> DumpFailure { DumpFailure(line: line, problem: problem) }
}
