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

  /// Why a file of changes cannot be used.
  package enum Fault: Error, Equatable {
    case tooLong
    case line(Int)
  }

  /// Takes over the lines of a file: `+foo` makes directories with that extension packages, `-rtfd` makes them none.
  ///
  /// Nothing is changed if one of the lines is something else.
  package mutating func apply(_ file: [UInt8]) throws(Fault) {
    let lines = file.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard file.count <= PackageExtensions.limits.size, lines.count <= PackageExtensions.limits.lines + 1
    else {
      throw .tooLong
    }
    var changed = all
    for (index, line) in lines.enumerated() where !line.isEmpty {
      let bytes = Array(line.dropFirst())
      guard let word = FileExtension(bytes.span, in: bytes.indices) else { throw .line(index + 1) }
      switch line.first {
      case UInt8(ascii: "+"): changed.insert(word)
      case UInt8(ascii: "-"): changed.remove(word)
      default: throw .line(index + 1)
      }
    }
    all = changed
  }
}
