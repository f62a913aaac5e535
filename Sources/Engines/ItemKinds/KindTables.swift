// What an extension means, found by one look into one table.

/// The tables of types and packages, ready to be asked; made once, at mount.
package struct KindTables: Sendable {
  /// What is known of an extension.
  package struct Meaning: Sendable {
    /// The row in the table of types, if there is one.
    fileprivate var row: Int?
    /// A directory with it is a package.
    package fileprivate(set) var isPackage = false
    /// A file with it can be started, so that it is never hidden.
    package fileprivate(set) var isStartable = false
    /// In the table of types or of packages.
    package var isKnown: Bool { row != nil || isPackage }

    package var type: TypeRow? { row.map { TypeRow.all[$0] } }
  }

  private var meanings: [FileExtension: Meaning] = [:]

  private static let startable =
    "appimage apk bat cmd com desktop dll exe jar lnk msi pif ps1 run scr vbs wsf"

  package init(packages: PackageExtensions = PackageExtensions()) {
    for (index, row) in TypeRow.all.enumerated() {
      let isStartable = TypeTree.does(row.identifier, conformTo: "public.executable")
      for word in row.extensions.split(separator: " ") {
        guard let word = FileExtension(String(word)) else { continue }
        meanings[word] = Meaning(row: index, isStartable: isStartable)
      }
    }
    for word in KindTables.startable.split(separator: " ") {
      guard let word = FileExtension(String(word)) else { continue }
      meanings[word, default: Meaning()].isStartable = true
    }
    for word in packages.all { meanings[word, default: Meaning()].isPackage = true }
  }

  package func meaning(of word: FileExtension) -> Meaning? { meanings[word] }

  package func isKnown(_ word: FileExtension) -> Bool { meanings[word]?.isKnown ?? false }

  /// Whether a directory is a package: by its extension, or because the Finder says so.
  @inline(__always)
  package func isPackage(_ name: Span<UInt8>, isRoot: Bool, hasBundleBit: Bool) -> Bool {
    guard !isRoot, name.count > 0, name[0] != UInt8(ascii: "."), !KindTables.isLocalized(name) else {
      return false
    }
    if hasBundleBit { return true }
    guard name.count > 3, let dot = FileExtension.dot(in: name) else { return false }
    guard let word = FileExtension(name, in: dot + 1..<name.count) else { return false }
    return meanings[word]?.isPackage ?? false
  }

  /// Whether a name ends in `.localized`, in exactly these letters.
  @inline(__always)
  package static func isLocalized(_ name: Span<UInt8>) -> Bool {
    // Most names end in another letter.
    guard name.count >= 10, name[name.count - 1] == UInt8(ascii: "d") else { return false }
    var index = name.count - 10
    for byte in ".localized".utf8 {
      guard name[index] == byte else { return false }
      index += 1
    }
    return true
  }
}
