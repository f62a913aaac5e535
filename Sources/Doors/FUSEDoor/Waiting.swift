// How long a request that cannot be answered yet is kept, and when it is tried again.

import LayeredVolume
import LinuxFiles

/// What one request waits for, and since when.
struct Waiting {
  let delay: Delay
  private let since: UInt64

  /// The request has been delayed; `former` is what it waited for until now.
  init(for delay: Delay, after former: Waiting?, at now: UInt64) {
    self.delay = delay
    since = former.flatMap { $0.delay == delay ? $0.since : nil } ?? now
  }

  private static let millisecond: UInt64 = 1_000_000
  private static let shortestPause = 2 * millisecond
  private static let longestPause = 250 * millisecond

  /// How long to wait before the next attempt: a quarter of what was waited until now, so that a long wait costs few
  /// attempts and ends at most a quarter late.
  func pause(at now: UInt64) -> UInt64 {
    min(max((now &- since) / 4, Waiting.shortestPause), Waiting.longestPause)
  }

  /// The answer once the request has waited long enough; nil before.
  func failure(at now: UInt64) -> Errno? {
    now &- since < longest ? nil : refusal
  }

  /// The answer to a request that cannot wait any longer.
  var refusal: Errno {
    switch delay {
    case .inUse: .busy
    // As for a caller who would not wait for the lease.
    case .leased, .names: .again
    }
  }

  private var longest: UInt64 {
    switch delay {
    // A close that was made before the open is told within this time.
    case .inUse: 100 * Waiting.millisecond
    // The kernel takes the lease away after its time.
    case .leased: UInt64(Leases.secondsToBreak + 5) * 1_000 * Waiting.millisecond
    // The volume gives a question up after two seconds; this ends only a request that asks again and again.
    case .names: 10_000 * Waiting.millisecond
    }
  }
}
