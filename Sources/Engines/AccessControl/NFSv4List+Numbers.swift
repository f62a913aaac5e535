// `system.nfs4_acl_xdr`, the view for tools made for TrueNAS: the same entries, with numbers in place of names.

extension NFSv4List {
  /// The value of `system.nfs4_acl_xdr`: list flags, count, and twenty bytes an entry.
  ///
  /// Entries about nobody have no number there and are left out; they decide nothing.
  package static func encodeNumbers(_ list: AccessList?, mode: UInt16, for kind: ObjectKind) -> [UInt8] {
    let entries = shown(list, mode: mode, for: kind).filter { $0.identity != .nobody }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + entries.count * 20)
    bytes.append(bigEndian: 0)
    bytes.append(bigEndian: UInt32(truncatingIfNeeded: entries.count))
    for entry in entries {
      let (isSpecial, who) = number(of: entry.identity)
      bytes.append(bigEndian: NFSv4Mapping.type(of: entry.kind))
      bytes.append(bigEndian: NFSv4Mapping.flags(of: entry))
      bytes.append(bigEndian: isSpecial ? 1 : 0)
      bytes.append(bigEndian: NFSv4Mapping.mask(of: entry.rights))
      bytes.append(bigEndian: who)
    }
    return bytes
  }

  /// The entries of `bytes` that are set as `system.nfs4_acl_xdr`.
  package static func decodeNumbers(_ bytes: [UInt8]) throws(NFSv4Failure) -> [AccessEntry] {
    var reader = BigEndianReader(bytes)
    func next() throws(NFSv4Failure) -> UInt32 {
      guard let number = reader.number() else { throw .malformed }
      return number
    }
    // Automatic inheritance, protected, defaulted; "trivial" and "directory", which readers are told.
    let listFlags = try next()
    guard listFlags & ~0x3_0007 == 0 else { throw .unknownFlags(listFlags) }
    let count = try next()
    guard UInt64(count) * 20 == UInt64(reader.remaining) else { throw .malformed }
    guard count <= mostEntries else { throw .tooManyEntries }
    var entries: [AccessEntry] = []
    entries.reserveCapacity(Int(count))
    for _ in 0..<count {
      let kind = try NFSv4Mapping.kind(of: try next())
      let entryFlags = try next()
      let special = try next()
      let inheritance = try NFSv4Mapping.inheritance(of: entryFlags)
      let rights = try NFSv4Mapping.rights(of: try next())
      let who = try next()
      let isGroup = entryFlags & NFSv4Mapping.groupFlag != 0
      let identity = try identity(who, special: special, isGroup: isGroup)
      entries.append(AccessEntry(kind, identity, rights, inheritance))
    }
    return entries
  }

  private static func number(of identity: Identity) -> (isSpecial: Bool, who: UInt32) {
    switch identity {
    case .owner: (true, 1)
    case .owningGroup: (true, 2)
    case .everyone: (true, 3)
    case .user(let uid): (false, uid)
    case .group(let gid): (false, gid)
    case .nobody: (true, 0)
    }
  }

  private static func identity(
    _ who: UInt32, special: UInt32, isGroup: Bool
  ) throws(NFSv4Failure) -> Identity {
    switch (special, who) {
    case (0, _): return isGroup ? .group(who) : .user(who)
    case (1, 1): return .owner
    case (1, 2): return .owningGroup
    case (1, 3): return .everyone
    default: throw .unknownName("\(who)")
    }
  }
}
