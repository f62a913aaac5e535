// How long a delayed request is kept, and when it is tried again.

import LayeredVolume
import LinuxFiles

/// What one request waits for, and since when.
struct Waiting {
  let delay: Delay
  private let since: UInt64

  /// `former`: what the request waited for until now.
  init(for delay: Delay, after former: Waiting?, at now: UInt64) {
    self.delay = delay
    since = former.flatMap { $0.delay == delay ? $0.since : nil } ?? now
  }

  private static let millisecond: UInt64 = 1_000_000
  private static let shortestPause = 2 * millisecond
  private static let longestPause = 250 * millisecond

  /// The time until the next attempt: a quarter of the time waited so far.
  ///
  /// So a long wait costs few attempts and ends at most a quarter late.
  func pause(at now: UInt64) -> UInt64 {
    min(max((now &- since) / 4, Waiting.shortestPause), Waiting.longestPause)
  }

  /// The answer to a request that has waited too long; nil before that.
  func failure(at now: UInt64) -> Errno? {
    now &- since < longest ? nil : refusal
  }

  /// The answer to a request that may not wait any longer.
  var refusal: Errno {
    switch delay {
    case .inUse: .busy
    // As for a caller who would not wait for the lease.
    case .leased, .names, .building: .again
    }
  }

  private var longest: UInt64 {
    switch delay {
    // The kernel sends the RELEASE of an earlier close within this time.
    case .inUse: 100 * Waiting.millisecond
    // The kernel breaks the lease after `lease-break-time`.
    case .leased: UInt64(Leases.secondsToBreak + 5) * 1_000 * Waiting.millisecond
    // The volume gives up a lookup after two seconds; this ends only a request that needs one lookup after the other.
    case .names: 10_000 * Waiting.millisecond
    // A directory of the most items takes two seconds.
    case .building: 60_000 * Waiting.millisecond
    }
  }
}
