// Readers, writers and syncs at once: nobody hangs, and every block is what some writer wrote.

import Dispatch
import LinuxFiles
import Randomness
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct ThreadTests {
  @Test(.timeLimit(.minutes(2))) func readersNeverSeeAnotherBlock() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    let blocks = 90
    for block in 0..<blocks { try file.put(ThreadTests.block(block, 0), at: Int64(block * 4096)) }
    let failures = Mutex<[String]>([])
    let seeds = Mutex(Dice(for: "threads"))
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      var dice = Dice(seed: seeds.withLock { $0.next() })
      do {
        for round in 1..<400 {
          let block = dice.below(blocks)
          switch thread {
          case 0, 1: try file.put(ThreadTests.block(block, round), at: Int64(block * 4096))
          case 2: try file.synchronize(dataOnly: true)
          default:
            let found = try file.get(block * 4096..<block * 4096 + 4096 * (1 + dice.below(8)))
            for start in stride(from: 0, to: found.count, by: 4096) {
              let number = block + start / 4096
              let whole = Array(found[start..<start + 4096])
              // Number and round stand in it.
              if whole[0] != UInt8(number) || !whole.allSatisfy({ $0 == whole[0] || $0 == whole[1] }) {
                failures.withLock { $0.append("block \(number) has \(whole[0]) \(whole[1])") }
              }
            }
          }
        }
      } catch {
        failures.withLock { $0.append("thread \(thread): \(error)") }
      }
    }
    #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0.prefix(3) })")
    #expect(surroundings.events.isEmpty)
    _ = try file.close()
    surroundings.remount(killed: false)
    let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    for block in 0..<blocks { #expect(try again.get(block * 4096..<block * 4096 + 1) == [UInt8(block)]) }
  }

  /// Every time it is emptied it gets another key.
  @Test(.timeLimit(.minutes(2))) func readersBesideOneWhoEmptiesTheFileFindNoDamage() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    let failures = Mutex<[String]>([])
    let isOver = Atomic(false)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      do {
        guard thread > 0 else {
          defer { isOver.store(true, ordering: .releasing) }
          for round in 0..<1500 {
            try file.put([UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 3 * 4096), at: 0)
            try file.truncate(to: 0)
          }
          return
        }
        while !isOver.load(ordering: .acquiring) {
          if thread == 3 {
            do throws(Errno) { _ = try file.seek(from: 0, .hole) } catch {
              guard error == .noDevice else { throw error }
            }
          } else {
            _ = try file.get(0..<3 * 4096)
          }
        }
      } catch {
        failures.withLock { $0.append("thread \(thread): \(error)") }
      }
    }
    #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0.prefix(3) })")
    #expect(surroundings.events.isEmpty, "\(surroundings.events.prefix(3))")
  }

  private static func block(_ number: Int, _ round: Int) -> [UInt8] {
    [UInt8(number)] + [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 4095)
  }
}
