// A stand-in for AES-GCM: a hash for a tag, and ciphertext that is its plaintext. Damage is found, nothing is secret.

import CrashDisk
import SealedFormat

enum ToyCipher {
  static let file = Bytes16(low: 0x4746_4544_4342_4140, high: 0x4F4E_4D4C_4B4A_4948)

  private static func mix(_ state: inout (UInt64, UInt64), _ word: UInt64) {
    state.0 = (state.0 ^ word) &* 0x9E37_79B9_7F4A_7C15
    state.0 ^= state.0 >> 29
    state.1 = (state.1 &+ state.0 &+ word) &* 0xBF58_476D_1CE4_E5B9
    state.1 ^= state.1 >> 31
  }

  private static func mix(_ state: inout (UInt64, UInt64), _ bytes: Span<UInt8>, _ count: Int) {
    var offset = 0
    while offset < count {
      var word: UInt64 = 0
      for index in offset..<min(offset + 8, count) { word = word << 8 | UInt64(bytes[index]) }
      mix(&state, word)
      offset += 8
    }
  }

  private static func tag(_ state: (UInt64, UInt64)) -> Bytes16 { Bytes16(low: state.0, high: state.1 | 1) }

  static func tag(of sectors: [Sector], nonce: Nonce, data: InlineArray<40, UInt8>) -> Bytes16 {
    var state: (UInt64, UInt64) = (nonce.random, UInt64(nonce.counter))
    mix(&state, data.span, 40)
    for sector in sectors { mix(&state, sector.span, 512) }
    return tag(state)
  }

  static func seal(_ sector: Sector, prefix: Span<UInt8>, nonce: Nonce) -> Seal {
    var state: (UInt64, UInt64) = (nonce.random, UInt64(nonce.counter))
    mix(&state, prefix, prefix.count)
    mix(&state, sector.span, 480)
    return Seal(nonce: nonce, tag: tag(state))
  }

  static func verifies(_ version: Version, of block: Block, on disk: CrashDisk) -> Bool {
    let sectors: [Sector]
    switch version.target {
    case .invalid: return false
    case .hole: sectors = []
    case .page(let page):
      guard let found = disk.page(page.number) else { return false }
      sectors = found
    }
    let data = version.associatedData(file: file, block: block)
    return tag(of: sectors, nonce: version.nonce, data: data) == version.tag
  }

  static func sealed(_ slot: Slot, random: UInt64) throws -> Sector {
    var sector = CrashDisk.zeros
    var span = sector.mutableSpan
    try slot.encode(into: &span)
    let nonce = slot.nonce(random: random)
    let prefix = Slot.associatedPrefix(file: file)
    let seal = seal(sector, prefix: prefix.span, nonce: nonce)
    var again = sector.mutableSpan
    try Slot.put(seal, into: &again)
    return sector
  }

  static func slot(_ half: Half, on disk: CrashDisk) -> Slot? {
    let sector = disk.sector(Slot.offset(half) / 512)
    guard let stored = try? Slot.seal(of: sector.span), let slot = try? Slot(decoding: sector.span) else {
      return nil
    }
    let prefix = Slot.associatedPrefix(file: file)
    return seal(sector, prefix: prefix.span, nonce: stored.nonce) == stored ? slot : nil
  }

  /// Whether the seal of an index sector holds.
  static func holds(_ sector: Sector, of block: Block) -> Bool {
    switch try? IndexSector.form(sector.span) {
    case .empty: return true
    case .sealed(let stored):
      let prefix = IndexSector.associatedPrefix(file: file, block: block)
      return seal(sector, prefix: prefix.span, nonce: stored.nonce) == stored
    default: return false
    }
  }

  static func closed(_ sector: Sector, of block: Block, random: UInt64) throws -> Sector {
    var sector = sector
    let nonce = try IndexSector.nonce(for: sector.span, random: random)
    let prefix = IndexSector.associatedPrefix(file: file, block: block)
    var seal: Seal?
    if let nonce { seal = Self.seal(sector, prefix: prefix.span, nonce: nonce) }
    var span = sector.mutableSpan
    try IndexSector.close(&span, with: seal)
    return sector
  }

  static let header: Sector = {
    var sector = CrashDisk.zeros
    let wrapped = WrappedKey(nonce: Nonce(random: 7, counter: 7), ciphertext: .zero, tag: .zero)
    let header = StaticSector(.complete, volume: .zero, file: file, wrapped: wrapped)
    var span = sector.mutableSpan
    try? header.encode(into: &span)
    return sector
  }()
}
