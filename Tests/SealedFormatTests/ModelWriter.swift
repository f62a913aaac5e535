// Changing a file of the model: the engine decides, the plans give the order, the disk takes the writes.

import CrashDisk
import Randomness
import SealedFormat

/// A request whose pages are written and whose entries are not.
struct PendingWrite {
  var generations: Generations
  var blocks: [(block: Block, version: Version)]
  var size: UInt64
}

/// One file, as a mount that has it open sees it.
final class ModelWriter {
  let disk: CrashDisk
  let rules: ModelRules
  var state: CommitState
  var free: FreePages
  var isNew: Bool
  var random: UInt64
  var written: (half: Half, slot: Slot)?
  var reader: ModelReader { ModelReader(disk: disk, rules: rules) }

  init(creatingOn disk: CrashDisk, session: UInt64, random: UInt64, rules: ModelRules) {
    self.disk = disk
    self.rules = rules
    self.random = random
    state = CommitState(creatingIn: session)
    free = FreePages(end: 1)
    isNew = true
  }

  /// The first change of a file in a mount.
  init(
    changing view: FileView, on disk: CrashDisk, session: UInt64, memory: FileView.Memory, random: UInt64,
    rules: ModelRules
  ) throws {
    self.disk = disk
    self.rules = rules
    self.random = random
    isNew = false
    free = FreePages(end: UInt64(disk.pages))
    switch view.firstChange(by: session, remembering: memory) {
    case .nothing: preconditionFailure("the state was there")
    case .announce:
      state = CommitState(announcing: view, session: session)
      if rules.contains(.announce) { try execute(ModelPlan.announce) }
    case .resume:
      state = CommitState(resuming: view)
      if rules.contains(.resumeSync) {
        try execute(ModelPlan.resume)
      } else {
        _ = state.freeze()
        state.synced()
      }
    case .recover:
      var recovery = Recovery(view)
      state = CommitState(resuming: view)
      let settled = try survey(&recovery)
      if !rules.contains(.seenGenerationsCount) { recovery = Recovery(view) }
      state = CommitState(recovering: recovery, pages: UInt64(disk.pages), session: session)
      try recover(view, settled)
    }
    state.pages = max(state.pages, UInt64(disk.pages))
    try learnFreePages()
  }

  func nextRandom() -> UInt64 {
    random = (random ^ random >> 30) &* 0xBF58_476D_1CE4_E5B9 &+ 0x9E37_79B9_7F4A_7C15
    return random
  }

  // MARK: The index

  /// Every block the index has room for, also behind the size.
  var indexed: [Block] {
    let pages = UInt64(disk.pages)
    return Array(
      (0..<Block.limit).lazy.compactMap { Block($0) }.prefix { $0.sectorAddress.page.number < pages })
  }

  func learnFreePages() throws {
    let used = try indexed.flatMap { block -> [Page] in
      let pair = try reader.pair(of: block)
      return [pair.newest, pair.committed(state.committed)].compactMap { $0.flatMap { pair[$0].page } }
    }
    free = FreePages(end: UInt64(disk.pages), used: used)
  }

  func put(_ pairs: [(Block, Pair)]) throws {
    var sectors: [Int: (block: Block, bytes: Sector)] = [:]
    for (block, pair) in pairs {
      let number = Int(block.sectorAddress.byteOffset / 512)
      var bytes = sectors[number]?.bytes ?? disk.sector(number)
      var span = bytes.mutableSpan
      try IndexSector.put(pair.first, into: .first, of: block, in: &span)
      try IndexSector.put(pair.second, into: .second, of: block, in: &span)
      sectors[number] = (block, bytes)
    }
    for (_, group) in Dictionary(grouping: sectors, by: { $0.key / 8 }).sorted(by: { $0.key < $1.key }) {
      try disk.write(
        try group.sorted { $0.key < $1.key }.map {
          ($0.key, try ToyCipher.closed($0.value.bytes, of: $0.value.block, random: nextRandom()))
        })
    }
    grew()
  }

  func grew() {
    free.extend(to: UInt64(disk.pages))
    state.pages = max(state.pages, UInt64(disk.pages))
  }

  // MARK: Plans

  /// Plans whose only writes are slots.
  func execute(_ plan: [ModelStep]) throws {
    for step in plan {
      switch step {
      case .writeSlot: try writeSlot()
      case .sync:
        guard state.freeze() == .ready else { preconditionFailure("requests are under way") }
        try disk.sync()
      case .commit: state.synced { self.free.free($0) }
      case .cut: try disk.cut(to: Int(free.end))
      default: preconditionFailure("not in this plan")
      }
    }
  }

