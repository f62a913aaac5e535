// What the heads of files said that nobody has open, so that a file is not read for its size again and again.

import LinuxFiles
import Synchronization

/// The heads of files that were looked into lately, each good as long as the file's change time stays.
///
/// A change time moves in ticks; so what is kept was left alone for longer than that.
final class RememberedHeads: Sendable {
  private struct Entry {
    let identity: ObjectIdentity
    let change: Timestamp
    let head: KnownHead?
  }

  // A power of two. A new entry replaces the one in its slot.
  private static let size = 16_384
  /// Empty until the first file is looked into.
  private let entries: Mutex<[Entry?]> = Mutex([])

  /// Nil if it is not known; nothing inside if the file has none.
  func recall(_ status: FileStatus) -> KnownHead?? {
    let identity = ObjectIdentity(status)
    return entries.withLock { entries -> KnownHead?? in
      guard !entries.isEmpty, let entry = entries[RememberedHeads.slot(status)], entry.identity == identity,
        entry.change == status.change
      else { return nil }
      return .some(entry.head)
    }
  }

  /// `status` was read before the head.
  func keep(_ head: KnownHead?, of status: FileStatus) {
    guard status.isSettled else { return }
    let entry = Entry(identity: ObjectIdentity(status), change: status.change, head: head)
    entries.withLock { entries in
      if entries.isEmpty { entries = Array(repeating: nil, count: RememberedHeads.size) }
      entries[RememberedHeads.slot(status)] = entry
    }
  }

  func forgetAll() { entries.withLock { $0 = [] } }

  private static func slot(_ status: FileStatus) -> Int {
    Int(truncatingIfNeeded: (status.inode &* 0x9E37_79B9_7F4A_7C15) >> 50)
  }
}
