// The directories above one, up to the root of its file system.

import LinuxFiles
import LinuxPrograms
import TextForms

/// Goes up from a directory, by descriptors.
///
/// Stays in its file system: what is in another one is not seen through a volume. Where the directory is reached
/// through a bind mount, it goes on where the directories above that can be reached.
struct Ancestors {
  /// So many that a list of them can be read by others (`RunningVolume.longestText`).
  private static let most = 10_000

  private(set) var current: SharedDescriptor
  /// Where that is, as far as it is known.
  private(set) var place: PlaceInFileSystem?
  private let table: [MountedVolume]
  /// Whether the root of the file system was reached.
  private(set) var isComplete = false
  private var count = 0

  /// `table`: the mounts among which other ways are looked for.
  init(of directory: SharedDescriptor, at place: PlaceInFileSystem?, _ table: [MountedVolume]) {
    (current, self.place, self.table) = (directory, place, table)
  }

  /// Goes to the next one up, and tells what it is; nil at the end, or at the root of a bind mount above which nothing
  /// can be reached.
  ///
  /// ENAMETOOLONG where there are too many.
  mutating func next() throws(Errno) -> FileStatus? {
    guard !isComplete, let above = try above() else { return nil }
    guard count < Ancestors.most else { throw .nameTooLong }
    count += 1
    let status = try above.descriptor.status()
    current = above
    place = place?.above
    return status
  }

  private mutating func above() throws(Errno) -> SharedDescriptor? {
    let status = try current.descriptor.status()
    guard !status.isMountRoot else {
      guard let place else { return nil }
      guard let target = place.above, let name = place.name else {
        isComplete = true
        return nil
      }
      return try reach(target, whose: name, is: ObjectKey(status))
    }
    let parent = SharedDescriptor(try current.descriptor.parent())
    // The root of this process.
    guard try ObjectKey(parent.descriptor.status()) != ObjectKey(status) else { return nil }
    return parent
  }

  private func reach(
    _ target: PlaceInFileSystem, whose name: [UInt8], is child: ObjectKey
  ) throws(Errno) -> SharedDescriptor? {
    guard let path = MountedVolume.path(to: target, in: table) else { return nil }
    do throws(Errno) {
      let found = SharedDescriptor(try Descriptor.place(withoutLinks: path))
      let identity = try FileName.with(name) { name throws(Errno) in
        ObjectKey(try found.descriptor.openDirectoryPath(name).status())
      }
      return identity == child ? found : nil
    } catch .accessDenied, .noSuchFile, .notDirectory, .tooManySymbolicLinks, .crossDevice {
      // Closed to us, covered by a mount, or something else by now.
      return nil
    }
  }
}
