// The indexes of directories in views: made when they are needed, believed for a while, and bounded in memory.

import DisplayNames
import LinuxFiles
import Synchronization

/// An index in memory, for as long as the budget has room for it.
///
/// Open listings hold it, too: what they read stays what it was, unless room is needed.
final class CachedIndex: ListedIndex {
  /// Nil when it had to give way.
  private let contents: Mutex<DirectoryIndex?>
  private let bytes: Int
  private let memory: IndexMemory
  /// Counts up with each use.
  fileprivate let usedAt = Atomic<UInt64>(0)

  fileprivate init(_ index: DirectoryIndex, _ memory: IndexMemory) {
    contents = Mutex(index)
    bytes = index.bytes
    self.memory = memory
    memory.used.add(bytes, ordering: .relaxed)
  }

  deinit { giveWay() }

  var index: DirectoryIndex? { contents.withLock { $0 } }

  fileprivate func giveWay() {
    let isLast = contents.withLock { contents in
      defer { contents = nil }
      return contents != nil
    }
    if isLast { memory.used.subtract(bytes, ordering: .relaxed) }
  }
}

/// What all indexes take.
private final class IndexMemory: Sendable {
  let used = Atomic<Int>(0)
}

/// All indexes of a volume.
final class ShownIndexes: Sendable {
  /// What an index is needed for.
  enum Purpose {
    /// Begins with what is there now.
    case listing
    /// May be a moment behind: names take a twentieth of the time at most, however fast a program writes.
    case lookup
  }

  private struct Key: Hashable {
    let view: ViewName
    let directory: ObjectIdentity
  }

  /// One directory in one view; the thread that makes its index holds `making`, and others wait for it.
  private final class Slot: Sendable {
    let making = Mutex(())
    let present: Mutex<CachedIndex?> = Mutex(nil)
  }

  /// Of memory, an index that only open listings hold is no longer in its slot.
  private struct Held {
    weak var index: CachedIndex?
    let key: Key
  }

  private struct State {
    var slots: [Key: Slot] = [:]
    var held: [Held] = []
    /// How many were left when those that are gone were taken out.
    var kept = 0
  }

  /// Of all indexes together, in bytes.
  private let budget = Atomic(64 << 20)
  /// More items than any view sorts: a directory with more shows its real names.
  private let mostItems = Atomic(200_000)
  /// How many indexes are made at a time.
  private let mostBuilds = Atomic(max(2, CurrentProcess.usableProcessors))
  private let underWay = Atomic<Int>(0)
  private static let second: UInt64 = 1_000_000_000
  private static let share: UInt64 = 20

  private let state = Mutex(State())
  private let memory = IndexMemory()
  private let uses = Atomic<UInt64>(0)
  private let tooLarge = Atomic<Int>(0)

  /// An index that is fresh enough.
  ///
  /// `stamp` answers what is true of the directory now. `make` makes an index, and may take long.
  func index(
    of directory: ObjectIdentity, in view: ViewName, for purpose: Purpose,
    stamp: () throws(Errno) -> DirectoryStamp, make: (_ mostItems: Int) throws(Errno) -> DirectoryIndex
  ) throws(Errno) -> CachedIndex {
    let key = Key(view: view, directory: directory)
    let slot = state.withLock { state in
      if let slot = state.slots[key] { return slot }
      let slot = Slot()
      state.slots[key] = slot
      return slot
    }
    if let fresh = try present(in: slot, for: purpose, stamp) { return fresh }
    return try slot.making.withLock { _ throws(Errno) in
      // Another thread may have made it meanwhile.
      if let fresh = try present(in: slot, for: purpose, stamp) { return fresh }
      // Each build takes memory that no budget counts. Who has to wait does so without a worker.
      guard beginBuild() else { throw .delayed(.building) }
      defer { underWay.subtract(1, ordering: .relaxed) }
      let made = try CachedIndex(making(key, slot, make), memory)
      if made.index?.isTooLarge == true { noteTooLarge(slot) }
      slot.present.withLock { $0 = made }
      use(made)
      makeRoom(for: made, key)
      return made
    }
  }

