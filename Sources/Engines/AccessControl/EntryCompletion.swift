// How an entry that a user has begun to type may continue; `varve completion` asks for the shells.

/// What can stand in place of an entry, or of whom one is about, as far as it is typed.
///
/// A word that is complete, but not the end, is never offered alone: shells close the quotes behind the only one.
package struct EntryCompletion: Sendable {
  private let users: [String]
  private let groups: [String]

  package init(_ accounts: (users: [String], groups: [String])) {
    users = accounts.users.filter(EntryCompletion.isPlain)
    groups = accounts.groups.filter(EntryCompletion.isPlain)
  }

  /// Names that end at a colon, for their blanks, are left to be typed.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && !name.unicodeScalars.contains { $0.value <= 0x20 || $0 == ":" || $0 == "," }
  }

  /// Whom an entry may be about.
  package func identities(_ typed: String) -> [String] {
    var all = AccessWords.identities
    if typed.hasPrefix("user:") {
      all = users.map { "user:\($0)" }
    } else if typed.hasPrefix("group:") {
      all = groups.map { "group:\($0)" } + ["group:everyone"]
    } else {
      all += ["user:", "group:"]
      // By the bare name they are found as well.
      if !typed.isEmpty { all += users + groups }
    }
    return EntryCompletion.sorted(all, typed)
  }

  /// How the entry may go on.
  package func entries(_ typed: String) -> [String] {
    var parts = typed.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
    guard let word = parts.popLast() else { return [] }
    guard let who = parts.first else {
      let found = identities(typed)
      guard found.count == 1, let only = found.first, !only.hasSuffix(":") else { return found }
      return ["\(only) allow", "\(only) deny"]
    }
    let isMarked = parts.count == 2 && parts[1] == AccessWords.inherited
    if parts.count == 1 || isMarked {
      let before = parts.joined(separator: " ")
      let found = EntryCompletion.sorted(["allow", "deny"], word)
      guard found.count == 1, let verb = found.first else { return found.map { "\(before) \($0)" } }
      return EntryCompletion.words.map { "\(before) \(verb) \($0)" }
    }
    guard !who.isEmpty, parts.count == 2 || (parts.count == 3 && parts[1] == AccessWords.inherited) else {
      return []
    }
    var listed = word.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    let last = listed.popLast() ?? ""
    let before = (parts + [listed.map { "\($0)," }.joined()]).joined(separator: " ")
    let found = EntryCompletion.sorted(EntryCompletion.words.filter { !listed.contains($0) }, last)
    guard found.count == 1, let only = found.first else { return found.map { before + $0 } }
    return [before + only, before + only + ","]
  }

  /// Rights of files and directories, short words for several, and inheritance.
  private static let words =
    Set(
      AccessWords.rights.flatMap { [$0.onFile, $0.onDirectory] } + AccessWords.shorthands.map(\.word)
        + AccessWords.inheritance.map(\.word)
    ).sorted()

  private static func sorted(_ words: [String], _ typed: String) -> [String] {
    Set(words.filter { $0.hasPrefix(typed) }).sorted()
  }
}
