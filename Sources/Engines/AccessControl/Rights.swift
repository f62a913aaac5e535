// The rights an access list can grant or deny, with the numbers macOS gives them.

/// A set of rights, as one 32-bit word.
///
/// The same bit has one name on files and another on directories (`read` and `list`); both are spelled
/// here, so that a rule reads in the words of the object it is about.
///
/// Public, like every set and enum here that other modules work with: for a `package` type they reach set
/// operations and `==` through witness tables only, and allocate for each literal. Opening a file with plain
/// mode bits took 1050 ns and 16 allocations instead of 60 ns and none (`EngineBenchmark`).
public struct Rights: OptionSet, Hashable, Sendable {
  /// The word as it is stored.
  public let rawValue: UInt32

  /// Takes a word as it is stored.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  // On disk since format 1. Never renumber.
  package static let read = Rights(rawValue: 1 << 1)
  package static let write = Rights(rawValue: 1 << 2)
  package static let execute = Rights(rawValue: 1 << 3)
  package static let delete = Rights(rawValue: 1 << 4)
  package static let append = Rights(rawValue: 1 << 5)
  package static let deleteChild = Rights(rawValue: 1 << 6)
  package static let readAttributes = Rights(rawValue: 1 << 7)
  package static let writeAttributes = Rights(rawValue: 1 << 8)
  package static let readExtended = Rights(rawValue: 1 << 9)
  package static let writeExtended = Rights(rawValue: 1 << 10)
  package static let readSecurity = Rights(rawValue: 1 << 11)
  package static let writeSecurity = Rights(rawValue: 1 << 12)
  package static let takeOwnership = Rights(rawValue: 1 << 13)
  package static let synchronize = Rights(rawValue: 1 << 20)

  package static let list = read
  package static let addFile = write
  package static let search = execute
  package static let addSubdirectory = append

  /// Every right an entry can hold, generic bits aside.
  package static let specific = Rights(rawValue: 0x3FFE | 1 << 20)

  // Generic bits may be stored in an entry; they are expanded when the entry is evaluated.
  package static let genericAll = Rights(rawValue: 1 << 21)
  package static let genericExecute = Rights(rawValue: 1 << 22)
  package static let genericWrite = Rights(rawValue: 1 << 23)
  package static let genericRead = Rights(rawValue: 1 << 24)
  package static let generic: Rights = [.genericAll, .genericExecute, .genericWrite, .genericRead]

  /// What a stored entry may contain; everything else is stripped when a list is stored.
  package static let storable = specific.union(generic)

  // Bits that exist only in a request.
  /// "May this object receive another hard link": only flags and a read-only volume are looked at.
  package static let linkTarget = Rights(rawValue: 1 << 25)
  /// Nothing is asked of the list, but flags that forbid a change refuse.
  package static let checkImmutable = Rights(rawValue: 1 << 26)
  /// The request changes the flags themselves, which do not protect against that.
  package static let ignoringFlags = Rights(rawValue: 1 << 30)

  /// The rights that change something: they meet a read-only volume and the file flags.
  package static let modifying: Rights = [
    .write, .delete, .append, .deleteChild, .writeAttributes, .writeExtended, .writeSecurity,
    .takeOwnership, .linkTarget, .checkImmutable,
  ]

  /// What stat(2) takes.
  package static let looking: Rights = [.readAttributes, .readSecurity]

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
