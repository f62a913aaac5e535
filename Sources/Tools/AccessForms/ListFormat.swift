// The same list in the notations of four worlds.
//
// For administrators who come from macOS, NFSv4, Windows or POSIX lists: each notation is read back to the same list
// (`ListFormatTests`).

package import AccessControl
import JSONForm

/// A notation for access lists.
package enum ListFormat: String, CaseIterable, Sendable {
  /// As `ls -le` of macOS prints entries.
  case macos
  /// As nfs4_getfacl(1) prints them: `A:fd:1001:rwatTnNcCoy`.
  case nfs4
  /// As ls(1) of Solaris and FreeBSD prints them: `user:1001:rw-p--aARWcCos:fd-----:allow`.
  case zfs
  case json
}

/// A text that is no list in the notation it should be in.
package struct FormatFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package let line: Int?
  package let problem: String
  /// What the macOS form, or a name in another one, says itself: it knows which word is at fault.
  package let cause: ParseFailure?

  package init(line: Int? = nil, _ problem: String) {
    self.line = line
    self.problem = problem
    cause = nil
  }

  package init(_ failure: ParseFailure) {
    var bare = failure
    bare.line = nil
    (line, problem, cause) = (failure.line, "\(bare)", failure)
  }

  package var description: String { (line.map { "line \($0): " } ?? "") + problem }
}

/// Reads a part of the macOS form.
func reading<Value>(_ call: @autoclosure () throws(ParseFailure) -> Value) throws(FormatFailure) -> Value {
  do throws(ParseFailure) { return try call() } catch { throw FormatFailure(error) }
}

extension ListFormat {
  /// The entries, a line each; JSON has its own shape and is not printed here.
  package func lines(
    _ list: AccessList, for kind: ObjectKind, names: NameBook, numeric: Bool
  ) -> [String] {
    switch self {
    case .macos:
      let text = AccessListText.print(list, for: kind, names: names, numeric: numeric, detail: .complete)
      return text.split(separator: "\n").map { String($0) }
    case .nfs4: return list.entries.map { LetterForm.nfs4($0, names: names, numeric: numeric) }
    case .zfs: return list.entries.map { LetterForm.zfs($0, names: names, numeric: numeric) }
    case .json: return [ListFormat.json(list, for: kind, names: names).text]
    }
  }

  /// Reads a list.
  package func list(_ bytes: [UInt8], names: NameBook) throws(FormatFailure) -> AccessList {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FormatFailure("the list is not UTF-8 text")
    }
    let list: AccessList
    switch self {
    case .macos:
      list = try reading(AccessListText.readList(text, names: names))
    case .nfs4:
      list = try ListFormat.lines(text) { line throws(FormatFailure) in
        try LetterForm.readNFSv4(line, names: names)
      }
    case .zfs:
      list = try ListFormat.lines(text) { line throws(FormatFailure) in
        try LetterForm.readZFS(line, names: names)
      }
    case .json:
      guard let value = JSON(bytes) else { throw FormatFailure("this is not JSON") }
      list = try ListFormat.list(value, names: names)
    }
    try ListFormat.check(list)
    return list
  }

  /// One entry that a user typed.
  package func entry(_ text: String, names: NameBook) throws(FormatFailure) -> AccessEntry {
    let entry: AccessEntry
    switch self {
    case .macos:
      entry = try reading(AccessListText.readEntry(text, names: names))
    case .nfs4: entry = try LetterForm.readNFSv4(text, names: names)
    case .zfs: entry = try LetterForm.readZFS(text, names: names)
    case .json:
      guard let value = JSON(Array(text.utf8)) else { throw FormatFailure("this is not JSON") }
      entry = try ListFormat.entry(value, names: names)
    }
    try ListFormat.check(entry.identity)
    return entry
  }

  private static func lines(
    _ text: String, _ read: (String) throws(FormatFailure) -> AccessEntry
  ) throws(FormatFailure) -> AccessList {
    var list = AccessList()
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in lines.enumerated() {
      let line = String(line.drop { $0.isWhitespace })
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      do throws(FormatFailure) {
        list.entries.append(try read(line))
      } catch {
        throw FormatFailure(line: number + 1, error.problem)
      }
      guard list.entries.count <= AccessList.entryLimit else {
        throw FormatFailure(line: number + 1, "\(ParseFailure(.tooManyEntries))")
      }
    }
    return list
  }

  private static func check(_ list: AccessList) throws(FormatFailure) {
    for entry in list.entries { try check(entry.identity) }
  }

  /// The number that means "no id" in every call of Linux is nobody's.
  package static func check(_ identity: Identity) throws(FormatFailure) {
    switch identity {
    case .user(.max), .group(.max):
      throw FormatFailure("4294967295 cannot be the number of an account")
    default: break
    }
  }
}
