// Going by spots: from one to what stands under a name in it, in whatever layers that is.

import LinuxFiles

extension Volume {
  /// One step down, for walks by spots.
  func step(to name: [UInt8], in here: Spot) throws(Errno) -> Spot {
    try find(name, in: here, path: here.path.path(to: name)).spot
  }

  /// The directory of a path without links.
  func spot(atPath path: [UInt8]) throws(Errno) -> Spot {
    guard resolver.stack != nil else {
      let directory = try resolver.top.descend(beneath: path.span).descriptor
      let status = try directory.descriptor.status()
      return Spot(
        descriptor: directory, identity: ObjectIdentity(status), layerFacts: LayerFacts(status), path: path,
        parts: [LayerPart(layer: 0, descriptor: directory)])
    }
    var here = rootSpot()
    for name in path.split(separator: UInt8(ascii: "/")) { here = try step(to: Array(name), in: here) }
    return here
  }

  func findHeld(_ name: [UInt8], in here: Spot) throws(Errno) -> (FoundObject, [LayerPart]) {
    try FileName.with(name) { bytes throws(Errno) in try resolver.findHeld(bytes, in: here.parts) }
  }

  /// What is true of a spot now, read as an operation reads it.
  func facts(at spot: Spot) throws(Errno) -> Facts {
    let found = FoundObject(descriptor: spot.descriptor, status: try spot.descriptor.descriptor.status())
    return try facts(of: found, in: spot.layerFacts.layer)
  }
}
