// `why`: asks the rules about a deed without doing it. The same judgements of the same facts as the operation itself,
// under the locks it takes, so the answer is what would have happened.

package import AccessControl
import Decisions
import DirectoryModes
package import LinuxFiles
import RecordFormat

extension Volume {
  /// The peer of a socket, with nested groups.
  package func subject(of peer: SocketPeer) -> Subject {
    gate.credentials.subject(
      user: peer.user, group: peer.group, groups: peer.groups, capabilities: peer.capabilities)
  }

  /// Somebody as a question describes him, with the nested groups; root as one with all capabilities.
  package func assumed(user: UInt32, group: UInt32, groups: [UInt32]) -> Subject {
    gate.credentials.assumed(user: user, group: group, groups: groups)
  }

  /// Says whether `subject` may do it, and which rules say so.
  ///
  /// `asker`: who wants to know, if it is not the subject himself. Root learns everything. Anybody else learns of
  /// another only what he could have worked out by reading: EACCES as soon as the way passes a directory he may not
  /// search, or an item whose rules he may not read. E2BIG for a way that goes on and on, and beyond the deadline.
  package func explain(
    _ question: Question, as subject: Subject, for asker: Subject? = nil, within limits: WalkLimits
  ) throws(Errno) -> Explanation {
    let isRoot = (asker ?? subject).readsAllRules
    let rules = options.rules
    let mount = question.mount.beyond(rules)
    let view = View(
      judge: Judge(rules: rules, subject: subject),
      asker: isRoot ? nil : asker.map { Judge(rules: rules, subject: $0) }, askerIsRoot: isRoot)
    var inquiry = Inquiry(
      volume: self, walk: Walk(self, view, limits), question: question,
      judge: Judge(rules: mount.added(to: rules), subject: subject))
    do throws(Stop) {
      try inquiry.run()
    } catch .notYours {
      throw .accessDenied
    } catch .tooMuch {
      throw .tooBig
    } catch {
      // The last step says why it ended.
    }
    do throws(Stop) { try inquiry.walk.finish() } catch { throw .tooBig }
    return Explanation(
      question: question, subject: subject, steps: inquiry.walk.steps, isDirectory: inquiry.isDirectory,
      mount: mount, deviation: inquiry.deviation)
  }
}

/// One question on its way to an answer.
private struct Inquiry {
  private let volume: Volume
  var walk: Walk
  private let question: Question
  /// Of the deed itself, with what the mount forbids; the daemon, which knows nothing of that, judges the way there.
  private let judge: Judge
  var isDirectory: Bool?
  var deviation = ChangeDeviation()

  init(volume: Volume, walk: Walk, question: Question, judge: Judge) {
    self.volume = volume
    self.walk = walk
    self.question = question
    self.judge = judge
  }

  private var deed: Deed { question.deed }

  mutating func run() throws(Stop) {
    guard question.changes.isEmpty else { return try changes() }
    switch deed.target {
    case .item:
      guard case .found(let spot, _) = try walk.go(question.path, .followed) else { throw .blocked }
      isDirectory = spot.isDirectory
      try item(spot, deed.on(directory: spot.isDirectory))
    case .newName: try addition()
    case .name: try removal()
    case .twoNames: try deed == .link ? link() : rename()
    }
  }

  // MARK: One object

  /// Each change by itself, as things stand now; a link in the last place is not followed.
  private mutating func changes() throws(Stop) {
    guard case .found(let spot, _) = try walk.go(question.path, .held) else { throw .blocked }
    // From here on it is about the item.
    isDirectory = spot.isDirectory
    for change in question.changes { try item(spot, change.deed, change) }
  }

  /// `change`: the values the deed would be done with, where they are known.
  private mutating func item(_ spot: Spot, _ deed: Deed, _ change: ChangeRequest? = nil) throws(Stop) {
    if [.search, .list].contains(deed), !spot.isDirectory {
      throw walk.end(spot.path, deed.rawValue, .notDirectory, "is no directory")
    }
    if deed == .create || deed == .mkdir { return try addition(in: spot, spot.path, deed) }
    // The kernel refuses on a read-only mount first.
    if deed == .writeList, change != .noList, !judge.rules.usesLists, !judge.rules.isReadOnly {
      throw walk.end(spot.path, deed.rawValue, .unsupported, "the volume is mounted with noacl")
    }
    let facts = try look([spot])[0]
    if facts.item.kind == .special, [.read, .write, .append].contains(deed) {
      // Asked for already when the name was looked up.
      return walk.add(
        spot.path, deed.rawValue, .noted("is opened by the kernel without a question by whoever finds it"))
    }
    if change != nil {
      // A user who may not read the attributes could guess them, value by value.
      try tell(
        judge.readAttributes(facts.item), Deed.readAttributes.rawValue, Scene(facts.item), [.item: spot.path])
    }
    let decided = change.map { judge.permits($0, facts.item) } ?? judge.permits(deed, facts.item)
    guard var verdict = decided else { throw .blocked }
    // It wants to know which set-id bits to take away.
    if deed == .changeOwner, !spot.isDirectory, !judge.rules.isReadOnly, volume.link?.stripsItself == true {
      verdict = judge.readAttributes(facts.item).then { verdict }
    }
    try tell(verdict, deed.rawValue, Scene(facts.item), [.item: spot.path])
    var stores = [.writeList, .changeFlags].contains(deed)
    if case .ownerGroup = change { stores = true }
    if stores, !volume.store.canCarryRecord(facts.status.kind) {
      throw walk.end(
        spot.path, deed.rawValue, .unsupported, "a volume without root keeps none on this kind of item")
    }
    if let change { deviate(change, facts) }
  }

