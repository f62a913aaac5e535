// The rights an access list can grant or deny, with the numbers macOS gives them.

/// A set of rights, as one 32-bit word.
///
/// The same bit has one name on files and another on directories (`read` and `list`); both are spelled
/// here, so that a rule reads in the words of the object it is about.
///
/// Public, like every set and enum here that other modules work with: for a `package` type they reach set
/// operations and `==` through witness tables only, and allocate for each literal. Opening a file with plain
/// mode bits took 1050 ns and 16 allocations instead of 60 ns and none (`EngineBenchmark`). What is inlinable is a number
/// where other modules use it, not a call: a decision about attributes takes 43 ns instead of 71.
public struct Rights: OptionSet, Hashable, Sendable {
  /// The word as it is stored.
  public let rawValue: UInt32

  /// Takes a word as it is stored.
  @inlinable public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  // On disk since format 1. Never renumber.
  @inlinable package static var read: Rights { Rights(rawValue: 1 << 1) }
  @inlinable package static var write: Rights { Rights(rawValue: 1 << 2) }
  @inlinable package static var execute: Rights { Rights(rawValue: 1 << 3) }
  @inlinable package static var delete: Rights { Rights(rawValue: 1 << 4) }
  @inlinable package static var append: Rights { Rights(rawValue: 1 << 5) }
  @inlinable package static var deleteChild: Rights { Rights(rawValue: 1 << 6) }
  @inlinable package static var readAttributes: Rights { Rights(rawValue: 1 << 7) }
  @inlinable package static var writeAttributes: Rights { Rights(rawValue: 1 << 8) }
  @inlinable package static var readExtended: Rights { Rights(rawValue: 1 << 9) }
  @inlinable package static var writeExtended: Rights { Rights(rawValue: 1 << 10) }
  @inlinable package static var readSecurity: Rights { Rights(rawValue: 1 << 11) }
  @inlinable package static var writeSecurity: Rights { Rights(rawValue: 1 << 12) }
  @inlinable package static var takeOwnership: Rights { Rights(rawValue: 1 << 13) }
  @inlinable package static var synchronize: Rights { Rights(rawValue: 1 << 20) }

  @inlinable package static var list: Rights { read }
  @inlinable package static var addFile: Rights { write }
  @inlinable package static var search: Rights { execute }
  @inlinable package static var addSubdirectory: Rights { append }

  /// Every right an entry can hold, generic bits aside.
  @inlinable package static var specific: Rights { Rights(rawValue: 0x3FFE | 1 << 20) }

  // Generic bits may be stored in an entry; they are expanded when the entry is evaluated.
  @inlinable package static var genericAll: Rights { Rights(rawValue: 1 << 21) }
  @inlinable package static var genericExecute: Rights { Rights(rawValue: 1 << 22) }
  @inlinable package static var genericWrite: Rights { Rights(rawValue: 1 << 23) }
  @inlinable package static var genericRead: Rights { Rights(rawValue: 1 << 24) }
  @inlinable package static var generic: Rights {
    [.genericAll, .genericExecute, .genericWrite, .genericRead]
  }

  /// What a stored entry may contain; everything else is stripped when a list is stored.
  @inlinable package static var storable: Rights { specific.union(generic) }

  // Bits that exist only in a request.
  /// "May this object receive another hard link": only flags and a read-only volume are looked at.
  @inlinable package static var linkTarget: Rights { Rights(rawValue: 1 << 25) }
  /// Nothing is asked of the list, but flags that forbid a change refuse.
  @inlinable package static var checkImmutable: Rights { Rights(rawValue: 1 << 26) }
  /// The request changes the flags themselves, which do not protect against that.
  @inlinable package static var ignoringFlags: Rights { Rights(rawValue: 1 << 30) }

  /// The rights that change something: they meet a read-only volume and the file flags.
  @inlinable package static var modifying: Rights {
    [
      .write, .delete, .append, .deleteChild, .writeAttributes, .writeExtended, .writeSecurity,
      .takeOwnership, .linkTarget, .checkImmutable,
    ]
  }

  /// What stat(2) takes.
  @inlinable package static var looking: Rights { [.readAttributes, .readSecurity] }

  /// The rights with generic bits replaced by what they stand for.
  ///
  /// `genericAll` does not contain `takeOwnership`: macOS leaves it out.
  package var expanded: Rights {
    guard !isDisjoint(with: .generic) else { return self }
    var all = self
    if contains(.genericAll) { all.formUnion(Rights(rawValue: 0x1FFE)) }
    if contains(.genericExecute) { all.insert(.execute) }
    if contains(.genericWrite) {
      all.formUnion([
        .write, .delete, .append, .deleteChild, .writeAttributes, .writeExtended, .writeSecurity,
      ])
    }
    if contains(.genericRead) {
      all.formUnion([.read, .readAttributes, .readExtended, .readSecurity])
    }
    return all.subtracting(.generic)
  }
}
