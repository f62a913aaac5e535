// The steps of plans, as calls on the toy's layers.

import LayerRules
import RecordFormat

extension ToyVolume {
  mutating func carryOut(_ steps: [Step], _ scene: Scene) throws(CallFailure) {
    plans.append(steps)
    var scene = scene
    let steps = mutation?.plan == steps ? mutation?.steps ?? steps : steps
    for step in steps {
      if stepsToLive == 0 { throw .killed }
      stepsToLive = stepsToLive.map { $0 - 1 }
      try carryOut(step, &scene)
      observe?(self, step)
    }
    // What is done to the object of a request once it is in place.
    if steps.isEmpty, let object = scene.object, let fresh = scene.fresh {
      disk.inodes[object].content = fresh.content
    }
  }

  /// What a mount does with what is left over: nobody has seen it.
  mutating func mountAgain() {
    disk.inodes[disk.work].names = [:]
    stepsToLive = nil
  }

  /// The directory and the name of a position.
  private func spot(_ position: Position, _ scene: Scene) throws(CallFailure) -> (Int, String) {
    switch position {
    case .name:
      guard let upper = scene.first.directory.upper else { throw CallFailure("the parent is not up") }
      return (upper, scene.first.name)
    case .newName:
      guard let second = scene.second, let upper = second.directory.upper else {
        throw CallFailure("the new parent is not up")
      }
      return (upper, second.name)
    case .work: return (disk.work, "t")
    case .index:
      guard let object = scene.counted[.index] else { throw CallFailure("no entry is meant") }
      return (disk.upper.index, disk.indexName(of: object))
    }
  }

  private func inode(at position: Position, _ scene: Scene) throws(CallFailure) -> Int {
    let (directory, name) = try spot(position, scene)
    guard let inode = disk.child(name, of: directory) else { throw CallFailure("nothing at \(position)") }
    return inode
  }

  private mutating func enter(_ inode: Int?, _ position: Position, _ scene: Scene) throws(CallFailure) {
    guard let inode else { throw CallFailure("nothing to name") }
    let (directory, name) = try spot(position, scene)
    try disk.enter(inode, as: name, in: directory)
  }

  private mutating func carryOut(_ step: Step, _ scene: inout Scene) throws(CallFailure) {
    switch step {
    case .make(let position):
      guard let fresh = scene.fresh else { throw CallFailure("nothing to make") }
      try enter(disk.add(fresh), position, scene)
    case .makeTwin:
      let old = disk.inodes[try inode(at: .newName, scene)]
      var twin = ToyInode(kind: .directory, item: old.item)
      twin.markedOpaque = true
      twin.hasOrigin = old.hasOrigin
      try enter(disk.add(twin), .work, scene)
    case .linkWhiteout(let position):
      try enter(disk.add(ToyInode(kind: .whiteout)), position, scene)
    case .close(let position):
      disk.inodes[try inode(at: position, scene)].markedOpaque = true
    case .setRedirect(let position):
      let place = position == .newName ? scene.second : scene.first
      guard let place,
        let path = directory(at: place.path)?.lowerPath
      else { throw CallFailure("no path below") }
      disk.inodes[try inode(at: position, scene)].redirect = path.bytes
    case .markImpure(let position): disk.inodes[try spot(position, scene).0].isImpure = true
    case .link(let position):
      if let fresh = scene.fresh { scene.object = disk.add(fresh) }
      try enter(scene.object, position, scene)
    case .rename(let from, let to, let call):
      let (directory, name) = try spot(from, scene)
      let (newDirectory, newName) = try spot(to, scene)
      try disk.rename(name, of: directory, to: newName, of: newDirectory, call)
    case .exchange(let from, let to), .trade(let from, _, let to):
      if case .trade(_, let expected, _) = step {
        let kind = disk.inodes[try inode(at: to, scene)].kind
        guard kind == (expected == .whiteout ? .whiteout : .directory) else {
          throw CallFailure("\(kind) at \(to)")
        }
      }
      let (directory, name) = try spot(from, scene)
      let (newDirectory, newName) = try spot(to, scene)
      try disk.exchange(name, of: directory, with: newName, of: newDirectory)
    case .remove(let position):
      let (directory, name) = try spot(position, scene)
      try disk.remove(name, of: directory)
    case .removeDirectory(let position):
      let (directory, name) = try spot(position, scene)
      try disk.removeDirectory(name, of: directory)
    case .sweep: try sweep(scene)
    default: try copy(step, &scene)
    }
  }

