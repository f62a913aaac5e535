package import ItemKinds

// What the name of an item depends on, beside its real name.

/// Whether an item's extension should be hidden, as far as that was set.
package enum ExtensionState: UInt8, Sendable {
  case unset
  case hide
  case show

  /// The Finder's bit counts more than what is recorded.
  package init(finder: FinderFacts.Flags, recordShows: Bool) {
    self = finder.contains(.extensionHidden) ? .hide : recordShows ? .show : .unset
  }
}

/// What was found inside of a directory.
package enum DirectoryFinding: Equatable, Sendable {
  case nothing
  /// A directory `.localized`, and the first valid value of a strings file in it.
  case localizations(DisplayValue?)
  /// A file `.localized`.
  case marker
  /// `Info.plist` of a bundle that was not renamed, and the first valid value of its translations.
  case bundle(DisplayValue?)
}

package struct ItemFacts: Sendable {
  package var kind: FileKind
  /// Any of the three `x` bits.
  package var isExecutable: Bool
  package var state: ExtensionState
  package var hasBundleBit: Bool
  package var finding: DirectoryFinding
  /// An entry denies a user the item's attributes, so its name may not depend on them.
  package var isWithheld: Bool

  package init(
    _ kind: FileKind, isExecutable: Bool = false, state: ExtensionState = .unset, hasBundleBit: Bool = false,
    finding: DirectoryFinding = .nothing, isWithheld: Bool = false
  ) {
    self.kind = kind
    self.isExecutable = isExecutable
    self.state = state
    self.hasBundleBit = hasBundleBit
    self.finding = finding
    self.isWithheld = isWithheld
  }
}

/// How a name was found.
package enum NameClass: UInt8, Sendable {
  case unchanged
  case escaped
  case localized
  case standard
  case bundle
  case extensionHidden
  case raw

  package var letter: Character {
    switch self {
    case .unchanged: "="
    case .escaped: "X"
    case .localized: "L"
    case .standard: "S"
    case .bundle: "B"
    case .extensionHidden: "E"
    case .raw: "r"
    }
  }
}

/// Where the bytes of a name are.
package enum NameText: Equatable, Sendable {
  /// In the real name, from its beginning.
  case real(count: Int)
  /// In what was written.
  case written(Range<Int>)

  var count: Int {
    switch self {
    case .real(let count): count
    case .written(let range): range.count
    }
  }
}

/// The name that an item has by itself, whatever stands beside it.
package struct OwnName: Equatable, Sendable {
  /// The real name with nothing hidden and nothing invisible in it.
  package var plain: NameText
  /// The name that it should have, if there is room for it; nil: the plain one.
  package var wish: NameText?
  package var nameClass: NameClass
}
