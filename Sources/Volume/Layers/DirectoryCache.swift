// A bounded number of open directories, by which everything else is reached.

import LinuxFiles
import Synchronization

/// Keeps descriptors of directories that were used lately; a second-chance clock takes the others away.
///
/// One descriptor per looked-up object is impossible (a hard limit of 20,000 is common) and not needed: a
/// name in a directory that is open costs no more.
final class DirectoryCache: Sendable {
  private struct Ring {
    var held: [(attachment: Attachment, descriptors: Int)] = []
    var descriptors = 0
    var hand = 0

    /// Counts what a directory has open now, and answers what has to go for it.
    mutating func count(
      _ attachment: Attachment, _ descriptors: Int, isNew: Bool, atMost capacity: Int
    ) -> [Attachment] {
      if !isNew, let index = held.firstIndex(where: { $0.attachment === attachment }) {
        self.descriptors += descriptors - held[index].descriptors
        held[index].descriptors = descriptors
      } else {
        held.append((attachment, descriptors))
        self.descriptors += descriptors
      }
      var evicted: [Attachment] = []
      while self.descriptors > capacity, held.count > DirectoryCache.least {
        if hand >= held.count { hand = 0 }
        let next = held[hand].attachment
        if next !== attachment, !next.wasUsed.exchange(false, ordering: .relaxed) {
          remove(at: hand)
          evicted.append(next)
        }
        hand += 1
      }
      return evicted
    }

    mutating func remove(at index: Int) {
      descriptors -= held[index].descriptors
      held.swapAt(index, held.count - 1)
      held.removeLast()
    }
  }

  /// Of directories that are merged from many layers, too, so many are kept: a path leads through several.
  private static let least = 4

  private let capacity: Int
  private let ring = Mutex(Ring())

  /// `capacity` is of descriptors: a directory that is merged from layers has one for each of them.
  init(capacity: Int) {
    self.capacity = max(capacity, 16)
  }

  /// Remembers the descriptor of a directory, and lets go of those that nobody asked for lately.
  ///
  /// `parts`: with it the directories of lowers that it is made of.
  func keep(_ descriptor: SharedDescriptor, _ parts: DirectoryParts? = nil, for attachment: Attachment) {
    attachment.wasUsed.store(true, ordering: .relaxed)
    let (before, count) = attachment.state.withLock { state in
      let before = state.directory.descriptorCount
      state.directory.descriptor = descriptor
      state.directory.parts = parts
      return (before, state.directory.descriptorCount)
    }
    guard before != count else { return }
    let evicted = ring.withLock {
      $0.count(attachment, count, isNew: before == 0, atMost: capacity)
    }
    for attachment in evicted { attachment.state.withLock { $0.directory.close() } }
  }

  /// The kernel forgot the directory: its descriptor goes at once.
  func drop(_ attachment: Attachment) {
    attachment.wasUsed.store(false, ordering: .relaxed)
    attachment.state.withLock { $0.directory.close() }
    ring.withLock { ring in
      guard let index = ring.held.firstIndex(where: { $0.attachment === attachment }) else { return }
      ring.remove(at: index)
    }
  }
}
