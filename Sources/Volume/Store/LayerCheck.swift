// The walk of `varve check` over layers: the directories of the upper first, then all that lowers show beside them.
//
// For administrators who moved, restored or edited layers: `varve check` tells what each mark comes to now, and repairs what can
// be; damage in a lower it names (SEMANTICS 18).

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat

/// One check of the layers of a volume.
struct LayerCheck {
  /// The object of a lower that an item says it was copied from.
  struct Source: Hashable {
    let tag: UInt32
    let inode: UInt64
    let generation: UInt32
  }

  /// An item of the upper that speaks of such an object.
  struct Claim {
    let inode: UInt64
    let path: [UInt8]
    let number: UInt64?
  }

  private struct Level {
    let name: [UInt8]
    /// Nil where it was let go of, because it is high above.
    var parts: DirectoryParts?
    var names: [[UInt8]]
  }

  /// Directories that are held at once on a way down; each has a descriptor for each layer.
  private static let mostHeld = 24

  let inspection: LayerInspection
  let renewsOrigins: Bool
  var stack: LayerStack { inspection.stack }
  var hasLowers: Bool { !inspection.lowers.isEmpty }
  /// Origins that a restore has made void.
  var renewable = 0
  var claims: [Source: Claim] = [:]
  var claimedNumbers: [UInt64: [UInt8]] = [:]
  /// By the directory of a lower, the one of the upper that shows it.
  var targets: [BackingSlot: [UInt8]] = [:]
  var redirects: [[UInt8]: [UInt8]] = [:]
  /// Items of the upper that count names in lowers.
  var linked: [Source: Claim] = [:]
  /// What the lowers have where the upper has names of an item that has an entry, by the inode in the upper.
  var covered: [UInt64: Set<ItemOrigin>] = [:]
  /// Entries that are called after a file system on which none of the lowers is.
  var homeless: [Entry] = []
  /// The entries of the index of hard links, by the item that they stand for; those whose lowers are there.
  var indexed: [ItemOrigin: Entry] = [:]
  /// Items of lowers that were told to be damaged.
  private var damaged: Set<BackingSlot> = []
  /// The lower that is walked through alone.
  private var onlyLayer: UInt8?

  init(_ inspection: LayerInspection, renewsOrigins: Bool) {
    self.inspection = inspection
    self.renewsOrigins = renewsOrigins
  }

  mutating func run(
    _ found: (LayerFinding) -> Void, _ failed: ([UInt8], Errno) -> Void, _ isInterrupted: () -> Bool
  ) {
    walk(failed, isInterrupted) { (check, parts, path) throws(Errno) in
      try check.checkDirectory(parts, path, found, failed)
    }
    do throws(Errno) { try checkIndex(found) } catch { failed(Array(".varve/index".utf8), error) }
    guard hasLowers, !isInterrupted() else { return }
    walk(failed, isInterrupted) { (check, parts, path) throws(Errno) in
      if !check.indexed.isEmpty { try check.countNames(parts.all, path) }
      return try check.lookAtShown(parts.all, path, found)
    }
    for layer in stack.layers.dropFirst().map(\.root.layer)
    where indexed.values.contains(where: { $0.lowerLinks == nil }) {
      onlyLayer = layer
      walk(failed, isInterrupted) { (check, parts, path) throws(Errno) in
        try check.look(forUnseen: parts.all, path)
      }
    }
    if !isInterrupted() { checkCounts(found) }
  }

  // MARK: The walk

  /// Goes down from the root; `look` answers the names of the directories to go on with.
  private mutating func walk(
    _ failed: ([UInt8], Errno) -> Void, _ isInterrupted: () -> Bool,
    _ look: (inout LayerCheck, DirectoryParts, [UInt8]) throws(Errno) -> [[UInt8]]
  ) {
    var levels: [Level] = []
    func path(_ name: [UInt8]) -> [UInt8] {
      levels.dropFirst().reduce(into: [UInt8]()) { $0 = $0.path(to: $1.name) }.path(to: name)
    }
    do throws(Errno) {
      let parts = try rootParts()
      levels = [Level(name: [], parts: parts, names: try look(&self, parts, []).reversed())]
    } catch {
      return failed([], error)
    }
    while var level = levels.popLast(), !isInterrupted() {
      guard let name = level.names.popLast() else { continue }
      levels.append(level)
      let path = path(name)
      do throws(Errno) {
        let parts = try self.parts(of: name, in: try held(&levels))
        let names = try look(&self, parts, path)
        levels.append(Level(name: name, parts: parts, names: names.reversed()))
        if levels.count > LayerCheck.mostHeld { levels[levels.count - LayerCheck.mostHeld].parts = nil }
      } catch {
        // It may have been removed since its directory was listed.
        if error != .noSuchFile { failed(path, error) }
      }
    }
  }

