// Entries of a list and entries of NFSv4: the same rights under other numbers, and names in place of ids.

/// Why bytes of an NFSv4 list cannot be stored.
///
/// The door answers EINVAL to all of them.
package enum NFSv4Failure: Error, Hashable, Sendable {
  case malformed
  case unknownType(UInt32)
  case unknownFlags(UInt32)
  /// Bits no right stands for: retention and whatever comes later.
  case unknownRights(UInt32)
  /// Nobody is called so here, or the name is not text.
  case unknownName(String)
  case foreignDomain(String)
  case tooManyEntries
}

enum NFSv4Mapping {
  static let rights: [(mask: UInt32, right: Rights)] = [
    (0x00_0001, .read), (0x00_0002, .write), (0x00_0004, .append), (0x00_0008, .readExtended),
    (0x00_0010, .writeExtended), (0x00_0020, .execute), (0x00_0040, .deleteChild),
    (0x00_0080, .readAttributes), (0x00_0100, .writeAttributes), (0x01_0000, .delete),
    (0x02_0000, .readSecurity), (0x04_0000, .writeSecurity), (0x08_0000, .takeOwnership),
    (0x10_0000, .synchronize),
  ]

  static let inheritance: [(flag: UInt32, inheritance: AccessEntry.Inheritance)] = [
    (0x01, .fileInherit), (0x02, .directoryInherit), (0x04, .limitInherit), (0x08, .onlyInherit),
    (0x10, .auditSuccess), (0x20, .auditFailure), (0x80, .inherited),
  ]

  static let groupFlag: UInt32 = 0x40

  static let kinds: [AccessEntry.Kind] = [.allow, .deny, .audit, .alarm]

  static let specials: [(who: String, identity: Identity)] = [
    ("OWNER@", .owner), ("GROUP@", .owningGroup), ("EVERYONE@", .everyone),
    // Not of NFSv4, but tools pass it through, and the entry survives.
    ("NOBODY@", .nobody),
  ]

  static func mask(of rights: Rights) -> UInt32 {
    // NFSv4 has no generic bits: what they stand for is written out.
    let expanded = rights.expanded
    return self.rights.reduce(0) { expanded.contains($1.right) ? $0 | $1.mask : $0 }
  }

  static func rights(of mask: UInt32) throws(NFSv4Failure) -> Rights {
    var left = mask
    var result: Rights = []
    for known in rights where mask & known.mask != 0 {
      result.insert(known.right)
      left &= ~known.mask
    }
    guard left == 0 else { throw .unknownRights(left) }
    return result
  }

  static func flags(of entry: AccessEntry) -> UInt32 {
    let isGroup =
      switch entry.identity {
      case .group, .owningGroup: true
      default: false
      }
    return inheritance.reduce(isGroup ? groupFlag : 0) {
      entry.inheritance.contains($1.inheritance) ? $0 | $1.flag : $0
    }
  }

  static func inheritance(of flags: UInt32) throws(NFSv4Failure) -> AccessEntry.Inheritance {
    var left = flags & ~groupFlag
    var result: AccessEntry.Inheritance = []
    for known in inheritance where flags & known.flag != 0 {
      result.insert(known.inheritance)
      left &= ~known.flag
    }
    guard left == 0 else { throw .unknownFlags(left) }
    return result
  }

  static func type(of kind: AccessEntry.Kind) -> UInt32 { UInt32(kind.rawValue) - 1 }

  static func kind(of type: UInt32) throws(NFSv4Failure) -> AccessEntry.Kind {
    guard let kind = kinds.first(where: { self.type(of: $0) == type }) else { throw .unknownType(type) }
    return kind
  }

  // MARK: - Names

  static func who(_ identity: Identity, names book: NameBook) -> String {
    if let special = specials.first(where: { $0.identity == identity }) { return special.who }
    let name: String?
    let number: UInt32
    switch identity {
    case .user(let uid): (name, number) = (book.userName(uid), uid)
    case .group(let gid): (name, number) = (book.groupName(gid), gid)
    case .everyone, .owner, .owningGroup, .nobody: return ""
    }
    guard let name, isSafe(name) else { return "\(number)" }
    return name
  }

  /// Whether a name comes back as the same account: not a number, and without anything that ends it.
  private static func isSafe(_ name: String) -> Bool {
    !name.isEmpty && !AccessListText.isNumber(name)
      && name.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "@" && $0 != ":" }
  }

  static func identity(
    _ bytes: [UInt8], isGroup: Bool, names book: NameBook
  ) throws(NFSv4Failure) -> Identity {
    guard let who = String(validating: bytes, as: UTF8.self) else { throw .unknownName("") }
    if let special = specials.first(where: { $0.who == who }) { return special.identity }
    var name = who
    if let at = who.unicodeScalars.lastIndex(of: "@") {
      guard String(who.unicodeScalars[at...]) == "@localdomain" else { throw .foreignDomain(who) }
      name = String(who.unicodeScalars[..<at])
    }
    // The number is what is stored: a name is looked up once, when the list is set.
    let number =
      if AccessListText.isNumber(name) { UInt32(name) } else { isGroup ? book.group(name) : book.user(name) }
    guard let number else { throw .unknownName(who) }
    return isGroup ? .group(number) : .user(number)
  }
}
