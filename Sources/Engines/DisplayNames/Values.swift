import ItemKinds
package import PropertyLists

// Translations out of files: which may be shown, and what they belong to.

/// A text that may be shown as a name: not empty, nothing invisible in it, in NFC.
package struct DisplayValue: Equatable, Sendable {
  package let bytes: [UInt8]

  fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether it has the extension of this name itself, in capitals or not.
  func ends(inExtensionOf name: Span<UInt8>, at dot: Int) -> Bool {
    let count = name.count - dot
    guard bytes.count >= count, bytes[bytes.count - count] == UInt8(ascii: "."),
      let theirs = FileExtension(bytes.span, in: bytes.count - count + 1..<bytes.count)
    else { return false }
    return theirs == FileExtension(name, in: dot + 1..<name.count)
  }
}

extension NameRules {
  /// The longest name, in bytes.
  static let longest = 255

  /// A text of a file as a name; nil if it may not be shown.
  ///
  /// A directory that is no package must not look like a document.
  package func value(_ text: some Collection<UInt8>, mayLookLikeDocument: Bool) -> DisplayValue? {
    // NFC may make it shorter, but not by as much as that.
    guard !text.isEmpty, text.count <= 4 * NameRules.longest else { return nil }
    let bytes = text.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: ":") : $0 }
    var walk = EscapeWalk(0..<bytes.count)
    while let step = walk.next(bytes.span) {
      switch step {
      case .kept, .flag: break
      case .escaped, .byte: return nil
      }
    }
    let normal = tools.normalised(bytes)
    guard normal.count <= NameRules.longest, normal.first != UInt8(ascii: "."), !hasBlankAtAnEnd(normal.span)
    else {
      return nil
    }
    let value = DisplayValue(normal)
    return mayLookLikeDocument || !passesForNameWithExtension(value) ? value : nil
  }

  func passesForNameWithExtension(_ value: DisplayValue) -> Bool {
    kinds.passesForNameWithExtension(value.bytes.span, in: value.bytes.indices)
  }

  /// What a strings file calls the directory `NAME.localized`: the value of `NAME`, if it is valid.
  package func localizedValue(in table: StringTable, forDirectory name: [UInt8]) -> DisplayValue? {
    guard KindTables.isLocalized(name.span) else { return nil }
    let stem = tools.normalised(name.dropLast(".localized".utf8.count))
    var index = table.count
    while index > 0 {
      index -= 1
      // Of several the last counts, even if its value does not.
      if tools.normalised(table.key(at: index)) == stem {
        return value(table.value(at: index), mayLookLikeDocument: false)
      }
    }
    return nil
  }

  /// Whether a package still has the name that its maker gave it.
  ///
  /// An item that a user renamed has the name they chose.
  package func isNamed(_ name: [UInt8], by information: StringTable) -> Bool {
    let stem = tools.normalised(name.prefix(FileExtension.dot(in: name.span) ?? name.count))
    return ["CFBundleDisplayName", "CFBundleName", "CFBundleExecutable"].contains { key in
      information.value(of: Array(key.utf8)).map { tools.normalised($0) == stem } ?? false
    }
  }

  /// What the `InfoPlist.strings` of one language call a bundle.
  package func bundleValue(in table: StringTable) -> DisplayValue? {
    for key in ["CFBundleDisplayName", "CFBundleName"] {
      guard let text = table.value(of: Array(key.utf8)) else { continue }
      if let value = value(text, mayLookLikeDocument: true) { return value }
    }
    return nil
  }

  /// The names of folders with translations to look for in a bundle, the best first.
  package func tried(in information: StringTable) -> [String] {
    let region = information.value(of: Array("CFBundleDevelopmentRegion".utf8))
    return languages.tried(withRegion: region.map { String(decoding: $0, as: UTF8.self) })
  }

  /// Adds an administrator's entries to the standard names of a language; what may not be shown is left out.
  package mutating func addStandardNames(_ table: StringTable, tag: String) {
    for index in 0..<table.count {
      guard let value = value(table.value(at: index), mayLookLikeDocument: false) else { continue }
      standard.add(value.bytes, for: tools.normalised(table.key(at: index)), in: tag)
    }
  }
}
