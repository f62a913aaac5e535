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
        let directory = try lower.directory.descriptor.openDirectoryPath(FileName(".varve"))
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

extension VolumeDirectory {
  /// Moves something of the bookkeeping to `trash/`, which nothing empties.
  func rescue(_ name: [UInt8], from directory: LayerDirectory) throws(Errno) {
    guard let bookkeeping = descriptor else { throw .readOnly }
    let trash = try FileName("trash")
    do throws(Errno) { try bookkeeping.descriptor.makeDirectory(trash, mode: 0o700) } catch .exists {
      // Something was rescued before.
    }
    let place = LayerDirectory(try bookkeeping.descriptor.openDirectoryPath(trash), layer: 0)
    for number in 1..<10_000 {
      let target = Array("rescued-".utf8) + name + Array(number == 1 ? [] : "-\(number)".utf8)
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
