// What an encrypted file asks of the volume it is on.

import Ciphers
import LinuxFiles
import SealedFormat

/// Keys, sessions, and a receiver of messages.
protocol SealedSurroundings: Sendable {
  /// Contexts to encrypt with.
  var contexts: AeadPool { get }
  /// The number of this mount's session; before the first is given out, the log on the disk has it.
  func session() throws(Errno) -> UInt64
  /// Also true of the session of this mount.
  func hasEnded(_ session: UInt64) -> Bool
  /// Whether what a session wrote may be in the page cache only, though nothing more is written under its number.
  func isPending(_ session: UInt64) -> Bool
  /// A key for a file that has none yet, with the sector that tells it to those who have the key of its class.
  func newKeys() throws(Errno) -> (StaticSector, FileKeys)
  /// The keys of a file, from its static sector: ENOKEY while its class is locked or on another volume, EIO where the
  /// sector is damaged.
  func keys(from sector: Span<UInt8>) throws(Errno) -> FileKeys
  func report(_ event: SealedEvent)
  /// Whether another mount may write the file at any moment, which this one may not.
  var mayBeWrittenElsewhere: Bool { get }
  /// Whether one does write to the volume now.
  var isWrittenElsewhere: Bool { get }
  /// So many free pages at the end of a backing file are cut off; fewer are only punched.
  var pagesWorthCutting: UInt64 { get }
}

extension SealedSurroundings {
  var pagesWorthCutting: UInt64 { 256 }
  func isPending(_ session: UInt64) -> Bool { false }
  var mayBeWrittenElsewhere: Bool { false }
  var isWrittenElsewhere: Bool { false }
}

/// What should be reported.
enum SealedEvent: Hashable, Sendable {
  enum Part: Hashable, Sendable {
    case header
    /// Both headers are of a form that this version does not know, of which one is told.
    case unknownHeader(FormatDamage.Feature)
    case slots
    case block(UInt64)
  }

  case damaged(Part)
  /// The first static sector does not open; its copy does.
  case usedCopy
  /// A crash took what was not synced: the block is what it was before.
  case lost(block: UInt64)
  /// So many pages of index are being looked through after a crash.
  case recovering(pages: UInt64)
}
