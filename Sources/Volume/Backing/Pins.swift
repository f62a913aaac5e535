// Ways to objects that lost their last known name while the kernel still holds them.

import LinuxFiles
import Synchronization

/// A bounded queue of pins.
///
/// The kernel forgets a removed object right away unless somebody still uses it. When too many are in use
/// without being open, the oldest pin gives way and its object answers ESTALE.
final class Pins: Sendable {
  private struct Queue {
    var held: [Attachment?] = []
    var next = 0
  }

  private let capacity: Int
  private let queue = Mutex(Queue())

  init(capacity: Int) {
    self.capacity = max(capacity, 16)
  }

  func pin(_ attachment: Attachment, with descriptor: SharedDescriptor) {
    attachment.state.withLock { $0.pin = descriptor }
    let displaced: Attachment? = queue.withLock { queue in
      guard queue.held.count >= capacity else {
        queue.held.append(attachment)
        return nil
      }
      let displaced = queue.held[queue.next]
      queue.held[queue.next] = attachment
      queue.next = (queue.next + 1) % capacity
      return displaced
    }
    guard let displaced, displaced !== attachment else { return }
    displaced.state.withLock { $0.pin = nil }
  }
}
