// One file and its mounts: operations, kills, power cuts, and an oracle that knows which contents may be found afterwards.

import CrashDisk
import Randomness
import SealedFormat

/// What a run found.
struct Findings: CustomStringConvertible {
  var falseErrors = 0
  var wrong = 0
  var brokenOperations = 0
  var first: String?
  var cuts = 0
  var kills = 0
  var cutRecoveries = 0
  var tears = 0

  var total: Int { falseErrors + wrong + brokenOperations }
  var description: String {
    "\(cuts) power cuts, \(kills) kills, \(cutRecoveries) crashes in a first change, \(tears) torn sectors: "
      + "\(falseErrors) false errors, \(wrong) wrong, \(brokenOperations) broken operations; \(first ?? "")"
  }

  mutating func note(_ what: WritableKeyPath<Findings, Int>, _ words: String) {
    self[keyPath: what] += 1
    if first == nil { first = words }
  }
}

final class ModelWorld {
  let disk = CrashDisk()
  let rules: ModelRules
  var dice: Dice
  var findings = Findings()
  var log = SessionLog(lostIn: .zero)
  var session: UInt64
  var writer: ModelWriter?
  var memory = FileView.Memory.nothing
  var current = ModelContent()
  /// What a power cut may leave, block by block: every content since the last sync.
  var history = [ModelContent()]
  /// The content when the commit under way was asked for.
  var syncFrom: Int?
  var isSyncing = false
  var held: [(request: PendingWrite, writes: [(UInt64, [UInt64]?)], size: UInt64)] = []
  var nextWord: UInt64 = 1
  var trace: [String] = []
  static let pool: [UInt64] = [0, 1, 2, 5, 6, 23, 24, 25, 71, 72, 73]

  init(seed: UInt64, rules: ModelRules) {
    dice = Dice(seed: seed)
    self.rules = rules
    session = log.begin(now: 1000) ?? 0
  }

  func hasEnded(_ number: UInt64) -> Bool {
    log.hasEnded(number) || number == session || !rules.contains(.unendedIsDoubtful)
  }

  // MARK: Operations

  /// Runs until the power has gone or the process was killed `crashes` times.
  func run(crashes: Int) -> Findings {
    for _ in 0..<crashes where findings.total == 0 {
      let limit = dice.below(40)
      disk.writesLeft = limit + 1
      do {
        for _ in 0..<60 { try step() }
      } catch is Interruption {
      } catch {
        fail(\.brokenOperations, "\(error)")
        return findings
      }
      crash()
    }
    findings.tears = disk.tears
    return findings
  }

  func fail(_ what: WritableKeyPath<Findings, Int>, _ words: String) {
    findings.note(what, words + " after " + trace.suffix(20).joined(separator: ", "))
  }

  func changing() throws -> ModelWriter {
    if let writer { return writer }
    findings.cutRecoveries += 1
    let random = dice.next()
    let made: ModelWriter
    if disk.pages == 0 {
      made = ModelWriter(creatingOn: disk, session: session, random: random, rules: rules)
    } else {
      let view = try ModelReader(disk: disk, rules: rules).view(hasEnded)
      let isRecovery = view.firstChange(by: session, remembering: memory) == .recover
      trace.append("first change (\(view.firstChange(by: session, remembering: memory)))")
      made = try ModelWriter(
        changing: view, on: disk, session: session, memory: memory, random: random, rules: rules)
      // Each first change ends with a sync.
      if rules.isSuperset(of: [.announce, .resumeSync]) || isRecovery { history = [current] }
    }
    findings.cutRecoveries -= 1
    writer = made
    return made
  }

  func step() throws {
    switch dice.below(22) {
    case 0...7: try write()
    case 8: try hold()
    case 9, 10: try release()
    case 11, 12: try truncate()
    case 13: try punch()
    case 14, 15: try beginSync()
    case 16, 17: try endSync()
    case 18: try failSync()
    case 19: try close()
    case 20: try writer?.cut()
    default: if dice.once(in: 2) { try remount() } else { try extend() }
    }
  }

  func words() -> [UInt64] {
    nextWord += 1
    return (0..<8).map { nextWord << 8 | UInt64($0) + 1 }
  }

  func chosen() -> [(UInt64, [UInt64]?)] {
    var numbers: Set<UInt64> = []
    for _ in 0..<(dice.once(in: 2) ? 1 : 3) { numbers.insert(dice.pick(ModelWorld.pool)) }
    for other in held { numbers.subtract(other.writes.map(\.0)) }
    return numbers.sorted().map { ($0, words()) }
  }

  func apply(_ writes: [(UInt64, [UInt64]?)], size: UInt64) {
    var after = current
    after.size = max(after.size, size)
    for (number, words) in writes { after[number] = words ?? ModelContent.zeros }
    history.append(after)
    current = after
  }

  func write() throws {
    var writes = chosen()
    guard let last = writes.last else { return }
    // A file ends anywhere in its last block, on a boundary of the model's words.
    let used = dice.pick([8, 8, 3])
    let size = max(current.size, last.0 * 4096 + UInt64(used) * 512)
    if let words = last.1 { writes[writes.count - 1].1 = ModelContent.cut(words, of: last.0, at: size) }
    trace.append("write \(writes.map(\.0)) size \(size)")
    let writer = try changing()
    let request = try writer.begin(
      writes.compactMap { pair in Block(pair.0).map { ($0, pair.1) } }, size: size)
    try waitFor(request)
    apply(writes, size: size)
    try writer.finish(request)
  }

