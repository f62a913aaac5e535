// One operation in one world: carried out on layers and on a plain tree, and looked at after every step.

import LayerRules

/// What was seen of one operation.
final class Trial {
  let before: TreeView
  let after: TreeView
  let expected: Outcome
  private let operation: ToyOperation
  private let item: Int
  private(set) var volume: ToyVolume
  private(set) var steps = 0
  /// After how many steps the view was that of after.
  private var changedAfter = 0
  private var isAfter = false
  private lazy var plainViews = (before.withoutCounts, after.withoutCounts)
  private(set) var complaint: String?

  /// Nil where the kernel would not ask.
  init?(_ disk: ToyDisk, _ operation: ToyOperation, view: TreeView? = nil) {
    before = view ?? ToyView.of(disk)
    guard !operation.isRefusedByKernel(in: before) else { return nil }
    var disk = disk
    item = disk.newItem()
    var plain = PlainTree(before)
    expected = plain.perform(operation, item: item)
    after = plain.view
    volume = ToyVolume(disk)
    self.operation = operation
  }

  private func complain(_ text: String) {
    if complaint == nil { complaint = text }
  }

  /// Whether the operation was stopped before its end.
  private(set) var wasKilled = false

  func run(with mutation: ToyVolume.Mutation? = nil, looking: Bool = true, killedAfter steps: Int? = nil) {
    var volume = self.volume
    let start = volume.disk
    volume.mutation = mutation
    volume.stepsToLive = steps
    volume.observe = { [unowned self] now, step in
      self.steps += 1
      if looking { look(at: now, after: step) }
    }
    do throws(CallFailure) {
      let outcome = try volume.perform(operation, item: item)
      if outcome != expected { complain("answers \(outcome), a plain tree \(expected)") }
      if outcome != .done {
        if volume.disk != start { complain("refused, and something has changed") }
        return
      }
    } catch {
      wasKilled = error == .killed
      if !wasKilled { complain("a step failed: \(error)") }
    }
    volume.observe = nil
    if wasKilled { volume.mountAgain() }
    self.volume = volume
    // What a killed volume shows was looked at after each step.
    guard !wasKilled else { return }
    let view = ToyView.of(volume.disk)
    if view != after { complain("shows \(difference(view, after))") }
    if expected == .done, let freed = operation.freed, after[freed] == nil,
      ToyView.of(volume.disk.unflagged)[freed] != nil
    {
      complain("\(freed) shows again when the flag is cleared")
    }
    if let residue = volume.residue { complain(residue) }
    if looking, mutation == nil, let lastly = volume.plans.last, !lastly.isEmpty,
      before.withoutCounts != after.withoutCounts,
      changedAfter != volume.plans.dropLast().reduce(0, { $0 + $1.count }) + lastly.untilChanged
    {
      complain("\(lastly) makes its change after \(changedAfter) steps, not \(lastly.untilChanged)")
    }
    // Those that a killed volume has left are no fault of this operation.
    let old = ToyVolume(start)
    if volume.strayWhiteouts() > old.strayWhiteouts(evenHidden: true) { complain("leaves a stray whiteout") }
    if volume.emptyEntries > old.emptyEntries { complain("leaves an entry that counts nothing") }
  }

  /// The view of before or that of after, and never back; counts of links may be too high, never too low.
  private func look(at now: ToyVolume, after step: Step) {
    if let hazard = now.hazard { complain("after \(step): \(hazard)") }
    let view = ToyView.of(now.disk)
    let plain = view.withoutCounts
    let (old, new) = plainViews
    if plain == new {
      if !isAfter, old != new { changedAfter = steps }
      isAfter = isAfter || old != new
    } else if isAfter || plain != old {
      complain("after \(step) shows \(difference(plain, isAfter ? new : old))")
    }
    let counts = isAfter ? after : before
    for (path, shown) in view {
      guard let least = counts[path]?.links, plain == (isAfter ? new : old) else { continue }
      if shown.links < least || shown.links > least + 1 {
        complain("after \(step) \(path) has \(shown.links) links, not \(least)")
      }
    }
  }

  private func difference(_ view: TreeView, _ wanted: TreeView) -> String {
    let paths = Set(view.keys).union(wanted.keys).sorted()
    let lines = paths.filter { view[$0] != wanted[$0] }.map {
      "\($0): \(view[$0].map { "\($0)" } ?? "nothing"), not \(wanted[$0].map { "\($0)" } ?? "nothing")"
    }
    return lines.joined(separator: "; ")
  }
}

extension TreeView {
  var withoutCounts: TreeView {
    mapValues {
      var shown = $0
      shown.links = 0
      return shown
    }
  }
}

extension ToyVolume {
  /// What must never be on the disk, not even for a moment.
  var hazard: String? { hazard(in: disk.upper.root) }

  private func hazard(in directory: Int) -> String? {
    let isImpure = disk.inodes[directory].isImpure
    for (name, child) in disk.inodes[directory].names {
      if !disk.inodes[child].isDurable { return "a power cut would empty \(name)" }
      if !disk.inodes[child].isDescribed { return "\(name) has not the metadata of its source" }
      if disk.inodes[child].hasOrigin, !isImpure {
        return "\(name) has an origin in a directory that does not say so"
      }
      if disk.inodes[child].kind == .directory, let found = hazard(in: child) { return found }
    }
    for child in disk.inodes[disk.upper.index].names.values {
      let entry = disk.inodes[child]
      if !entry.isDurable { return "a power cut would empty an entry of the index" }
      if !entry.isDescribed || entry.difference == nil { return "an entry of the index is not complete" }
    }
    return nil
  }

  /// What a finished operation must not leave.
  var residue: String? {
    if !disk.inodes[disk.work].names.keys.filter({ $0 != "wh" }).isEmpty {
      return "leaves something in work/"
    }
    for inode in disk.inodes[disk.upper.index].names.values {
      let entry = disk.inodes[inode]
      guard let difference = entry.difference else { return "leaves an entry without a count" }
      if entry.links == 0 { return "has an entry without an inode: \(difference)" }
    }
    return nil
  }

  /// Entries of objects that have no name left.
  var emptyEntries: Int {
    disk.inodes[disk.upper.index].names.values.count {
      disk.inodes[$0].countsFromUpper && disk.inodes[$0].links + Int(disk.inodes[$0].difference ?? 0) <= 0
    }
  }

  /// Whiteouts of the upper where no layer below has the name.
  ///
  /// With `evenHidden` also those of which it is hidden by a flag: a directory that is moved takes them along.
  func strayWhiteouts(evenHidden: Bool = false) -> Int {
    let parts = access.roots.enumerated().map { Part(layer: $0.offset, $0.element) }
    return strays(Directory(parts: parts), "", evenHidden)
  }

  private func strays(_ directory: Directory, _ path: String, _ evenHidden: Bool) -> Int {
    guard let upper = directory.upper else { return 0 }
    let below = Array(directory.parts.dropFirst()) + (evenHidden ? [] : directory.hidden)
    var count = 0
    for (name, child) in disk.inodes[upper].names {
      let place = Place(directory: directory, name: name, path: path + "/" + name)
      switch disk.inodes[child].kind {
      case .file: break
      case .whiteout: if find(place, below).entry == .nothing { count += 1 }
      case .directory:
        if let inside = self.directory(at: place.path) { count += strays(inside, place.path, evenHidden) }
      }
    }
    return count
  }
}
