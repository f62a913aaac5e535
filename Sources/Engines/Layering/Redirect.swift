// The mark `overlay.redirect`: under which path the layers below are looked at for a directory that was moved.

/// A path without empty parts, `.` and `..`, from the root of the layers below.
package struct LowerPath: Hashable, Sendable {
  /// As it is stored: every part with a slash in front of it.
  ///
  /// The root has none.
  package let bytes: [UInt8]

  private init(checked bytes: [UInt8]) {
    self.bytes = bytes
  }

  package static let root = LowerPath(checked: [])

  /// Nil unless every part is a name, and for the root: no directory is redirected to it.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count > 0, bytes.count <= Redirect.longest, bytes[0] == slash else { return nil }
    var start = 1
    for index in 1...bytes.count where index == bytes.count || bytes[index] == slash {
      guard isName(bytes, start..<index) else { return nil }
      start = index + 1
    }
    self.bytes = copy(bytes)
  }

  /// The path of a child; nil where it would be longer than any attribute.
  package func appending(_ name: Span<UInt8>) -> LowerPath? {
    guard isName(name, 0..<name.count), bytes.count + 1 + name.count <= Redirect.longest else { return nil }
    return LowerPath(checked: bytes + [slash] + copy(name))
  }

  package var isRoot: Bool { bytes.isEmpty }

  /// The names on the way, from the root.
  package var parts: [[UInt8]] {
    bytes.split(separator: slash).map { Array($0) }
  }
}

/// A redirect that can be followed.
package enum Redirect: Hashable, Sendable {
  case absolute(LowerPath)
  /// A name beside the directory's own, as overlayfs writes it; never written by us.
  case oneName([UInt8])

  /// The largest attribute Linux takes.
  package static let longest = 65_536
  /// A path of so many bytes finds room beside all that an item has on every file system there is.
  package static let alwaysFits = 1_024

  /// Nil for anything else than a path or a name: to guess could show another directory.
  package init?(_ bytes: Span<UInt8>) {
    if let path = LowerPath(bytes) {
      self = .absolute(path)
    } else if isName(bytes, 0..<bytes.count) {
      self = .oneName(copy(bytes))
    } else {
      return nil
    }
  }

  package var stored: [UInt8] {
    switch self {
    case .absolute(let path): path.bytes
    case .oneName(let name): name
    }
  }

  /// Where the layers below have the directory of this name in a parent they have at `parent`; the redirect is that of
  /// the directory's part in the upper.
  package static func lowerPath(
    of name: Span<UInt8>, in parent: LowerPath?, _ redirect: Redirect?
  ) -> LowerPath? {
    switch redirect {
    case nil: parent?.appending(name)
    case .oneName(let other): parent?.appending(other.span)
    case .absolute(let path): path
    }
  }
}

private let slash = UInt8(ascii: "/")
private let dot = UInt8(ascii: ".")

/// Whether these bytes could be the name of a file.
private func isName(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
  guard !range.isEmpty, range.count <= 255 else { return false }
  for index in range where bytes[index] == slash || bytes[index] == 0 { return false }
  switch range.count {
  case 1: return bytes[range.lowerBound] != dot
  case 2: return bytes[range.lowerBound] != dot || bytes[range.lowerBound + 1] != dot
  default: return true
  }
}

private func copy(_ bytes: Span<UInt8>) -> [UInt8] {
  var copy: [UInt8] = []
  copy.reserveCapacity(bytes.count)
  for index in bytes.indices { copy.append(bytes[index]) }
  return copy
}
