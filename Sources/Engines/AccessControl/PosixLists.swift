// POSIX access control lists, as Linux stores them: bytes, text, and what they decide.
//
// The volume has none of its own. A tree may bring them along, and `varve acl import` makes entries of them.
//
// For trees with POSIX lists that become volumes: what an import makes of one is held against an obvious reading of
// POSIX.1e (`PosixImportTests`).

/// One POSIX list: three classes, further users and groups, and the mask that bounds all but owner and others.
package struct PosixList: Hashable, Sendable {
  /// `r`, `w` and `x`, as the three bits of a mode.
  package typealias Bits = UInt8

  package var owner: Bits
  package var users: [UInt32: Bits]
  package var group: Bits
  package var groups: [UInt32: Bits]
  /// Nil only where there are no further users and groups.
  package var mask: Bits?
  package var other: Bits

  package init(
    owner: Bits, users: [UInt32: Bits] = [:], group: Bits, groups: [UInt32: Bits] = [:], mask: Bits? = nil,
    other: Bits
  ) {
    (self.owner, self.users, self.group, self.groups, self.other) = (owner, users, group, groups, other)
    self.mask = mask ?? (users.isEmpty && groups.isEmpty ? nil : 7)
  }

  /// Whether it says more than the nine bits of a mode.
  package var isExtended: Bool { mask != nil }

  /// The owning group's permissions as they count.
  package var maskedGroup: Bits { group & (mask ?? 7) }

  /// The nine bits of a mode that say the same of owner, owning group and others.
  package var modeBits: UInt16 {
    UInt16(owner) << 6 | UInt16(maskedGroup) << 3 | UInt16(other)
  }

  /// The nine bits that the kernel shows: those of the group are the mask.
  package var shownModeBits: UInt16 { UInt16(owner) << 6 | UInt16(mask ?? group) << 3 | UInt16(other) }

  // MARK: - The kernel's bytes

  // Numbers of the kernel's interface.
  private static let version: [UInt8] = [2, 0, 0, 0]
  private enum Tag: UInt8 {
    case owner = 0x01
    case user = 0x02
    case group = 0x04
    case namedGroup = 0x08
    case mask = 0x10
    case other = 0x20
  }

  /// Reads what `system.posix_acl_access` and `_default` hold; nil for what is not such a list.
  package init?(bytes: [UInt8]) {
    guard bytes.count >= 4, bytes.count % 8 == 4, Array(bytes[0..<4]) == PosixList.version else { return nil }
    var single: [Tag: Bits] = [:]
    var (users, groups): ([UInt32: Bits], [UInt32: Bits]) = ([:], [:])
    for start in stride(from: 4, to: bytes.count, by: 8) {
      guard bytes[start + 1] == 0, let tag = Tag(rawValue: bytes[start]), bytes[start + 2] <= 7,
        bytes[start + 3] == 0
      else { return nil }
      let bits = bytes[start + 2]
      let number = (4..<8).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[start + $1]) }
      let former: Bits? =
        switch tag {
        case .user: users.updateValue(bits, forKey: number)
        case .namedGroup: groups.updateValue(bits, forKey: number)
        default: single.updateValue(bits, forKey: tag)
        }
      guard former == nil else { return nil }
    }
    self.init(single[.owner], users, single[.group], groups, single[.mask], single[.other])
  }

  private init?(
    _ owner: Bits?, _ users: [UInt32: Bits], _ group: Bits?, _ groups: [UInt32: Bits], _ mask: Bits?,
    _ other: Bits?
  ) {
    guard let owner, let group, let other, mask != nil || (users.isEmpty && groups.isEmpty) else {
      return nil
    }
    self.init(owner: owner, users: users, group: group, groups: groups, mask: mask, other: other)
  }

  /// The bytes to store.
  package var bytes: [UInt8] {
    var bytes = PosixList.version
    func add(_ tag: Tag, _ bits: Bits, _ number: UInt32 = .max) {
      bytes += [tag.rawValue, 0, bits, 0]
      for index in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(index * 8))) }
    }
    add(.owner, owner)
    for (user, bits) in users.sorted(by: { $0.key < $1.key }) { add(.user, bits, user) }
    add(.group, group)
    for (group, bits) in groups.sorted(by: { $0.key < $1.key }) { add(.namedGroup, bits, group) }
    if let mask { add(.mask, mask) }
    add(.other, other)
    return bytes
  }

  // MARK: - Text

  /// `user::rw-`, `user:1000:r--` and so on, as `getfacl -n` prints them.
  package var lines: [String] {
    func line(_ what: String, _ bits: Bits) -> String {
      what + ":" + [(4, "r"), (2, "w"), (1, "x")].map { bits & $0.0 != 0 ? $0.1 : "-" }.joined()
    }
    return [line("user:", owner)] + users.sorted { $0.key < $1.key }.map { line("user:\($0.key)", $0.value) }
      + [line("group:", group)] + groups.sorted { $0.key < $1.key }.map { line("group:\($0.key)", $0.value) }
      + (mask.map { [line("mask:", $0)] } ?? []) + [line("other:", other)]
  }

  /// Reads what `lines` prints; nil for anything else.
  package init?(lines: [Substring]) {
    var (owner, group, mask, other): (Bits?, Bits?, Bits?, Bits?) = (nil, nil, nil, nil)
    var (users, groups): ([UInt32: Bits], [UInt32: Bits]) = ([:], [:])
    for line in lines {
      let parts = line.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 3, let bits = PosixList.bits(parts[2]) else { return nil }
      let former: Bits?
      switch (parts[0], parts[1]) {
      case ("user", ""): (former, owner) = (owner, bits)
      case ("group", ""): (former, group) = (group, bits)
      case ("mask", ""): (former, mask) = (mask, bits)
      case ("other", ""): (former, other) = (other, bits)
      case ("user", let number): former = PosixList.add(bits, number, to: &users)
      case ("group", let number): former = PosixList.add(bits, number, to: &groups)
      default: return nil
      }
      guard former == nil else { return nil }
    }
    self.init(owner, users, group, groups, mask, other)
  }

  /// Answers what stood there, or bits if `number` is none.
  private static func add(_ bits: Bits, _ number: Substring, to table: inout [UInt32: Bits]) -> Bits? {
    guard number.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt32(number), number != .max else {
      return bits
    }
    return table.updateValue(bits, forKey: number)
  }

  private static func bits(_ text: Substring) -> Bits? {
    let letters = Array(text)
    guard letters.count == 3 else { return nil }
    var bits: Bits = 0
    for (index, letter) in letters.enumerated() {
      if letter == Array("rwx")[index] { bits |= 4 >> index } else if letter != "-" { return nil }
    }
    return bits
  }
}

/// Both lists of an item.
package struct PosixLists: Hashable, Sendable {
  /// Who may do what with it; nil if the mode says it all.
  package var access: PosixList?
  /// What is made in a directory gets this one; nil: nothing is handed down.
  package var initial: PosixList?

  package init(access: PosixList? = nil, initial: PosixList? = nil) {
    (self.access, self.initial) = (access, initial)
  }

  package var isEmpty: Bool { access == nil && initial == nil }

  /// The lines of both with commas between them, those of the second list behind `default:`.
  package var text: String {
    ((access?.lines ?? []) + (initial?.lines.map { "default:\($0)" } ?? [])).joined(separator: ",")
  }

  /// Reads what `text` writes; nil for anything else.
  package init?(_ text: String) {
    self.init()
    guard !text.isEmpty else { return }
    let lines = text.split(separator: ",", omittingEmptySubsequences: false)
    let prefix = "default:"
    let others = lines.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count) }
    let own = lines.filter { !$0.hasPrefix(prefix) }
    if !own.isEmpty {
      guard let list = PosixList(lines: own), list.isExtended else { return nil }
      access = list
    }
    guard !others.isEmpty else { return }
    guard let list = PosixList(lines: others) else { return nil }
    initial = list
  }
}