  /// Notes what comes of a change that is permitted, where the operation does something else.
  private mutating func deviate(_ change: ChangeRequest, _ facts: Facts) {
    switch change {
    case .mode(let wanted):
      let granted = judge.granted(wanted, on: facts.item)
      let mode = volume.keepingRecordsReadable(granted, of: facts.status.kind)
      if mode != wanted { deviation.mode = mode }
    case .owner where judge.rules.ignoresOwnership && judge.subject.user != 0: deviation.keepsOwner = true
    default: break
    }
  }

  // MARK: Names

  private mutating func addition() throws(Stop) {
    // mkdir(2) takes a new name with a slash behind it.
    switch try walk.go(question.path.trimmed(deed == .mkdir), .followed, mayBeFree: true) {
    case .free(let parent, let path): try addition(in: parent, path, deed)
    // A directory that is there stands for any new name in it.
    case .found(let spot, _) where spot.isDirectory:
      isDirectory = true
      try addition(in: spot, spot.path, deed)
    case .found(let spot, _):
      isDirectory = false
      throw walk.end(spot.path, deed.rawValue, .exists, "the name is taken")
    }
  }

  private mutating func addition(in parent: Spot, _ path: [UInt8], _ deed: Deed) throws(Stop) {
    let facts = try look([parent])[0]
    // Before the kernel makes a name it looks it up.
    if path == parent.path { try tell(judge.search(facts.item), "search", Scene(facts.item), [.item: path]) }
    try tell(
      judge.create(directory: deed == .mkdir, in: facts.item), addition(deed == .mkdir), Scene(facts.item),
      [.parent: parent.path])
  }

  private func addition(_ isDirectory: Bool) -> String { isDirectory ? "add_subdirectory" : "add_file" }

  private mutating func removal() throws(Stop) {
    try refuseEarly([question.path])
    let (spot, parent) = try named(question.path)
    let facts = try look([spot, parent])
    try tell(
      judge.remove(facts[0].item, from: facts[1].item), "delete", Scene(facts[0].item, in: facts[1].item),
      [.item: spot.path, .parent: parent.path])
  }

  /// On a read-only mount the kernel takes no name away: it says so before it looks the last name up.
  private mutating func refuseEarly(_ paths: [[UInt8]]) throws(Stop) {
    guard judge.rules.isReadOnly else { return }
    var above: Spot?
    for path in paths {
      let end = path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
      guard case .found(let spot, _) = try walk.go(Array(path[..<end]), .followed) else { throw .blocked }
      above = above ?? spot
    }
    guard let above else { return }
    let facts = try look([above])[0]
    try walk.judge(
      above.path, "delete_child", .refused(.readOnly, .readOnlyVolume), about: facts.item)
  }

  /// An object and the directory its name is in.
  private mutating func named(_ path: [UInt8]) throws(Stop) -> (Spot, parent: Spot) {
    guard case .found(let spot, let parent) = try walk.go(path, .held) else { throw .blocked }
    isDirectory = spot.isDirectory
    guard let parent else { throw nameless(spot) }
    return (spot, parent)
  }

  private mutating func nameless(_ spot: Spot) -> Stop {
    spot.path.isEmpty
      ? walk.end(spot.path, deed.rawValue, .busy, "is the root of the volume")
      : walk.end(spot.path, deed.rawValue, .invalid, "a name is needed, not a step by . or ..")
  }

  // MARK: Two names

  /// Where the new name is; without one, beside the old one.
  private mutating func destination(beside parent: Spot) throws(Stop) -> (Spot, victim: Spot?) {
    guard let path = question.newPath else { return (parent, nil) }
    switch try walk.go(path, .held, mayBeFree: true) {
    case .free(let newParent, _): return (newParent, nil)
    case .found(let victim, let newParent):
      guard let newParent else { throw nameless(victim) }
      return (newParent, victim)
    }
  }

