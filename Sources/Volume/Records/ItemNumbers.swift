// The numbers of the items of one layer.

import LayerRules
import LinuxFiles
import RecordFormat

/// Tells the number of what lies in one layer; only where there are several.
struct ItemNumbers: Sendable {
  let layer: UInt8
  /// Of the root of the layer.
  let device: UInt64
  let home: Residence
  /// Where the objects lie that origins in this layer name, by the tags that its volume gave.
  let tags: [UInt32: Residence]

  func place(of status: FileStatus, _ record: CoreRecord) -> ItemPlace {
    ItemPlace(
      layer: layer, number: number(of: status, record), links: status.kind == .directory ? 1 : nil)
  }

  func number(of status: FileStatus, _ record: CoreRecord) -> ItemNumber {
    guard let origin = countingOrigin(of: status, record), let home = tags[origin.fileSystemTag] else {
      return number(ofInode: status.inode, on: status.device)
    }
    return ItemNumber(Numbering.number(inode: origin.inode, at: home))
  }

  /// The number of what carries no origin that counts.
  func number(ofInode inode: UInt64, on device: UInt64? = nil) -> ItemNumber {
    let device = device ?? self.device
    return ItemNumber(
      Numbering.number(inode: inode, at: device == self.device ? home : .foreign(device: device)))
  }

  /// The origin of an object, if it speaks of this object and of a file system that is there.
  func countingOrigin(of status: FileStatus, _ record: CoreRecord) -> CoreRecord.Origin? {
    guard let origin = record.origin, tags[origin.fileSystemTag] != nil,
      origin.isOf(inode: status.inode, generation: status.generation)
    else { return nil }
    return origin
  }
}

extension FileStatus {
  /// Tells two owners of one inode number apart.
  var generation: UInt32 {
    Numbering.generation(
      of: birth.map { CoreRecord.BirthTime(seconds: $0.seconds, nanoseconds: $0.nanoseconds) })
  }
}
