// The directories of the layers that make one directory of the volume.

import LinuxFiles

/// A directory of one layer.
struct LayerPart: Sendable {
  /// 0 is the upper.
  let layer: UInt8
  let descriptor: SharedDescriptor
}

/// The parts of a directory, topmost first; never none.
struct DirectoryParts: Sendable {
  let all: [LayerPart]
  /// What would go on below them if no flag `opaque` of the upper were set: a name that is taken away stays away when such a
  /// flag is cleared.
  let hidden: [LayerPart]
  /// When they were made; parts from before a directory was closed or opened by its flag are made anew.
  let shape: UInt64

  /// What the directory itself is: its metadata, and where new names go.
  var top: LayerPart { all[0] }
  var isMerged: Bool { all.count > 1 }
  /// Only the upper has it, whatever flags say.
  var isPure: Bool { top.layer == 0 && !isMerged && hidden.isEmpty }

  init?(_ all: [LayerPart], hidden: [LayerPart] = [], shape: UInt64) {
    guard !all.isEmpty else { return nil }
    self.all = all
    self.hidden = hidden
    self.shape = shape
  }

  init(_ only: LayerPart, shape: UInt64) {
    all = [only]
    hidden = []
    self.shape = shape
  }

  /// What shows, by descriptors of its own; nil if they cannot be had.
  func reopened() -> DirectoryParts? {
    do throws(Errno) {
      var parts: [LayerPart] = []
      for part in all {
        let descriptor = try part.descriptor.descriptor.reopen([.path, .directory])
        parts.append(LayerPart(layer: part.layer, descriptor: SharedDescriptor(descriptor)))
      }
      return DirectoryParts(parts, shape: shape)
    } catch {
      return nil
    }
  }
}