  /// The parts of the lowest level, found once more from the root if they were let go of.
  private func held(_ levels: inout [Level]) throws(Errno) -> DirectoryParts {
    let last = levels.count - 1
    if let parts = levels[last].parts { return parts }
    var parts = try rootParts()
    for level in levels.dropFirst() { parts = try self.parts(of: level.name, in: parts) }
    levels[last].parts = parts
    return parts
  }

  private func rootParts() throws(Errno) -> DirectoryParts {
    if onlyLayer == nil, let parts = try stack.rootParts(shape: 0) { return parts }
    guard let layer = stack.layer(onlyLayer ?? 0) else { throw .noSuchFile }
    return DirectoryParts(layer.root.part, shape: 0)
  }

  /// What a directory is made of; of one with a mark that cannot be followed, its topmost part.
  private func parts(of name: [UInt8], in above: DirectoryParts) throws(Errno) -> DirectoryParts {
    if let found = try stack.allParts(of: name, in: above.all, hidden: above.hidden) {
      guard let parts = DirectoryParts(found.shown, hidden: found.hidden, shape: 0) else {
        throw .noSuchFile
      }
      return parts
    }
    return try FileName.with(name) { name throws(Errno) in
      for part in above.all {
        do throws(Errno) {
          return DirectoryParts(try LayerDirectory(part).descend(name).part, shape: 0)
        } catch .noSuchFile {
          continue
        }
      }
      throw .noSuchFile
    }
  }

  /// The names of one part, in order.
  func names(of part: LayerPart, at path: [UInt8]) throws(Errno) -> [[UInt8]] {
    let listing = try LayerDirectory(part).openListingAside()
    return try listing.descriptor.descriptor.names()
      .filter { !path.isEmpty || $0 != OwnDirectory.bytes }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  // MARK: What lowers show

  /// Sources of copies that still show, and damage.
  private mutating func lookAtShown(
    _ parts: [LayerPart], _ path: [UInt8], _ found: (LayerFinding) -> Void
  ) throws(Errno) -> [[UInt8]] {
    // What is below the directory that shows is asked for its flag.
    for part in parts.dropFirst() { _ = try record(of: part.descriptor, in: part.layer, path, found) }
    var hidden: Set<[UInt8]> = []
    var directories: [[UInt8]] = []
    for part in parts {
      let place = LayerDirectory(part)
      for name in try names(of: part, at: path) where hidden.insert(name).inserted {
        do throws(Errno) {
          if try lookAtShown(name, in: place, path.path(to: name), found) { directories.append(name) }
        } catch {
          try LayerCheck.passOver(error)
        }
      }
    }
    return directories
  }

  /// Whether it is a directory.
  private mutating func lookAtShown(
    _ name: [UInt8], in place: LayerDirectory, _ path: [UInt8], _ found: (LayerFinding) -> Void
  ) throws(Errno) -> Bool {
    try FileName.with(name) { bytes throws(Errno) in
      guard let status = try place.look(bytes), !status.isWhiteout else { return false }
      let isDirectory = status.kind == .directory
      guard place.layer > 0 else { return isDirectory }
      let record = try record(of: try place.hold(bytes), in: place.layer, path, found)
      // An item of a lower has the number of the copy that took its place: then both are one to programs. Other names of one
      // object are shown as one; those are counted in the index.
      guard isDirectory || status.linkCount == 1, let record,
        let numbers = stack.layer(place.layer)?.store.numbers,
        numbers.origin(of: status, record).flatMap({ indexed[$0]?.isObject }) != true,
        let copy = claimedNumbers[numbers.number(of: status, record).value]
      else { return isDirectory }
      found(strayOrigin(copy, "has the number of an item of a lower that shows as well, as \(shown(path))"))
      return isDirectory
    }
  }

  /// The record of an item of a lower; of one that is damaged, `found` is told, once.
  private mutating func record(
    of object: SharedDescriptor, in layer: UInt8, _ path: [UInt8], _ found: (LayerFinding) -> Void
  ) throws(Errno) -> CoreRecord? {
    let stored = try stack.record(of: object, in: layer)
    guard stored.soundness != .sound else { return stored.core }
    let identity = ObjectIdentity(try object.descriptor.status())
    let number = Int(layer)
    guard let root = stack.layer(layer)?.root.descriptor, inspection.lowers.indices.contains(number - 1),
      damaged.insert(BackingSlot(identity, in: layer)).inserted
    else { return nil }
    var finding = LayerFinding(
      kind: .record, path: path, text: stored.damage ?? "its record cannot be read", remedy: nil
    ) { () throws(Errno) in throw .unsupported }
    finding.lowerItem = LayerFinding.LowerItem(
      number: number, lower: inspection.lowers[number - 1].path, root: root, object: object)
    found(finding)
    return nil
  }

  func shown(_ path: [UInt8]) -> String { StoredPath.text(of: path) }

  /// What was removed since it was listed is not there, and what is mounted in a lower is not part of it.
  static func passOver(_ error: Errno) throws(Errno) {
    guard error == .noSuchFile || error == .crossDevice else { throw error }
  }
}
