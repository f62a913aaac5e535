// Of which directories in views the kernel was told the attributes lately.
//
// It remembers them for a second by the number that a directory has in a view, and does not know that a change by another
// number is one of them as well. So a number is noted before the attributes are read, with the stripe of the real directory.
// Whoever takes that stripe for a change, or has given or taken a name, makes what was noted stale: an answer that
// was read before that and arrives later counts for nothing, because the kernel notes in which order it asked and was told.
// Only answers about a number that the kernel knows may be remembered: a notice about another is lost.

import LinuxFiles
import Synchronization

/// The directories in views whose attributes the kernel may remember.
final class ToldViewAttributes: Sendable {
  private struct Told {
    let directory: NodeID
    var at: UInt64
  }

  private final class Part: Sendable {
    /// By stripe.
    let told: Mutex<[Int: [Told]]> = Mutex([:])
  }

  private static let partCount = 64
  /// The second for which the kernel remembers attributes, and much time for the answer to get there.
  private static let lifetime: UInt64 = 5_000_000_000
  /// From so many of a stripe on, what is too old to count is dropped.
  private static let many = 64

  private let parts = (0..<partCount).map { _ in Part() }
  /// Set before the first request that could need it.
  private let link = Mutex<KernelLink?>(nil)
  private let isUsed = Atomic(false)

  func attach(_ link: KernelLink) { self.link.withLock { $0 = link } }

  private func part(of stripe: Int) -> Part { parts[stripe % ToldViewAttributes.partCount] }

  /// The kernel is about to be told the attributes of a directory; called before they are read.
  func note(_ directory: NodeID, stripe: Int) {
    isUsed.store(true, ordering: .sequentiallyConsistent)
    let now = Clock.monotonicNanoseconds
    part(of: stripe).told.withLock { told in
      var list = told[stripe] ?? []
      if let index = list.firstIndex(where: { $0.directory == directory }) {
        list[index].at = now
      } else {
        if list.count >= ToldViewAttributes.many {
          list.removeAll { now &- $0.at > ToldViewAttributes.lifetime }
        }
        list.append(Told(directory: directory, at: now))
      }
      told[stripe] = list
    }
  }

  /// Makes stale what was noted of a stripe.
  func expire(stripe: Int) {
    guard isUsed.load(ordering: .sequentiallyConsistent) else { return }
    expire(part(of: stripe).told.withLock { $0.removeValue(forKey: stripe) } ?? [])
  }

  /// Makes stale all that was noted.
  func expireAll() {
    guard isUsed.load(ordering: .sequentiallyConsistent) else { return }
    for part in parts {
      let told = part.told.withLock { told in
        defer { told = [:] }
        return told
      }
      for list in told.values { expire(list) }
    }
  }

  private func expire(_ told: [Told]) {
    guard !told.isEmpty, let link = link.withLock({ $0 }) else { return }
    for one in told { link.expireAttributes(one.directory) }
  }
}