  func writeSlot() throws {
    guard var (half, slot) = state.nextSlot() ?? frozenSlot() else {
      preconditionFailure("the slot has to wait")
    }
    if !rules.contains(.commitOnlyAfterSync) { slot.committed = slot.highest }
    if !rules.contains(.floor) { slot.floor = .none }
    if !rules.contains(.slotAlternates) { half = .first }
    try disk.write([(Slot.offset(half) / 512, try ToyCipher.sealed(slot, random: nextRandom()))])
    state.wrote(slot)
    written = (half, slot)
  }

  func frozenSlot() -> (half: Half, slot: Slot)? {
    guard !rules.contains(.frozenSlotWaits), var last = written else { return nil }
    last.slot.sequence += 1
    last.slot.fileSize = state.fileSize
    last.slot.highest = state.highest
    last.slot.pages = state.pages
    last.slot.floor = state.floor
    return last
  }

  // MARK: Recovery

  func survey(_ recovery: inout Recovery) throws -> [(Block, Pair)] {
    try indexed.map { block in
      let settled = recovery.settle(try reader.pair(of: block), of: block) {
        ToyCipher.verifies($0, of: block, on: disk)
      }
      return (block, settled)
    }
  }

  func recover(_ view: FileView, _ settled: [(Block, Pair)]) throws {
    var entriesWritten = false
    for step in ModelPlan.recover {
      switch step {
      case .sync:
        if !entriesWritten && !rules.contains(.firstSyncOfRecovery) { continue }
        if entriesWritten { _ = state.freeze() }
        try disk.sync()
      case .writeEntries where !entriesWritten:
        entriesWritten = true
        guard rules.contains(.recoveryClears) else { continue }
        try put(
          settled.filter { block, pair in
            let torn = !ToyCipher.holds(reader.sector(of: block), of: block)
            return torn || (try? reader.pair(of: block)) != pair
          })
      case .writeHeader, .writeHeaderCopy:
        let number = StaticSector.offset(step == .writeHeader ? .first : .second) / 512
        if disk.sector(number) != ToyCipher.header { try disk.write([(number, ToyCipher.header)]) }
      case .writePages:
        // Nothing is free before the end but what no entry names.
        free = FreePages(end: UInt64(disk.pages))
        if rules.contains(.recoveryZeroes) { try zeroTail(view) }
      case .writeEntries: break
      case .writeSlot: try writeSlot()
      case .commit: state.synced { self.free.free($0) }
      case .cut: break
      }
    }
  }

  func zeroTail(_ view: FileView) throws {
    guard let (block, _) = CommitState.tail(of: view.slot.fileSize),
      block.sectorAddress.page.number < UInt64(disk.pages)
    else { return }
    let words = try reader.words(of: block, readingRules, required: 0)
    let cut = ModelContent.cut(words, of: block.number, at: view.slot.fileSize)
    guard cut != words else { return }
    var request = try begin([(block, cut)], size: state.fileSize)
    if !rules.contains(.survivorsKeptByZeroing) {
      let pair = try reader.pair(of: block)
      if let kept = pair.newest {
        var changed = pair
        changed[kept] = request.blocks[0].version
        try put([(block, changed)])
        state.end(request.generations)
        request.blocks = []
        return
      }
    }
    try finish(request)
  }

  var readingRules: ReadingRules {
    ReadingRules(
      isDoubtful: false, committed: state.committed, floor: rules.contains(.floor) ? state.floor : .none,
      blocks: Block.count(state.fileSize))
  }

  // MARK: Writing

  func writeHeader() throws {
    isNew = false
    let slots = CommitState.firstSlots(state.session)
    try disk.write([
      (0, ToyCipher.header), (1, ToyCipher.header),
      (2, try ToyCipher.sealed(slots.first, random: nextRandom())),
      (3, try ToyCipher.sealed(slots.second, random: nextRandom())),
    ])
    grew()
  }

