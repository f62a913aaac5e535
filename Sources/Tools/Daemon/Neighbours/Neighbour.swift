// How a volume that is in the way is called.

import LayeredVolume
import LinuxFiles
import TextForms

/// A volume that is in the way.
struct Neighbour {
  let name: String
  private(set) var sentence: String

  /// `path`: nil where it cannot be found.
  init(_ path: [UInt8]?, by holder: Int32?) {
    name = path.map { "the volume \(PathText.escaped($0))" } ?? "a volume"
    sentence = "mounted already, by \(VolumeUse.name(of: holder))"
  }

  /// What only the table of mounts tells of: whether its daemon still runs cannot be seen.
  init(listedAt path: [UInt8]?) {
    self.init(path, by: nil)
    sentence = "mounted already, as the table of mounts says"
  }

  /// `path`: where whoever is told no more than numbers sees it; `here`: his mount namespace.
  init(_ volume: RunningVolume, at path: [UInt8]?, _ here: Int?) {
    self.init(volume.whereabouts?.path ?? path, by: volume.process)
    let isElsewhere = volume.namespace != nil && here != nil && volume.namespace != here
    if isElsewhere { sentence += ", in another mount namespace" }
  }
}
