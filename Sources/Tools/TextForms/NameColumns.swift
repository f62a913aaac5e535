// The short forms of `ls`: a name a line, columns, or a stream.

/// How names are laid out.
package enum NameLayout: Sendable {
  case oneColumn
  /// In columns as high as each other, sorted down.
  case columns
  /// The same, sorted across.
  case rows
  /// One after the other, with commas.
  case stream
}

/// A name with what is printed around it, and how wide it is.
package struct NameCell: Sendable {
  package let bytes: [UInt8]
  package let width: Int

  package init(bytes: [UInt8], width: Int) {
    self.bytes = bytes
    self.width = width
  }
}

extension NameLayout {
  /// The lines for names that are listed together, on a screen of so many columns.
  package func lines(_ names: [NameCell], screen: Int) -> [UInt8] {
    guard !names.isEmpty else { return [] }
    switch self {
    case .oneColumn: return names.flatMap { $0.bytes + [0x0A] }
    case .stream: return NameLayout.streamed(names, screen)
    case .columns, .rows: break
    }
    // As on the BSDs: columns of one width, a multiple of eight.
    let width = ((names.reduce(0) { max($0, $1.width) }) / 8 + 1) * 8
    let most = max(1, screen / width)
    let height = (names.count + most - 1) / most
    let count = self == .rows ? most : (names.count + height - 1) / height
    var text: [UInt8] = []
    for row in 0..<height {
      let indices = (0..<count).map { self == .rows ? row * count + $0 : $0 * height + row }
      let line = indices.filter { $0 < names.count }
      for (position, index) in line.enumerated() {
        text += names[index].bytes
        let rest = position == line.count - 1 ? 0 : width - names[index].width
        text += Array(repeating: UInt8(ascii: " "), count: rest)
      }
      text.append(0x0A)
    }
    return text
  }

  private static func streamed(_ names: [NameCell], _ screen: Int) -> [UInt8] {
    var text: [UInt8] = []
    var used = 0
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if used > 0 {
        let fits = used + 1 + name.width + (isLast ? 0 : 1) <= screen
        text.append(fits ? UInt8(ascii: " ") : 0x0A)
        used = fits ? used + 1 : 0
      }
      text += name.bytes
      if !isLast { text.append(UInt8(ascii: ",")) }
      used += name.width + (isLast ? 0 : 1)
    }
    return text + [0x0A]
  }
}
