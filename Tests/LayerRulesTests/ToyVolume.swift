// A volume without kernel, rights and handles: it finds, asks the engine, brings up, and carries out the steps.

import LayerRules

struct ToyVolume {
  var disk: ToyDisk
  /// Called after every step, also of copy-ups.
  var observe: ((ToyVolume, Step) -> Void)?
  /// What is done wrongly.
  var mutation: Mutation?
  /// How many more steps there are until the volume is killed.
  var stepsToLive: Int?
  /// All plans that were carried out.
  var plans: [[Step]] = []

  init(_ disk: ToyDisk) { self.disk = disk }

  /// A step of one plan that is left out, or changes places with the next.
  struct Mutation: Hashable {
    enum Kind: Hashable { case leftOut, swapped }

    var kind: Kind
    var plan: [Step]
    var step: Int

    var steps: [Step] {
      var steps = plan
      switch kind {
      case .leftOut: steps.remove(at: step)
      case .swapped: steps.swapAt(step, step + 1)
      }
      return steps
    }
  }

  /// A directory of the volume.
  struct Directory {
    var parts: [Part<Int>]
    var hidden: [Part<Int>] = []
    var lowerPath: LowerPath?
    var isUp: Bool { parts.first?.layer == 0 }
    var upper: Int? { isUp ? parts.first?.directory : nil }
  }

  struct Access: LayerAccess {
    let disk: ToyDisk
    var roots: [Int] { disk.layers.map(\.root) }

    func look(_ name: [UInt8], in part: Part<Int>) -> Sighting<Int> {
      guard let inode = disk.child(String(decoding: name, as: UTF8.self), of: part.directory) else {
        return .absent
      }
      switch disk.inodes[inode].kind {
      case .file: return .file(inode)
      case .directory: return .directory(inode)
      case .whiteout: return .whiteout
      }
    }

    func redirect(of part: Part<Int>) -> Mark<Redirect?> {
      guard let stored = disk.inodes[part.directory].redirect else { return .says(nil) }
      guard let redirect = Redirect(stored.span) else { return .unusable }
      return .says(redirect)
    }

    func isLasting(_ failure: Never) -> Bool {}

    func closing(of part: Part<Int>) -> Mark<Closing> {
      let inode = disk.inodes[part.directory]
      return .says(inode.markedOpaque ? .byMark : inode.flaggedOpaque ? .byFlag : .open)
    }
  }

  var access: Access { Access(disk: disk) }

  // MARK: Finding

  /// An item and the directory it is in.
  struct Place {
    var directory: Directory
    var name: String
    var path: String
  }

  func directory(at path: String) -> Directory? {
    // No world has a flag on its root.
    var current = Directory(
      parts: access.roots.enumerated().map { Part(layer: $0.offset, $0.element) }, lowerPath: .root)
    for name in path.split(separator: "/").map(String.init) {
      guard let next = child(name, of: current) else { return nil }
      current = next
    }
    return current
  }

  private func child(_ name: String, of directory: Directory) -> Directory? {
    var walk = PartsWalk(access)
    let found = walk.parts(of: Array(name.utf8), in: directory.parts, hidden: directory.hidden)
    guard case .parts(let parts, let hidden) = found, let top = parts.first else { return nil }
    var redirect: Redirect?
    if top.layer == 0, case .says(let stored) = access.redirect(of: top) { redirect = stored }
    return Directory(
      parts: parts, hidden: hidden,
      lowerPath: Redirect.lowerPath(of: Array(name.utf8).span, in: directory.lowerPath, redirect))
  }

  func place(_ path: String) -> Place? {
    var names = path.split(separator: "/").map(String.init)
    guard let name = names.popLast(), let directory = directory(at: names.joined(separator: "/")) else {
      return nil
    }
    return Place(directory: directory, name: name, path: path)
  }

  /// What shows there, in the layer where it was found.
  func object(at place: Place) -> ToyObject? {
    switch find(place, place.directory.parts) {
    case .missing, .removed: nil
    case .file(let inode, let part), .directory(let inode, let part):
      ToyObject(layer: place.directory.parts[part].layer, inode: inode)
    }
  }

  func find(_ place: Place, _ parts: [Part<Int>]) -> Found<Int> {
    let name = Array(place.name.utf8)
    return Found.find(inParts: parts.indices) { access.look(name, in: parts[$0]) }
  }

  func facts(_ place: Place) -> NameFacts {
    let directory = place.directory
    var upper = UpperEntry.absent
    if let inside = directory.upper, let inode = disk.child(place.name, of: inside) {
      switch disk.inodes[inode].kind {
      case .whiteout: upper = .whiteout
      case .file: upper = .file
      case .directory: upper = .directory(upperDirectory(inode, place))
      }
    }
    var below = directory.isUp ? Array(directory.parts.dropFirst()) : directory.parts
    if upper != .absent { below += directory.hidden }
    var facts = NameFacts(upper: upper, lower: find(place, below).entry)
    facts.hasOrigin = facts.isUp && object(at: place).map { disk.inodes[$0.inode].hasOrigin } ?? false
    switch facts.shown {
    case .nothing: break
    case .directory: facts.contents = contents(place)
    case .file: facts.links = links(place, facts)
    }
    return facts
  }

  func parentFacts(_ place: Place) -> ParentFacts {
    ParentFacts(
      isUp: place.directory.isUp, isImpure: place.directory.upper.map { disk.inodes[$0].isImpure } ?? false)
  }

  private func upperDirectory(_ inode: Int, _ place: Place) -> UpperDirectory {
    let found = disk.inodes[inode]
    let redirection: UpperDirectory.Redirection =
      switch found.redirect.flatMap({ Redirect($0.span) }) {
      case nil: .none
      case .absolute: .absolute
      case .oneName: .oneName
      }
    if found.markedOpaque { return UpperDirectory(.closedByMark, redirection) }
    if found.flaggedOpaque { return UpperDirectory(.closedByFlag, redirection) }
    guard let directory = child(place.name, of: place.directory) else {
      return UpperDirectory(.unusable, redirection)
    }
    return UpperDirectory(directory.parts.count > 1 ? .merged : .pure, redirection)
  }

  private func contents(_ place: Place) -> Contents {
    guard let directory = child(place.name, of: place.directory) else { return .names }
    var names: Set<String> = []
    for part in directory.parts { names.formUnion(disk.inodes[part.directory].names.keys) }
    for name in names where object(at: Place(directory: directory, name: name, path: "")) != nil {
      return .names
    }
    guard let upper = directory.upper else { return .empty }
    return disk.inodes[upper].names.isEmpty ? .empty : .whiteouts
  }

  private func links(_ place: Place, _ facts: NameFacts) -> Links {
    guard let object = object(at: place) else { return .single }
    if facts.isUp { return disk.inodes[object.inode].difference != nil ? .upperName : .single }
    return disk.inodes[object.inode].links > 1 ? .lowerName : .single
  }
}
