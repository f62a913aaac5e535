// Where a directory is in its file system, whatever it is called among the mounts: two paths lead to one directory
// where something is bound elsewhere.

/// A directory as its file system has it.
package struct PositionInFileSystem: Equatable, Sendable {
  /// The number of the file system's device, `8:1`.
  package let device: String
  /// From the root of the file system, which is `/`.
  package let path: [UInt8]

  package init(device: String, path: [UInt8]) {
    self.device = device
    self.path = path
  }

  /// The directory above; nil at the root of the file system.
  package var above: PositionInFileSystem? {
    guard path.count > 1, let end = path.lastIndex(of: slash) else { return nil }
    return PositionInFileSystem(device: device, path: end == 0 ? [slash] : Array(path[..<end]))
  }

  /// The way down from another position to this one, which is below it; nil if it is not.
  package func path(below other: PositionInFileSystem) -> [UInt8]? {
    guard device == other.device, path != other.path else { return nil }
    let start = other.path == [slash] ? other.path : other.path + [slash]
    return path.starts(with: start) ? Array(path[start.count...]) : nil
  }
}

private let slash = UInt8(ascii: "/")

extension MountedVolume {
  /// The position of `path`, which is absolute and free of links; nil where no line of the table is about it.
  package static func position(of path: [UInt8], in table: [MountedVolume]) -> PositionInFileSystem? {
    guard let mount = serving(path, in: table) else { return nil }
    let rest = mount.mountPoint == [slash] ? path[...] : path[mount.mountPoint.count...]
    return PositionInFileSystem(device: mount.device, path: joined(mount.root, rest))
  }

  /// `rest` is empty or begins with a slash.
  private static func joined(_ path: [UInt8], _ rest: ArraySlice<UInt8>) -> [UInt8] {
    if rest.isEmpty || rest.elementsEqual([slash]) { return path }
    return path == [slash] ? Array(rest) : path + rest
  }
}
