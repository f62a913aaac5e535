// Finding a directory below another one by nothing but the numbers of those in between: who may see their names learns
// them on the way, and nobody else does.

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

  /// Neither what is mounted in `directory` is asked, which might not answer, nor does it matter what else is wrong
  /// with a neighbour.
  private static func name(of key: ObjectKey, in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
    let listed = try firstName(in: directory) { entry, name throws(Errno) in
      guard entry.inode == key.inode else { return false }
      do throws(Errno) {
        return try ObjectKey(directory.descriptor.openDirectoryPath(name).status()) == key
      } catch .crossDevice {
        // A listing tells what a mount covers.
        return true
      } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
        return false
      }
    }
    if let listed { return listed }
    // Some file systems list other numbers than they tell.
    return try firstName(in: directory) { _, name throws(Errno) in
      do throws(Errno) {
        return try ObjectKey(directory.descriptor.openDirectoryPath(name).status()) == key
      } catch .accessDenied {
        // Not a neighbour's fault: nothing can be looked up here.
        throw .accessDenied
      } catch {
        return false
      }
    }
  }

  private static func firstName(
    in directory: SharedDescriptor,
    where fits: (DirectoryEntry, borrowing FileName) throws(Errno) -> Bool
  ) throws(Errno) -> [UInt8]? {
    let listing = try directory.descriptor.listing()
    var page = EntryBuffer()
    while try listing.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child, entry.kind ?? .directory == .directory else { continue }
        let name = try page.withName(of: entry) { name throws(Errno) -> [UInt8]? in
          try fits(entry, name) ? name.copy() : nil
        }
        if let name { return name }
      }
    }
    return nil
  }
}
