// What is kept in memory of one encrypted file.

import Ciphers
import LinuxFiles
import SealedFormat

/// Guarded by ``SealedFile/state``.
struct SealedState: ~Copyable {
  /// Nil: a file without bytes, which gets its header with the first.
  var identity: Identity?
  /// As the slots were found; nil for a file that was made here.
  var view: FileView?
  /// The sectors that say which file it is, and how long, where another mount may write to it.
  var loaded: [UInt8]?
  /// From the first change on.
  var commit: CommitState?
  var free = FreePages(end: 1)
  /// What is remembered of its last change in this mount, until it is changed or synced.
  var left: LeftState?
  /// Whole pages of the backing file.
  var pages: UInt64 = 0
  var index: IndexCache
  /// Blocks that were written to the log already.
  var reported: Set<UInt64> = []
  /// A sync failed, and what it was to bring to the disk is not known or cannot be written again.
  var isBroken = false
  /// The sync failed that was to make durable whose the file is.
  var owesAnnouncement = false
  /// Its bytes are being cut off: what readers still find wrong with them is no damage.
  var isBeingEmptied = false
  /// Pages became free that may take room on the disk.
  var hasFreed = false

  /// Whether the room of free pages is to go back to the disk.
  var owesPunch: Bool { hasFreed && free.areMore(than: SealedLimits.sparePages(of: pages)) }

  struct Identity: Sendable {
    let sector: StaticSector
    /// Which of the two static sectors opened.
    var half = Half.first
    let keys: FileKeys
  }

  init(index: consuming IndexCache) { self.index = index }

  var fileSize: UInt64 { commit?.fileSize ?? view?.slot.fileSize ?? 0 }

  /// Many pages that nobody needs wait for a commit, and after a last close nobody would make one.
  var wastesRoom: Bool {
    guard let commit, !commit.owesAfterFailure else { return false }
    return UInt64(commit.waitingPages) > SealedLimits.waitingPagesAtRest(of: pages)
  }

  /// After the first change every version counts that this mount has not taken back.
  var rules: ReadingRules {
    if let commit {
      return ReadingRules(
        isDoubtful: false, committed: commit.committed, floor: commit.floor,
        blocks: Block.count(commit.fileSize))
    }
    return view?.readingRules ?? ReadingRules(isDoubtful: false, committed: 0, floor: .none, blocks: 0)
  }

  /// The pages that have to be there; an index page missing below is damage.
  var requiredPages: UInt64 { commit == nil ? view?.requiredPages ?? 0 : pages }

  /// Forgets everything; the file has no bytes.
  mutating func becomeEmpty() {
    (identity, view, commit, left) = (nil, nil, nil, nil)
    free = FreePages(end: 1)
    pages = 0
    index.dropAll()
    reported = []
    hasFreed = false
    isBroken = false
    owesAnnouncement = false
  }

  /// A slot is written, and the file has the size that it says.
  mutating func wrote(_ slot: Slot) {
    if slot.fileSize > fileSize { commit?.grow(to: slot.fileSize) }
    commit?.wrote(slot)
  }

  /// The backing file has grown.
  mutating func grew(to pages: UInt64) {
    guard pages > self.pages else { return }
    self.pages = pages
    free.extend(to: pages)
    commit?.pages = pages
  }
}
