// The keybag: the master key of a volume, once for each keyfile that opens it. Nothing in it is secret without a keyfile.

/// One keyfile's way to the master key.
package struct Keyslot: Hashable, Sendable {
  package static let size = 128
  /// The associated data of the wrapped key: this label, the volume, then these bytes of the slot.
  package static let associatedLabel = Array("EAR1/slot".utf8)
  package static let authenticated = 0..<56

  package let keyfile: Bytes16
  package let salt: Bytes32
  package let wrapped: WrappedKey

  package init(keyfile: Bytes16, salt: Bytes32, wrapped: WrappedKey) {
    self.keyfile = keyfile
    self.salt = salt
    self.wrapped = wrapped
  }

  init?(decoding bytes: Span<UInt8>, at offset: Int) throws(FormatDamage) {
    let kind = bytes[offset]
    if kind == 0 {
      guard bytes.isZero(offset..<offset + Keyslot.size) else { throw .reserved }
      return nil
    }
    guard kind == 1 else { throw .field(.kind) }
    guard bytes.isZero(offset + 1..<offset + 8), bytes.isZero(offset + 116..<offset + 128) else {
      throw .reserved
    }
    self.init(
      keyfile: Bytes16(bytes, at: offset + 8), salt: Bytes32(bytes, at: offset + 24),
      wrapped: WrappedKey(bytes, at: offset + 56))
  }

  package func encode(into bytes: inout MutableSpan<UInt8>, at offset: Int) {
    bytes[offset] = 1
    keyfile.store(in: &bytes, at: offset + 8)
    salt.store(in: &bytes, at: offset + 24)
    wrapped.store(in: &bytes, at: offset + 56)
  }
}

/// The keybag of a volume.
package struct Keybag: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  private static let magic: UInt64 = 0x1A0A_0D31_424B_4589
  private static let version: UInt16 = 1
  private static let headerSize = 128
  package static let slotLimit = 64
  /// The code over the whole file with this field zero.
  package static let code = 96..<128

  /// The bytes of a stored keybag that are authenticated with the wrapped key of a slot.
  package static func authenticated(_ index: Int) -> Range<Int> {
    let start = headerSize + index * Keyslot.size
    return start + Keyslot.authenticated.lowerBound..<start + Keyslot.authenticated.upperBound
  }

  /// The longest keybag.
  package static let longest = headerSize + slotLimit * Keyslot.size

  package let volume: Bytes16
  package private(set) var generation: UInt64
  /// Derived from the master key: commits to it.
  package let checkValue: Bytes32
  /// By position; nil for an empty one.
  package private(set) var slots: [Keyslot?]

  package init(volume: Bytes16, checkValue: Bytes32, first: Keyslot) {
    self.volume = volume
    self.checkValue = checkValue
    generation = 1
    slots = [first]
  }

  package enum Refusal: Error, Hashable, Sendable {
    case full
    case lastSlot
    case noSuchSlot
    case noMoreGenerations
  }

  package mutating func add(_ slot: Keyslot) throws(Refusal) {
    guard generation < .max else { throw .noMoreGenerations }
    if let empty = slots.firstIndex(where: { $0 == nil }) {
      slots[empty] = slot
    } else {
      guard slots.count < Keybag.slotLimit else { throw .full }
      slots.append(slot)
    }
    generation += 1
  }

  package mutating func remove(at index: Int) throws(Refusal) {
    guard slots.indices.contains(index), slots[index] != nil else { throw .noSuchSlot }
    guard slots.count(where: { $0 != nil }) > 1 else { throw .lastSlot }
    guard generation < .max else { throw .noMoreGenerations }
    slots[index] = nil
    generation += 1
  }

  package func hasSlot(of keyfile: Bytes16) -> Bool { slots.contains { $0?.keyfile == keyfile } }

  /// The slots to try for a keyfile: those that name it, then the others.
  package func order(for keyfile: Bytes16) -> [Int] {
    let used = slots.indices.filter { slots[$0] != nil }
    return used.filter { slots[$0]?.keyfile == keyfile } + used.filter { slots[$0]?.keyfile != keyfile }
  }

  /// How an attempt to unlock ends if no slot opens: with a slot of its own that does not, the keybag is damaged.
  package func failure(for keyfile: Bytes16) -> UnlockFailure {
    hasSlot(of: keyfile) ? .damaged : .wrongKey
  }

  package init(decoding bytes: Span<UInt8>) throws(FormatDamage) {
    guard bytes.count >= Keybag.headerSize else { throw .length }
    guard bytes.word(UInt64.self, at: 0) == Keybag.magic else { throw .magic }
    let version = bytes.word(UInt16.self, at: 8)
    guard version == Keybag.version else { throw .unknown(.version(version)) }
    guard bytes.word(UInt16.self, at: 10) == UInt16(Keybag.headerSize) else { throw .length }
    let count = Int(bytes.word(UInt16.self, at: 12))
    guard (1...Keybag.slotLimit).contains(count) else { throw .field(.count) }
    guard bytes.count == Keybag.headerSize + count * Keyslot.size else { throw .length }
    let required = bytes.word(UInt64.self, at: 40)
    guard required == 0 else { throw .unknown(.required(required)) }
    guard bytes.isZero(14..<16), bytes.isZero(56..<64) else { throw .reserved }
    volume = Bytes16(bytes, at: 16)
    generation = bytes.word(UInt64.self, at: 32)
    checkValue = Bytes32(bytes, at: 64)
    slots = []
    for index in 0..<count {
      slots.append(try Keyslot(decoding: bytes, at: Keybag.headerSize + index * Keyslot.size))
    }
    compatible = bytes.word(UInt64.self, at: 48)
  }

  /// Features that older versions may ignore, and keep.
  private var compatible: UInt64 = 0

  /// The keybag as it is stored, with zeros for its code.
  package func encoded() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Keybag.headerSize + slots.count * Keyslot.size)
    var span = bytes.mutableSpan
    span.store(Keybag.magic, at: 0)
    span.store(Keybag.version, at: 8)
    span.store(UInt16(Keybag.headerSize), at: 10)
    span.store(UInt16(slots.count), at: 12)
    volume.store(in: &span, at: 16)
    span.store(generation, at: 32)
    span.store(compatible, at: 48)
    checkValue.store(in: &span, at: 64)
    for (index, slot) in slots.enumerated() {
      slot?.encode(into: &span, at: Keybag.headerSize + index * Keyslot.size)
    }
    return bytes
  }
}

/// Why a keyfile did not unlock a volume.
package enum UnlockFailure: Hashable, Sendable {
  /// EKEYREJECTED, unless the copy opens and shows that the keybag is damaged.
  case wrongKey
  /// EBADMSG, or the keybag is missing: the copy is tried.
  case damaged
}
