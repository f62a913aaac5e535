// What one decision costs: a list of 16 entries, a caller with 5 supplementary groups, and the last entry is
// the first that matters.
//
// `EngineBenchmark --limit 50` ends with status 1 when the walk over the list takes more than 50 ns, or when
// anything here allocates.

import AccessControl
import CAllocationCounter
import Decisions
import DirectoryModes
import FlagRules
import Glibc

/// What a series of runs found.
struct Measurement {
  let name: String
  let median: Double
  /// The fastest run: other work on the machine only ever adds, so this is what a limit is held against.
  let best: Double
  let allocations: UInt

  /// Measures many short runs; allocations are those of the worst, because one is too many.
  init(_ name: String, rounds: Int = 20_000, runs: Int = 101, _ body: () -> Bool) {
    let clock = ContinuousClock()
    var times: [Double] = []
    var most: UInt = 0
    times.reserveCapacity(runs)
    // Once in the life of a process the runtime makes the description of an optional item: 32 allocations.
    _ = body()
    for _ in 0..<runs {
      var granted = 0
      let before = lv_allocation_count()
      let elapsed = clock.measure {
        for _ in 0..<rounds where body() { granted += 1 }
      }
      most = max(most, lv_allocation_count() - before)
      // The answers have to be right, and have to be used.
      guard granted == rounds else { fail("\(name): a wrong answer") }
      times.append(Double(elapsed.attoseconds) / 1e9 / Double(rounds))
    }
    times.sort()
    self.name = name
    median = times[runs / 2]
    best = times[0]
    allocations = most
  }

  func report() {
    print("\(name): \(tenths(median)) ns (best \(tenths(best))), \(allocations) allocations")
  }

  private func tenths(_ number: Double) -> String {
    let tenths = Int(number * 10)
    return "\(tenths / 10).\(tenths % 10)"
  }
}

extension Duration {
  fileprivate var attoseconds: Int64 {
    components.seconds * 1_000_000_000_000_000_000 + components.attoseconds
  }
}

func fail(_ message: String) -> Never {
  print(message)
  exit(1)
}

@main struct EngineBenchmark {
  static func main() {
    let limit = limit()
    var measurements = measure()
    // A neighbour on the same core doubles the time for seconds; only a walk that is never quick is slow.
    for _ in 0..<20 where limit.map({ measurements[0].best > $0 }) ?? false { measurements = measure() }
    for measurement in measurements { measurement.report() }
    guard let limit else { return }
    if measurements[0].best > limit { fail("\(measurements[0].name): more than \(limit) ns") }
    for measurement in measurements where measurement.allocations > 0 {
      fail("\(measurement.name): allocates")
    }
  }

  private static func limit() -> Double? {
    let words = CommandLine.arguments
    guard words.count > 1 else { return nil }
    guard words.count == 3, words[1] == "--limit", let limit = Double(words[2]) else {
      fail("usage: EngineBenchmark [--limit NANOSECONDS]")
    }
    return limit
  }

  private static func measure() -> [Measurement] {
    let subject = Subject(
      user: 1002, group: 2009, groups: .listed([3001, 3002, 3003, 3004, 3005]), capabilities: nil)
    let list = worstList(groupsFrom: 4000)
    // The numbers end in the same six bits as the caller's groups, so that no entry is ruled out early.
    let similar = worstList(groupsFrom: 3001 + 64, cycling: 5)
    let standing = Standing(subject: subject, isOwner: .notMember, isInOwningGroup: .notMember)
    let judge = Judge(rules: VolumeRules(), subject: subject)
    let file = Item(kind: .file, user: 1001, group: 2001, mode: Mode(0o600), list: list)
    let plain = Item(kind: .file, user: 1001, group: 2001, mode: Mode(0o604))
    let directory = Item(kind: .directory, user: 1001, group: 2001, mode: Mode(0o700), list: list)
    let wanted: Rights = [.read, .write]
    return [
      Measurement("walk over 16 entries, 5 groups") {
        endsAtLast(list.scan(for: wanted, by: standing))
      },
      Measurement("the same with group numbers that look alike") {
        endsAtLast(similar.scan(for: wanted, by: standing))
      },
      Measurement("open for reading and writing, 16 entries") {
        judge.decide(.open(OpenRequest(reads: true, writes: true)), on: file).isAllowed
      },
      Measurement("open for reading, mode bits only") {
        judge.decide(.open(OpenRequest(reads: true)), on: plain).isAllowed
      },
      Measurement("removal, 16 entries on both") {
        judge.decide(.remove(directory: false), on: file, in: directory).isAllowed
      },
      Measurement("rename over a file, 16 entries on all") {
        judge.decide(
          .rename(Rename(changesParent: true)), Scene(file, in: directory, to: directory, over: file)
        ).isAllowed
      },
      Measurement("creation, 16 entries") { judge.decide(.create(.file), on: directory).isAllowed },
      Measurement("search, 16 entries") { judge.decide(.search, on: directory).isAllowed },
      Measurement("attributes, mode bits only") { judge.decide(.readAttributes, on: plain).isAllowed },
    ]
  }

  private static func endsAtLast(_ result: ScanResult) -> Bool {
    if case .allowed(entry: 15) = result.outcome { true } else { false }
  }

  /// Fifteen entries that have to be looked at and do not apply, alternating deny and allow; the last grants.
  private static func worstList(groupsFrom first: UInt32, cycling count: UInt32 = 15) -> AccessList {
    var entries: [AccessEntry] = []
    for index in UInt32(0)..<15 {
      entries.append(
        AccessEntry(
          index % 2 == 0 ? .deny : .allow, .group(first + index % count),
          [.read, .write, .delete, .deleteChild]))
    }
    return AccessList(entries + [AccessEntry(.allow, .everyone, .genericAll)])
  }
}
