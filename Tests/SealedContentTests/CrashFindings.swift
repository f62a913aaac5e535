// What a file shows, what a game of crashes found, and the rules that a game can leave out.

import SealedFormat

/// What a program sees: a size, and a number for each sector of 512 bytes.
struct Snapshot: Hashable {
  var size = 0
  var sectors: [Int: UInt64] = [:]

  mutating func write(_ range: Range<Int>, _ word: UInt64) {
    for sector in range { sectors[sector] = word == 0 ? nil : word }
    size = max(size, range.upperBound * 512)
  }

  mutating func truncate(to size: Int) {
    self.size = size
    sectors = sectors.filter { $0.key * 512 < size }
  }

  func block(_ number: Int, cutAt size: Int) -> [UInt64] {
    (number * 8..<number * 8 + 8).map { $0 * 512 < size ? sectors[$0] ?? 0 : 0 }
  }

  var blocks: Set<Int> { Set(sectors.keys.map { $0 / 8 }) }
}

extension [Snapshot] {
  /// Whether a block may be found like this in a file of a size, after a crash that leaves of each block one of these.
  ///
  /// One that ends before the block says zeros of it only if a later one is longer again: what a truncation cut off is there,
  /// or the file is as short as the truncation made it.
  func allow(_ words: [UInt64], in number: Int, ofSize size: Int) -> Bool {
    indices.contains { index in
      self[index].block(number, cutAt: size) == words && self[index...].contains { $0.size > number * 4096 }
    }
  }
}

/// Where the power goes in the middle of something that a crash must not undo.
enum CrashMoment: CaseIterable {
  /// A file gets its header.
  case creation
  /// The first change of a file that another session wrote.
  case announcing
  /// The first change of one that its own session has let go of.
  case resuming
  /// The same after that session gave way to another one of the mount.
  case handingOver
  case recovery
  case classChange
}

struct CrashFindings: CustomStringConvertible {
  var cuts = 0
  var kills = 0
  /// Power cuts alone.
  var cutsInside: [CrashMoment: Int] = [:]
  var failures: [String] = []

  static func += (sum: inout CrashFindings, more: CrashFindings) {
    sum.cuts += more.cuts
    sum.kills += more.kills
    sum.cutsInside.merge(more.cutsInside) { $0 + $1 }
  }

  var description: String {
    let inside = CrashMoment.allCases.map { "\($0) \(cutsInside[$0] ?? 0)" }.joined(separator: ", ")
    return "\(cuts) power cuts (inside of \(inside)), \(kills) kills: \(failures.count) failures; "
      + (failures.first ?? "")
  }
}

/// A rule of the layout that a store breaks, so that the game has to find it.
///
/// Where the store cannot break it, the game does, around the content that ships (`CrashWorld+Rules.swift`). More mistakes
/// are left to the model of the engine (`SealedFormatTests`), which plays faster.
enum CrashRule: String, CaseIterable {
  /// A session says in the slot that it changes a file, before it does.
  case announcing
  /// What was let go of without a sync is synced before its session changes it again.
  case resuming
  /// The same before the next session of the mount says that all of it is on the disk.
  case handingOver
  /// What survived a crash is on the disk before a recovery clears anything.
  case surviving
  /// What did not survive is cleared.
  case clearing
  /// Nothing counts as committed before a sync.
  case committing
  /// No slot says that something is committed before a sync has brought it to the disk.
  case committingSlot
  /// A truncation leaves zeros behind the size in the last block.
  case zeroing
  /// So does a recovery.
  case zeroingRecovered
  /// What was cut off is hidden until its entries are cleared.
  case floor
  /// In a doubtful file the entries of a torn sector count, each by its own tag.
  case tornSectors
  /// The page of a committed version is not used again before what replaces it is committed.
  case committedPages

  /// What it says is in the slots.
  var isOfSlots: Bool { self == .floor || self == .committingSlot }
}

/// Where a rule is broken.
enum CrashPhase {
  case firstChange
  /// The first change of a file whose session gave way to the present one and has not ended.
  case nextSession
  case recovery
  case commit
}

/// One such place, from its beginning to its end.
struct BrokenRule {
  let rule: CrashRule
  let phase: CrashPhase
  private var hasMetSlot = false
  private var hasMetData = false
  private var syncs = 0
  /// Where the index begins in the first page.
  private static let index = Block(0)?.sectorAddress.byteOffset ?? 0

  init(_ rule: CrashRule, in phase: CrashPhase) { (self.rule, self.phase) = (rule, phase) }

  /// Whether a write never comes to the disk.
  mutating func dropsWrite(at offset: UInt64) -> Bool {
    let isSlot = Half.allCases.contains { Slot.offset($0) == Int(offset) }
    hasMetSlot = hasMetSlot || isSlot
    hasMetData = hasMetData || (Page(offset / 4096)?.mayHoldBlock ?? false)
    switch (rule, phase) {
    case (.announcing, .firstChange), (.announcing, .nextSession): return isSlot
    case (.clearing, .recovery):
      let page = offset / 4096
      return page == 0 ? offset >= BrokenRule.index : Page(page)?.isIndex ?? false
    default: return false
    }
  }

  /// Whether a sector of a write never comes to the disk: the entry of the last block, which a recovery has written anew.
  func dropsSector(_ number: Int) -> Bool {
    guard rule == .zeroingRecovered, phase == .recovery, hasMetData else { return false }
    let page = UInt64(number / 8)
    return page == 0 ? number * 512 >= Int(BrokenRule.index) : Page(page)?.isIndex ?? false
  }

  /// Whether a sync is no sync.
  mutating func dropsSync() -> Bool {
    syncs += 1
    return switch (rule, phase) {
    case (.announcing, .firstChange), (.announcing, .nextSession): hasMetSlot
    case (.resuming, .firstChange), (.handingOver, .nextSession): !hasMetSlot
    case (.surviving, .recovery): syncs == 1
    case (.committing, .commit): true
    default: false
    }
  }
}
