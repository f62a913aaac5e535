// What a dump or an undo file holds of one item.

package import AccessControl
import TextForms

/// What a record can say about an item beside its list; what is nil it does not say.
package struct ItemFacts: Equatable, Sendable {
  /// Who owns an item: a user, or a group in place of one.
  package enum Owner: Equatable, Sendable {
    case user(UInt32)
    case group(UInt32)
  }

  package var owner: Owner?
  package var group: UInt32?
  /// The low 12 bits.
  package var mode: UInt32?
  /// The word of file flags.
  package var flags: UInt32?
  /// The POSIX lists below the volume; empty: there are none.
  package var posix: PosixLists?
  /// An account that was read by a name nobody has here: `user 'ann'`.
  package var unknownAccount: String?

  package init(
    owner: Owner? = nil, group: UInt32? = nil, mode: UInt32? = nil, flags: UInt32? = nil,
    posix: PosixLists? = nil
  ) {
    self.posix = posix
    self.owner = owner
    self.group = group
    self.mode = mode
    self.flags = flags
  }

  package var isEmpty: Bool { self == ItemFacts() }

  /// `owner=user:0,group=0,mode=0644,flags=02`, or `-`; accounts by their names in `book`.
  package func text(names book: NameBook = .numeric) -> String {
    var words: [String] = []
    switch owner {
    case .user(let number): words.append("owner=user:\(word(number, book.userName(number)))")
    case .group(let number): words.append("owner=group:\(word(number, book.groupName(number)))")
    case nil: break
    }
    if let group { words.append("group=\(word(group, book.groupName(group)))") }
    if let mode { words.append("mode=0\(String(mode, radix: 8))") }
    if let flags { words.append("flags=0\(String(flags, radix: 8))") }
    // Their lines have commas between them elsewhere.
    if let posix { words.append("posix=\(posix.text.replacing(",", with: ";"))") }
    return words.isEmpty ? "-" : words.joined(separator: ",")
  }

  /// An account as it is written: a name that could be taken for something else is not.
  private func word(_ number: UInt32, _ name: String?) -> String {
    guard let name, isAccountName(Substring(name)) else { return "\(number)" }
    return name
  }

  /// Reads what `text` writes; nil for anything else.
  package init?(_ text: String, names book: NameBook = .numeric) {
    self.init()
    guard text != "-" else { return }
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      let value = parts[1]
      switch parts[0] {
      case "owner" where owner == nil:
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "user":
          guard let read = account(parts[1], "user", book.user) else { return nil }
          owner = .user(read)
        case "group":
          guard let read = account(parts[1], "group", book.group) else { return nil }
          owner = .group(read)
        default: return nil
        }
      case "group" where group == nil:
        guard let read = account(value, "group", book.group) else { return nil }
        group = read
      case "mode" where mode == nil:
        guard let read = octal(value), read <= 0o7777 else { return nil }
        mode = read
      case "flags" where flags == nil:
        guard let read = octal(value) else { return nil }
        flags = read
      case "posix" where posix == nil:
        guard !value.contains(","), let read = PosixLists(String(value).replacing(";", with: ",")) else {
          return nil
        }
        posix = read
      default: return nil
      }
    }
  }
}

extension ItemFacts {
  /// The number of an account; the highest one means "leave it" to the system.
  ///
  /// A name that nobody has is remembered: the record is sound, and cannot be restored here.
  private mutating func account(
    _ text: Substring, _ kind: String, _ number: (String) -> UInt32?
  ) -> UInt32? {
    if text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return UInt32(text).flatMap { $0 == .max ? nil : $0 } }
    guard isAccountName(text) else { return nil }
    if let found = number(String(text)) { return found }
    unknownAccount = "\(kind) '\(text)'"
    return .max
  }
}

/// Whether a name is no number, and has nothing in it that separates words of a record.
private func isAccountName(_ text: Substring) -> Bool {
  let isPlain = text.utf8.allSatisfy { byte in
    byte > 0x7F || Unicode.Scalar(byte).properties.isAlphabetic || 0x30...0x39 ~= byte
      || "._-+@$\\".utf8.contains(byte)
  }
  let isNumber = text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
  return isPlain && !isNumber && !"-+".utf8.contains(text.utf8.first ?? UInt8(ascii: "-"))
}

private func octal(_ text: Substring) -> UInt32? {
  guard text.utf8.allSatisfy({ 0x30...0x37 ~= $0 }) else { return nil }
  return UInt32(text, radix: 8)
}

/// One item of a dump.
package struct DumpRecord: Equatable, Sendable {
  package enum Kind: String, Sendable {
    case directory
    /// Everything that is neither a directory nor a link.
    case file
    case link
  }

  package var kind: Kind
  /// The path below the root; empty for the root itself.
  package var path: [UInt8]
  package var facts: ItemFacts
  /// The lines of the list; none: the item has no list; nil: the record says nothing about it.
  package var lines: [String]?

  package init(_ kind: Kind, path: [UInt8], facts: ItemFacts = ItemFacts(), lines: [String]?) {
    self.kind = kind
    self.path = path
    self.facts = facts
    self.lines = lines
  }

  /// The record as it stands in a file.
  package var text: String { text() }

  /// The record with accounts by their names in `book`; the lines are as they are.
  package func text(names book: NameBook = .numeric) -> String {
    let name = path.isEmpty ? "." : PathText.escaped(path)
    var text =
      "\(kind.rawValue) \(lines.map { "\($0.count)" } ?? "-") \(facts.text(names: book)) \(name)\n"
    for line in lines ?? [] { text += "\t\(line)\n" }
    return text
  }
}

/// What a dump consists of.
package enum DumpPiece: Equatable, Sendable {
  /// The records that follow are below this directory or file.
  case root([UInt8])
  case record(DumpRecord)
  /// The program that wrote the file ended properly.
  case end
}
