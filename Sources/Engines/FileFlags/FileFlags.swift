// The BSD file flags, with the numbers and words macOS gives them.
//
// For users of chflags, for backups and for Finder information, which carry these numbers: words, and what each flag forbids, are
// tables (SEMANTICS 2).

/// The flags of a file: `st_flags` of macOS and the BSDs.
///
/// Public for the reason given at `Rights`.
public struct FileFlags: OptionSet, Hashable, Sendable {
  /// The word as it is stored.
  public let rawValue: UInt32

  /// Takes a word as it is stored.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  // On disk since format 1. Never renumber.
  /// `nodump`: backups may leave it out.
  package static let noDump = FileFlags(rawValue: 0x0000_0001)
  /// `uchg`: may not change; the owner may clear the flag.
  package static let userImmutable = FileFlags(rawValue: 0x0000_0002)
  /// `uappnd`: may only grow; the owner may clear the flag.
  package static let userAppendOnly = FileFlags(rawValue: 0x0000_0004)
  /// `opaque`: a directory hides what lies below it in other layers.
  package static let opaque = FileFlags(rawValue: 0x0000_0008)
  /// `compressed`: the content is stored compressed.
  package static let compressed = FileFlags(rawValue: 0x0000_0020)
  /// `UF_TRACKED`: has no keyword.
  package static let tracked = FileFlags(rawValue: 0x0000_0040)
  package static let dataVault = FileFlags(rawValue: 0x0000_0080)
  package static let hidden = FileFlags(rawValue: 0x0000_8000)
  /// `arch`: has been archived.
  package static let archived = FileFlags(rawValue: 0x0001_0000)
  /// `schg`: may not change; only root may clear the flag, and not above secure level 0.
  package static let systemImmutable = FileFlags(rawValue: 0x0002_0000)
  /// `sappnd`: may only grow; only root may clear the flag, and not above secure level 0.
  package static let systemAppendOnly = FileFlags(rawValue: 0x0004_0000)
  package static let restricted = FileFlags(rawValue: 0x0008_0000)
  /// `sunlnk`: may not be removed or renamed.
  package static let systemNoUnlink = FileFlags(rawValue: 0x0010_0000)
  /// `dataless`: synthetic; attempts to set or clear it are ignored.
  package static let dataless = FileFlags(rawValue: 0x4000_0000)

  /// `SF_FIRMLINK`: kept, and has no keyword.
  package static let firmlink = FileFlags(rawValue: 0x0080_0000)
  /// Every flag that has a name on macOS, keyword or not.
  package static let known: FileFlags = [
    .noDump, .userImmutable, .userAppendOnly, .opaque, .compressed, .tracked, .dataVault, .hidden, .archived,
    .systemImmutable, .systemAppendOnly, .restricted, .systemNoUnlink, .firmlink, .dataless,
  ]

  package static let immutable: FileFlags = [.userImmutable, .systemImmutable]
  package static let appendOnly: FileFlags = [.userAppendOnly, .systemAppendOnly]

  /// The flags that callers with `writesecurity` may change.
  package static let ownerSettable = FileFlags(rawValue: 0x0000_FFFF)
  /// The flags only root may change: the system domain.
  package static let systemDomain = FileFlags(rawValue: 0x3FFF_0000)
  /// What of the system domain is kept; root's other bits are dropped without a word.
  package static let storedSystem = FileFlags(rawValue: 0x009F_0000)
  /// Bits that are shown but never set or cleared by anybody.
  package static let synthetic = FileFlags(rawValue: 0xC000_0000)
  /// Flags a new or moved-in object takes over from its directory.
  package static let fromParent: FileFlags = [.restricted, .dataVault]

  package var isImmutable: Bool { !isDisjoint(with: .immutable) }
  package var isAppendOnly: Bool { !isDisjoint(with: .appendOnly) }
}
