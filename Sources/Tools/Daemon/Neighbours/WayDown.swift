// Finding a directory below another one by nothing but the numbers of those in between: who may see their names learns them
// on the way, and nobody else does.

import LinuxFiles
import LinuxPrograms

/// Whether a directory is still where it was told to be, below another one.
enum WayDown {
  /// The names of the way.
  case open([[UInt8]])
  /// What is on the way cannot be looked into.
  case closed
  /// Something on the way is not there any more.
  case gone

  /// Goes down by `steps`, the nearest first.
  init(from top: SharedDescriptor, by steps: [ObjectKey]) {
    var (current, names) = (top, [[UInt8]]())
    do throws(Errno) {
      for step in steps {
        guard let name = try WayDown.name(of: step, in: current) else {
          self = .gone
          return
        }
        names.append(name)
        guard step != steps.last else { continue }
        current = SharedDescriptor(
          try FileName.with(name) { name throws(Errno) in try current.descriptor.openDirectoryPath(name) })
      }
      self = .open(names)
    } catch .noSuchFile {
      self = .gone
    } catch {
      self = .closed
    }
  }

  private static func name(of key: ObjectKey, in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
    let listing = try directory.descriptor.listing()
    var page = EntryBuffer()
    while try listing.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child, entry.kind ?? .directory == .directory else { continue }
        let name = try page.withName(of: entry) { name throws(Errno) -> [UInt8]? in
          let status: FileStatus
          do throws(Errno) { status = try listing.status(of: name) } catch .noSuchFile { return nil }
          // A listing tells what a mount covers.
          let isCovered = status.isMountRoot && entry.inode == key.inode
          return isCovered || ObjectKey(status) == key ? name.copy() : nil
        }
        if let name { return name }
      }
    }
    return nil
  }
}
