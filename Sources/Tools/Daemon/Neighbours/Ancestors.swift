// The directories above one, up to the root of its file system.

import LinuxFiles
import LinuxPrograms
import TextForms

/// Goes up from a directory, by descriptors.
///
/// Stays in its file system: what is in another one is not seen through a volume. Where the directory is reached through a
/// bind mount, it goes on where the directories above that can be reached.
struct Ancestors {
  private var current: SharedDescriptor
  /// Where that is, as far as it is known.
  private var place: PlaceInFileSystem?
  private let table: [MountedVolume]
  /// Whether the root of the file system was reached.
  private(set) var isComplete = false

  /// `table`: the mounts among which other ways are looked for.
  init(of directory: SharedDescriptor, at place: PlaceInFileSystem?, _ table: [MountedVolume]) {
    (current, self.place, self.table) = (directory, place, table)
  }

  /// The next one up; nil at the end, or where it cannot be reached.
  mutating func next() -> SharedDescriptor? {
    guard !isComplete, let above = try? above() else { return nil }
    current = above
    place = place?.above
    return above
  }

  private mutating func above() throws(Errno) -> SharedDescriptor? {
    let status = try current.descriptor.status()
    guard !status.isMountRoot else {
      guard let place else { return nil }
      guard let target = place.above, let name = place.name else {
        isComplete = true
        return nil
      }
      return try reach(target, whose: name, is: DirectoryIdentity(status))
    }
    let parent = SharedDescriptor(try current.descriptor.parent())
    // The root of this process.
    guard try DirectoryIdentity(parent.descriptor.status()) != DirectoryIdentity(status) else { return nil }
    return parent
  }

  private func reach(
    _ target: PlaceInFileSystem, whose name: [UInt8], is child: DirectoryIdentity
  ) throws(Errno) -> SharedDescriptor? {
    guard let path = MountedVolume.path(to: target, in: table) else { return nil }
    let found = SharedDescriptor(try Descriptor.place(withoutLinks: path))
    let identity = try FileName.with(name) { name throws(Errno) in
      DirectoryIdentity(try found.descriptor.status(of: name))
    }
    return identity == child ? found : nil
  }
}
