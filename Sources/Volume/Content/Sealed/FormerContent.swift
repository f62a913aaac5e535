// Encrypted files whose content was opened since the kernel has known them, and what is kept of those that nobody uses.
//
// The state of such a file, with what hangs on its node for it, is more than a kilobyte; of a tree that was written or
// read all files were opened once. So where nothing of a file is in memory any more it is let go of, and what the next
// opener has to know stays in some bytes.

import LinuxFiles
import SealedFormat
import Synchronization

/// What is kept of a file that was let go of.
struct FormerContent: Sendable {
  /// Its change time when its last user left: while it stays, the kernel's pages are right.
  let seen: Timestamp
  let protection: StaticSector.ProtectionClass
  /// It was counted as one that a crash may have left as it is.
  let wasDoubtful: Bool
}

/// A file whose content was opened.
enum RegisteredContent {
  case present(SealedObject)
  case former(FormerContent)

  var object: SealedObject? {
    guard case .present(let object) = self else { return nil }
    return object
  }

  var protection: StaticSector.ProtectionClass {
    switch self {
    case .present(let object): object.context.format
    case .former(let former): former.protection
    }
  }
}

extension SealedObject {
  /// What is to be kept of it if it is let go of now; nil while anybody uses it, or something of it must not be forgotten.
  ///
  /// Where no new user can come meanwhile.
  var former: FormerContent? {
    guard !isBusy, let left else { return nil }
    return FormerContent(seen: left.seen, protection: context.format, wasDoubtful: left.wasDoubtful)
  }
}

extension Attachment {
  /// Whether the next opener of an encrypted file that nobody uses does as well without it.
  fileprivate var isDispensable: Bool {
    !marks.isWrittenUnseen.load(ordering: .acquiring)
      && state.withLock { $0.pin.way == nil && $0.pin.slot == nil && $0.file.isDispensable }
  }
}

extension FileState {
  fileprivate var isDispensable: Bool {
    handles.isEmpty && watchers == 0 && lowerWay == nil && nameless == nil && !isInBackingCache
      && routes.isFresh
  }
}

extension Volume {
  /// Lets go of what is kept of encrypted files that nobody uses any more, once they are many.
  ///
  /// Called without a lock. A file whose lock somebody has is left for when it is closed next.
  func letGoOfIdle(atLeast many: Int = 64) {
    for id in sealed.takeIdle(atLeast: many) {
      guard let node = try? node(id) else { continue }
      // Alone: whoever comes to the content, or to what hangs on the node, does so with this lock.
      locks.holdingIfFree(node.stripe) { letGo(of: node) }
    }
  }

  private func letGo(of node: Node) {
    guard let attachment = node.existingAttachment, let object = attachment.encrypted as? SealedObject,
      attachment.isDispensable, let former = object.former,
      sealed.replace(object, as: node.id, by: former)
    else { return }
    node.detach(attachment)
  }
}
