// What a view does not list.

/// The reasons for which an item is hidden, each with a letter.
package struct HiddenReasons: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Its name begins with a dot.
  package static let dot = HiddenReasons(rawValue: 1)
  /// The flag `hidden`, which is the Finder's invisible bit.
  package static let flag = HiddenReasons(rawValue: 2)
  /// The file `.hidden` beside it has its name.
  package static let listed = HiddenReasons(rawValue: 4)
  /// The picture of a directory, `Icon\r`.
  package static let icon = HiddenReasons(rawValue: 8)
  /// `lost+found` of the file system.
  package static let unclaimed = HiddenReasons(rawValue: 16)

  private static let iconName = Array("Icon\r".utf8)
  private static let lost = Array("lost+found".utf8)

  /// The reasons of an item; a flag that an entry keeps from a user is not passed on here.
  package init(_ name: Span<UInt8>, hasFlag: Bool, isListed: Bool, isAtRoot: Bool) {
    self = []
    if name.count > 0, name[0] == UInt8(ascii: ".") { insert(.dot) }
    if hasFlag { insert(.flag) }
    if isListed { insert(.listed) }
    if name.equals(HiddenReasons.iconName) { insert(.icon) }
    if isAtRoot, name.equals(HiddenReasons.lost) { insert(.unclaimed) }
  }

  package var letters: String {
    let all: [(HiddenReasons, String)] = [
      (.dot, "d"), (.flag, "f"), (.listed, "l"), (.icon, "c"), (.unclaimed, "u"),
    ]
    return all.filter { contains($0.0) }.map(\.1).joined()
  }
}

/// The names in a file `.hidden`, one a line.
package struct HiddenList: Sendable {
  private static let size = 64 << 10

  private let names: Set<[UInt8]>

  /// Nil if the file is too large.
  package init?(_ file: [UInt8]) {
    guard file.count <= HiddenList.size else { return nil }
    names = Set(file.split(separator: 0x0A).map(Array.init))
  }

  package func contains(_ name: [UInt8]) -> Bool { names.contains(name) }
}

extension Span<UInt8> {
  fileprivate func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count else { return false }
    for index in indices where self[index] != bytes[index] { return false }
    return true
  }
}
