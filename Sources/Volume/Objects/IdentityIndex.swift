// A hash table of slot numbers. What a slot holds is looked up by the caller, so a cell costs four bytes.

/// Maps hashes to slot numbers by open addressing with linear probing.
///
/// A dictionary would keep a copy of every identity, 40 bytes a node.
struct IdentityIndex {
  /// Slot number plus one; 0 is a free cell.
  private var cells: [UInt32] = Array(repeating: 0, count: 64)
  private var count = 0

  private var mask: Int { cells.count - 1 }

  private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

  /// The first slot in the run of `hash` that is the one meant.
  func first(_ hash: UInt64, where isMeant: (UInt32) -> Bool) -> UInt32? {
    var cell = home(hash)
    while cells[cell] != 0 {
      let slot = cells[cell] - 1
      if isMeant(slot) { return slot }
      cell = (cell + 1) & mask
    }
    return nil
  }

  /// `hashOf`: the hash of a slot that is in the table, for when it grows.
  mutating func insert(_ slot: UInt32, hash: UInt64, hashOf: (UInt32) -> UInt64) {
    if (count + 1) * 2 > cells.count { grow(hashOf) }
    put(slot, hash)
    count += 1
  }

  private mutating func put(_ slot: UInt32, _ hash: UInt64) {
    var cell = home(hash)
    while cells[cell] != 0 { cell = (cell + 1) & mask }
    cells[cell] = slot + 1
  }

  private mutating func grow(_ hashOf: (UInt32) -> UInt64) {
    let old = cells
    cells = Array(repeating: 0, count: old.count * 2)
    for cell in old where cell != 0 { put(cell - 1, hashOf(cell - 1)) }
  }

  mutating func remove(_ slot: UInt32, hash: UInt64, hashOf: (UInt32) -> UInt64) {
    var hole = home(hash)
    while cells[hole] != slot + 1 {
      guard cells[hole] != 0 else { return }
      hole = (hole + 1) & mask
    }
    // What stands behind moves up where its own run allows it, so that no tombstone is ever needed.
    var next = (hole + 1) & mask
    while cells[next] != 0 {
      let wanted = home(hashOf(cells[next] - 1))
      if (next - wanted) & mask >= (next - hole) & mask {
        cells[hole] = cells[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    cells[hole] = 0
    count -= 1
  }
}