  private func beginBuild() -> Bool {
    if underWay.add(1, ordering: .relaxed).newValue <= mostBuilds.load(ordering: .relaxed) { return true }
    underWay.subtract(1, ordering: .relaxed)
    return false
  }

  /// Where no index can be made, nothing is kept of the attempt.
  private func making(
    _ key: Key, _ slot: Slot, _ make: (_ mostItems: Int) throws(Errno) -> DirectoryIndex
  ) throws(Errno) -> DirectoryIndex {
    do throws(Errno) {
      return try make(mostItems.load(ordering: .relaxed))
    } catch {
      state.withLock { state in
        if state.slots[key] === slot { state.slots[key] = nil }
      }
      throw error
    }
  }

  private func present(
    in slot: Slot, for purpose: Purpose, _ stamp: () throws(Errno) -> DirectoryStamp
  ) throws(Errno) -> CachedIndex? {
    guard let cached = slot.present.withLock({ $0 }), let index = cached.index else { return nil }
    // Listings want one of now; lookups only once it is old enough to be made anew.
    if purpose == .listing || index.age >= ShownIndexes.pause(after: index) {
      return try isCurrent(cached, stamp) ? cached : nil
    }
    use(cached)
    return cached
  }

  /// Whether an index has all real names of its directory, as `stamp` tells, and is not too old for the shown ones.
  func isCurrent(
    _ cached: CachedIndex, _ stamp: () throws(Errno) -> DirectoryStamp
  ) throws(Errno) -> Bool {
    guard let index = cached.index, index.age < max(ShownIndexes.second, ShownIndexes.pause(after: index)),
      index.origin.stamp.isSettled, try stamp().isSame(as: index.origin.stamp)
    else { return false }
    use(cached)
    return true
  }

  private static func pause(after index: DirectoryIndex) -> UInt64 {
    let rest = index.cost.multipliedReportingOverflow(by: share)
    return rest.overflow ? .max : rest.partialValue
  }

  private func use(_ cached: CachedIndex) {
    cached.usedAt.store(uses.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
  }

  /// Said once for each time that a directory grows too large.
  private func noteTooLarge(_ slot: Slot) {
    guard slot.present.withLock({ $0?.index?.isTooLarge }) != true else { return }
    tooLarge.add(1, ordering: .relaxed)
    Log.notice(
      "a directory has more items than a view sorts: views show them by their real names")
  }

  /// Lets go of the indexes that were used longest ago, until all fit.
  private func makeRoom(for made: CachedIndex, _ key: Key) {
    state.withLock { state in
      state.held.append(Held(index: made, key: key))
      let isCrowded = memory.used.load(ordering: .relaxed) > budget.load(ordering: .relaxed)
      guard isCrowded || state.held.count > 2 * state.kept + 64 else { return }
      if isCrowded { drop(until: budget.load(ordering: .relaxed) / 4 * 3, except: made, &state) }
      state.held.removeAll { $0.index?.index == nil }
      state.kept = state.held.count
    }
  }

  private func drop(until limit: Int, except made: CachedIndex?, _ state: inout State) {
    let oldest = state.held.compactMap { held in held.index.map { ($0, held.key) } }.sorted {
      $0.0.usedAt.load(ordering: .relaxed) < $1.0.usedAt.load(ordering: .relaxed)
    }
    for (index, key) in oldest where index !== made {
      guard memory.used.load(ordering: .relaxed) > limit else { break }
      index.giveWay()
      // A thread that waits for the slot still has it; the next comer makes another.
      if state.slots[key]?.present.withLock({ $0 === index }) == true { state.slots[key] = nil }
    }
  }

  // MARK: For status and tests

  var bytes: Int { memory.used.load(ordering: .relaxed) }
  var count: Int { state.withLock { $0.held.count { $0.index?.index != nil } } }
  var directoriesTooLarge: Int { tooLarge.load(ordering: .relaxed) }

  func dropAll() { state.withLock { drop(until: 0, except: nil, &$0) } }
  func setBudget(_ bytes: Int) { budget.store(bytes, ordering: .relaxed) }
  func setMostBuilds(_ count: Int) { mostBuilds.store(count, ordering: .relaxed) }
  func setMostItems(_ count: Int) { mostItems.store(count, ordering: .relaxed) }
}
