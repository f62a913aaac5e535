// Decide, bring up, do.

import LayerRules

extension Outcome {
  init(_ refusal: Refusal) {
    self =
      switch refusal {
      case .notEmpty: .notEmpty
      case .unusable: .unusable
      }
  }
}

extension ToyVolume {
  mutating func perform(_ operation: ToyOperation, item: Int) throws(CallFailure) -> Outcome {
    // Each turn brings something up, so a round that comes back often is a mistake.
    for _ in 0..<8 {
      guard let (answer, scene) = ask(operation, item: item) else { return .missing }
      if let refusal = decide(operation) { return refusal }
      switch answer {
      case .refused(let refusal): return Outcome(refusal)
      case .plan(let steps):
        try carryOut(steps, scene)
        return .done
      case .bringUp(let needed):
        if needed.contains(.parent) { try bringUp(directoryOf: scene.first) }
        if needed.contains(.newParent), let second = scene.second { try bringUp(directoryOf: second) }
        if needed.contains(.object) {
          try bringUp(objectOf: scene.bringsUp ?? scene.first, cutting: scene.cuts)
        }
        if needed.contains(.other), let second = scene.second { try bringUp(objectOf: second) }
      }
    }
    throw CallFailure("never gets done: \(operation)")
  }

  /// What is refused before there is a plan, as `Judge.decide` and the search for the names do.
  private func decide(_ operation: ToyOperation) -> Outcome? {
    switch operation {
    case .create(let path), .makeDirectory(let path), .publish(let path), .link(_, let path):
      return shown(path) == .nothing ? nil : .exists
    case .unlink(let path):
      switch shown(path) {
      case .nothing: return .missing
      case .directory: return .isDirectory
      case .file: return nil
      }
    case .removeDirectory(let path):
      switch shown(path) {
      case .nothing: return .missing
      case .file: return .notDirectory
      case .directory: return nil
      }
    case .rename(let path, let newPath, let style):
      switch (shown(path), shown(newPath), style) {
      case (.nothing, _, _), (_, .nothing, .exchange): return .missing
      case (_, .file, .noReplace), (_, .directory, .noReplace): return .exists
      case (.file, .directory, .replace): return .isDirectory
      case (.directory, .file, .replace): return .notDirectory
      default: return nil
      }
    case .write, .cut: return nil
    }
  }

  private func shown(_ path: String) -> LayerRules.Shown { place(path).map { facts($0).shown } ?? .nothing }

  /// What the steps of a plan act on.
  struct Scene {
    var first: Place
    var second: Place?
    /// What gets a name, or where the thing is made that does.
    var object: Int?
    var fresh: ToyInode?
    /// What a link is made to.
    var bringsUp: Place?
    /// The lower object that is copied.
    var source: ToyObject?
    var parentTime: Int?
    /// The object is about to be cut to nothing.
    var cuts = false
    /// What the names lost or gained by the plan are of.
    var counted: [Position: ToyObject] = [:]
  }

  private func ask(_ operation: ToyOperation, item: Int) -> (Answer, Scene)? {
    switch operation {
    case .create(let path):
      guard let place = place(path) else { return nil }
      var scene = Scene(first: place)
      scene.fresh = ToyInode(kind: .file, item: item, content: item)
      return (MakingPlan.object(facts(place), in: parentFacts(place)), scene)
    case .makeDirectory(let path):
      guard let place = place(path) else { return nil }
      var scene = Scene(first: place)
      scene.fresh = ToyInode(kind: .directory, item: item)
      return (MakingPlan.directory(facts(place), in: parentFacts(place)), scene)
    case .publish(let path):
      guard let place = place(path) else { return nil }
      var scene = Scene(first: place)
      scene.fresh = ToyInode(kind: .file, item: item, content: item)
      return (MakingPlan.link(.new, to: facts(place), in: parentFacts(place)), scene)
    case .unlink(let path):
      guard let place = place(path) else { return nil }
      return (RemovingPlan.file(facts(place), in: parentFacts(place)), losing(place))
    case .removeDirectory(let path):
      guard let place = place(path) else { return nil }
      return (RemovingPlan.directory(facts(place), in: parentFacts(place)), Scene(first: place))
    case .link(let path, let newPath):
      guard let source = place(path), let object = object(at: source), let place = place(newPath) else {
        return nil
      }
      // The object may be in the upper by another of its names.
      let now = disk.followed(object).object
      var scene = Scene(first: place)
      scene.object = now.inode
      scene.bringsUp = source
      return (
        MakingPlan.link(
          .init(isUp: now.layer == 0, hasOrigin: disk.inodes[now.inode].hasOrigin), to: facts(place),
          in: parentFacts(place)), scene
      )
    case .write(let path), .cut(let path):
      guard let place = place(path), let object = object(at: place) else { return nil }
      let now = disk.followed(object).object
      var scene = Scene(first: place)
      scene.object = now.inode
      scene.fresh = ToyInode(kind: .file, item: item, content: operation == .cut(path) ? 0 : item)
      scene.cuts = operation == .cut(path)
      return (now.layer == 0 ? .plan([]) : .bringUp(place.directory.isUp ? .object : .parent), scene)
    case .rename(let path, let newPath, let style):
      guard let first = place(path), let second = place(newPath) else { return nil }
      return (rename(first, second, style).answer, losing(first, second))
    }
  }

