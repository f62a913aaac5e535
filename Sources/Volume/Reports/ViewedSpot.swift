// A way that leads through a view: names are read as there, and what is told is about the real objects.

import DisplayNames
import ItemKinds
import LinuxFiles

/// In which view a place on the way is, and how deep in packages.
struct ViewedSpot: Sendable {
  let name: ViewName
  /// Of the directories from the root of the view down to this, whether each is a package.
  private(set) var packages: [Bool] = []

  init(name: ViewName) { self.name = name }

  /// Whether everything in it has its real name.
  var isRaw: Bool { packages.contains(true) }

  func below(isPackage: Bool) -> ViewedSpot {
    var below = self
    below.packages.append(isPackage)
    return below
  }

  var above: ViewedSpot {
    var above = self
    _ = above.packages.popLast()
    return above
  }
}

extension Volume {
  /// The real name of what a view shows under a name; nil if it shows nothing under it.
  func realName(shownAs name: [UInt8], in here: Spot, _ view: ViewedSpot) -> [UInt8]? {
    guard !view.isRaw else { return nil }
    guard let parts = DirectoryParts(here.parts, shape: 0) else { return nil }
    let directory = IndexedDirectory(parts: parts, isRoot: here.path.isEmpty)
    let deadline = Clock.monotonicNanoseconds &+ 10_000_000_000
    while true {
      do throws(Errno) {
        return try index(of: here.identity, directory, in: view.name, for: .lookup, by: 0)?.names
          .realName(shownAs: name)
      } catch {
        // Others are making names; nobody but the asker waits for this answer.
        guard error.delay != nil, Clock.monotonicNanoseconds < deadline else { return nil }
        Clock.pause(milliseconds: 5)
      }
    }
  }

  func isPackage(_ spot: Spot) -> Bool {
    guard let name = spot.path.split(separator: UInt8(ascii: "/")).last, let facts = try? facts(at: spot)
    else {
      return false
    }
    let seen = SeenItem(facts.brief, in: store(of: spot.layerFacts.layer)) { attribute throws(Errno) in
      try spot.descriptor.descriptor.attribute(attribute)
    }
    return viewRules.kinds.isPackage(
      name.span, isRoot: false, hasBundleBit: seen.hasBundleBit)
  }
}
