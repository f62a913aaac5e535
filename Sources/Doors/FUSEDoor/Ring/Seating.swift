// Which seats at the ring are taken, and what the loss of one means.

import LinuxFiles
import Synchronization

/// The seats of a session.
///
/// A seat more or less is no matter, but a queue without any is: as long as the ring is not ready, the kernel lets
/// every caller wait for it; afterwards those whose requests it puts there.
final class Seating: Sendable {
  /// What there is to do when somebody has left.
  enum Loss: Equatable {
    /// Others of the queue go on.
    case bearable
    /// The queue has never had a seat: the kernel is to be told that it will have none.
    case neverServed
    /// The kernel puts requests where nobody is any more.
    case fatal
  }

  private struct Queue {
    var seats = 0
    var wasServed = false
  }

  private struct State {
    var queues: [Int: Queue] = [:]
    var refusal: Errno?
    var isGivenUp = false
  }

  private let state = Mutex(State())

  /// A seat is about to be taken.
  func sit(at queue: Int) {
    state.withLock { $0.queues[queue, default: Queue()].seats += 1 }
  }

  /// The kernel has taken a seat.
  func served(_ queue: Int) {
    state.withLock { $0.queues[queue, default: Queue()].wasServed = true }
  }

  /// Whether the kernel has ever taken a seat here.
  func isServed(_ queue: Int) -> Bool {
    state.withLock { $0.queues[queue]?.wasServed ?? false }
  }

  /// A seat is lost, or could not be taken.
  func leave(_ queue: Int, because error: Errno) -> Loss {
    state.withLock { state in
      state.refusal = error
      var place = state.queues[queue, default: Queue()]
      place.seats = max(0, place.seats - 1)
      state.queues[queue] = place
      guard place.seats == 0 else { return .bearable }
      state.isGivenUp = true
      return place.wasServed ? .fatal : .neverServed
    }
  }

  /// For `status`: the way requests come now.
  var description: String {
    let (refusal, isGivenUp) = state.withLock { ($0.refusal, $0.isGivenUp) }
    guard let refusal else { return "uring" }
    return isGivenUp
      ? "dev: the kernel's ring had to be given up: \(refusal)"
      : "uring, with fewer places than wanted: \(refusal)"
  }
}
