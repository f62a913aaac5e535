// What is open, by the number the kernel uses.

import LinuxFiles
import Synchronization

/// Open files and directories.
///
/// A number is a place and an epoch, so a stale one finds nothing.
final class HandleTable: Sendable {
  private enum Opened {
    case file(OpenFile)
    case directory(OpenDirectory)
  }

  private struct Place {
    var opened: Opened?
    var epoch: UInt32
  }

  private struct Contents {
    var places: [Place] = []
    var free: [Int] = []
  }

  private let contents = Mutex(Contents())
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  /// Refuses one more open file before it costs the descriptors that everybody else's requests need.
  func requireRoom() throws(Errno) {
    guard count < limit else { throw .fileTableFull }
  }

  func add(_ file: OpenFile) -> HandleID { add(.file(file)) }

  func add(_ directory: OpenDirectory) -> HandleID { add(.directory(directory)) }

  private func add(_ opened: Opened) -> HandleID {
    contents.withLock { contents in
      let place: Int
      if let free = contents.free.popLast() {
        place = free
      } else {
        contents.places.append(Place(opened: nil, epoch: 1))
        place = contents.places.count - 1
      }
      contents.places[place].opened = opened
      return UInt64(contents.places[place].epoch) << 32 | UInt64(place)
    }
  }

  func file(_ handle: HandleID) throws(Errno) -> OpenFile {
    guard case .file(let file) = opened(handle) else { throw .badDescriptor }
    return file
  }

  func directory(_ handle: HandleID) throws(Errno) -> OpenDirectory {
    guard case .directory(let directory) = opened(handle) else { throw .badDescriptor }
    return directory
  }

  private func opened(_ handle: HandleID) -> Opened? {
    contents.withLock { contents in
      let place = Int(handle & 0xFFFF_FFFF)
      guard contents.places.indices.contains(place),
        contents.places[place].epoch == UInt32(handle >> 32)
      else { return nil }
      return contents.places[place].opened
    }
  }

  /// Takes a handle out; the file, if it was one, for its node to let go of.
  func remove(_ handle: HandleID) -> OpenFile? {
    let removed: Opened? = contents.withLock { contents in
      let place = Int(handle & 0xFFFF_FFFF)
      guard contents.places.indices.contains(place),
        contents.places[place].epoch == UInt32(handle >> 32)
      else { return nil }
      let opened = contents.places[place].opened
      contents.places[place].opened = nil
      contents.places[place].epoch &+= 1
      contents.free.append(place)
      return opened
    }
    guard case .file(let file) = removed else { return nil }
    return file
  }

  /// How many files are open for writing.
  ///
  /// Not how many are mapped: a mapping of the backing file outlives the handle it was made with. Where there are such
  /// mappings only root can remount, and the kernel, which is asked first, refuses on account of them.
  var writers: Int {
    contents.withLock { contents in
      contents.places.count { place in
        guard case .file(let file) = place.opened else { return false }
        return file.canWrite
      }
    }
  }

  var count: Int { contents.withLock { $0.places.count - $0.free.count } }
}
