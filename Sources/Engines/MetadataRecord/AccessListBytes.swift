// The stored form of an access list, format 1: twelve bytes of header, twelve bytes an entry.
//
// Identities are class and number, so that the real group 12 of a Linux system is not taken for "everyone", as
// it would be in the GUIDs of macOS. The layout is described in docs/FORMATS.md.

package import AccessControl

/// The stored form of access lists.
package enum AccessListBytes {
  // On disk since format 1. Never renumber.
  static let magic: UInt8 = 0xAC
  static let version: UInt8 = 1
  static let headerSize = 12
  static let entrySize = 12
  static let checksumOffset = 8

  /// The list as it is stored.
  ///
  /// Bits that exist only in requests are left behind.
  package static func encode(_ list: AccessList) throws(TooManyEntries) -> [UInt8] {
    guard list.entries.count <= AccessList.entryLimit, let count = UInt16(exactly: list.entries.count)
    else { throw TooManyEntries() }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headerSize + list.entries.count * entrySize)
    bytes.append(magic)
    bytes.append(version)
    bytes.append(littleEndian: count)
    bytes.append(littleEndian: list.flags.rawValue)
    bytes.append(littleEndian: UInt32(0))
    for entry in list.entries {
      let (identityClass, number) = stored(entry.identity)
      bytes.append(identityClass)
      bytes.append(entry.kind.rawValue)
      bytes.append(littleEndian: entry.inheritance.intersection(.all).rawValue)
      bytes.append(littleEndian: number)
      bytes.append(littleEndian: entry.rights.intersection(.storable).rawValue)
    }
    bytes.seal(at: checksumOffset)
    return bytes
  }

  /// Reads a stored list.
  ///
  /// Anything out of order is damage: half a list is worse than none.
  package static func decode(_ bytes: Span<UInt8>) throws(Damage) -> AccessList {
    var cursor = ByteCursor()
    try cursor.begin(bytes, magic: magic, version: version, headerSize: headerSize)
    let count = Int(try cursor.next(UInt16.self, of: bytes))
    let flags = AccessList.Flags(rawValue: try cursor.next(UInt32.self, of: bytes))
    try cursor.requireChecksum(of: bytes)
    // Before anything is allocated: a size comes from outside.
    guard count <= AccessList.entryLimit else { throw .tooManyEntries(count) }
    guard bytes.count >= headerSize + count * entrySize else { throw .tooShort }
    guard bytes.count == headerSize + count * entrySize else { throw .trailingBytes }

    var list = AccessList(flags: flags)
    list.entries.reserveCapacity(count)
    for index in 0..<count {
      let identityClass = try cursor.next(UInt8.self, of: bytes)
      guard let kind = AccessEntry.Kind(rawValue: try cursor.next(UInt8.self, of: bytes)) else {
        throw .badField(.kind(entry: index))
      }
      let inheritance = AccessEntry.Inheritance(rawValue: try cursor.next(UInt16.self, of: bytes))
      guard inheritance.isSubset(of: .all) else { throw .badField(.inheritance(entry: index)) }
      let identity = try identity(identityClass, try cursor.next(UInt32.self, of: bytes), entry: index)
      let rights = Rights(rawValue: try cursor.next(UInt32.self, of: bytes)).intersection(.storable)
      list.entries.append(AccessEntry(kind, identity, rights, inheritance))
    }
    return list
  }

  // On disk since format 1. Never renumber.
  private static func stored(_ identity: Identity) -> (class: UInt8, number: UInt32) {
    switch identity {
    case .user(let uid): (0, uid)
    case .group(let gid): (1, gid)
    case .everyone: (2, 0)
    case .owner: (3, 0)
    case .owningGroup: (4, 0)
    case .nobody: (5, 0)
    }
  }

  private static func identity(
    _ identityClass: UInt8, _ number: UInt32, entry: Int
  ) throws(Damage) -> Identity {
    let special: Identity
    switch identityClass {
    case 0: return .user(number)
    case 1: return .group(number)
    case 2: special = .everyone
    case 3: special = .owner
    case 4: special = .owningGroup
    case 5: special = .nobody
    default: throw .badField(.identityClass(entry: entry))
    }
    guard number == 0 else { throw .badField(.strayNumber(entry: entry)) }
    return special
  }
}