  private mutating func link() throws(Stop) {
    let (spot, parent) = try named(question.path)
    let (newParent, taken) = try destination(beside: parent)
    if let taken { throw walk.end(taken.path, "link", .exists, "the name is taken") }
    let facts = try look([spot, newParent])
    let (item, above) = (facts[0].item, facts[1].item)
    // Before anything is asked of the item, for which there will be no name.
    if judge.rules.isReadOnly {
      try walk.judge(newParent.path, addition(false), .refused(.readOnly, .readOnlyVolume), about: above)
    }
    let verdict = judge.link(item, into: above, protectsLinks: KernelRules.protectsLinks)
    try tell(
      verdict, verdict.place == .newParent ? addition(false) : "link", Scene(item, to: above),
      [.item: spot.path, .newParent: newParent.path])
  }

  private mutating func rename() throws(Stop) {
    try refuseEarly([question.path] + (question.newPath.map { [$0] } ?? []))
    let (spot, parent) = try named(question.path)
    let (newParent, victim) = try destination(beside: parent)
    if newParent.identity == spot.identity || newParent.path.starts(with: spot.path + [UInt8(ascii: "/")]) {
      throw walk.end(newParent.path, "rename", .invalid, "a directory cannot be moved into itself")
    }
    if let victim, victim.isDirectory != spot.isDirectory {
      throw walk.end(
        victim.path, "rename", victim.isDirectory ? .isDirectory : .notDirectory,
        victim.isDirectory ? "is a directory, and would be replaced by none" : "is no directory")
    }
    let facts = try look([spot, parent, newParent] + (victim.map { [$0] } ?? []))
    let scene = Scene(
      facts[0].item, in: facts[1].item, to: facts[2].item, over: victim == nil ? nil : facts[3].item)
    let changesParent = parent.identity != newParent.identity
    let source = RenameSide(item: scene.item, parent: facts[1].item)
    let paths: [Place: [UInt8]] = [
      .item: spot.path, .parent: parent.path, .newParent: newParent.path, .victim: victim?.path ?? [],
    ]
    // The verdict of the whole is the operation's own; its parts are told one by one until it refuses.
    let whole = judge.rename(
      source, into: facts[2].item, changesParent: changesParent, over: scene.victim)
    try tell(judge.leaving(source, changesParent: changesParent), "delete", scene, paths)
    try tell(
      judge.create(directory: spot.isDirectory, in: facts[2].item).on(.newParent),
      addition(spot.isDirectory), scene, paths)
    guard scene.victim != nil || !whole.isAllowed else { return }
    try tell(whole, "delete", scene, paths)
  }

  // MARK: Telling

  /// Writes down a verdict at the path of what it speaks about.
  private mutating func tell(
    _ verdict: Verdict, _ asked: String, _ scene: Scene, _ paths: [Place: [UInt8]]
  ) throws(Stop) {
    // What one item's rules leave open another's decide: the answer tells of all of them.
    for place in paths.keys { try walk.view.requireReadable(scene[place]) }
    let isAboveDeleted = asked == "delete" && (verdict.place == .parent || verdict.place == .newParent)
    try walk.judge(
      paths[verdict.place] ?? paths[.item] ?? [], isAboveDeleted ? "delete_child" : asked, verdict,
      about: scene[verdict.place])
  }

  /// The facts of up to four objects at one moment.
  private mutating func look(_ spots: [Spot]) throws(Stop) -> [Facts] {
    func lock(_ index: Int) -> LockRequest? {
      spots.indices.contains(index) ? .shared(spots[index].stripe) : nil
    }
    do throws(Errno) {
      let locks = LockRequests(.shared(spots[0].stripe), lock(1), lock(2), lock(3))
      return try volume.locks.holding(locks) { () throws(Errno) in
        var found: [Facts] = []
        for spot in spots { found.append(try volume.facts(at: spot)) }
        return found
      }
    } catch {
      throw walk.end(spots[0].path, deed.rawValue, error, "\(error)")
    }
  }
}

extension [UInt8] {
  /// Without slashes at the end, if `isWanted`.
  fileprivate func trimmed(_ isWanted: Bool) -> [UInt8] {
    guard isWanted, let last = lastIndex(where: { $0 != UInt8(ascii: "/") }) else { return self }
    return Array(self[...last])
  }
}

extension Subject {
  /// Whether this is root with a capability by which it reads everything anyway.
  var readsAllRules: Bool { isRoot(withAnyOf: [.dacOverride, .dacReadSearch]) }
}

/// Settings of the kernel that are rules of the volume, too.
enum KernelRules {
  /// `fs.protected_hardlinks`.
  static var protectsLinks: Bool {
    let setting = try? Descriptor.open(path: "/proc/sys/fs/protected_hardlinks", .readOnly).read(upTo: 8)
    return setting?.first != UInt8(ascii: "0")
  }
}
