// One encrypted file, as the volume writes it, on a disk whose power goes: random operations, and an oracle that knows
// which contents may be found afterwards.

import CrashDisk
import LinuxFiles
import Randomness
import SealedFormat
import Synchronization

@testable import LayeredVolume

final class CrashWorld {
  private var dice: Dice
  let surroundings = TestSurroundings()
  private let budget = IndexBudget(pages: 8)
  private let disk = CrashDisk()
  private(set) var file: SealedFile<CrashStore>
  private(set) var current = Snapshot()
  /// Every content since the last sync: of each block one of them may be found after a power cut.
  private var history = [Snapshot()]
  /// The content before the last operation, in the history.
  private var beforeLast = 0
  private var depth = 0
  private var nextWord: UInt64 = 1
  private var trace: [String] = []
  /// What the header may say after a crash.
  private var classes: Set<StaticSector.ProtectionClass> = [.complete]
  /// What is under way that a crash may fall into.
  private var moment: CrashMoment?
  private(set) var findings = CrashFindings()
  private(set) var live: CrashStore
  /// A rule that the store breaks behind the back of the content.
  let leftOut: CrashRule?

  init(seed: UInt64, leavingOut leftOut: CrashRule? = nil) throws {
    dice = Dice(seed: seed)
    self.leftOut = leftOut
    live = CrashStore(disk)
    file = try SealedFile(live, in: surroundings, budget: budget)
    breakSlots()
  }

  /// Until the power has gone, or the process was killed, so many times.
  func run(crashes: Int) {
    var kills = 0
    for _ in 0..<crashes where findings.failures.isEmpty {
      // What a kill leaves is settled in a few writes, and a crash among them is where it matters.
      let isShort = findings.kills > kills && dice.once(in: 2)
      kills = findings.kills
      disk.writesLeft = 1 + dice.below(isShort ? 6 : 60)
      for _ in 0..<60 where mayGoOn { step() }
      if findings.failures.isEmpty { crash() }
    }
  }

  private var mayGoOn: Bool { !live.isDead && findings.failures.isEmpty }

  /// The next changes are where it matters: the crash comes soon.
  private func crash(within writes: Int) { disk.writesLeft = min(disk.writesLeft ?? .max, writes) }

  func fail(_ words: String) {
    findings.failures.append(words + " after " + trace.suffix(24).joined(separator: ", "))
  }

  /// Does something; what fails while the disk is there is a failure.
  private func attempt(_ name: String, _ work: () throws -> Void) {
    trace.append(name)
    if depth == 0 { beforeLast = history.count - 1 }
    depth += 1
    defer { depth -= 1 }
    do { try work() } catch {
      guard !live.isDead else { return }
      moment = nil
      if !owes { fail("\(name): \(error)") }
    }
  }

  private var owes: Bool { file.owesAfterFailure || file.owesAnnouncement }

  // MARK: Operations

  private func step() {
    switch dice.below(28) {
    case 0...8: write(chosen())
    case 9, 10: truncate(to: dice.once(in: 6) ? 0 : dice.below(current.size / 512 + 10) * 512)
    case 11: punch()
    case 12...15: synchronize()
    case 16: failSync()
    case 17: close()
    case 18: remount()
    case 19, 20: changeClass()
    case 21, 22: endSession()
    case 23, 24: letGo()
    case 25, 26: changeUnsynced()
    default: read()
    }
  }

  /// Sectors around the places where the layout changes: the first blocks, the end of page 0's index, index pages.
  private func chosen() -> Range<Int> {
    let block = dice.pick([0, 1, 2, 5, 6, 23, 24, 25, 71, 72, 73])
    let start = block * 8 + dice.pick([0, 0, 3])
    return start..<start + dice.pick([1, 8, 8, 13, 24])
  }

  /// A first change ends with a sync, unless the file is new, or it is remembered what was done to it.
  private func prepare() throws {
    guard file.state.withLock({ $0.commit == nil }) else { return }
    moment = firstMoment
    let syncs = live.syncs
    try live.breaking(leftOut, in: firstChange) { try file.changing { (_) throws(Errno) in () } }
    breakMemory()
    if live.syncs > syncs {
      history = [current]
      beforeLast = 0
    }
    moment = nil
  }

  private func write(_ range: Range<Int>) {
    attempt("write \(range)") {
      try prepare()
      try put(range)
    }
  }

