// A hash table of slot numbers. What a slot holds is looked up by the caller, so a place costs four bytes.

/// Maps hashes to slot numbers by open addressing with linear probing.
///
/// A dictionary would keep a copy of every identity, 40 bytes a node.
struct IdentityIndex {
  /// Slot number plus one; 0 is a free place.
  private var places: [UInt32] = Array(repeating: 0, count: 64)
  private var count = 0

  private var mask: Int { places.count - 1 }

  private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

  /// The first slot in the run of `hash` that is the one meant.
  func first(_ hash: UInt64, where isMeant: (UInt32) -> Bool) -> UInt32? {
    var place = home(hash)
    while places[place] != 0 {
      let slot = places[place] - 1
      if isMeant(slot) { return slot }
      place = (place + 1) & mask
    }
    return nil
  }

  /// `hashOf`: the hash of a slot that is in the table, for when it grows.
  mutating func insert(_ slot: UInt32, hash: UInt64, hashOf: (UInt32) -> UInt64) {
    if (count + 1) * 2 > places.count { grow(hashOf) }
    put(slot, hash)
    count += 1
  }

  private mutating func put(_ slot: UInt32, _ hash: UInt64) {
    var place = home(hash)
    while places[place] != 0 { place = (place + 1) & mask }
    places[place] = slot + 1
  }

  private mutating func grow(_ hashOf: (UInt32) -> UInt64) {
    let old = places
    places = Array(repeating: 0, count: old.count * 2)
    for place in old where place != 0 { put(place - 1, hashOf(place - 1)) }
  }

  mutating func remove(_ slot: UInt32, hash: UInt64, hashOf: (UInt32) -> UInt64) {
    var hole = home(hash)
    while places[hole] != slot + 1 {
      guard places[hole] != 0 else { return }
      hole = (hole + 1) & mask
    }
    // What stands behind moves up where its own run allows it, so that no tombstone is ever needed.
    var next = (hole + 1) & mask
    while places[next] != 0 {
      let wanted = home(hashOf(places[next] - 1))
      if (next - wanted) & mask >= (next - hole) & mask {
        places[hole] = places[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    places[hole] = 0
    count -= 1
  }
}
