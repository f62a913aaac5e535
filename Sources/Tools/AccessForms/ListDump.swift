// The file `acl dump` writes, `acl restore` reads, and `--undo` keeps: items of a tree, line by line.
//
//     varve-acl 1
//     root /mnt/team
//     directory 1 - .
//     	group:7 allow list,file_inherit
//     file 0 mode=0644 notes/odd\012name
//     link - flags=02 latest
//     end
//
// A record tells how many lines of a list belong to it, so that one that was cut off is known for what it is, and then
// what else is said of the item; `-` is nothing said. Paths are relative to the root in force, and written as
// `PathText` has it. Lines beginning with # are comments.

package import AccessControl
import TextForms

/// A line that does not belong into a dump.
package struct DumpFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package let line: Int
  package let problem: String

  package var description: String { "line \(line): \(problem)" }
}

/// Takes a dump apart, a line at a time.
package struct DumpReader: Sendable {
  /// The first line.
  package static let header = "varve-acl 1"
  /// The line at the end.
  package static let end = "end"

  /// What an empty file, or one of something else, lacks.
  package static let expected = "'\(header)' was expected"

  private var line = 0
  private var open: (record: DumpRecord, missing: Int)?

  private let names: NameBook

  /// Reads names of accounts with `names`.
  package init(names: NameBook = .numeric) {
    self.names = names
  }

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
      guard bytes.elementsEqual(DumpReader.header.utf8) else { throw unknownHeader(bytes) }
      return nil
    }
    if let (record, missing) = open { return try readEntry(bytes, of: record, missing) }
    if bytes.isEmpty || bytes.first == UInt8(ascii: "#") { return nil }
    if bytes.elementsEqual(DumpReader.end.utf8) { return .end }
    let words = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
    guard words.count == 2 else { throw failure("a path is missing") }
    let word = String(decoding: words[0], as: UTF8.self)
    if word == "root" {
      guard let root = PathText.bytes(words[1]), root.first == UInt8(ascii: "/") else {
        throw failure("a root is a path that begins with '/'")
      }
      return .root(root)
    }
    guard let kind = DumpRecord.Kind(rawValue: word) else {
      throw failure("neither 'root', 'directory', 'file' nor 'end'")
    }
    return try readItem(words[1], kind)
  }

  private mutating func readItem(
    _ rest: ArraySlice<UInt8>, _ kind: DumpRecord.Kind
  ) throws(DumpFailure) -> DumpPiece? {
    let words = rest.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count == 3, let facts = ItemFacts(String(decoding: words[1], as: UTF8.self), names: names)
    else {
      throw failure("expected: number of lines, properties, path")
    }
    // A list that is not spoken of.
    let isSilent = words[0].elementsEqual("-".utf8)
    guard let count = isSilent ? 0 : Int(String(decoding: words[0], as: UTF8.self)),
      // The entries a list can have, and the line of list flags.
      (0...129).contains(count)
    else { throw failure("the number of lines (0 to 129) was expected") }
    guard let path = PathText.bytes(words[2]) else {
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

  private func unknownHeader(_ bytes: [UInt8]) -> DumpFailure {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.hasPrefix("varve-acl "), let version = UInt(text.dropFirst(10)) {
      return failure("this dump is of version \(version), and only version 1 can be read")
    }
    return failure("this is not a dump of access lists: \(DumpReader.expected)")
  }

  private func failure(_ problem: String) -> DumpFailure { DumpFailure(line: line, problem: problem) }
}
