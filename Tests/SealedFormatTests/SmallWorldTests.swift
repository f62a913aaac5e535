// Every crash of some small worlds: each prefix of the writes of an operation, and after it each combination of what the
// disk kept, each unit old, new or torn.

import CrashDisk
import Randomness
import SealedFormat
import Testing

@Suite struct SmallWorldTests {
  private enum Operation: CustomStringConvertible {
    case write([UInt64])
    case truncate(UInt64)
    case punch(UInt64)
    case sync
    case close

    var description: String {
      switch self {
      case .write(let blocks): "write \(blocks)"
      case .truncate(let size): "truncate \(size)"
      case .punch(let block): "punch \(block)"
      case .sync: "sync"
      case .close: "close"
      }
    }
  }

  /// In a synced file of `synced` blocks, these operations, and a crash anywhere in them.
  private func crashes(_ synced: [UInt64], _ operations: [Operation], ended: Bool) throws -> Int {
    var crashes = 0
    var limit = 0
    while true {
      let disk = CrashDisk()
      var history = [ModelContent()]
      let isComplete = try play(on: disk, synced, operations, ended: ended, limit: limit, &history)
      crashes += try checkAll(disk, history, ended: ended, "\(synced) \(operations) write \(limit)")
      if isComplete { return crashes }
      limit += 1
    }
  }

  private func words(_ seed: UInt64) -> [UInt64] { (0..<8).map { seed << 8 | $0 + 1 } }

  private func play(
    on disk: CrashDisk, _ synced: [UInt64], _ operations: [Operation], ended: Bool, limit: Int,
    _ history: inout [ModelContent]
  ) throws -> Bool {
    var writer = ModelWriter(creatingOn: disk, session: 1, random: 1, rules: .all)
    var content = ModelContent()
    func write(_ numbers: [UInt64], seed: UInt64) throws {
      var after = content
      for number in numbers {
        after[number] = words(seed + number)
        after.size = max(after.size, number * 4096 + 4096)
      }
      let request = try writer.begin(
        numbers.compactMap { number in Block(number).map { ($0, after[number]) } }, size: after.size)
      history.append(after)
      content = after
      try writer.finish(request)
    }
    func sync() throws {
      guard try writer.beginSync() == .ready else { return }
      try writer.endSync()
      history = [content]
    }
    if synced.isEmpty {
      try writer.extend(to: 0)
    } else {
      try write(synced, seed: 100)
    }
    try writer.lastClose()
    try sync()
    disk.writesLeft = limit
    do {
      if ended {
        let view = try ModelReader(disk: disk).view { $0 == 1 }
        writer = try ModelWriter(
          changing: view, on: disk, session: 2, memory: .nothing, random: 2, rules: .all)
      }
      for (index, operation) in operations.enumerated() {
        switch operation {
        case .write(let numbers): try write(numbers, seed: UInt64(200 + 100 * index))
        case .truncate(let size):
          guard writer.state.mayTruncate(to: size), size < content.size else { continue }
          content.truncate(to: size)
          history.append(content)
          try writer.truncate(to: size)
        case .punch(let number):
          guard let block = Block(number), content.blocks[number] != nil else { continue }
          content[number] = ModelContent.zeros
          history.append(content)
          try writer.finish(try writer.begin([(block, nil)], size: 0))
        case .sync: try sync()
        case .close: try writer.lastClose()
        }
      }
    } catch is Interruption {
      return false
    }
    return true
  }

  private func checkAll(
    _ disk: CrashDisk, _ history: [ModelContent], ended: Bool, _ words: String
  ) throws -> Int {
    var used: Set<Int> = []
    for number in UInt64(0)..<200 {
      guard let block = Block(number), block.sectorAddress.page.number < UInt64(disk.pages) else { continue }
      let pair = try ModelReader(disk: disk).pair(of: block)
      for half in Half.allCases { if let page = pair[half].page { used.insert(Int(page.number)) } }
    }
    let units = disk.units { $0 > 0 && (used.contains($0) || Page(UInt64($0))?.mayHoldBlock == true) }
    var count = 0
    var choice = [Int](repeating: 0, count: units.count)
    while true {
      let kept = zip(units, choice).flatMap { $0[$1] }
      for pages in disk.lengthsOfCrash {
        count += 1
        check(disk.crashed(keeping: kept, pages: pages), history, ended: ended, words)
      }
      var index = 0
      while index < units.count {
        choice[index] += 1
        if choice[index] < units[index].count { break }
        choice[index] = 0
        index += 1
      }
      if index == units.count { return count }
    }
  }

  private func check(_ disk: CrashDisk, _ history: [ModelContent], ended: Bool, _ words: String) {
    do {
      let reader = ModelReader(disk: disk)
      let view = try reader.view { ended && $0 == 1 }
      let found = try reader.content(view)
      compare(found, history, words)
      _ = try ModelWriter(changing: view, on: disk, session: 3, memory: .nothing, random: 3, rules: .all)
      let recovered = try reader.content(try reader.view { $0 == 3 })
      if recovered != found { Issue.record("\(words): recovery changes the content") }
    } catch {
      Issue.record("\(words): \(error)")
    }
  }

  private func compare(_ found: ModelContent, _ history: [ModelContent], _ words: String) {
    if !history.contains(where: { $0.size == found.size }) { Issue.record("\(words): size \(found.size)") }
    for number in Set(history.flatMap(\.blocks.keys)).union(found.blocks.keys)
    where number * 4096 < found.size {
      let isKnown = history.contains {
        ModelContent.cut($0[number], of: number, at: found.size) == found[number]
      }
      if !isKnown { Issue.record("\(words): block \(number)") }
    }
  }

  /// No index page, one, two and three of them.
  @Test(arguments: [[], [0], [0, 5, 23], [0, 24], [23, 24, 71], [0, 72], [24, 72, 120]] as [[UInt64]])
  func noneLosesWhatWasSynced(_ synced: [UInt64]) throws {
    let last = synced.last ?? 0
    let middle = last * 4096 + 1024
    var total = 0
    for ended in [false, true] {
      for operations: [Operation] in [
        [.write([last])], [.write([last]), .write([last])], [.write([0, last + 1])], [.truncate(middle)],
        [.truncate(middle), .write([last + 1])], [.truncate(1024), .sync, .write([last])], [.punch(last)],
        [.punch(last), .write([last])], [.write([last]), .sync, .write([last])],
        [.write([last]), .sync, .close, .write([last])],
        [.write([last + 1]), .truncate(middle), .close],
      ] {
        total += try crashes(synced, operations, ended: ended)
      }
    }
    print("\(synced): \(total) crashes")
    #expect(total > 0)
  }
}
