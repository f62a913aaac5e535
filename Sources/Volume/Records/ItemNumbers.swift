// The numbers of the items of one layer.

import LayerRules
import LinuxFiles
import RecordFormat

/// What the number of an item goes by, whatever layer its object is in now.
struct ItemOrigin: Hashable, Sendable {
  let home: Residence
  let inode: UInt64
  let generation: UInt32

  var number: ItemNumber { ItemNumber(Numbering.number(inode: inode, at: home)) }
}

/// Tells the number of what lies in one layer; only where there are several.
struct ItemNumbers: Sendable {
  let layer: UInt8
  /// Of the root of the layer.
  let device: UInt64
  let home: Residence
  /// Where the objects lie that origins in this layer name, by the tags that its volume gave.
  let tags: [UInt32: Residence]
  /// Whether listings have the numbers that stat shows: overlayfs without `xino` lists those of its layers, and a program lists what it
  /// likes.
  let areListed: Bool

  func layerFacts(of status: FileStatus, _ record: CoreRecord) -> LayerFacts {
    LayerFacts(
      layer: layer, number: number(of: status, record),
      links: status.kind == .directory
        ? min(status.linkCount, 1) : record.links.flatMap { links(of: status, record, $0) })
  }

  /// How many names an object has of which some are still in layers below; nil if its record does not count them.
  private func links(
    of status: FileStatus, _ record: CoreRecord, _ stored: CoreRecord.LinkCount
  ) -> UInt32? {
    guard stored.base == .upper, countingOrigin(of: status, record) != nil else { return nil }
    guard status.linkCount > 0 else { return 0 }
    return LinkState(lowerLinks: 0, entryLinks: status.linkCount, record: stored)?.shown
  }

  /// How many names the layers up to this one show of an object in it.
  func links(of status: FileStatus, _ record: CoreRecord) -> UInt32 {
    record.links.flatMap { links(of: status, record, $0) } ?? status.linkCount
  }

  /// Nil for what lies on another device than the layer, and has no origin that counts.
  func origin(of status: FileStatus, _ record: CoreRecord) -> ItemOrigin? {
    if let origin = countingOrigin(of: status, record), let home = tags[origin.fileSystemTag] {
      return ItemOrigin(home: home, inode: origin.inode, generation: origin.generation)
    }
    guard status.device == device else { return nil }
    return ItemOrigin(home: home, inode: status.inode, generation: status.generation)
  }

  /// What an entry for this item can be called in the index of the layer: one name for each tag of the file system.
  func entryNames(of origin: ItemOrigin) -> [IndexName] {
    tags.filter { $0.value == origin.home }.keys.sorted().map {
      IndexName(tag: $0, inode: origin.inode, generation: origin.generation)
    }
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
  /// As a record says it.
  var birthTime: CoreRecord.BirthTime? {
    birth.map { CoreRecord.BirthTime(seconds: $0.seconds, nanoseconds: $0.nanoseconds) }
  }

  /// Tells two owners of one inode number apart.
  var generation: UInt32 { Numbering.generation(of: birthTime) }
}
