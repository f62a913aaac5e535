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

  /// `overhead`: what it takes to keep it.
  fileprivate init(_ index: DirectoryIndex, overhead: Int, _ memory: IndexMemory) {
    contents = Mutex(index)
    bytes = index.bytes + overhead
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

/// An index, and the names in it for as long as somebody uses them: it may have to give way meanwhile.
struct UsableIndex: Sendable {
  let cached: CachedIndex
  let names: DirectoryIndex
}

/// What all indexes take.
private final class IndexMemory: Sendable {
  let used = Atomic<Int>(0)
}

/// All indexes of a volume.
final class ShownIndexes: Sendable {
  /// What an index is needed for.
  enum Purpose {
    /// Begins with what is there when it was asked for, in monotonic nanoseconds, or later.
    case listing(since: UInt64)
    /// May be a moment behind: names take a twentieth of the time at most, however fast somebody writes.
    case lookup
    /// The same again, for a name that such an index lacks: one of now where that is quick to make, as for a listing.
    case missedLookup(since: UInt64)
  }

  private struct Key: Hashable {
    let view: ViewName
    let directory: ObjectIdentity

    /// What keeping an index takes beside it, about, in bytes: itself, its slot, what is noted of it, and the view's name.
    var overhead: Int { 512 + (view.languages?.languages.count ?? 0) * MemoryLayout<Language>.stride }
  }

  /// One directory in one view; the thread that makes its index holds `making`, and others wait for it.
  private final class Slot: Sendable {
    let making = Mutex(())
    let present: Mutex<CachedIndex?> = Mutex(nil)
    /// How long the last one took, in nanoseconds.
    let cost = Atomic<UInt64>(.max)

    /// Whether others wait for the next one where they are, which takes a worker, but not for long.
    var isQuick: Bool { cost.load(ordering: .relaxed) < 5_000_000 }
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
  private let turns = Mutex(BuildTurns<Key>())
  private let whenMade: Mutex<(@Sendable () -> Void)?> = Mutex(nil)
  private static let second: UInt64 = 1_000_000_000
  private static let share: UInt64 = 20

  private let state = Mutex(State())
  private let memory = IndexMemory()
  private let leftovers = BuildLeftovers()
  private let uses = Atomic<UInt64>(0)
  private let tooLarge = Atomic<Int>(0)
  private let made = Atomic<Int>(0)

  /// An index that is fresh enough; `Delay.building` if that is made by others, or has to wait until they have made theirs.
  ///
  /// `user` is who asks for it: users take turns where many are to be made. `stamp` answers what is true of the directory
  /// now. `make` makes an index, and may take long.
  func index(
    of directory: ObjectIdentity, in view: ViewName, for purpose: Purpose, by user: UInt32,
    stamp: () throws(Errno) -> DirectoryStamp, make: (_ mostItems: Int) throws(Errno) -> DirectoryIndex
  ) throws(Errno) -> UsableIndex {
    let key = Key(view: view, directory: directory)
    let slot = state.withLock { state in
      if let slot = state.slots[key] { return slot }
      let slot = Slot()
      state.slots[key] = slot
      return slot
    }
    if let fresh = try present(in: slot, for: purpose, stamp) { return fresh }
    var hasTriedToMake = false
    // Those who wait come at once, before the next one asks.
    defer { if hasTriedToMake { whenMade.withLock { $0 }?() } }
    if slot.isQuick {
      return try slot.making.withLock { _ throws(Errno) in
        try presentOrMade(key, slot, for: purpose, by: user, stamp, make, &hasTriedToMake)
      }
    }
    let made = try slot.making.withLockIfAvailable { _ throws(Errno) in
      try presentOrMade(key, slot, for: purpose, by: user, stamp, make, &hasTriedToMake)
    }
    guard let made else { throw .delayed(.building) }
    return made
  }

  /// By whoever holds the lock of the slot.
  private func presentOrMade(
    _ key: Key, _ slot: Slot, for purpose: Purpose, by user: UInt32,
    _ stamp: () throws(Errno) -> DirectoryStamp, _ make: (_ mostItems: Int) throws(Errno) -> DirectoryIndex,
    _ hasTriedToMake: inout Bool
  ) throws(Errno) -> UsableIndex {
    // Somebody else may have made it meanwhile.
    if let fresh = try present(in: slot, for: purpose, stamp) { return fresh }
    // Each build takes memory that no budget counts. Who has to wait does so without a worker.
    let most = mostBuilds.load(ordering: .relaxed)
    guard turns.withLock({ $0.begin(key, for: user, atMost: most, at: Clock.monotonicNanoseconds) }) else {
      forgetUnused(key, slot)
      throw .delayed(.building)
    }
    hasTriedToMake = true
    defer { turns.withLock { $0.end(key, for: user) } }
    made.add(1, ordering: .relaxed)
    var names = try making(key, slot, make)
    if names.bytes + key.overhead > budget.load(ordering: .relaxed) { names = .tooLarge(names.origin) }
    if names.isTooLarge { noteTooLarge(slot) }
    leftovers.add(names.bytes)
    let cached = CachedIndex(names, overhead: key.overhead, memory)
    slot.cost.store(names.cost, ordering: .relaxed)
    slot.present.withLock { $0 = cached }
    use(cached)
    makeRoom(for: cached, key)
    return UsableIndex(cached: cached, names: names)
  }

  /// Where no index can be made, nothing is kept of the attempt.
  private func making(
    _ key: Key, _ slot: Slot, _ make: (_ mostItems: Int) throws(Errno) -> DirectoryIndex
  ) throws(Errno) -> DirectoryIndex {
    do throws(Errno) {
      return try make(mostItems.load(ordering: .relaxed))
    } catch {
      forgetUnused(key, slot)
      throw error
    }
  }

  private func forgetUnused(_ key: Key, _ slot: Slot) {
    state.withLock { state in
      if state.slots[key] === slot, slot.present.withLock({ $0 == nil }) { state.slots[key] = nil }
    }
  }

  private func present(
    in slot: Slot, for purpose: Purpose, _ stamp: () throws(Errno) -> DirectoryStamp
  ) throws(Errno) -> UsableIndex? {
    guard let cached = slot.present.withLock({ $0 }), let index = cached.index else { return nil }
    let isGoodEnough =
      switch purpose {
      // One that was begun since is one of now, however fast names change.
      case .listing(let since): index.origin.at >= since && ShownIndexes.isYoung(index)
      // Only once it is old enough to be made anew lookups want one of now, too.
      case .lookup: index.age < ShownIndexes.pause(after: index)
      case .missedLookup(let since): !slot.isQuick || index.origin.at >= since && ShownIndexes.isYoung(index)
      }
    if !isGoodEnough, try !isCurrent(cached, stamp) { return nil }
    use(cached)
    return UsableIndex(cached: cached, names: index)
  }

  /// Whether shown names of this age may be believed.
  private static func isYoung(_ index: DirectoryIndex) -> Bool {
    index.age < max(second, pause(after: index))
  }

  /// Whether an index has all real names of its directory, as `stamp` tells, and is not too old for the shown ones.
  func isCurrent(
    _ cached: CachedIndex, _ stamp: () throws(Errno) -> DirectoryStamp
  ) throws(Errno) -> Bool {
    guard let index = cached.index, ShownIndexes.isYoung(index), index.origin.stamp.isSettled,
      try stamp().isSame(as: index.origin.stamp)
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
      "a directory has more items than a view sorts, or longer names than it keeps: views show the real names"
    )
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

  /// Calls `call` each time that one was made: who was told to wait for others may come again.
  func whenMade(_ call: @escaping @Sendable () -> Void) {
    whenMade.withLock { $0 = call }
  }

  // MARK: For status and tests

  var bytes: Int { memory.used.load(ordering: .relaxed) }
  var count: Int { state.withLock { $0.held.count { $0.index?.index != nil } } }
  /// How often one was made, or tried to.
  var builds: Int { made.load(ordering: .relaxed) }
  var directoriesTooLarge: Int { tooLarge.load(ordering: .relaxed) }

  func dropAll() { state.withLock { drop(until: 0, except: nil, &$0) } }
  func setBudget(_ bytes: Int) { budget.store(bytes, ordering: .relaxed) }
  func setMostBuilds(_ count: Int) { mostBuilds.store(count, ordering: .relaxed) }
  func setMostItems(_ count: Int) { mostItems.store(count, ordering: .relaxed) }
}
