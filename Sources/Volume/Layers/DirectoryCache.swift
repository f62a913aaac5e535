// A bounded number of open directories, by which everything else is reached.

import LinuxFiles
import Synchronization

/// Keeps descriptors of directories that were used lately; a second-chance clock takes the others away.
///
/// One descriptor per looked-up object is impossible (a hard limit of 20,000 is common) and not needed: a
/// name in a directory that is open costs no more.
final class DirectoryCache: Sendable {
  private struct Ring {
    var held: [Attachment]
    var hand = 0
  }

  private let capacity: Int
  private let ring: Mutex<Ring>

  init(capacity: Int) {
    self.capacity = max(capacity, 16)
    ring = Mutex(Ring(held: []))
  }

  /// Remembers the descriptor of a directory, and lets go of one that nobody asked for lately.
  ///
  /// `parts`: with it the directories of lowers that it is made of.
  func keep(_ descriptor: SharedDescriptor, _ parts: DirectoryParts? = nil, for attachment: Attachment) {
    attachment.wasUsed.store(true, ordering: .relaxed)
    let isNew = attachment.state.withLock { state in
      let isNew = state.directory.descriptor == nil
      state.directory.descriptor = descriptor
      state.directory.parts = parts
      return isNew
    }
    guard isNew else { return }
    let evicted: Attachment? = ring.withLock { ring in
      guard ring.held.count >= capacity else {
        ring.held.append(attachment)
        return nil
      }
      while ring.held[ring.hand].wasUsed.exchange(false, ordering: .relaxed) {
        ring.hand = (ring.hand + 1) % ring.held.count
      }
      let evicted = ring.held[ring.hand]
      ring.held[ring.hand] = attachment
      ring.hand = (ring.hand + 1) % ring.held.count
      return evicted
    }
    guard let evicted, evicted !== attachment else { return }
    evicted.state.withLock { $0.directory.close() }
  }

  /// The kernel forgot the directory: its descriptor goes at once.
  func drop(_ attachment: Attachment) {
    attachment.wasUsed.store(false, ordering: .relaxed)
    attachment.state.withLock { $0.directory.close() }
    ring.withLock { ring in
      guard let index = ring.held.firstIndex(where: { $0 === attachment }) else { return }
      ring.held.swapAt(index, ring.held.count - 1)
      ring.held.removeLast()
      if ring.hand >= ring.held.count { ring.hand = 0 }
    }
  }
}
