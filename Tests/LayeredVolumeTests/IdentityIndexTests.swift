import Randomness
import Testing

@testable import LayeredVolume

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