  private mutating func sweep(_ scene: Scene) throws(CallFailure) {
    let directory = try inode(at: .work, scene)
    for (name, inode) in disk.inodes[directory].names {
      guard disk.inodes[inode].kind == .whiteout else { throw CallFailure("swept away: \(name)") }
      try disk.remove(name, of: directory)
    }
    try disk.removeDirectory("t", of: disk.work)
  }

  // MARK: Copies

  private mutating func copy(_ step: Step, _ scene: inout Scene) throws(CallFailure) {
    switch step {
    case .makeCopy, .makeUnnamedCopy:
      guard let source = scene.source else { throw CallFailure("nothing to copy") }
      var copy = ToyInode(kind: disk.inodes[source.inode].kind)
      // A link or a device has no data that could be lost; it is made with what it says.
      copy.isDescribed = false
      if step == .makeCopy { copy.content = disk.inodes[source.inode].content }
      let inode = disk.add(copy)
      scene.object = inode
      if step == .makeCopy { try enter(inode, .work, scene) }
    case .copyData:
      guard let source = scene.source, let object = scene.object else { throw CallFailure("no data") }
      disk.inodes[object].content = disk.inodes[source.inode].content
      disk.inodes[object].isDurable = disk.inodes[source.inode].item % 3 == 1
      // Whoever writes takes set-id bits and times away.
      disk.inodes[object].isDescribed = false
    case .syncData:
      guard let object = scene.object else { throw CallFailure("nothing to sync") }
      disk.inodes[object].isDurable = true
    case .describe:
      guard let source = scene.source, let object = scene.object else { throw CallFailure("no copy") }
      disk.inodes[object].item = disk.inodes[source.inode].item
      disk.inodes[object].hasOrigin = true
      disk.inodes[object].isDescribed = true
    case .restoreParentTimes:
      guard let upper = scene.first.directory.upper, let time = scene.parentTime else {
        throw CallFailure("no time to restore")
      }
      disk.inodes[upper].time = time
    case .startCount:
      guard let source = scene.source, let object = scene.object,
        let count = disk.followed(source).state.firstCopy
      else { throw CallFailure("no count") }
      disk.inodes[object].difference = count.difference
      disk.inodes[object].countsFromUpper = count.base == .upper
    case .linkFromIndex(let position):
      if let source = scene.source, source.layer == 0 {
        try enter(source.inode, position, scene)
      } else {
        try enter(try inode(at: .index, scene), position, scene)
      }
    case .settleCount(let position, let change): try settle(position, change, scene)
    default: throw CallFailure("unknown step \(step)")
    }
  }

  private mutating func settle(
    _ position: Position, _ change: Int32, _ scene: Scene
  ) throws(CallFailure) {
    guard let object = scene.counted[position] else { throw CallFailure("nothing to count") }
    // An inode in the upper is its own entry; the entry of a lower object has its name.
    var entry = object.layer == 0 ? object.inode : disk.entry(of: object, in: 0)
    let state: LinkState
    if let entry, disk.inodes[entry].countsFromUpper {
      state = LinkState(
        lowerLinks: 0,
        entry: .inode(
          links: UInt32(disk.inodes[entry].links), difference: disk.inodes[entry].difference ?? 0))
    } else {
      state = disk.followed(object).state
    }
    guard let settled = state.settled(by: change) else { throw CallFailure("the count has no room") }
    if entry == nil {
      let made = disk.add(ToyInode(kind: .file))
      try disk.enter(made, as: disk.indexName(of: object), in: disk.upper.index)
      entry = made
    }
    guard let entry, let stored = settled.stored else { throw CallFailure("no entry") }
    if settled.isUnused {
      let names = disk.inodes[disk.upper.index].names.filter { $0.value == entry }.keys
      for name in names { try disk.remove(name, of: disk.upper.index) }
    }
    disk.inodes[entry].difference = stored.difference
    disk.inodes[entry].countsFromUpper = stored.base == .upper
  }
}
