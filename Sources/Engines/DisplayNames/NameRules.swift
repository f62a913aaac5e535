package import ItemKinds

// From a real name to the name that is shown.

/// The rules of a view: its languages, what it hides, and the tables.
package struct NameRules: Sendable {
  package let kinds: KindTables
  package let languages: LanguageList
  package let extensions: ExtensionPolicy
  package internal(set) var standard: StandardNames
  let tools: NameTools
  /// The tags and names of the languages, the best first.
  package let tried: [String]

  package init(
    languages: LanguageList, extensions: ExtensionPolicy = .known, kinds: KindTables = KindTables(),
    standard: StandardNames = StandardNames(), tools: NameTools
  ) {
    self.kinds = kinds
    self.languages = languages
    self.extensions = extensions
    self.standard = standard
    self.tools = tools
    tried = languages.tried
  }

  /// The name of one item.
  ///
  /// What is written goes behind what is in `scratch`. An ASCII name that stays as it is asks for no memory.
  package func ownName(of name: Span<UInt8>, _ facts: ItemFacts, _ scratch: inout NameScratch) -> OwnName {
    var own = OwnName(plain: .real(count: name.count), wish: nil, nameClass: .unchanged)
    if !NameRules.isVisibleASCII(name) {
      switch scratch.escape(name, tools) {
      case .same: break
      case .normalised(let range):
        own.plain = .written(range)
        own.nameClass = .escaped
      case .escaped(let range):
        // Nothing else is done to a name that could deceive.
        return OwnName(plain: .written(range), wish: nil, nameClass: .escaped)
      }
    }
    guard name.count > 0, name[0] != UInt8(ascii: ".") else { return own }
    switch facts.kind {
    case .regular: hideExtension(name, facts, isPackage: false, &own, scratch)
    case .directory: wishOfDirectory(name, facts, &own, &scratch)
    default: break
    }
    return own
  }

  @inline(__always)
  private static func isVisibleASCII(_ name: Span<UInt8>) -> Bool {
    for index in name.indices where name[index] < 0x20 || name[index] >= 0x7F { return false }
    return true
  }

  private func wishOfDirectory(
    _ name: Span<UInt8>, _ facts: ItemFacts, _ own: inout OwnName, _ scratch: inout NameScratch
  ) {
    if KindTables.isLocalized(name) {
      guard case .localizations(let value) = facts.finding else { return }
      return localize(value, &own, &scratch, name)
    }
    if facts.finding == .marker, isStandard(own.plain, &own, &scratch, name) { return }
    let hasBit = facts.hasBundleBit && !facts.isWithheld
    guard kinds.isPackage(name, isRoot: false, hasBundleBit: hasBit) else { return }
    if case .bundle(let value?) = facts.finding {
      wishOfBundle(value, name, facts, &own, &scratch)
    } else {
      hideExtension(name, facts, isPackage: true, &own, scratch)
    }
  }

  /// A directory `NAME.localized`: its translation, else `NAME`, unless that looks like a document.
  private func localize(
    _ value: DisplayValue?, _ own: inout OwnName, _ scratch: inout NameScratch, _ name: Span<UInt8>
  ) {
    if let value {
      let start = scratch.text.count
      scratch.append(value.bytes)
      own.wish = .written(start..<scratch.text.count)
    } else {
      let stem = own.plain.without(".localized".utf8.count)
      guard stem.count > 0, !passesForNameWithExtension(stem, name, scratch) else { return }
      own.wish = stem
    }
    own.nameClass = .localized
  }

  /// A directory with the name of a standard one: true, also if no language has a word for it.
  private func isStandard(
    _ plain: NameText, _ own: inout OwnName, _ scratch: inout NameScratch, _ name: Span<UInt8>
  ) -> Bool {
    let key = text(plain, name, scratch)
    guard standard.has(key) else { return false }
    guard let text = standard.text(for: key, tags: tried) else { return true }
    let start = scratch.text.count
    scratch.append(text)
    own.wish = .written(start..<scratch.text.count)
    own.nameClass = .standard
    return true
  }

  /// A translated bundle keeps its extension, unless that is hidden and the translation does not look like a document.
  private func wishOfBundle(
    _ value: DisplayValue, _ name: Span<UInt8>, _ facts: ItemFacts, _ own: inout OwnName,
    _ scratch: inout NameScratch
  ) {
    let looksLikeDocument = passesForNameWithExtension(value)
    let start = scratch.text.count
    if let dot = FileExtension.dot(in: name) {
      let isHidden =
        !looksLikeDocument && hidesExtension(name, at: dot, facts, isPackage: true, own.plain, scratch)
      scratch.append(value.bytes)
      if !isHidden, !value.ends(inExtensionOf: name, at: dot) { scratch.append(name, dot..<name.count) }
    } else {
      guard !looksLikeDocument else { return }
      scratch.append(value.bytes)
    }
    own.wish = .written(start..<scratch.text.count)
    own.nameClass = .bundle
  }

  // MARK: Extensions

  @inline(__always)
  private func hideExtension(
    _ name: Span<UInt8>, _ facts: ItemFacts, isPackage: Bool, _ own: inout OwnName,
    _ scratch: borrowing NameScratch
  ) {
    guard let dot = FileExtension.dot(in: name),
      hidesExtension(name, at: dot, facts, isPackage: isPackage, own.plain, scratch)
    else { return }
    own.wish = own.plain.without(name.count - dot)
    own.nameClass = .extensionHidden
  }

  /// What policy and state say, and no guard objects to.
  private func hidesExtension(
    _ name: Span<UInt8>, at dot: Int, _ facts: ItemFacts, isPackage: Bool, _ plain: NameText,
    _ scratch: borrowing NameScratch
  ) -> Bool {
    guard extensions != .never, facts.state != .show, !facts.isWithheld,
      let word = FileExtension(name, in: dot + 1..<name.count)
    else { return false }
    let meaning = kinds.meaning(of: word)
    if facts.state == .unset {
      // A user who starts a program should see what it is.
      if !isPackage, facts.isExecutable { return false }
      switch extensions {
      case .bit: guard isPackage, word == NameRules.application else { return false }
      case .known: guard isPackage || meaning?.isKnown ?? false else { return false }
      case .all, .never: break
      }
    }
    if !isPackage, meaning?.isStartable ?? false { return false }
    let stem = plain.without(name.count - dot)
    return !hidesBehindBlanks(stem, name, scratch) && !passesForNameWithExtension(stem, name, scratch)
  }

  private static let application = FileExtension("app")

  // MARK: Texts

  private func hidesBehindBlanks(
    _ stem: NameText, _ name: Span<UInt8>, _ scratch: borrowing NameScratch
  ) -> Bool {
    switch stem {
    case .real(let count): blanksHideEnd(name, in: 0..<count)
    case .written(let range): blanksHideEnd(scratch.text.span, in: range)
    }
  }

  private func passesForNameWithExtension(
    _ text: NameText, _ name: Span<UInt8>, _ scratch: borrowing NameScratch
  ) -> Bool {
    switch text {
    case .real(let count): kinds.passesForNameWithExtension(name, in: 0..<count)
    case .written(let range): kinds.passesForNameWithExtension(scratch.text.span, in: range)
    }
  }

  private func text(_ text: NameText, _ name: Span<UInt8>, _ scratch: borrowing NameScratch) -> [UInt8] {
    switch text {
    case .real(let count): (0..<count).map { name[$0] }
    case .written(let range): Array(scratch.text[range])
    }
  }
}

extension NameText {
  /// Without some bytes at its end, which are ASCII and so the same in every form of the name.
  func without(_ count: Int) -> NameText {
    switch self {
    case .real(let whole): .real(count: max(0, whole - count))
    case .written(let range): .written(range.lowerBound..<max(range.lowerBound, range.upperBound - count))
    }
  }
}