  func waitFor(_ request: PendingWrite) throws {
    if let writer, try !writer.mayFinish(request) {
      if !isSyncing { try beginSync() }
      try endSync()
    }
  }

  func hold() throws {
    guard held.count < 3 else { return }
    let writes = chosen()
    guard let last = writes.last else { return }
    trace.append("hold \(writes.map(\.0))")
    let writer = try changing()
    let size = last.0 * 4096 + 4096
    let request = try writer.begin(
      writes.compactMap { pair in Block(pair.0).map { ($0, pair.1) } }, size: size)
    held.append((request, writes, size))
    writer.underWay.append(request)
  }

  func release() throws {
    guard let writer, !held.isEmpty else { return }
    let index = dice.below(held.count)
    guard try writer.mayFinish(held[index].request) else { return }
    try finish(index)
  }

  func finish(_ index: Int) throws {
    let (request, writes, size) = held.remove(at: index)
    writer?.underWay.remove(at: index)
    trace.append("finish \(writes.map(\.0))")
    apply(writes, size: size)
    try writer?.finish(request)
  }

  /// All requests under way end, and the commit.
  func settle() throws {
    if isSyncing { try endSync() }
    while !held.isEmpty {
      if let writer, try !writer.mayFinish(held[0].request) {
        try beginSync()
        try endSync()
      }
      if !held.isEmpty { try finish(0) }
    }
    if syncFrom != nil {
      try beginSync()
      try endSync()
    }
  }

  func punch() throws {
    let number = dice.pick(ModelWorld.pool)
    guard current.blocks[number] != nil, let block = Block(number) else { return }
    try settle()
    trace.append("punch \(number)")
    let writer = try changing()
    let request = try writer.begin([(block, nil)], size: 0)
    apply([(number, nil)], size: 0)
    try writer.finish(request)
  }

  func truncate() throws {
    guard current.size > 0 else { return }
    try settle()
    let size = dice.once(in: 6) ? 0 : UInt64(dice.below(Int(min(current.size, 80 * 4096)) / 512)) * 512
    trace.append("truncate \(size)")
    var after = current
    after.truncate(to: size)
    if size == 0 {
      history.append(after)
      try disk.cut(to: 0)
      writer = nil
      memory = .nothing
      current = after
      return
    }
    let writer = try changing()
    for _ in 0..<2 where !writer.mayTruncate(to: size) {
      try beginSync()
      try endSync()
    }
    // After a sync that failed, this one does not help.
    guard writer.mayTruncate(to: size) else { return }
    history.append(after)
    let before = current
    current = after
    do { try writer.truncate(to: size) } catch {
      interrupted = (before, after)
      throw error
    }
  }

  /// A truncation that a kill interrupts is done or not done.
  var interrupted: (ModelContent, ModelContent)?

  func extend() throws {
    try settle()
    let size = current.size + UInt64(dice.below(12)) * 512
    guard size > current.size, size < 120 * 4096 else { return }
    trace.append("extend \(size)")
    let writer = try changing()
    apply([], size: size)
    try writer.extend(to: size)
  }

  // MARK: Syncs

  func beginSync() throws {
    guard let writer, !isSyncing, !writer.isNew else { return }
    let asked = syncFrom ?? history.count - 1
    var answer = try writer.beginSync()
    if answer == .drain {
      if syncFrom == nil, dice.once(in: 2) {
        syncFrom = asked
        trace.append("fsync waits")
        return
      }
      while answer == .drain,
        let index = held.firstIndex(where: { $0.request.generations.first <= writer.state.frozen ?? 0 })
      {
        syncFrom = asked
        try finish(index)
        answer = try writer.beginSync()
      }
    }
    guard answer == .ready else {
      syncFrom = nil
      return
    }
    trace.append("fsync begins")
    syncFrom = asked
    isSyncing = true
  }

  func endSync() throws {
    guard let writer, isSyncing, let from = syncFrom else { return }
    isSyncing = false
    syncFrom = nil
    trace.append("fsync ends")
    try writer.endSync()
    history.removeFirst(from)
  }

  func failSync() throws {
    guard let writer, isSyncing, dice.once(in: 3), disk.isCreationDurable else { return }
    isSyncing = false
    syncFrom = nil
    trace.append("fsync fails")
    try writer.failSync(&dice)
  }

  // MARK: Closing

  func close() throws {
    try settle()
    guard let writer else { return }
    trace.append("close")
    try writer.lastClose()
    guard dice.once(in: 2), !writer.isNew, !writer.state.owesAfterFailure else { return }
    trace.append("dropped")
    self.writer = nil
    memory = .dropped
  }

  /// A clean unmount and a new mount.
  func remount() throws {
    try settle()
    if let writer, writer.state.owesAfterFailure { return }
    trace.append("remount")
    if let writer { try writer.lastClose() }
    if rules.contains(.endOfSessionSyncs) { try disk.sync() }
    history = [current]
    log.end(session)
    newMount()
  }

  func newMount() {
    writer = nil
    memory = .nothing
    held = []
    syncFrom = nil
    isSyncing = false
    session = log.begin(now: 0) ?? 0
  }
}
