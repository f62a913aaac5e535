// What a worker lets others know of itself, at the price of a few stores.

import Synchronization

/// Whether a worker is busy, and whether with the same request as before.
final class Pulse: Sendable {
  /// Odd while a request is served.
  private let beats = Atomic<UInt64>(0)
  private let relief: Relief?

  init(_ relief: Relief? = nil) {
    self.relief = relief
  }

  /// A request begins.
  func begin() {
    // In one order with what `Relief` does before it sleeps: it sees this, or this sees it asleep.
    beats.add(1, ordering: .sequentiallyConsistent)
    relief?.notice()
  }

  /// A request has to wait for a worker: more of them may be needed.
  func requestWaits() {
    relief?.notice()
  }

  func end() {
    beats.add(1, ordering: .releasing)
  }

  var now: UInt64 { beats.load(ordering: .sequentiallyConsistent) }

  /// The volume is not mounted any more: nobody is to be called to help.
  func sawTheEnd() {
    relief?.end()
  }
}