  private func put(_ range: Range<Int>) throws {
    nextWord += 1
    var after = current
    after.write(range, nextWord)
    history.append(after)
    current = after
    if file.state.withLock({ $0.pages == 0 }) { moment = .creation }
    try file.put(CrashWorld.bytes(nextWord, range.count), at: Int64(range.lowerBound * 512))
    moment = nil
    try reusePages(of: range)
  }

  static func bytes(_ word: UInt64, _ sectors: Int) -> [UInt8] {
    (0..<sectors * 512).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * ($0 % 8))) }
  }

  private func truncate(to size: Int) {
    guard current.size > 0 else { return }
    attempt("truncate \(size)") {
      // The next header is one of the first class.
      if size > 0 { try prepare() } else { classes.insert(.complete) }
      // Whatever it commits on its way, both contents may be found.
      history.append(current)
      var after = current
      after.truncate(to: size)
      history.append(after)
      let before = current
      current = after
      do { try cut(to: UInt64(size)) } catch {
        if !live.isDead { current = before }
        throw error
      }
    }
  }

  private func punch() {
    let range = chosen()
    guard range.lowerBound * 512 < current.size else { return }
    attempt("punch \(range)") {
      try prepare()
      // The ends and the middle are written one after the other.
      for part in CrashWorld.parts(range, size: current.size) {
        var after = current
        for sector in part { after.sectors[sector] = nil }
        history.append(after)
        current = after
      }
      try file.allocate(
        [.punchHole, .keepSize], offset: UInt64(range.lowerBound * 512), length: UInt64(range.count * 512))
    }
  }

  private static func parts(_ range: Range<Int>, size: Int) -> [Range<Int>] {
    let range = range.lowerBound..<min(range.upperBound, (size + 511) / 512)
    return range.map { $0..<$0 + 1 }
  }

  private func synchronize() {
    attempt("fsync") {
      let from = history.count - 1
      if dice.once(in: 2) { live.duringSync = { [unowned self] in self.writeBesideSync() } }
      defer { live.duringSync = nil }
      try live.breaking(leftOut, in: .commit) { try file.synchronize(dataOnly: true) }
      history.removeFirst(from)
      beforeLast = max(0, beforeLast - from)
    }
  }

  /// What need not wait for the commit under way.
  private func writeBesideSync() {
    let range = chosen()
    attempt("beside it write \(range)") {
      // Where there is nothing to commit, a first change would sync by itself, and the disk knows one sync at a time.
      guard file.state.withLock({ $0.commit?.frozen != nil }), var cipher = try file.currentCipher() else {
        return
      }
      let bytes = UInt64(range.lowerBound * 512)..<UInt64(range.upperBound * 512)
      let change = BlockWrite(bytes, in: file.size)
      guard try file.mayChange(change.blocks, growing: bytes.upperBound > file.size, &cipher) else { return }
      try put(range)
    }
  }

  private func changeClass() {
    // Of a file that may be lost as a whole nothing is known.
    guard disk.isCreationDurable else { return }
    let wanted: StaticSector.ProtectionClass = dice.pick([.completeUnlessOpen, .untilFirstUnlock, .complete])
    let random = dice.next()
    attempt("class \(wanted)") {
      classes.insert(wanted)
      moment = .classChange
      let from = history.count - 1
      let isChanged = try file.changeClass { (keys) throws(Errno) in
        TestSurroundings.sector(wanted, of: keys.file, random: random)
      }
      moment = nil
      guard isChanged else { return }
      classes = [wanted]
      if file.state.withLock({ $0.identity?.sector.protectionClass }) != wanted { fail("another class") }
      // It is a sync, too.
      history.removeFirst(from)
      beforeLast = max(0, beforeLast - from)
    }
  }

  private func failSync() {
    guard disk.isCreationDurable else { return }
    let isFirst = file.state.withLock { $0.commit == nil }
    trace.append(isFirst ? "first change fails" : "fsync fails")
    live.failSync = { [unowned self] disk in disk.failSync(&self.dice) }
    if isFirst, !dice.once(in: 4) {
      try? file.changing { (_) throws(Errno) in () }
    } else {
      try? file.synchronize(dataOnly: true)
    }
    live.failSync = nil
  }

  private func close() {
    attempt("close") {
      _ = try file.close()
      guard dice.once(in: 2), !owes else { return }
      let left = dice.once(in: 2) ? file.leftState : nil
      trace.append(left == nil ? "dropped" : "let go of")
      file = try SealedFile(live, in: surroundings, budget: budget, left: left)
    }
  }

  /// Others took its place in memory; it may be synced by somebody who does not change it before it is changed again.
  private func letGo() {
    guard !owes else { return }
    attempt("let go") {
      _ = try file.close()
      file = try SealedFile(live, in: surroundings, budget: budget, left: file.leftState)
      guard dice.once(in: 2) else { return }
      trace.append("synced by a reader")
      try file.synchronize(dataOnly: true)
      history = [current]
      beforeLast = 0
      file = try SealedFile(live, in: surroundings, budget: budget, left: file.leftState)
      crash(within: 1 + dice.below(5))
    }
  }

  /// What was synced is changed without a sync, and then the file is changed once more by those who do not remember that: in
  /// its session, in the next one, or after a kill.
  private func changeUnsynced() {
    let range = chosen()
    write(range)
    if mayGoOn { synchronize() }
    guard mayGoOn, !owes else { return }
    let what = dice.below(3)
    if what == 0 {
      truncate(to: range.lowerBound * 512)
      return crash(within: dice.below(2))
    }
    write(range)
    guard mayGoOn, !owes else { return }
    attempt(what == 1 ? "forget" : "retire") {
      _ = try file.close()
      file = try SealedFile(live, in: surroundings, budget: budget)
      if what == 2 { surroundings.retire() }
      crash(within: 1 + dice.below(what == 2 ? 3 : 6))
    }
    if mayGoOn { write(range) }
  }

  private func remount() {
    guard !owes else { return }
    attempt("remount") {
      _ = try file.close()
      try live.synchronize(dataOnly: false)
      history = [current]
      beforeLast = 0
      surroundings.remount(killed: false)
      file = try SealedFile(live, in: surroundings, budget: budget)
    }
  }

  /// As after a lock: the file is let go of, the next change is made in another session, and the former one ends, unless
  /// some other file is being written.
  private func endSession() {
    guard !owes else { return }
    attempt("retire") {
      _ = try file.close()
      file = try SealedFile(live, in: surroundings, budget: budget)
      surroundings.retire()
      guard dice.once(in: 2) else { return crash(within: 1 + dice.below(5)) }
      trace.append("session ends")
      try live.synchronize(dataOnly: false)
      history = [current]
      beforeLast = 0
      surroundings.endRetired()
    }
  }

  private func read() {
    attempt("read") {
      let found = try content()
      if found != current { fail("read something else") }
    }
  }

  // MARK: Crashes

  private func crash() {
    let isCut = dice.once(in: 2) || owes
    let wasDurable = disk.isCreationDurable
    disk.writesLeft = nil
    trace.append(isCut ? "POWER CUT" : "KILL")
    if isCut {
      findings.cuts += 1
      if let moment { findings.cutsInside[moment, default: 0] += 1 }
      disk.losePower(&dice)
    } else {
      findings.kills += 1
    }
    surroundings.remount(killed: true)
    moment = nil
    live = CrashStore(disk)
    breakSlots()
    do {
      file = try SealedFile(live, in: surroundings, budget: budget)
      check(try content(), isCut: isCut)
      if let found = file.state.withLock({ $0.identity?.sector.protectionClass }), !classes.contains(found) {
        fail("class \(found), not \(classes)")
      }
    } catch {
      // A new file of which nothing was ever synced may be lost.
      guard isCut, !wasDurable else { return fail("\(error)") }
      startAgain()
    }
  }

  private func startAgain() {
    try? disk.cut(to: 0)
    try? disk.sync()
    current = Snapshot()
    history = [current]
    classes = [.complete]
    if let made = try? SealedFile(live, in: surroundings, budget: budget) { file = made }
  }

  private func check(_ found: Snapshot, isCut: Bool) {
    // After a kill the page cache is whole: the last operation is done, not done, or done in part.
    let allowed = isCut ? history : Array(history[min(beforeLast, history.count - 1)...])
    if !allowed.contains(where: { $0.size == found.size }) {
      fail("size \(found.size), not \(Set(allowed.map(\.size)).sorted())")
    }
    for number in allowed.reduce(found.blocks, { $0.union($1.blocks) }) where number * 4096 < found.size {
      let words = found.block(number, cutAt: found.size)
      if !allowed.allow(words, in: number, ofSize: found.size) {
        fail("block \(number) is \(words), not \(Set(allowed.map { $0.block(number, cutAt: found.size) }))")
      }
    }
    current = found
    history = isCut ? [found] : history + [found]
  }
}
