// What `why` says of layers: in which one an item is, and which one's mark a missing name is due to.

import Decisions
import LayerRules
import LinuxFiles

extension Walk {
  /// Ends the way at a name that nothing has.
  ///
  /// That it was removed is told to those who may list the directory.
  mutating func missing(_ path: [UInt8], _ name: [UInt8], in here: Spot) -> Stop {
    let obstacle = Obstacle.missing
    guard let layer = volume.layer(removing: name, in: here), mayList(here) else {
      return end(path, "search", obstacle)
    }
    return end(
      path, "search", Errno(obstacle),
      "\(obstacle.words): \(volume.nameOfLayer(layer)) has a mark that it was removed")
  }

  private func mayList(_ here: Spot) -> Bool {
    let item = try? volume.locks.holding(.shared(here.stripe)) { () throws(Errno) in
      try volume.facts(at: here).item
    }
    return item.map { view.askerIsRoot || (view.asker ?? view.judge).decide(.list, on: $0).isAllowed }
      ?? false
  }

  /// Notes in which layer the object of a question is.
  mutating func noteLayer(of spot: Spot, _ facts: Facts, isBroughtUp: Bool) {
    guard volume.resolver.stack != nil, view.mayRead(facts.item) else { return }
    var words: String
    if spot.parts.count > 1 {
      words = "is merged from layers " + spot.parts.map { "\($0.layer)" }.joined(separator: ", ")
    } else {
      words = "is in \(volume.nameOfLayer(spot.layerFacts.layer))"
      if spot.layerFacts.layer == 0, volume.hasOrigin(facts) { words += ", copied from a lower" }
    }
    if isBroughtUp, spot.layerFacts.layer > 0 { words += "; it would be copied to the upper directory first" }
    add(spot.path, "layer", .noted(words))
  }
}

extension Volume {
  /// The layer whose whiteout hides a name of the layers below it; nil where nothing has the name.
  fileprivate func layer(removing name: [UInt8], in here: Spot) -> UInt8? {
    guard resolver.stack != nil else { return nil }
    let found = Found<FileStatus>.find(inParts: here.parts.indices) { part in
      // What cannot be looked at now is not known to be a mark.
      let status = try? FileName.with(name) { name throws(Errno) in
        try LayerDirectory(here.parts[part]).look(name)
      }
      return Sighting(status ?? nil)
    }
    guard case .removed(let part) = found else { return nil }
    return here.parts[part].layer
  }

  fileprivate func nameOfLayer(_ number: UInt8) -> String {
    guard number > 0 else { return "the upper directory" }
    let path = lowers.indices.contains(Int(number) - 1) ? lowers[Int(number) - 1].path : []
    return "layer \(number), \(StoredPath.text(of: path))"
  }
}
