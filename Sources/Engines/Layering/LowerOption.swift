// The mount option `lower=`, as overlayfs spells it.

/// The directories of a layered volume, topmost first.
package struct LowerOption: Hashable, Sendable {
  /// As many as a volume can have.
  package static let most = 64

  /// None for `lower=`, which says that the volume is mounted without them on purpose.
  package let paths: [[UInt8]]

  /// What is wrong with the option.
  package enum Problem: Error, Hashable, Sendable {
    /// Nothing between two colons, or beside one at an end.
    case emptyPath
    /// `::` in front of layers that only have data.
    case dataOnlyLayers
    case tooMany(Int)
    /// A `\` at the end escapes nothing.
    case openEscape
    case nul
  }

  /// `A:B`; a `\` takes the meaning from any byte behind it, and so from `:`, `,` and itself.
  package init(_ text: [UInt8]) throws(Problem) {
    guard !text.isEmpty else {
      paths = []
      return
    }
    var paths: [[UInt8]] = [[]]
    var isEscaped = false
    for (index, byte) in text.enumerated() {
      if byte == 0 { throw .nul }
      if isEscaped {
        paths[paths.count - 1].append(byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: ":") {
        let isDouble = index + 1 < text.count && text[index + 1] == byte
        if isDouble, index > 0 { throw .dataOnlyLayers }
        paths.append([])
      } else {
        paths[paths.count - 1].append(byte)
      }
    }
    if isEscaped { throw .openEscape }
    if paths.contains(where: \.isEmpty) { throw .emptyPath }
    guard paths.count <= LowerOption.most else { throw .tooMany(paths.count) }
    self.paths = paths
  }

  package init(paths: [[UInt8]]) {
    self.paths = paths
  }

  /// The option that names these directories.
  package var text: [UInt8] {
    var text: [UInt8] = []
    for (index, path) in paths.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ":")) }
      for byte in path {
        if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ",") {
          text.append(UInt8(ascii: "\\"))
        }
        text.append(byte)
      }
    }
    return text
  }
}

extension LowerOption.Problem: CustomStringConvertible {
  /// What is wrong and what to do, behind the name of the option.
  package var description: String {
    switch self {
    case .emptyPath: "a directory is empty; separate directories with single colons, as in A:B"
    case .dataOnlyLayers:
      "'::' is for layers that only have data, which are not supported; separate directories with single colons"
    case .tooMany(let count):
      "\(count) directories are more than \(LowerOption.most); merge some of them into one"
    case .openEscape: "a '\\' at the end escapes nothing; write '\\\\' for a backslash"
    case .nul: "a directory has a NUL byte in its name"
    }
  }
}
