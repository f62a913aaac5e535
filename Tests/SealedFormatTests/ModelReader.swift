// Reading a file of the model as a mount would: the slots, then each block by the rules.

import CrashDisk
import SealedFormat

/// What a program sees of a file: its size, and eight words for each block, one a sector.
struct ModelContent: Hashable {
  var size: UInt64 = 0
  var blocks: [UInt64: [UInt64]] = [:]

  static let zeros = [UInt64](repeating: 0, count: 8)

  subscript(number: UInt64) -> [UInt64] {
    get { blocks[number] ?? ModelContent.zeros }
    set { blocks[number] = newValue == ModelContent.zeros ? nil : newValue }
  }

  mutating func truncate(to size: UInt64) {
    self.size = size
    for (number, words) in blocks { self[number] = ModelContent.cut(words, of: number, at: size) }
  }

  static func cut(_ words: [UInt64], of number: UInt64, at size: UInt64) -> [UInt64] {
    (0..<8).map { number * 4096 + UInt64($0) * 512 < size ? words[$0] : 0 }
  }
}

enum ModelFailure: Error, Hashable {
  case header
  case shortened
  case slots(FileDamage)
  case block(UInt64)
  case indexPage(UInt64)
}

struct ModelReader {
  let disk: CrashDisk
  var rules: ModelRules = .all

  func view(_ hasEnded: (UInt64) -> Bool) throws -> FileView {
    guard Half.allCases.contains(where: { disk.sector(StaticSector.offset($0) / 512) == ToyCipher.header })
    else {
      throw ModelFailure.header
    }
    do {
      return try FileView(
        ToyCipher.slot(.first, on: disk), ToyCipher.slot(.second, on: disk), hasEnded: hasEnded)
    } catch {
      throw ModelFailure.slots(error)
    }
  }

  func sector(of block: Block) -> Sector { disk.sector(Int(block.sectorAddress.byteOffset / 512)) }

  func pair(of block: Block) throws -> Pair { try IndexSector.pair(of: block, in: sector(of: block).span) }

  /// The words of a block, also those behind the size; throws for EIO.
  func words(of block: Block, _ reading: ReadingRules, required: UInt64) throws -> [UInt64] {
    guard block.number < reading.blocks else { return ModelContent.zeros }
    switch block.sectorAddress.presence(pages: UInt64(disk.pages), required: required) {
    case .empty: return ModelContent.zeros
    case .damage: throw ModelFailure.indexPage(block.number)
    case .present: break
    }
    let lenient = reading.acceptsTornSector && rules.contains(.tornSealsAccepted)
    guard lenient || ToyCipher.holds(sector(of: block), of: block) else {
      throw ModelFailure.block(block.number)
    }
    let pair = try pair(of: block)
    var answer = altered(reading.content(of: block, pair), reading, block, pair)
    while case .verify(let version) = answer {
      if ToyCipher.verifies(version, of: block, on: disk) { return words(version) }
      answer = reading.afterFailure(of: version, of: block, pair)
      if !rules.contains(.olderAfterFailure) { answer = .damage }
    }
    if answer == .zeros { return ModelContent.zeros }
    throw ModelFailure.block(block.number)
  }

  /// What the engine answers, or an answer that breaks a rule.
  private func altered(
    _ answer: ReadingRules.Answer, _ reading: ReadingRules, _ block: Block, _ pair: Pair
  ) -> ReadingRules.Answer {
    guard !rules.contains(.newestCounts), case .verify(let newest) = answer else { return answer }
    let older = pair.first == newest ? pair.second : pair.first
    return reading.isLive(older, of: block) ? .verify(older) : answer
  }

  private func words(_ version: Version) -> [UInt64] {
    guard case .page(let page) = version.target, let sectors = disk.page(page.number) else {
      return ModelContent.zeros
    }
    return sectors.map { sector in (0..<8).reduce(UInt64(0)) { $0 | UInt64(sector[$1]) << UInt64(8 * $1) } }
  }

  func content(_ view: FileView) throws -> ModelContent {
    if view.isShortened(pages: UInt64(disk.pages)) { throw ModelFailure.shortened }
    let reading = view.readingRules
    var content = ModelContent(size: view.slot.fileSize)
    for number in 0..<reading.blocks {
      guard let block = Block(number) else { continue }
      let words = try words(of: block, reading, required: view.requiredPages)
      content[number] = ModelContent.cut(words, of: number, at: content.size)
    }
    return content
  }
}

/// The rules of the model: a test leaves one out and expects to see damage.
struct ModelRules: OptionSet, Hashable {
  let rawValue: UInt32
  static let all = ModelRules(rawValue: .max)
  static let announce = ModelRules(rawValue: 1 << 0)
  static let firstSyncOfRecovery = ModelRules(rawValue: 1 << 1)
  static let recoveryClears = ModelRules(rawValue: 1 << 2)
  static let resumeSync = ModelRules(rawValue: 1 << 3)
  static let truncationZeroes = ModelRules(rawValue: 1 << 4)
  static let recoveryZeroes = ModelRules(rawValue: 1 << 5)
  static let floor = ModelRules(rawValue: 1 << 6)
  static let tornSealsAccepted = ModelRules(rawValue: 1 << 7)
  static let commitOnlyAfterSync = ModelRules(rawValue: 1 << 8)
  static let committedPagesKept = ModelRules(rawValue: 1 << 9)
  static let frozenBlocksWait = ModelRules(rawValue: 1 << 10)
  static let frozenSlotWaits = ModelRules(rawValue: 1 << 11)
  static let drainBeforeSync = ModelRules(rawValue: 1 << 12)
  static let slotBeforeCutBlock = ModelRules(rawValue: 1 << 13)
  static let pagesBeforeEntries = ModelRules(rawValue: 1 << 14)
  static let slotAlternates = ModelRules(rawValue: 1 << 15)
  static let survivorsKeptByZeroing = ModelRules(rawValue: 1 << 16)
  static let failedSyncRemembered = ModelRules(rawValue: 1 << 17)
  static let slotBeforeCut = ModelRules(rawValue: 1 << 18)
  static let floorWaitsForClearing = ModelRules(rawValue: 1 << 19)
  // From here on: answers of the engine that come out otherwise, the caller doing what it is told.
  static let olderAfterFailure = ModelRules(rawValue: 1 << 20)
  static let newestCounts = ModelRules(rawValue: 1 << 21)
  static let committedHalfKept = ModelRules(rawValue: 1 << 22)
  static let truncationWaitsForFloor = ModelRules(rawValue: 1 << 23)
  static let seenGenerationsCount = ModelRules(rawValue: 1 << 24)
  static let unendedIsDoubtful = ModelRules(rawValue: 1 << 25)
  static let lastCloseWritesSlot = ModelRules(rawValue: 1 << 26)
  static let sizeInSlot = ModelRules(rawValue: 1 << 27)
  static let endOfSessionSyncs = ModelRules(rawValue: 1 << 28)
  static let clearedPageIsItsOwn = ModelRules(rawValue: 1 << 29)
  static let clearingWaitsForFloor = ModelRules(rawValue: 1 << 30)
}
