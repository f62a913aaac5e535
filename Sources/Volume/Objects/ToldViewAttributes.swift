// Of which directories in views the kernel was told the attributes lately.
//
// It remembers them for a second by the number that a directory has in a view, and does not know that a change by another
// number is one of them as well. So a number is noted before the attributes are read, with the stripe of the real directory.
// Whoever takes that stripe for a change, or has given or taken a name, makes what was noted stale: an answer that
// was read before that and arrives later counts for nothing, because the kernel notes in which order it asked and was told.
// Only answers about a number that the kernel knows may be remembered: a notice about another is lost.
//
// The notices go out with locks held, also for numbers that the kernel is just dropping. It waits for that to be done, and a
// directory has no pages to be written first, so dropping one waits for none of our answers.
//
// The room of a stripe is fixed: anybody may name any number of views. What finds none is not remembered.

import LinuxFiles
import Synchronization

/// The directories in views whose attributes the kernel may remember.
final class ToldViewAttributes: Sendable {
  private struct Told: Equatable {
    let directory: NodeID
    var at: UInt64

    func counts(at now: UInt64) -> Bool { now &- at < ToldViewNames.lifetime }
  }

  private final class Part: Sendable {
    /// By stripe.
    let told: Mutex<[Int: [Told]]> = Mutex([:])
  }

  private static let partCount = 64
  /// Of each stripe.
  private static let room = 64

  private let parts = (0..<partCount).map { _ in Part() }
  /// Set before the first request that could need it.
  private let link = Mutex<KernelLink?>(nil)
  private let isUsed = Atomic(false)

  func attach(_ link: KernelLink) { self.link.withLock { $0 = link } }

  private func part(of stripe: Int) -> Part { parts[stripe % ToldViewAttributes.partCount] }

  /// The kernel is about to be told the attributes of a directory; called under its lock, before they are read.
  ///
  /// Answers since when they are known; nil if they must not be remembered.
  func note(_ directory: NodeID, stripe: Int) -> UInt64? {
    guard link.withLock({ $0 != nil }) else { return nil }
    isUsed.store(true, ordering: .sequentiallyConsistent)
    let now = Clock.monotonicNanoseconds
    return part(of: stripe).told.withLock { told in
      if let index = told[stripe]?.firstIndex(where: { $0.directory == directory }) {
        told[stripe]?[index].at = now
        return now
      }
      if told[stripe, default: []].count >= ToldViewAttributes.room {
        told[stripe]?.removeAll { !$0.counts(at: now) }
      }
      guard told[stripe, default: []].count < ToldViewAttributes.room else { return nil }
      told[stripe, default: []].append(Told(directory: directory, at: now))
      return now
    }
  }

  /// Makes stale what was noted of a stripe; done when this returns.
  func expire(stripe: Int) {
    guard isUsed.load(ordering: .sequentiallyConsistent) else { return }
    let part = part(of: stripe)
    guard let told = part.told.withLock({ $0[stripe] }) else { return }
    expire(told, of: stripe, in: part)
  }

  /// Makes stale all that was noted.
  func expireAll() {
    guard isUsed.load(ordering: .sequentiallyConsistent) else { return }
    for part in parts {
      for (stripe, told) in part.told.withLock({ $0 }) { expire(told, of: stripe, in: part) }
    }
  }

  /// What was sent is taken away afterwards: until then another change of the stripe must not find nothing, and answer.
  private func expire(_ told: [Told], of stripe: Int, in part: Part) {
    guard let link = link.withLock({ $0 }) else { return }
    let now = Clock.monotonicNanoseconds
    for one in told where one.counts(at: now) { link.expireAttributes(one.directory) }
    part.told.withLock { noted in
      noted[stripe]?.removeAll { told.contains($0) }
      if noted[stripe]?.isEmpty == true { noted[stripe] = nil }
    }
  }
}
