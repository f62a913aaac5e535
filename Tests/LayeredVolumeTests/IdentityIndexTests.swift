import Testing

@testable import LayeredVolume

/// A small generator with a seed, so that a failure can be repeated.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

@Suite("The index of identities") struct IdentityIndexTests {
  @Test("Whatever is put in and taken out, it finds what a dictionary finds", arguments: [1, 2, 3, 4])
  func agreesWithADictionary(_ seed: UInt64) {
    var dice = Dice(seed: seed)
    var index = IdentityIndex()
    // Hashes from a small range collide all the time, which is what the runs have to survive.
    var hashes: [UInt32: UInt64] = [:]
    for _ in 0..<20_000 {
      let slot = UInt32.random(in: 0..<500, using: &dice)
      if let hash = hashes[slot] {
        index.remove(slot, hash: hash) { hashes[$0] ?? 0 }
        hashes[slot] = nil
      } else {
        let hash = UInt64.random(in: 0..<90, using: &dice) * 37
        hashes[slot] = hash
        index.insert(slot, hash: hash) { hashes[$0] ?? 0 }
      }
      let probe = UInt32.random(in: 0..<500, using: &dice)
      let found = index.first(hashes[probe] ?? 0) { $0 == probe }
      if (found == probe) != (hashes[probe] != nil) {
        Issue.record("seed \(seed): slot \(probe) found \(String(describing: found))")
        return
      }
    }
    for (slot, hash) in hashes where index.first(hash, where: { $0 == slot }) != slot {
      Issue.record("seed \(seed): slot \(slot) is lost")
    }
  }
}