  /// Takes pages and writes them; `nil` words make a hole.
  func begin(_ writes: [(Block, [UInt64]?)], size: UInt64) throws -> PendingWrite {
    guard let generations = state.begin(UInt64(writes.count)) else { preconditionFailure("no generations") }
    var request = PendingWrite(generations: generations, blocks: [], size: size)
    if isNew { try writeHeader() }
    for (index, (block, words)) in writes.enumerated() {
      let generation = generations[UInt64(index)]
      let nonce = Nonce(random: nextRandom(), counter: generation)
      let data = Version.associatedData(
        file: ToyCipher.file, block: block, generation: generation, isHole: words == nil)
      let sectors = words.map(ModelWriter.sectors) ?? []
      let tag = ToyCipher.tag(of: sectors, nonce: nonce, data: data)
      if words == nil {
        request.blocks.append((block, Version(holeOf: generation, random: nonce.random, tag: tag)))
      } else if let page = free.take(home: block.home) {
        if rules.contains(.pagesBeforeEntries) {
          try write(sectors, to: page)
        } else {
          late.append((sectors, page))
        }
        request.blocks.append(
          (block, Version(page: page, generation: generation, random: nonce.random, tag: tag)))
      }
    }
    grew()
    return request
  }

  /// A size without bytes.
  func extend(to size: UInt64) throws {
    if isNew { try writeHeader() }
    state.grow(to: size)
    try writeSlot()
  }

  /// Requests that the world holds back.
  var underWay: [PendingWrite] = []
  var late: [([Sector], Page)] = []

  func write(_ sectors: [Sector], to page: Page) throws {
    try disk.write(sectors.enumerated().map { (Int(page.number) * 8 + $0, $1) })
  }

  static func sectors(_ words: [UInt64]) -> [Sector] {
    words.map { word in
      var sector = CrashDisk.zeros
      for index in 0..<512 { sector[index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * (index % 8))) }
      return sector
    }
  }

  /// Whether the entries may be written now.
  func mayFinish(_ request: PendingWrite) throws -> Bool {
    if request.size > state.fileSize, state.nextSlot() == nil, rules.contains(.frozenSlotWaits) {
      return false
    }
    guard rules.contains(.frozenBlocksWait) else { return true }
    return try request.blocks.allSatisfy {
      state.destination(of: $0.version.generation, in: try reader.pair(of: $0.block)) != .wait
    }
  }

  /// The rest of the plan, whose pages `begin` wrote.
  func finish(_ request: PendingWrite, _ plan: [ModelStep] = ModelPlan.write) throws {
    let grows = request.size > state.fileSize && rules.contains(.sizeInSlot)
    let needsSlot = grows || written == nil || plan == ModelPlan.truncate
    state.grow(to: request.size)
    for step in ordered(plan) {
      switch step {
      case .writePages:
        for (sectors, page) in late { try write(sectors, to: page) }
        late = []
      case .writeEntries: try writeEntries(of: request)
      case .writeSlot: if needsSlot { try writeSlot() }
      default: preconditionFailure("not in this plan")
      }
    }
    state.end(request.generations)
  }

  /// The plan, or one that breaks a rule.
  func ordered(_ plan: [ModelStep]) -> [ModelStep] {
    if !rules.contains(.pagesBeforeEntries), plan == ModelPlan.write {
      return [.writeEntries, .writePages, .writeSlot]
    }
    if !rules.contains(.slotBeforeCutBlock), plan == ModelPlan.truncate { return ModelPlan.write }
    if !rules.contains(.slotBeforeCut), plan == ModelPlan.cut { return [.cut, .writeSlot, .sync, .commit] }
    return plan
  }

  func writeEntries(of request: PendingWrite) throws {
    var pairs: [(Block, Pair)] = []
    var freed: [Page] = []
    var kept: [(UInt64, Block, Page?)] = []
    for (block, version) in request.blocks {
      var pair = try reader.pair(of: block)
      var destination = state.destination(of: version.generation, in: pair)
      if destination == .wait {
        destination = .half(pair.committed(state.committed)?.other ?? .first, free: nil, keep: nil)
      }
      if !rules.contains(.committedHalfKept), let newest = pair.newest {
        destination = .half(newest, free: nil, keep: pair[newest].page)
      }
      guard case .half(let half, let page, var keep) = destination else { continue }
      pair[half] = version
      pairs.append((block, pair))
      if let page { freed.append(page) }
      if let page = keep, !rules.contains(.committedPagesKept) {
        freed.append(page)
        keep = nil
      }
      kept.append((version.generation, block, keep))
    }
    try put(pairs)
    for (generation, block, page) in kept {
      state.wrote(generation, of: block, keeping: page)
    }
    freed.forEach { free.free($0) }
  }
}
