// The file `acl dump` writes, `acl restore` reads, and `--undo` keeps: access lists of a tree, line by line.
//
//     varve-acl 1
//     root /srv/team
//     directory 1 .
//     	group:7 allow list,file_inherit
//     file 0 notes/odd\012name
//     end
//
// A record says how many lines belong to it, so that one that was cut off is known for what it is. Paths are
// relative to the root in force, and written as `PathText` has it. Lines beginning with # are comments.

import TextForms

/// One item of a dump.
package struct DumpRecord: Equatable, Sendable {
  package var isDirectory: Bool
  /// The path below the root; empty for the root itself.
  package var path: [UInt8]
  /// The lines of the list; none: the item has no list.
  package var lines: [String]

  package init(isDirectory: Bool, path: [UInt8], lines: [String]) {
    self.isDirectory = isDirectory
    self.path = path
    self.lines = lines
  }

  /// The record as it stands in the file.
  package var text: String {
    let place = path.isEmpty ? "." : PathText.escaped(path)
    var text = "\(isDirectory ? "directory" : "file") \(lines.count) \(place)\n"
    for line in lines { text += "\t\(line)\n" }
    return text
  }
}

/// What a dump consists of.
package enum DumpPiece: Equatable, Sendable {
  /// The records that follow are below this directory or file.
  case root([UInt8])
  case record(DumpRecord)
  /// Whoever wrote the file came to an orderly end.
  case end
}

/// A line that does not belong into a dump.
package struct DumpFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package let line: Int
  package let problem: String

  package var description: String { "line \(line): \(problem)" }
}

/// Takes a dump apart, a line at a time.
package struct DumpReader: Sendable {
  /// The first line of every dump; another number is another format.
  package static let header = "varve-acl 1"
  /// The line at the end.
  package static let end = "end"

  private var line = 0
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
      guard bytes.elementsEqual(DumpReader.header.utf8) else {
        throw failure("this is no dump of access lists: '\(DumpReader.header)' was expected")
      }
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
    case "directory": return try readItem(words[1], isDirectory: true)
    case "file": return try readItem(words[1], isDirectory: false)
    default: throw failure("neither 'root', 'directory', 'file' nor 'end'")
    }
  }

  private mutating func readItem(
    _ rest: ArraySlice<UInt8>, isDirectory: Bool
  ) throws(DumpFailure) -> DumpPiece? {
    let words = rest.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let count = Int(String(decoding: words[0], as: UTF8.self)), count >= 0,
      // The entries a list can have, and the line of list flags.
      count <= 129
    else { throw failure("the number of lines (0 to 129) and a path were expected") }
    guard let path = PathText.bytes(words[1]) else {
      throw failure("a backslash in a path is followed by three octal digits")
    }
    let record = DumpRecord(isDirectory: isDirectory, path: try checked(path), lines: [])
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
    record.lines.append(text)
    open = missing > 1 ? (record, missing - 1) : nil
    return missing > 1 ? nil : .record(record)
  }

  private func failure(_ problem: String) -> DumpFailure { DumpFailure(line: line, problem: problem) }
}
