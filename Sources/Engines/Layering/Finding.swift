// From a name to what shows under it, and from a directory to its parts in the layers.
//
// For volumes over lowers: what shows, and each change as a plan. A model carries plans out and stops after every step
// (`LayerRulesTests`); what it costs is in docs/performance.md, "Layers".

/// What one layer has under a name.
package enum Sighting<Object> {
  case absent
  case whiteout
  case file(Object)
  case directory(Object)
}

/// What shows under a name.
package enum Found<Object> {
  case missing
  /// The part whose whiteout hides what is below it.
  case removed(part: Int)
  case file(Object, part: Int)
  case directory(Object, part: Int)
}

extension Found {
  /// Looks for a name in the parts of a directory, the topmost first; `look` says what one part has under it.
  package static func find<Failure: Error>(
    inParts parts: Range<Int>, look: (Int) throws(Failure) -> Sighting<Object>
  ) throws(Failure) -> Found {
    for part in parts {
      switch try look(part) {
      case .absent: continue
      case .whiteout: return .removed(part: part)
      case .file(let object): return .file(object, part: part)
      case .directory(let object): return .directory(object, part: part)
      }
    }
    return .missing
  }

  /// The same without the object: what plans ask of the layers below.
  package var entry: LowerEntry {
    switch self {
    case .missing, .removed: .nothing
    case .file: .file
    case .directory: .directory
    }
  }
}

/// A directory of a layer that takes part in a directory of the volume.
package struct Part<Directory> {
  package var layer: Int
  package var directory: Directory

  package init(layer: Int, _ directory: Directory) {
    self.layer = layer
    self.directory = directory
  }
}

/// What a mark says.
package enum Mark<Value> {
  case says(Value)
  /// It is there and cannot be followed.
  case unusable
}

/// How a walk gets at the layers; whatever it may not do fails with the caller's error.
package protocol LayerAccess<Directory, Failure> {
  associatedtype Directory
  associatedtype Failure: Error

  /// The roots of all layers, topmost first; their places are the layers' numbers.
  var roots: [Directory] { get }
  /// What this directory has under a name, without following a link.
  func look(_ name: [UInt8], in directory: Part<Directory>) throws(Failure) -> Sighting<Directory>
  func redirect(of directory: Part<Directory>) throws(Failure) -> Mark<Redirect?>
  func closing(of directory: Part<Directory>) throws(Failure) -> Mark<Closing>
  /// Whether a failure comes again as long as the layers are what they are.
  func isLasting(_ failure: Failure) -> Bool
}

/// What keeps the layers below out of a directory.
package enum Closing {
  case open
  /// For good.
  case byMark
  /// Until the user clears it.
  case byFlag
}

/// The parts of a directory.
package enum Parts<Directory> {
  /// Topmost first; none if nothing shows, or no directory does.
  ///
  /// `hidden`: what goes on below, and shows once flags of the upper are cleared.
  case parts([Part<Directory>], hidden: [Part<Directory>])
  /// A mark on the way cannot be followed.
  case unusable
}

/// Makes the parts of directories.
package struct PartsWalk<Access: LayerAccess> {
  package typealias Directory = Access.Directory

  private let access: Access
  /// Redirects of lowers can lead over others, those over others again: so the work is bounded.
  private var looksLeft: Int

  /// More than 64 layers with paths of 1,000 parts need.
  package static var mostLooks: Int { 65_536 }

  package init(_ access: Access) {
    self.access = access
    looksLeft = Self.mostLooks
  }

  /// The parts of what has this name in a directory with these parts.
  ///
  /// `hidden`: what flags hide of that directory. `known` is what ``Found/find(inParts:look:)`` has said, if it was asked: that
  /// part is not asked again, and none above it.
  package mutating func parts(
    of name: [UInt8], in shown: [Part<Directory>], hidden: [Part<Directory>] = [],
    known: (directory: Directory, part: Int)? = nil
  ) throws(Access.Failure) -> Parts<Directory> {
    var found = PartsFound<Directory>()
    do throws(Access.Failure) {
      let isUsable = try find(name, in: shown + hidden, shown.count, known, &found)
      return isUsable || found.isHiding ? found.parts : .unusable
    } catch {
      // What is wrong below a flag for good does not concern those who see nothing of it, and would show nothing without
      // the flag either. What is not found out today hides names that would come back.
      guard found.isHiding, access.isLasting(error) else { throw error }
      return found.parts
    }
  }

  /// Whether all marks could be followed.
  private mutating func find(
    _ name: [UInt8], in parent: [Part<Directory>], _ shownCount: Int,
    _ known: (directory: Directory, part: Int)?, _ found: inout PartsFound<Directory>
  ) throws(Access.Failure) -> Bool {
    var (name, parent, shownCount, place) = (name, parent, shownCount, known?.part ?? 0)
    var first = known?.directory
    while place < parent.count {
      let above = parent[place]
      if place >= shownCount { found.isHiding = true }
      place += 1
      guard looksLeft > 0 else { return false }
      looksLeft -= 1
      let directory: Directory
      let sighting =
        if let first { Sighting.directory(first) } else { try access.look(name, in: above) }
      first = nil
      switch sighting {
      case .absent: continue
      case .whiteout, .file: return true
      case .directory(let object): directory = object
      }
      // Asked now, because most directories have nothing below them.
      if let last = found.last {
        switch try access.closing(of: last) {
        case .says(.open): break
        case .says(.byFlag) where last.layer == 0: found.isHiding = true
        case .says(.byMark), .says(.byFlag): return true
        case .unusable: return false
        }
      }
      let part = Part(layer: above.layer, directory)
      found.append(part)
      guard part.layer + 1 < access.roots.count else { break }
      switch try access.redirect(of: part) {
      case .says(nil): break
      case .says(.oneName(let other)): name = other
      case .says(.absolute(let path)):
        // From the roots of the layers below, also where the parent is closed.
        guard let target = try directoryAbove(path, below: part.layer) else { return false }
        (parent, name, place, shownCount) = (target.parent, target.name, 0, target.parent.count)
      case .unusable: return false
      }
    }
    return true
  }

  /// The parts of the directory that the last part of a path is in, in the union of the layers below this one.
  private mutating func directoryAbove(
    _ path: LowerPath, below layer: Int
  ) throws(Access.Failure) -> (parent: [Part<Directory>], name: [UInt8])? {
    var names = path.parts
    guard let last = names.popLast() else { return nil }
    var current = (layer + 1..<access.roots.count).map { Part(layer: $0, access.roots[$0]) }
    for name in names {
      switch try parts(of: name, in: current) {
      case .parts(let found, hidden: _): current = found
      case .unusable: return nil
      }
      if current.isEmpty { break }
    }
    return (current, last)
  }
}

/// The parts a walk has found so far.
private struct PartsFound<Directory> {
  private var shown: [Part<Directory>] = []
  private var hidden: [Part<Directory>] = []
  /// Whether what is found from now on is hidden by a flag.
  var isHiding = false

  var last: Part<Directory>? { hidden.last ?? shown.last }
  var parts: Parts<Directory> { .parts(shown, hidden: hidden) }

  mutating func append(_ part: Part<Directory>) {
    if isHiding { hidden.append(part) } else { shown.append(part) }
  }
}
