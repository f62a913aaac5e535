// The pages of many files, dropped by a lock: in threads, because the kernel waits for a file whose disk hangs.

import LinuxFiles
import Synchronization

/// The files whose pages the kernel is to drop before a lock is done.
///
/// One thread goes through them. Whenever it is found waiting for one file, another thread does the rest: files that
/// hang hold up each other, and none of those that do not.
final class PageDropRound: Sendable {
  private struct State {
    var waiting: [NodeID]
    var left: Set<NodeID>
    var threads = 0
  }

  private static let mostThreads = 64

  private let state: Mutex<State>

  init(_ nodes: [NodeID]) {
    state = Mutex(State(waiting: nodes.reversed(), left: Set(nodes)))
  }

  /// Those that are not done with when the time is over.
  func run(by link: KernelLink, atMost nanoseconds: UInt64) -> Set<NodeID> {
    let end = Clock.monotonicNanoseconds + nanoseconds
    var pause: UInt32 = 1
    var before = Int.max
    while true {
      let (left, isWaiting, threads) = state.withLock { ($0.left, !$0.waiting.isEmpty, $0.threads) }
      guard !left.isEmpty else { return [] }
      if isWaiting, threads == 0 || (left.count == before && threads < PageDropRound.mostThreads) {
        goOn(by: link)
        continue
      }
      guard Clock.monotonicNanoseconds < end else { return left }
      before = left.count
      Clock.pause(milliseconds: pause)
      pause = min(pause * 2, 16)
    }
  }

  private func goOn(by link: KernelLink) {
    state.withLock { $0.threads += 1 }
    do throws(Errno) {
      _ = try PlainThread(name: "purge") { self.work(by: link) }
    } catch {
      work(by: link)
    }
  }

  private func work(by link: KernelLink) {
    while let node = state.withLock({ $0.waiting.popLast() }) {
      link.dropPages(node)
      state.withLock { _ = $0.left.remove(node) }
    }
    state.withLock { $0.threads -= 1 }
  }
}
