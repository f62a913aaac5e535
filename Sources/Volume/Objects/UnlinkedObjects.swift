// Ways to objects that lost their last known name while the kernel still holds them.

import LinuxFiles
import Synchronization

/// A bounded queue of pins.
///
/// The kernel forgets a removed object right away unless a process still uses it; its slot is free again then.
/// When too many are in use without being open, the oldest pin gives way and its object answers ESTALE.
final class UnlinkedObjects: Sendable {
  private struct Queue {
    var held: [Attachment?] = []
    var free: [Int] = []
    var next = 0
  }

  private let capacity: Int
  private let queue = Mutex(Queue())

  init(capacity: Int) {
    self.capacity = max(capacity, 16)
  }

  func keep(_ attachment: Attachment, by descriptor: SharedDescriptor) {
    // The descriptor that gives way is closed after the lock: that may take as long as emptying its file.
    let former: SharedDescriptor? = queue.withLock { queue in
      let (former, hasSlot) = attachment.state.withLock { state in
        defer { state.pin.way = descriptor }
        return (state.pin.way, state.pin.slot != nil)
      }
      return hasSlot ? former : take(&queue, for: attachment)
    }
    _ = former
  }

  /// Gives `attachment` a slot; the attachment that had to give way for it.
  private func take(_ queue: inout Queue, for attachment: Attachment) -> SharedDescriptor? {
    let slot: Int
    if let free = queue.free.popLast() {
      slot = free
    } else if queue.held.count < capacity {
      slot = queue.held.count
      queue.held.append(nil)
    } else {
      slot = queue.next
      queue.next = (queue.next + 1) % capacity
    }
    let displaced = queue.held[slot]
    queue.held[slot] = attachment
    attachment.state.withLock { $0.pin.slot = slot }
    return displaced?.state.withLock { state in state.loosePin() }
  }

  /// The kernel forgot the object, and nobody will ask for it again.
  func forget(_ attachment: Attachment) {
    let former: SharedDescriptor? = queue.withLock { queue in
      let (slot, former) = attachment.state.withLock { state in (state.pin.slot, state.loosePin()) }
      if let slot {
        queue.held[slot] = nil
        queue.free.append(slot)
      }
      return former
    }
    _ = former
  }
}

extension Attachment.State {
  fileprivate mutating func loosePin() -> SharedDescriptor? {
    defer {
      pin = Pin()
    }
    return pin.way
  }
}
