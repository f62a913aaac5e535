// What stands at a place on the way of a question, read as an operation reads it.

import Decisions
import LinuxFiles

extension Volume {
  /// What stands under a name.
  struct Found {
    let spot: Spot
    let facts: Facts
    /// Where a link leads.
    let target: [UInt8]?
  }

  func rootSpot() -> Spot {
    Spot(descriptor: resolver.top.descriptor, identity: root.backing, path: [])
  }

  /// The directory as it is now, and what stands under `name` in it.
  func look(
    at name: [UInt8], in here: Spot, path: [UInt8]
  ) throws(Errno) -> (Item, Result<Found, Errno>) {
    try locks.holding(.shared(here.stripe)) { () throws(Errno) in
      let item = try facts(at: here).item
      do throws(Errno) {
        return (item, .success(try find(name, in: here, path: path)))
      } catch {
        return (item, .failure(error))
      }
    }
  }

  private func find(_ name: [UInt8], in here: Spot, path: [UInt8]) throws(Errno) -> Found {
    let object = try findHeld(name, in: here)
    let target = object.status.kind == .symbolicLink ? try object.descriptor.descriptor.readLink() : nil
    let facts = try facts(object.status, of: object.descriptor, knownBy: rememberingNode(of: object.status))
    return Found(spot: Spot(object, path: path), facts: facts, target: target)
  }

  /// One step down, for whoever goes by spots.
  func findHeld(_ name: [UInt8], in here: Spot) throws(Errno) -> FoundObject {
    try FileName.with(name) { name throws(Errno) in try LayerDirectory(here.descriptor).findHeld(name) }
  }

  /// What is true of a spot now, read as an operation reads it.
  func facts(at spot: Spot) throws(Errno) -> Facts {
    let status = try spot.descriptor.descriptor.status()
    return try facts(status, of: spot.descriptor, knownBy: rememberingNode(of: status))
  }
}
