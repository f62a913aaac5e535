// Lists in the letters of the tables: `x:ifd` is an inherited permit for the user x that goes on to files and
// directories; an exclamation mark in front makes it a deny.

import AccessControl

enum Shorthand {
  /// Reads entries separated by blanks.
  static func list(_ text: String, flags: AccessList.Flags = []) -> AccessList {
    AccessList(text.split(separator: " ").map { entry(String($0)) }, flags: flags)
  }

  static func entry(_ text: String, rights: Rights = .read) -> AccessEntry {
    let kind: AccessEntry.Kind = text.hasPrefix("!") ? .deny : .allow
    let parts = text.drop { $0 == "!" }.split(separator: ":")
    let who = parts.first?.unicodeScalars.first?.value ?? 0
    var inheritance: AccessEntry.Inheritance = []
    for letter in parts.dropFirst().first ?? "" {
      switch letter {
      case "f": inheritance.insert(.fileInherit)
      case "d": inheritance.insert(.directoryInherit)
      case "l": inheritance.insert(.limitInherit)
      case "o": inheritance.insert(.onlyInherit)
      default: inheritance.insert(.inherited)
      }
    }
    return AccessEntry(kind, .user(who), rights, inheritance)
  }

  /// The letters of a list; "none" for no list.
  static func text(_ list: AccessList?) -> String {
    guard let list else { return "none" }
    return list.entries.map { entry in
      var text = entry.kind == .deny ? "!" : ""
      if case .user(let who) = entry.identity, let letter = Unicode.Scalar(who) { text += "\(letter)" }
      let letters: [(AccessEntry.Inheritance, String)] = [
        (.inherited, "i"), (.fileInherit, "f"), (.directoryInherit, "d"), (.limitInherit, "l"),
        (.onlyInherit, "o"),
      ]
      let marks = letters.filter { entry.inheritance.contains($0.0) }.map(\.1).joined()
      return marks.isEmpty ? text : "\(text):\(marks)"
    }.joined(separator: " ")
  }
}
