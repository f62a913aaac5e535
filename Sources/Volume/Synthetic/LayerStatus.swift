// What `.varve/status` says of layers.

import JSONForm
import LinuxFiles

extension Volume {
  /// The layers, the upper first, and what was brought up since the volume was mounted.
  func layerMembers() -> [JSON.Member] {
    var layers = [JSON.object(members(ofUpper: upper))]
    for (index, lower) in lowers.enumerated() {
      var members = Volume.members(ofLayer: index + 1, lower.path, lower.fileSystem)
      members.add("sealed", lower.isSealed)
      members.add("records", lower.records)
      if let entries = lower.indexEntries { members.add("indexEntries", entries) }
      layers.append(.object(members))
    }
    var broughtUp: [JSON.Member] = []
    broughtUp.add("items", Int(clamping: copyUps.items))
    broughtUp.add("bytes", Int(clamping: copyUps.bytes))
    return [JSON.Member("layers", .array(layers)), JSON.Member("broughtUp", .object(broughtUp))]
  }

  private func members(ofUpper upper: UpperRoot) -> [JSON.Member] {
    var members = Volume.members(ofLayer: 0, upper.path, upper.fileSystem)
    members.add("records", directory.recordsExist ? "yes" : "none")
    if let bookkeeping { members.add("indexEntries", LinkIndexSize.entries(in: bookkeeping) ?? 0) }
    return members
  }

  private static func members(
    ofLayer number: Int, _ path: [UInt8], _ fileSystem: FileSystemStatus
  ) -> [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("layer", number)
    members.add("path", bytes: path)
    members.add("fileSystem", fileSystem.kindName)
    return members
  }
}
