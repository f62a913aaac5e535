// Flags and access lists as text that travels with a file through programs that know nothing of them.

package import AccessControl
package import FlagRules

/// The portable form of flags and lists: a line with format, version and checksum, then the value.
///
/// Accounts are numbers. The form is described in docs/FORMATS.md.
package enum TwinText {
  // In archives since version 1. Never renumber.
  private static let flagsHead = "varve-flags 1"
  private static let listHead = "varve-acl 1"

  package static func flags(_ flags: FileFlags) -> [UInt8] {
    // A flag without a keyword must not get lost.
    let words = flags.text
    let isComplete = (try? FileFlags.instruction(words).applied(to: [])) == flags
    return sealed(flagsHead, isComplete ? words : "0" + String(flags.rawValue, radix: 8))
  }

  package static func list(_ list: AccessList, for kind: ObjectKind) -> [UInt8] {
    sealed(
      listHead, AccessListText.print(list, for: kind, names: .numeric, numeric: true, detail: .complete))
  }

  /// The flags; nil for anything but what `flags` makes.
  package static func readFlags(_ bytes: [UInt8]) -> FileFlags? {
    guard let value = value(of: bytes, flagsHead) else { return nil }
    return try? FileFlags.instruction(value).applied(to: [])
  }

  /// The list; nil for anything but what `list` makes.
  package static func readList(_ bytes: [UInt8]) -> AccessList? {
    guard let value = value(of: bytes, listHead) else { return nil }
    return try? AccessListText.readList(value, names: .numeric)
  }

  private static func sealed(_ head: String, _ value: String) -> [UInt8] {
    let body = Array((value.hasSuffix("\n") || value.isEmpty ? value : value + "\n").utf8)
    return Array("\(head) \(CRC32C.digits(of: body.span))\n".utf8) + body
  }

  /// What stands behind the first line, if that line is right about it.
  private static func value(of bytes: [UInt8], _ head: String) -> String? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let body = Array(bytes[(end + 1)...])
    guard bytes[..<end].elementsEqual("\(head) \(CRC32C.digits(of: body.span))".utf8) else { return nil }
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
