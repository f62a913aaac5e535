// Where the indexes of layers are, and where things go that nobody believes and nobody deletes.

import LayerRules
import LinuxFiles

extension LinkIndex {
  /// Of the upper.
  convenience init(of volume: VolumeDirectory) {
    self.init(
      open: { makes throws(Errno) in
        guard let directory = volume.descriptor else { return nil }
        return try LinkIndex.directory(in: directory, makes: makes)
      },
      setAside: { name, directory throws(Errno) in try volume.rescue(name, from: directory) })
  }

  /// Of a lower that is a volume itself.
  convenience init(of lower: LowerRoot, layer: UInt8) {
    self.init { _ throws(Errno) in
      guard lower.header != nil else { return nil }
      do throws(Errno) {
        // By way of the layer, which nobody writes to.
        let directory = try lower.directory.descriptor.openDirectoryPath(FileName(OwnDirectory.name))
        return LayerDirectory(try directory.openDirectoryPath(FileName("index")), layer: layer)
      } catch .noSuchFile {
        return nil
      }
    }
  }

  private static func directory(
    in bookkeeping: SharedDescriptor, makes: Bool
  ) throws(Errno) -> LayerDirectory? {
    let name = try FileName("index")
    if makes {
      do throws(Errno) { try bookkeeping.descriptor.makeDirectory(name, mode: 0o700) } catch .exists {
        // It was made by an earlier mount.
      }
    }
    do throws(Errno) {
      return LayerDirectory(try bookkeeping.descriptor.openDirectoryPath(name), layer: 0)
    } catch .noSuchFile {
      return nil
    }
  }
}

/// The files that have an entry in the index of the upper, found by their inode numbers.
///
/// The index is read when the first of them is asked for, and not again: by a recovery, which asks for one after the other
/// while nobody else changes anything.
struct IndexedFiles {
  private let directory: VolumeDirectory
  /// Of each file.
  private var names: [UInt64: [UInt8]]?

  init(of directory: VolumeDirectory) {
    self.directory = directory
  }

  /// Nil if there is none.
  mutating func file(_ inode: UInt64) throws(Errno) -> SharedDescriptor? {
    guard let bookkeeping = directory.descriptor else { return nil }
    do throws(Errno) {
      let index = try bookkeeping.descriptor.open(try FileName("index"), [.readOnly, .directory])
      if names == nil { names = try IndexedFiles.names(in: index) }
      guard let name = names?[inode] else { return nil }
      return try FileName.with(name) { name throws(Errno) in SharedDescriptor(try index.openPath(name)) }
    } catch .noSuchFile {
      // No file with several names was ever brought up; or an entry went behind the mount, and with it its file.
      return nil
    }
  }

  private static func names(in index: borrowing Descriptor) throws(Errno) -> [UInt64: [UInt8]] {
    var names: [UInt64: [UInt8]] = [:]
    for name in try index.names() {
      do throws(Errno) {
        let inode = try FileName.with(name) { name throws(Errno) in try index.status(of: name).inode }
        names[inode] = name
      } catch .noSuchFile {
        // An entry that went.
      }
    }
    return names
  }
}

extension VolumeDirectory {
  func rescue(_ name: [UInt8], from directory: LayerDirectory) throws(Errno) {
    guard let bookkeeping = descriptor else { throw .readOnly }
    try VolumeDirectory.rescue(name, from: directory, in: bookkeeping)
  }

  /// Empties the workshop, but for replacements of content and changes of class that a crash interrupted: whatever else it
  /// left there never got a name and is nobody's.
  ///
  /// A directory that was about to be removed has whiteouts in it at most. What came into it behind the mount belongs to a user.
  ///
  /// `before` each change it is asked whether that may go on.
  static func sweep(
    _ workshop: SharedDescriptor, of bookkeeping: SharedDescriptor, before: () throws(Errno) -> Void
  ) throws(Errno) {
    let place = LayerDirectory(workshop, layer: 0)
    for name in try workshop.descriptor.names() {
      var isOfUser = Workshop.isKept(name)
      if !isOfUser { isOfUser = try holdsItems(name, in: place) }
      guard isOfUser else { continue }
      try before()
      try rescue(name, from: place, in: bookkeeping)
      Log.notice(
        "'.varve/work/\(String(decoding: name, as: UTF8.self))' is not of this volume's making; it is kept in '.varve/trash'"
      )
    }
    try Sweeper.empty(workshop: workshop, before: before)
  }

  /// Whether there is anything in a directory but whiteouts.
  private static func holdsItems(_ name: [UInt8], in place: LayerDirectory) throws(Errno) -> Bool {
    try FileName.with(name) { name throws(Errno) in
      guard try place.look(name)?.kind == .directory else { return false }
      let directory = try place.open(name, [.readOnly, .directory])
      for inner in try directory.descriptor.names() {
        let isWhiteout = try FileName.with(inner) { inner throws(Errno) in
          try LayerDirectory(directory, layer: 0).look(inner)?.isWhiteout ?? true
        }
        if !isWhiteout { return true }
      }
      return false
    }
  }

  /// What the `number`th of a name is called in `trash/`; of a long name the end is left out.
  private static func rescueName(_ name: [UInt8], _ number: Int) -> [UInt8] {
    let start = Array("rescued-".utf8)
    let end = Array((number == 1 ? "" : "-\(number)").utf8)
    return start + name.prefix(FileName.longest - start.count - end.count) + end
  }

  /// Moves something of the bookkeeping to `trash/`, which nothing empties.
  private static func rescue(
    _ name: [UInt8], from directory: LayerDirectory, in bookkeeping: SharedDescriptor
  ) throws(Errno) {
    let trash = try FileName("trash")
    do throws(Errno) { try bookkeeping.descriptor.makeDirectory(trash, mode: 0o700) } catch .exists {
      // Something was rescued before.
    }
    let place = LayerDirectory(try bookkeeping.descriptor.openDirectoryPath(trash), layer: 0)
    for number in 1..<10_000 {
      let target = rescueName(name, number)
      do throws(Errno) {
        return try FileName.with(name) { name throws(Errno) in
          try FileName.with(target) { target throws(Errno) in
            try directory.rename(name, to: place, as: target, .noReplace)
          }
        }
      } catch .exists {
        continue
      }
    }
    throw .exists
  }
}
