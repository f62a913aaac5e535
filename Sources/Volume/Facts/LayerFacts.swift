// In which layer an object lies, and what that makes of its number and of the count of its names.

import LinuxFiles

/// The layer of an object, the number that programs see, and how many names they see.
struct LayerFacts: Hashable, Sendable {
  /// 0 is the upper.
  var layer: UInt8 = 0
  var number: ItemNumber
  /// Nil where it is what the status says.
  var links: UInt32?

  /// Of an object of the upper that was made there.
  init(_ status: FileStatus) {
    number = ItemNumber(status)
  }

  init(layer: UInt8, number: ItemNumber, links: UInt32? = nil) {
    self.layer = layer
    self.number = number
    self.links = links
  }

  /// What a node of the object with this status is found by.
  func slot(_ status: FileStatus) -> BackingSlot { BackingSlot(ObjectIdentity(status), in: layer) }
}
