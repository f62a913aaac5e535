// Requests that wait in a queue of the ring, and how seats that were added come to them.

import CLinux
import LayeredVolume
import LinuxFiles
import Synchronization

/// Makes the kernel hand out what waits in one queue.
///
/// It does that when another request of the queue is done, not when a seat is added (seen on 6.18): so there must
/// be another one. It goes to the queue of the processor it is made on. Where this process may not run there (a
/// cpuset), it goes to another queue, and what waits goes on waiting for the next request from that processor.
final class Stirring: Sendable {
  private let queue: Int
  /// Borrowed: open as long as the session's workers run.
  private let device: CInt
  /// For how many seats it has not succeeded yet.
  private let owed = Atomic<Int>(0)
  private let isBusy = Atomic(false)
  private let thread: Mutex<Member?> = Mutex(nil)

  init(queue: Int, device: CInt) {
    self.queue = queue
    self.device = device
  }

  /// Whether what waits may not be handed out yet.
  var isOwed: Bool { owed.load(ordering: .acquiring) > 0 }

  /// The kernel has one seat more; called by its worker, who runs on the processor of the queue.
  func stir(by nodes: [NodeID]) {
    if !Notices.stir(device, by: nodes) { owed.add(1, ordering: .releasing) }
  }

  /// Makes up for what has failed, from a thread of its own.
  ///
  /// The kernel may let a notice wait for a node that it is just dropping, and whoever calls this has others to
  /// look after.
  func stirAgain(by nodes: [NodeID]) {
    guard isOwed, !nodes.isEmpty, !isBusy.exchange(true, ordering: .acquiringAndReleasing) else { return }
    join()
    do throws(Errno) {
      let member = Member(try PlainThread(name: "varve-stir") { self.makeUp(by: nodes) })
      thread.withLock { $0 = member }
    } catch {
      // The next time, perhaps.
      isBusy.store(false, ordering: .releasing)
    }
  }

  private func makeUp(by nodes: [NodeID]) {
    _ = lv_stay_on_processor(UInt32(clamping: queue))
    while isOwed, Notices.stir(device, by: nodes) { owed.subtract(1, ordering: .releasing) }
    isBusy.store(false, ordering: .releasing)
  }

  /// Nobody of the queue hangs any more: what waited has been handed out.
  func forgive() {
    owed.store(0, ordering: .releasing)
  }

  /// Waits for the thread that was started last.
  func join() {
    thread.withLock { $0.take() }?.join()
  }
}
