// Which extensions make a directory a package.

/// Extensions of packages: those of the table, and what an administrator added or took away.
package struct PackageExtensions: Sendable {
  /// Packages that have no row in the table of types, or whose row is about files.
  private static let others =
    "wdgt action component colorpicker docset nib oo3 graffle scptd theater tvlibrary musiclibrary aplibrary "
    + "photolibrary pvm vmwarevm utm bbprojectd key pages numbers pkg download"

  package private(set) var all: Set<FileExtension>

  /// Those that are built in.
  package init() {
    let rows = TypeRow.all.filter { $0.parents.split(separator: ",").contains("com.apple.package") }
    let words = (rows.map(\.extensions) + [PackageExtensions.others]).flatMap { $0.split(separator: " ") }
    all = Set(words.compactMap { FileExtension(String($0)) })
  }

  /// The largest file of changes, in bytes, and its lines.
  private static let limits = (size: 64 << 10, lines: 1024)

  /// A file of changes over the limits, of which nothing is taken.
  package struct TooLong: Error {}

  /// Takes over the lines of a file: `+foo` makes directories with that extension packages, `-rtfd` makes them none.
  ///
  /// `#` begins a comment, blanks and empty lines do not count. Answers the numbers of the lines that are something else.
  @discardableResult
  package mutating func apply(_ file: [UInt8]) throws(TooLong) -> [Int] {
    let lines = file.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard file.count <= PackageExtensions.limits.size, lines.count <= PackageExtensions.limits.lines + 1
    else {
      throw TooLong()
    }
    var wrong: [Int] = []
    for (index, line) in lines.enumerated() {
      let words = line.prefix { $0 != UInt8(ascii: "#") }
        .split { PackageExtensions.blanks.contains($0) }
      guard let first = words.first else { continue }
      let bytes = Array(first.dropFirst())
      guard words.count == 1, let word = FileExtension(bytes.span, in: bytes.indices) else {
        wrong.append(index + 1)
        continue
      }
      switch first.first {
      case UInt8(ascii: "+"): all.insert(word)
      case UInt8(ascii: "-"): all.remove(word)
      default: wrong.append(index + 1)
      }
    }
    return wrong
  }

  /// A return is in front of each newline where the file was written on Windows.
  private static let blanks = Array(" \t\r".utf8)
}
