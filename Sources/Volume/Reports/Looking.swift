// What stands at a place on the way of a question, read as an operation reads it.

import Decisions
import LinuxFiles

extension Volume {
  /// What stands under a name.
  struct SeenSpot {
    let spot: Spot
    let facts: Facts
    /// Where a link leads.
    let target: [UInt8]?
  }

  func rootSpot() -> Spot {
    let parts = (try? resolver.parts(root))?.all ?? [resolver.top.part]
    return Spot(
      descriptor: resolver.top.descriptor, identity: root.backing,
      layerFacts: LayerFacts(layer: 0, number: root.number), path: [], parts: parts)
  }

  /// The directory as it is now, and what stands under `name` in it.
  func look(
    at name: [UInt8], in here: Spot, path: [UInt8]
  ) throws(Errno) -> (Item, Result<SeenSpot, Errno>) {
    try locks.holding(.shared(here.stripe)) { () throws(Errno) in
      let item = try facts(at: here).item
      do throws(Errno) {
        return (item, .success(try find(name, in: here, path: path)))
      } catch {
        return (item, .failure(error))
      }
    }
  }

  func find(_ name: [UInt8], in here: Spot, path: [UInt8]) throws(Errno) -> SeenSpot {
    let (object, parts) = try findHeld(name, in: here)
    let target = object.status.kind == .symbolicLink ? try object.descriptor.descriptor.readLink() : nil
    let facts = try facts(of: object, in: parts.first?.layer ?? 0)
    let spot = Spot(
      descriptor: object.descriptor, identity: object.identity, layerFacts: facts.layerFacts, path: path,
      parts: parts)
    return SeenSpot(spot: spot, facts: facts, target: target)
  }
}
