// Which layer's objects have which numbers, and what origins call the file systems of the layers.

import LayerRules
import LinuxFiles

/// What the volume file says of layers once the volume is mounted over them.
struct AnnouncedLayers: Sendable {
  /// What it said when the tags were chosen.
  let known: FileSystemTable
  let fileSystems: FileSystemTable
  let lowers: String
  let lowerRoots: [InodeMark]
  let root: InodeMark

  func written(to header: VolumeHeader) -> VolumeHeader {
    header.layered(fileSystems, lowers: lowers, lowerRoots, root: root)
  }
}

/// The layers of a mount, as far as numbers and tags depend on them.
struct LayerNumbering {
  /// For each layer, the upper first.
  private(set) var numbers: [ItemNumbers] = []
  /// For each layer; nil where none was left.
  private(set) var tags: [UInt32?] = []
  let announced: AnnouncedLayers

  init(_ upper: UpperRoot, over lowers: [LowerRoot], known: FileSystemTable) throws {
    let upperStatus = try upper.directory.descriptor.status()
    let statuses = try lowers.map { lower throws(VolumeFailure) in try lower.status() }
    var devices: [UInt64] = []
    for status in statuses where status.device != upperStatus.device && !devices.contains(status.device) {
      devices.append(status.device)
    }
    func home(_ device: UInt64) -> Residence {
      guard let position = devices.firstIndex(of: device) else { return .upperDevice }
      return .lowerDevice(UInt8(truncatingIfNeeded: position + 1))
    }
    var table = known
    let described = zip(lowers, statuses).map { lower, status in
      FileSystemTable.Lower(
        lower.identifier ?? .number(0), device: status.device, root: InodeMark(status), path: lower.path)
    }
    let found = table.tags(of: described)
    // One that cannot say which it is gets no origins: they would be believed of another.
    let usable = zip(found, lowers).map { tag, lower in lower.identifier == nil ? nil : tag }
    let own = Dictionary(
      zip(usable, statuses).compactMap { tag, status in tag.map { ($0, home(status.device)) } },
      uniquingKeysWith: { first, _ in first })
    numbers.append(
      ItemNumbers(
        layer: 0, device: upperStatus.device, home: .upperDevice, tags: own,
        areListed: !upper.fileSystem.isStacked))
    tags.append(nil)
    for (index, lower) in lowers.enumerated() {
      numbers.append(
        ItemNumbers(
          layer: UInt8(truncatingIfNeeded: index + 1), device: statuses[index].device,
          home: home(statuses[index].device),
          tags: LayerNumbering.homes(in: lower.header, lowers, statuses, home),
          areListed: !lower.fileSystem.isStacked))
      tags.append(usable[index])
    }
    announced = AnnouncedLayers(
      known: known, fileSystems: table,
      lowers: StoredPath.text(ofAll: lowers.map(\.path)), lowerRoots: lowers.map(\.mark),
      root: InodeMark(upperStatus))
  }

  /// Where the objects lie that the origins in a lower name, if the file systems are mounted that it calls so.
  private static func homes(
    in header: VolumeHeader?, _ lowers: [LowerRoot], _ statuses: [FileStatus],
    _ home: (UInt64) -> Residence
  ) -> [UInt32: Residence] {
    var homes: [UInt32: Residence] = [:]
    for entry in header?.fileSystems.entries ?? [] {
      guard let position = lowers.firstIndex(where: { $0.identifier == entry.identifier }) else { continue }
      homes[entry.tag] = home(statuses[position].device)
    }
    return homes
  }
}

extension InodeMark {
  init(_ status: FileStatus) {
    self.init(inode: status.inode, generation: status.generation)
  }
}
