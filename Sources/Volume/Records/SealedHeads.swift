// The first bytes of files that are encrypted, or may be: copies made without attributes have lost the mark.

import Decisions
import LinuxFiles
import RecordFormat
import SealedFormat
import Synchronization

/// Which files are looked into when they are looked up.
final class SealedHeads: Sendable {
  private let isKnown = Atomic<Bool>(false)
  private let known: Mutex<Bytes16?> = Mutex(nil)
  let remembered = RememberedHeads()
  private let unmarked: Mutex<Set<UInt64>> = Mutex([])

  /// The volume that encrypted files of this one name, once there is a keybag.
  var volume: Bytes16? {
    get { isKnown.load(ordering: .acquiring) ? known.withLock { $0 } : nil }
    set {
      // Whose they are was told by the former one.
      if known.withLock({ known in
        defer { known = newValue }
        return known != newValue
      }) {
        remembered.forgetAll()
      }
      isKnown.store(newValue != nil, ordering: .releasing)
    }
  }

  /// How many files were met that are encrypted without saying so; counted up to ``mostUnmarked``.
  var unmarkedFiles: Int { unmarked.withLock { $0.count } }

  /// A copied tree may have a million, and a line in the log for each helps nobody.
  static let mostUnmarked = 1000

  func noteUnmarked(_ inode: UInt64) {
    let isNew = unmarked.withLock { $0.count < SealedHeads.mostUnmarked && $0.insert(inode).inserted }
    guard isNew else { return }
    Log.notice(
      "inode \(inode): encrypted, and its record does not say so, as in a copy made without attributes; "
        + "'varve fsck --repair' marks it")
  }

  /// Whether unmarked files are looked into, too.
  var areSought: Bool { isKnown.load(ordering: .acquiring) }

  /// Whether a file is encrypted, or may be without saying so; one without bytes has no head.
  func mayBe(in status: FileStatus, _ core: CoreRecord) -> Bool {
    guard status.kind == .regular, status.size > 0, !core.isReplacing else { return false }
    // A backing file is whole pages, always.
    return core.isEncrypted || (areSought && status.size % 4096 == 0 && !core.isCompressed)
  }

  /// What the first bytes of such a file say; of an unmarked one only those of this volume count.
  func head(in bytes: Span<UInt8>, _ core: CoreRecord) -> KnownHead? {
    let isMarked = core.isEncrypted
    guard let head = SealedHead(bytes, of: isMarked ? nil : volume) else { return nil }
    // Of a marked one its record knows the class better.
    if isMarked, head.condition != .readable { return nil }
    let isForeign = isMarked && areSought && SealedHead(bytes, of: volume) == nil
    return KnownHead(
      protection: ProtectionClass(head.protectionClass), size: head.fileSize, isMarked: isMarked,
      isForeign: isForeign, isUnreadable: head.condition != .readable)
  }
}
