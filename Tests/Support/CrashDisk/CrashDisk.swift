// A backing file on a disk that can lose its power: each sector keeps any version written since the last sync, some torn
// between two.

package import Randomness

package typealias Sector = [UInt8]

/// The process was killed, or the power went, at this write.
package struct Interruption: Error {
  package init() {}
}

package final class CrashDisk {
  package static let zeros = Sector(repeating: 0, count: 512)

  /// What a crash finds: a length, and versions for each sector.
  private struct Epoch {
    var durable: [Int: Sector] = [:]
    var durablePages = 0
    var pending: [Int: [(bytes: Sector, mayTear: Bool)]] = [:]
    var lengths: [Int] = []
  }

  private var epochs = [Epoch()]
  private var atSync: [Int: Int] = [:]
  private var lengthAtSync = 0
  private var epochsAtSync = 0
  private(set) var cache: [Int: Sector] = [:]
  package private(set) var pages = 0
  /// Writes until an interruption.
  package var writesLeft: Int?
  package var writes = 0
  package var tears = 0

  package init() {}

  package func sector(_ number: Int) -> Sector { cache[number] ?? CrashDisk.zeros }

  package func page(_ number: UInt64) -> [Sector]? {
    guard number < UInt64(pages) else { return nil }
    return (0..<8).map { sector(Int(number) * 8 + $0) }
  }

  private func count() throws {
    if let left = writesLeft {
      guard left > 0 else { throw Interruption() }
      writesLeft = left - 1
    }
    writes += 1
  }

  /// One pwrite inside one page: a kill falls before or after it.
  package func write(_ sectors: [(Int, Sector)]) throws {
    try count()
    guard let page = sectors.first.map({ $0.0 / 8 }) else { return }
    let current = epochs.count - 1
    let wasDirty = (page * 8..<page * 8 + 8).contains { epochs[current].pending[$0] != nil }
    if page >= pages {
      pages = page + 1
      epochs[current].lengths.append(pages)
    }
    // The whole page is dirty: what a failed sync left behind goes out with it.
    for number in page * 8..<page * 8 + 8 {
      let old = sector(number)
      if epochs[current].pending[number] == nil, epochs[current].durable[number] ?? CrashDisk.zeros != old {
        epochs[current].pending[number] = [(old, false)]
      }
    }
    for (number, bytes) in sectors {
      cache[number] = bytes
      epochs[current].pending[number, default: []].append((bytes, wasDirty))
    }
  }

  package func cut(to length: Int) throws {
    try count()
    guard length < pages else { return }
    pages = length
    cache = cache.filter { $0.key < length * 8 }
    if length == 0 {
      epochs.append(Epoch())
    } else {
      let current = epochs.count - 1
      epochs[current].lengths.append(length)
      for number in epochs[current].pending.keys where number >= length * 8 {
        epochs[current].pending[number] = nil
      }
      epochs[current].durable = epochs[current].durable.filter { $0.key < length * 8 }
    }
  }

  package func beginSync() throws {
    try count()
    epochsAtSync = epochs.count
    atSync = epochs[epochs.count - 1].pending.mapValues(\.count)
    lengthAtSync = pages
  }

  package func endSync() throws {
    try count()
    epochs.removeFirst(epochsAtSync - 1)
    for (number, count) in atSync {
      guard let versions = epochs[0].pending[number], count <= versions.count else { continue }
      epochs[0].durable[number] = versions[count - 1].bytes
      let later = Array(versions[count...])
      epochs[0].pending[number] = later.isEmpty ? nil : later
    }
    epochs[0].durablePages = min(lengthAtSync, epochs.count == 1 ? pages : lengthAtSync)
    epochs[0].lengths.removeAll { $0 <= lengthAtSync }
    if epochs.count == 1, pages != epochs[0].durablePages { epochs[0].lengths.append(pages) }
  }

  package func sync() throws {
    try beginSync()
    try endSync()
  }

  /// fdatasync answers EIO: any part is on the disk, and the kernel takes all of it for clean.
  package func failSync(_ dice: inout Dice) {
    let current = epochs.count - 1
    guard current == 0 else { return }
    for (number, versions) in epochs[0].pending.sorted(by: { $0.key < $1.key }) {
      if let picked = pick(number, versions, epochs[0], &dice) { epochs[0].durable[number] = picked }
    }
    epochs[0].pending = [:]
    epochs[0].durablePages = pages
    epochs[0].lengths = []
  }

  /// Whether a file on the disk is whole, so that a crash cannot leave half a header.
  package var isCreationDurable: Bool { epochs.count == 1 && epochs[0].durablePages > 0 }

  private func pick(
    _ number: Int, _ versions: [(bytes: Sector, mayTear: Bool)], _ epoch: Epoch, _ dice: inout Dice
  ) -> Sector? {
    let choice = dice.below(versions.count + 1)
    let before = choice < 2 ? epoch.durable[number] ?? CrashDisk.zeros : versions[choice - 2].bytes
    guard choice > 0 else { return nil }
    let after = versions[choice - 1]
    guard after.mayTear, dice.once(in: 3), before != after.bytes else { return after.bytes }
    tears += 1
    return CrashDisk.torn(before, after.bytes, dice.next())
  }

  /// Each aligned word is old or new.
  package static func torn(_ before: Sector, _ after: Sector, _ mask: UInt64) -> Sector {
    var mixed = before
    for word in 0..<64 where mask >> UInt64(word) & 1 == 1 {
      mixed.replaceSubrange(word * 8..<word * 8 + 8, with: after[word * 8..<word * 8 + 8])
    }
    return mixed
  }

  /// The power goes: nothing, everything or any part of what was not synced is kept.
  package func losePower(_ dice: inout Dice) {
    let epoch = epochs[dice.once(in: 2) ? epochs.count - 1 : dice.below(epochs.count)]
    let mood = dice.below(6)
    var found: [Int: Sector] = epoch.durable
    for (number, versions) in epoch.pending.sorted(by: { $0.key < $1.key }) {
      switch mood {
      case 0: break
      case 1: found[number] = versions[versions.count - 1].bytes
      default: if let picked = pick(number, versions, epoch, &dice) { found[number] = picked }
      }
    }
    let longest = max(epoch.durablePages, epoch.lengths.max() ?? 0)
    let choices = [epoch.durablePages] + epoch.lengths
    settle(
      found, pages: mood == 1 ? choices[choices.count - 1] : dice.once(in: 2) ? longest : dice.pick(choices))
  }

  /// Everything that is on the disk now is durable.
  private func settle(_ found: [Int: Sector], pages length: Int) {
    pages = length
    cache = found.filter { $0.key < length * 8 }
    var epoch = Epoch()
    epoch.durable = cache
    epoch.durablePages = length
    epochs = [epoch]
    writesLeft = nil
  }

  // MARK: Small worlds, all of them

  /// What is not synced, in one unit for each page of ciphertext and each other sector: how a unit may come out of a crash.
  package func units(isCiphertext: (Int) -> Bool) -> [[[(Int, Sector)]]] {
    let epoch = epochs[epochs.count - 1]
    var units: [[[(Int, Sector)]]] = []
    var pagesSeen: Set<Int> = []
    for (number, versions) in epoch.pending.sorted(by: { $0.key < $1.key }) {
      if isCiphertext(number / 8) {
        guard pagesSeen.insert(number / 8).inserted else { continue }
        let sectors = (number / 8 * 8..<number / 8 * 8 + 8).map { ($0, sector($0)) }
        units.append([[], sectors, Array(sectors.prefix(4))])
      } else {
        var choices: [[(Int, Sector)]] = [[]]
        var before = epoch.durable[number] ?? CrashDisk.zeros
        for version in versions {
          choices.append([(number, version.bytes)])
          if version.mayTear, before != version.bytes {
            choices.append([(number, CrashDisk.torn(before, version.bytes, 0xF0F0_5555_AAAA_3333))])
            choices.append([(number, CrashDisk.torn(before, version.bytes, 0x0F0F_AAAA_5555_CCCC))])
          }
          before = version.bytes
        }
        units.append(choices)
      }
    }
    return units
  }

  package var lengthsOfCrash: [Int] {
    let epoch = epochs[epochs.count - 1]
    return Array(Set([epoch.durablePages] + epoch.lengths)).sorted()
  }

  /// The disk after one such crash.
  package func crashed(keeping kept: [(Int, Sector)], pages: Int) -> CrashDisk {
    let disk = CrashDisk()
    var found = epochs[epochs.count - 1].durable
    for (number, bytes) in kept { found[number] = bytes }
    disk.settle(found, pages: pages)
    return disk
  }
}
