// What other threads see of a worker, at the price of one atomic addition at each end of a request.

import Synchronization

/// Whether a worker is busy, and whether it is still at the same request.
final class WorkerActivity: Sendable {
  /// Counts beginnings and ends of requests: odd while one is served.
  private let transitions = Atomic<UInt64>(0)
  private let supervisor: WorkerSupervisor?

  init(_ supervisor: WorkerSupervisor? = nil) {
    self.supervisor = supervisor
  }

  /// A request begins.
  func begin() {
    // Sequentially consistent, as the supervisor's `isAsleep`: it sees this before it sleeps, or is woken here.
    transitions.add(1, ordering: .sequentiallyConsistent)
    supervisor?.wake()
  }

  func end() {
    transitions.add(1, ordering: .releasing)
  }

  /// A request was queued because too few workers were free: more of them may be needed.
  func requestQueued() {
    supervisor?.wake()
  }

  /// The volume is not mounted any more: no worker is to be added.
  func connectionEnded() {
    supervisor?.end()
  }

  /// Odd while a request is served; unchanged as long as it is the same one.
  var count: UInt64 { transitions.load(ordering: .sequentiallyConsistent) }

  var isBusy: Bool { count & 1 == 1 }
}
