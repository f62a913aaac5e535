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

  /// `owner=user:0,group=0,mode=0644,flags=02`, or `-`.
  package var text: String {
    var words: [String] = []
    switch owner {
    case .user(let number): words.append("owner=user:\(number)")
    case .group(let number): words.append("owner=group:\(number)")
    case nil: break
    }
    if let group { words.append("group=\(group)") }
    if let mode { words.append("mode=0\(String(mode, radix: 8))") }
    if let flags { words.append("flags=0\(String(flags, radix: 8))") }
    // Their lines have commas between them elsewhere.
    if let posix { words.append("posix=\(posix.text.replacing(",", with: ";"))") }
    return words.isEmpty ? "-" : words.joined(separator: ",")
  }

  /// Reads what `text` writes; nil for anything else.
  package init?(_ text: String) {
    self.init()
    guard text != "-" else { return }
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      let value = parts[1]
      switch parts[0] {
      case "owner" where owner == nil:
        guard let read = Owner(value) else { return nil }
        owner = read
      case "group" where group == nil:
        guard let read = account(value) else { return nil }
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

extension ItemFacts.Owner {
  fileprivate init?(_ text: Substring) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = account(parts[1]) else { return nil }
    switch parts[0] {
    case "user": self = .user(number)
    case "group": self = .group(number)
    default: return nil
    }
  }
}

/// The number of an account; the highest one means "leave it" to the system.
private func account(_ text: Substring) -> UInt32? {
  guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt32(text), number != .max else {
    return nil
  }
  return number
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
  package var text: String {
    let name = path.isEmpty ? "." : PathText.escaped(path)
    var text = "\(kind.rawValue) \(lines.map { "\($0.count)" } ?? "-") \(facts.text) \(name)\n"
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