  private func losing(_ first: Place, _ second: Place? = nil) -> Scene {
    var scene = Scene(first: first, second: second)
    scene.counted[.name] = object(at: first).map { disk.followed($0).object }
    if let second { scene.counted[.newName] = object(at: second).map { disk.followed($0).object } }
    return scene
  }

  private func rename(_ first: Place, _ second: Place, _ style: ToyStyle) -> RenameRequest {
    let one = object(at: first).map { disk.followed($0).object }
    let other = object(at: second).map { disk.followed($0).object }
    let styles: [ToyStyle: RenameRequest.Style] = [
      .replace: .replace, .noReplace: .noReplace, .exchange: .exchange,
    ]
    return RenameRequest(
      facts(first), to: facts(second), styles[style] ?? .replace,
      isInOneParent: first.directory.parts.first?.directory == second.directory.parts.first?.directory,
      parent: parentFacts(first), newParent: parentFacts(second),
      isOneObject: one != nil && one == other)
  }

  // MARK: Bringing up

  /// The directories on the way to a place, topmost first.
  private mutating func bringUp(directoryOf place: Place) throws(CallFailure) {
    var path = ""
    for name in place.path.split(separator: "/").dropLast().map(String.init) {
      path += (path.isEmpty ? "" : "/") + name
      guard let here = self.place(path) else { throw CallFailure("lost \(path)") }
      if !facts(here).isUp { try copyUp(here) }
    }
  }

  private mutating func bringUp(objectOf place: Place, cutting: Bool = false) throws(CallFailure) {
    try bringUp(directoryOf: place)
    guard let here = self.place(place.path) else { throw CallFailure("lost \(place.path)") }
    if !facts(here).isUp { try copyUp(here, cutting: cutting) }
  }

  private mutating func copyUp(_ place: Place, cutting: Bool = false) throws(CallFailure) {
    guard let object = object(at: place), let parent = place.directory.upper else {
      throw CallFailure("nothing to bring up: \(place.path)")
    }
    let now = disk.followed(object).object
    var scene = Scene(first: place)
    scene.source = now
    scene.counted[.name] = now
    scene.counted[.index] = now
    let isDirectory = disk.inodes[object.inode].kind == .directory
    var names = CopyUp.Names.one
    if !isDirectory, disk.inodes[object.inode].links > 1 {
      names =
        now.layer == 0
        ? .nextOfSeveral : .firstOfSeveral(entryCounts: disk.entry(of: now, in: 0) != nil)
    }
    // Every third item stands for a link or a device.
    let kinds: [CopyUp.Kind] = [.file(.copied), .file(.copied), .other]
    let kind: CopyUp.Kind =
      isDirectory ? .directory : cutting ? .file(.none) : kinds[disk.inodes[now.inode].item % 3]
    let time = disk.inodes[parent].time
    scene.parentTime = time
    let copy = CopyUp(kind, names: names, parentIsImpure: disk.inodes[parent].isImpure)
    try carryOut(copy.steps, scene)
    guard let now = self.place(place.path), facts(now).isUp else {
      throw CallFailure("not brought up: \(place.path)")
    }
    guard disk.inodes[parent].time == time else { throw CallFailure("a copy-up moved the parent's time") }
  }
}
