// Access lists as people read them: one entry a line, as `ls -le` of macOS prints it.
//
//     user:bob deny delete_child
//     group:staff inherited allow list,search,file_inherit
//
// Whatever is printed here can be read by `AccessListText.readList` and means the same.

/// The text form of access lists.
package enum AccessListText {
  /// How much is printed.
  package enum Detail: Hashable, Sendable {
    /// What `ls -le` shows: words without a meaning on this kind of object are left out.
    case listing
    /// Everything that is stored, for dump and restore.
    case complete
  }

  /// The first line of a list that has list flags; readers of the plain form never see it.
  static let header = "!#acl 1"

  /// The whole list: every entry on a line of its own, each line ended by a newline.
  package static func print(
    _ list: AccessList, for kind: ObjectKind, names book: NameBook, numeric: Bool = false,
    detail: Detail = .listing
  ) -> String {
    var text = ""
    if let words = flagWords(list.flags) { text += "\(header) \(words)\n" }
    for line in lines(list, for: kind, names: book, numeric: numeric, detail: detail) {
      text += "\(line)\n"
    }
    return text
  }

  /// The entries, a line each, without numbers and without newlines.
  package static func lines(
    _ list: AccessList, for kind: ObjectKind, names book: NameBook, numeric: Bool = false,
    detail: Detail = .listing
  ) -> [String] {
    list.entries.map { print($0, for: kind, names: book, numeric: numeric, detail: detail) }
  }

  /// One entry.
  package static func print(
    _ entry: AccessEntry, for kind: ObjectKind, names book: NameBook, numeric: Bool = false,
    detail: Detail = .listing
  ) -> String {
    let who = print(entry.identity, names: book, numeric: numeric)
    let verb = AccessWords.kinds.first { $0.kind == entry.kind }?.word ?? ""
    var listed = words(of: entry, for: kind, detail: detail)
    // On this kind of object nothing of the entry counts. Say what it holds rather than nothing.
    if listed.isEmpty { listed = words(of: entry, for: kind, detail: .complete) }
    if listed.isEmpty { listed = [AccessWords.none] }
    // A name with blanks ends at a colon, or nobody could tell where the verb begins.
    let separator = who.contains(" ") ? ":" : " "
    let mark = entry.inheritance.contains(.inherited) ? "\(AccessWords.inherited) " : ""
    return "\(who)\(separator)\(mark)\(verb) \(listed.joined(separator: ","))"
  }

  /// Rights by their words, with commas.
  package static func words(_ rights: Rights, for kind: ObjectKind) -> String {
    (AccessWords.rights + AccessWords.generic).filter { rights.contains($0.right) }.map { $0.word(for: kind) }
      .joined(separator: ",")
  }

  /// Whom an entry is about.
  package static func print(_ identity: Identity, names book: NameBook, numeric: Bool = false) -> String {
    switch identity {
    case .everyone: "group:everyone"
    case .owner: "owner@"
    case .owningGroup: "group@"
    case .nobody: "nobody@"
    case .user(let uid): "user:\(name(numeric ? nil : book.userName(uid), or: uid))"
    case .group(let gid): "group:\(name(numeric ? nil : book.groupName(gid), avoiding: "everyone", or: gid))"
    }
  }

  /// The name, if it would be read back as that name; else the number.
  private static func name(_ name: String?, avoiding taken: String? = nil, or number: UInt32) -> String {
    guard let name, !name.isEmpty, name != taken, !isNumber(name) else { return "\(number)" }
    let scalars = name.unicodeScalars
    let isPlain = scalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != ":" }
    guard isPlain, scalars.first != " ", scalars.last != " " else { return "\(number)" }
    return name
  }

  static func isNumber(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
  }

  private static func words(of entry: AccessEntry, for kind: ObjectKind, detail: Detail) -> [String] {
    let isComplete = detail == .complete
    let isFile = kind == .file
    var words: [String] = []
    for known in AccessWords.rights where entry.rights.contains(known.right) {
      if isFile, !known.isListedOnFile, !isComplete { continue }
      words.append(known.word(for: kind))
    }
    for known in AccessWords.generic where entry.rights.contains(known.right) {
      words.append(known.word(for: kind))
    }
    if isComplete, entry.rights.contains(.synchronize) { words.append(AccessWords.synchronize.onFile) }
    let travelling = isFile && !isComplete ? [AccessWords.limitInherit] : AccessWords.inheritance
    words += travelling.filter { entry.inheritance.contains($0.flag) }.map(\.word)
    // Success and failure say something only where something is audited; there they are the point.
    if isComplete || entry.kind == .audit || entry.kind == .alarm {
      words += AccessWords.audit.filter { entry.inheritance.contains($0.flag) }.map(\.word)
    }
    return words
  }

  /// The words of list flags; bits without a word as one hexadecimal number.
  package static func flagWords(_ flags: AccessList.Flags) -> String? {
    guard !flags.isEmpty else { return nil }
    var left = flags
    var words: [String] = []
    for known in AccessWords.listFlags where flags.contains(known.flag) {
      words.append(known.word)
      left.remove(known.flag)
    }
    if !left.isEmpty { words.append("0x" + String(left.rawValue, radix: 16)) }
    return words.joined(separator: ",")
  }
}
