// How often each request came, for `status` and tests.

import Synchronization

/// Counts by opcode.
///
/// Relaxed: the numbers are for people.
final class Counters: Sendable {
  /// As many as ``Opcode/tableSize``; the type takes a literal only.
  private let requests: InlineArray<54, Atomic<UInt64>>
  /// Answers the kernel did not take.
  private let undelivered = Atomic<UInt64>(0)

  init() {
    requests = InlineArray { _ in Atomic(0) }
  }

  func count(_ opcode: Opcode) {
    let index = Int(opcode.rawValue)
    guard requests.indices.contains(index) else { return }
    requests[index].add(1, ordering: .relaxed)
  }

  func countUndelivered() {
    undelivered.add(1, ordering: .relaxed)
  }

  var undeliveredReplies: UInt64 { undelivered.load(ordering: .relaxed) }

  /// The requests that came at least once, by opcode number.
  var snapshot: [(opcode: Opcode, count: UInt64)] {
    Opcode.allCases.compactMap { opcode in
      let index = Int(opcode.rawValue)
      guard requests.indices.contains(index) else { return nil }
      let count = requests[index].load(ordering: .relaxed)
      return count == 0 ? nil : (opcode, count)
    }
  }

  /// The same with names, and the answers the kernel did not take.
  @Sendable func described() -> [(name: String, count: UInt64)] {
    snapshot.map { (name: "\($0.opcode)", count: $0.count) } + [
      (name: "undelivered", count: undeliveredReplies)
    ]
  }
}
