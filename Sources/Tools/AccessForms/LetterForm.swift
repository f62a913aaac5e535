// Entries in letters: the notation of the NFSv4 tools of Linux, and that of ZFS on Solaris and FreeBSD.

import AccessControl

/// Entries as letters.
enum LetterForm {
  /// Rights with their letters in both notations, in the order in which ZFS prints them.
  private static let letters: [(right: Rights, nfs4: Character, zfs: Character)] = [
    (.read, "r", "r"), (.write, "w", "w"), (.execute, "x", "x"), (.append, "a", "p"),
    (.deleteChild, "D", "D"), (.delete, "d", "d"),
    (.readAttributes, "t", "a"), (.writeAttributes, "T", "A"),
    (.readExtended, "n", "R"), (.writeExtended, "N", "W"),
    (.readSecurity, "c", "c"), (.writeSecurity, "C", "C"),
    (.takeOwnership, "o", "o"), (.synchronize, "y", "s"),
  ]

  /// The order in which nfs4_getfacl prints rights.
  private static let nfs4Order = "rwaDdxtTnNcCoy"

  /// Inheritance, whose letters are those of both notations.
  private static let travels: [(flag: AccessEntry.Inheritance, letter: Character)] = [
    (.fileInherit, "f"), (.directoryInherit, "d"), (.onlyInherit, "i"), (.limitInherit, "n"),
    (.auditSuccess, "S"), (.auditFailure, "F"),
    // nfs4_getfacl has no letter for it and prints none; NFSv4.1 calls the bit INHERITED.
    (.inherited, "I"),
  ]

  private static let kinds: [(kind: AccessEntry.Kind, nfs4: Character, zfs: String)] = [
    (.allow, "A", "allow"), (.deny, "D", "deny"), (.audit, "U", "audit"), (.alarm, "L", "alarm"),
  ]

  private static let specials: [(identity: Identity, nfs4: String, zfs: String)] = [
    (.owner, "OWNER@", "owner@"), (.owningGroup, "GROUP@", "group@"), (.everyone, "EVERYONE@", "everyone@"),
    (.nobody, "NOBODY@", "nobody@"),
  ]

  // MARK: - NFSv4

  static func nfs4(_ entry: AccessEntry, names: NameBook, numeric: Bool) -> String {
    let kind = kinds.first { $0.kind == entry.kind }?.nfs4 ?? "A"
    var flags = travels.filter { entry.inheritance.contains($0.flag) }.map { String($0.letter) }.joined()
    let isGroup =
      switch entry.identity {
      case .group, .owningGroup: true
      default: false
      }
    if isGroup { flags += "g" }
    let rights = entry.rights.expanded
    let known = nfs4Order.filter { character in
      letters.contains { $0.nfs4 == character && rights.contains($0.right) }
    }
    let who =
      specials.first { $0.identity == entry.identity }?.nfs4
      ?? bareName(entry.identity, names: names, numeric: numeric)
    return "\(kind):\(flags):\(who):\(known)"
  }

  static func readNFSv4(_ text: String, names: NameBook) throws(FormatFailure) -> AccessEntry {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 4 else { throw FormatFailure("TYPE:FLAGS:WHO:RIGHTS was expected: '\(text)'") }
    guard let kind = kinds.first(where: { String($0.nfs4) == parts[0] })?.kind else {
      throw FormatFailure("'\(parts[0])' is not a type: A, D, U and L are")
    }
    let isGroup = parts[1].contains("g")
    let inheritance = try union(parts[1], "a flag of an NFSv4 entry") { letter in
      letter == "g" ? [] : travels.first { $0.letter == letter }?.flag
    }
    let identity: Identity
    if let special = specials.first(where: { $0.nfs4 == parts[2].uppercased() })?.identity {
      identity = special
    } else {
      identity = try reading(
        AccessListText.readIdentity((isGroup ? "group:" : "user:") + parts[2], names: names))
    }
    return AccessEntry(kind, identity, try nfs4Rights(parts[3]), inheritance)
  }

  private static func nfs4Rights(_ text: String) throws(FormatFailure) -> Rights {
    try union(text, "a right of an NFSv4 entry") { letter in
      switch letter {
      // What nfs4_setfacl reads as short for several.
      case "R": [.read, .readExtended, .readAttributes, .readSecurity, .synchronize]
      case "W":
        [.write, .append, .writeExtended, .writeAttributes, .readSecurity, .writeSecurity, .synchronize]
      case "X": [.execute, .readAttributes, .readSecurity, .synchronize]
      default: letters.first { $0.nfs4 == letter }?.right
      }
    }
  }

  /// What all letters of a text stand for; `meaning` is nil for one that is not `kind`, which has its article.
  private static func union<Set: OptionSet>(
    _ text: String, _ kind: String, _ meaning: (Character) -> Set?
  ) throws(FormatFailure) -> Set {
    var set: Set = []
    for letter in text {
      guard let part = meaning(letter) else { throw FormatFailure("'\(letter)' is not \(kind)") }
      set.formUnion(part)
    }
    return set
  }

  // MARK: - ZFS

  static func zfs(_ entry: AccessEntry, names: NameBook, numeric: Bool) -> String {
    let expanded = entry.rights.expanded
    let rights = letters.map { expanded.contains($0.right) ? $0.zfs : "-" }
    let flags = travels.map { entry.inheritance.contains($0.flag) ? $0.letter : "-" }
    let kind = kinds.first { $0.kind == entry.kind }?.zfs ?? ""
    let who: String
    switch entry.identity {
    case .user: who = "user:" + bareName(entry.identity, names: names, numeric: numeric)
    case .group: who = "group:" + bareName(entry.identity, names: names, numeric: numeric)
    default: who = specials.first { $0.identity == entry.identity }?.zfs ?? ""
    }
    return "\(who):\(String(rights)):\(String(flags)):\(kind)"
  }

  static func readZFS(_ text: String, names: NameBook) throws(FormatFailure) -> AccessEntry {
    var parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count >= 4 else { throw FormatFailure("WHO:RIGHTS:FLAGS:TYPE was expected: '\(text)'") }
    let type = parts.removeLast()
    guard let kind = kinds.first(where: { $0.zfs == type })?.kind else {
      throw FormatFailure("'\(type)' is not a type: allow, deny, audit and alarm are")
    }
    let inheritance = try union(parts.removeLast(), "an inheritance flag of a ZFS entry") { letter in
      letter == "-" ? [] : travels.first { $0.letter == letter }?.flag
    }
    let rights = try union(parts.removeLast(), "a right of a ZFS entry") { letter in
      letter == "-" ? [] : letters.first { $0.zfs == letter }?.right
    }
    let who = parts.joined(separator: ":")
    if let special = specials.first(where: { $0.zfs == who })?.identity {
      return AccessEntry(kind, special, rights, inheritance)
    }
    return AccessEntry(
      kind, try reading(AccessListText.readIdentity(who, names: names)), rights, inheritance)
  }

  // MARK: - Names

  /// The name or number without the class in front of it.
  private static func bareName(_ identity: Identity, names: NameBook, numeric: Bool) -> String {
    let text = AccessListText.print(identity, names: names, numeric: numeric)
    let name = text.split(separator: ":", maxSplits: 1).last.map { String($0) } ?? text
    guard name.contains(where: { $0 == ":" || $0 == "@" || $0 == " " }) else { return name }
    return bareName(identity, names: .numeric, numeric: true)
  }
}
