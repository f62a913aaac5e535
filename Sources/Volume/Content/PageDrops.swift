// Pages that the kernel is told to drop, from threads that serve no requests: it waits for those that have them.

import LinuxFiles
import Synchronization

/// The files whose pages are being dropped.
final class PageDrops: Sendable {
  /// Whether one that is under way has to begin anew at its end: it may have passed what was asked for since.
  private let underWay: Mutex<[NodeID: Bool]> = Mutex([:])

  /// Has the pages of a file dropped that are there now; one thread for each file, however often it is asked for.
  func drop(_ node: NodeID, by link: KernelLink) throws(Errno) {
    let isFirst = underWay.withLock { $0.updateValue(true, forKey: node) == nil }
    guard isFirst else { return }
    do throws(Errno) {
      _ = try PlainThread(name: "purge") {
        while self.begins(node) { link.dropPages(node) }
      }
    } catch {
      underWay.withLock { $0[node] = nil }
      throw error
    }
  }

  private func begins(_ node: NodeID) -> Bool {
    underWay.withLock { underWay in
      guard underWay[node] == true else {
        underWay[node] = nil
        return false
      }
      underWay[node] = false
      return true
    }
  }
}
