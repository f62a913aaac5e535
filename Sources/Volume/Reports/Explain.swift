// `why`: asks the rules about a deed without doing it. The same decision about the same facts as the operation itself,
// under the locks it takes, so the answer is what would have happened.
//
// For everybody who is refused something and asks why. Nothing of it is on the path of another request. What it
// says is what happens (`WhyTests`).

package import AccessControl
import Decisions
import DirectoryModes
package import LinuxFiles
import RecordFormat

extension Volume {
  /// Says whether `subject` may do it, and which rules say so.
  ///
  /// `asker`: who wants to know, if it is not the subject. Root learns everything. Others learn of
  /// another user only what they could have worked out by reading: EACCES as soon as the way passes a directory they may
  /// not search, or an item whose rules they may not read. E2BIG for a way that goes on and on, and beyond the deadline.
  package func explain(
    _ question: Question, as subject: Subject, for asker: Subject? = nil, within limits: WalkLimits
  ) throws(Errno) -> Explanation {
    let isRoot = (asker ?? subject).readsAllRules
    let rules = gate.rules
    let mount = question.mount.beyond(rules)
    let view = View(
      judge: Judge(rules: rules, subject: subject),
      asker: isRoot ? nil : asker.map { Judge(rules: rules, subject: $0) }, askerIsRoot: isRoot,
      tellsAll: question.wantsAll)
    var inquiry = Inquiry(
      volume: self, walk: Walk(self, view, limits), question: question,
      judge: Judge(rules: mount.added(to: rules), subject: subject))
    do throws(Stop) {
      try inquiry.run()
    } catch .notYours {
      throw .accessDenied
    } catch .tooMuch {
      throw .tooBig
    } catch .volumesOwn {
      inquiry.tellVolumesOwn()
    } catch {
      // The last step says why it ended.
    }
    do throws(Stop) { try inquiry.walk.finish() } catch { throw .tooBig }
    return Explanation(
      question: question, subject: subject, steps: inquiry.walk.steps, isDirectory: inquiry.isDirectory,
      mount: mount, deviation: inquiry.deviation, nesting: gate.credentials.nesting,
      departure: inquiry.departure)
  }
}

/// The objects of an operation where they were found.
private struct Spots {
  var item: Spot
  var parent: Spot?
  var newParent: Spot?
  var victim: Spot?

  subscript(role: ObjectRole) -> Spot {
    switch role {
    case .item: item
    case .parent: parent ?? item
    case .newParent: newParent ?? parent ?? item
    case .victim: victim ?? item
    }
  }
}

/// What was true of the objects of an operation, and what it is decided from.
private typealias Sight = (item: Facts, scene: Scene)

/// One question on its way to an answer: finds the objects, asks for the decision, and tells its steps.
struct Inquiry {
  let volume: Volume
  var walk: Walk
  let question: Question
  /// Of the deed itself, with what the mount forbids; the daemon, which knows nothing of that, judges the way there.
  let judge: Judge
  var isDirectory: Bool?
  /// Whether the way to the new name is walked.
  private(set) var isAtNewPath = false
  /// What is not walked yet of the path, with the slash in front.
  private var tail: [UInt8] = []
  var deviation = ChangeDeviation()

  init(volume: Volume, walk: Walk, question: Question, judge: Judge) {
    self.volume = volume
    self.walk = walk
    self.question = question
    self.judge = judge
  }

  var deed: Deed { question.deed }

  /// Where one of the two ways left the volume.
  var departure: Departure? { walk.departure.map { Departure(path: $0 + tail, isOfNewPath: isAtNewPath) } }

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
    for change in question.changes {
      let facts = try look(Spots(item: spot))
      // A user who may not read the attributes could guess them, value by value.
      try decide(.readAttributes, facts, Spots(item: spot), Deed.readAttributes.rawValue)
      try decide(change, facts, Spots(item: spot), (change.deed ?? deed).rawValue)
      deviate(change, facts.item)
      if let stored = try? spot.descriptor.descriptor.status() {
        deviation.noteCopy(of: facts.item, stored: stored)
      }
    }
  }

  private mutating func item(_ spot: Spot, _ deed: Deed) throws(Stop) {
    if deed == .create || deed == .mkdir { return try addition(in: spot, spot.path, deed) }
    let facts = try look(Spots(item: spot))
    if facts.item.item.kind == .special, [.read, .write, .append].contains(deed) {
      // Asked for already when the name was looked up.
      return walk.add(
        spot.path, deed.rawValue,
        .noted("is opened by the kernel without asking, for every user who can find it"))
    }
    walk.noteLayer(of: spot, facts.item, isBroughtUp: !deed.isOnlyLooking)
    noteDamage(of: spot, facts.item, deed)
    try refuseDuringListing(spot, deed)
    let operation = deed.operation(
      on: facts.item.item, by: judge.subject, looksFirst: volume.link?.stripsItself == true)
    guard let operation else { throw .blocked }
    try decide(operation, facts, Spots(item: spot), deed.rawValue)
    // The rules know nothing of headers: opening the file finds that out.
    guard [.read, .write, .append, .execute].contains(deed), let failure = facts.item.headerFailure else {
      return
    }
    throw walk.end(spot.path, deed.rawValue, failure.error, failure.words)
  }

  /// Notes that parts of an encrypted file cannot be read: the content is not looked at for this, but what was met is known.
  private mutating func noteDamage(of spot: Spot, _ facts: Facts, _ deed: Deed) {
    guard [.read, .execute].contains(deed), facts.item.content.protection != nil,
      walk.view.mayRead(facts.item), volume.sealed.hasMetDamage(in: facts.status.inode)
    else { return }
    walk.add(
      spot.path, "content",
      .noted("parts of it are damaged, and reading those fails (EIO); 'varve verify' names them"))
  }

  /// Rights of a directory are not changed by its number in a view while the kernel takes names of its listing over
  /// (`Objects/ListingsUnderWay.swift`).
  private mutating func refuseDuringListing(_ spot: Spot, _ deed: Deed) throws(Stop) {
    guard spot.isDirectory, spot.view != nil,
      [.writeList, .changeOwner, .changeMode, .changeFlags].contains(deed),
      volume.isListingUnderWay(of: spot.identity)
    else { return }
    throw walk.end(
      spot.path, deed.rawValue, .busy,
      "a program is in the middle of listing it in the ordinary tree; change it there, where the kernel waits"
    )
  }

  /// Notes what comes of a change that is permitted, where the operation does something else.
  private mutating func deviate(_ change: Operation, _ facts: Facts) {
    switch change {
    case .setMode(let wanted):
      let granted = judge.granted(wanted, on: facts.item)
      let mode = volume.keepingRecordsReadable(granted, of: facts.status.kind)
      if mode != wanted { deviation.mode = mode }
    case .setOwner: deviation.keepsOwner = deviation.keepsOwner || !judge.changesOwners
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
      throw walk.end(spot.path, deed.rawValue, .taken)
    }
  }

  private mutating func addition(in parent: Spot, _ path: [UInt8], _ deed: Deed) throws(Stop) {
    let spots = Spots(item: parent)
    let facts = try look(spots)
    // Before the kernel makes a name it looks it up.
    if path == parent.path { try decide(.search, facts, spots, Deed.search.rawValue) }
    try refuseInView(parent)
    walk.noteLayer(of: parent, facts.item, isBroughtUp: true)
    try decide(.create(deed == .mkdir ? .directory : .file), facts, spots, deed.rawValue)
  }

  private mutating func removal() throws(Stop) {
    try refuseEarly([question.path])
    let (spot, parent) = try named(question.path)
    try refuseInView(parent)
    try noteLayer(of: spot, isBroughtUp: false)
    try decide(.remove(directory: spot.isDirectory), Spots(item: spot, parent: parent))
  }

  /// On a read-only mount the kernel takes no name away: it says so before it looks the last name up.
  private mutating func refuseEarly(_ paths: [[UInt8]]) throws(Stop) {
    guard !judge.writableMount.isAllowed else { return }
    var above: Spot?
    for (index, path) in paths.enumerated() {
      isAtNewPath = index > 0
      let end = path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
      tail = Array(path[end...])
      guard case .found(let spot, _) = try walk.go(Array(path[..<end]), .followed) else { throw .blocked }
      above = above ?? spot
    }
    (isAtNewPath, tail) = (false, [])
    if let above { try decide(.takeNames, Spots(item: above)) }
  }

  /// An object and the directory its name is in.
  private mutating func named(_ path: [UInt8]) throws(Stop) -> (Spot, parent: Spot) {
    guard case .found(let spot, let parent) = try walk.go(path, .held) else { throw .blocked }
    isDirectory = spot.isDirectory
    guard let parent else { throw nameless(spot) }
    return (spot, parent)
  }

  private mutating func nameless(_ spot: Spot) -> Stop {
    walk.end(spot.path, deed.rawValue, spot.path.isEmpty ? .root : .nameless)
  }

  // MARK: Two names

  /// Where the new name is; without one, beside the old one.
  private mutating func destination(beside parent: Spot) throws(Stop) -> (Spot, victim: Spot?) {
    guard let path = question.newPath else { return (parent, nil) }
    isAtNewPath = true
    switch try walk.go(path, .held, mayBeFree: true) {
    case .free(let newParent, _): return (newParent, nil)
    case .found(let victim, let newParent):
      guard let newParent else { throw nameless(victim) }
      return (newParent, victim)
    }
  }

  private mutating func link() throws(Stop) {
    guard case .found(let spot, let above) = try walk.go(question.path, .held) else { throw .blocked }
    isDirectory = spot.isDirectory
    // The kernel finds out where the new name would be before it refuses a directory, which may be the root.
    guard let parent = above ?? (question.newPath == nil ? nil : spot) else { throw nameless(spot) }
    let (newParent, taken) = try destination(beside: parent)
    try refuseInView(newParent)
    try noteLayer(of: spot, isBroughtUp: true)
    try decide(
      .link(protectsLinks: KernelRules.protectsLinks),
      Spots(item: spot, newParent: newParent, victim: taken))
  }

  private mutating func rename() throws(Stop) {
    try refuseEarly([question.path] + (question.newPath.map { [$0] } ?? []))
    let (spot, parent) = try named(question.path)
    let (newParent, victim) = try destination(beside: parent)
    try refuseInView(parent)
    try refuseInView(newParent)
    try noteLayer(of: spot, isBroughtUp: true)
    let below = spot.path + [UInt8(ascii: "/")]
    var rename = Rename(changesParent: parent.identity != newParent.identity)
    rename.leadsIntoItself = newParent.identity == spot.identity || newParent.path.starts(with: below)
    try decide(.rename(rename), Spots(item: spot, parent: parent, newParent: newParent, victim: victim))
  }

  // MARK: Deciding and telling

  private mutating func noteLayer(of spot: Spot, isBroughtUp: Bool) throws(Stop) {
    guard volume.resolver.stack != nil else { return }
    walk.noteLayer(of: spot, try look(Spots(item: spot)).item, isBroughtUp: isBroughtUp)
  }

  /// No name is made, given or taken in a view; that comes before all other rules.
  private mutating func refuseInView(_ parent: Spot) throws(Stop) {
    guard parent.view != nil else { return }
    try decide(.changeView, Spots(item: parent))
  }

  private mutating func decide(_ operation: Operation, _ spots: Spots) throws(Stop) {
    try decide(operation, try look(spots), spots, deed.rawValue)
  }

  /// Decides as the operation does, and writes down every step at the path of what it speaks about.
  ///
  /// `word`: of the operation.
  private mutating func decide(
    _ operation: Operation, _ sight: Sight, _ spots: Spots, _ word: String
  ) throws(Stop) {
    var sight = sight
    try awaitContent(of: spots.item, sight.item, in: &sight.scene, operation, word)
    var steps: [Step] = []
    _ = judge.decide(operation, sight.scene) { steps.append($0) }
    for step in steps {
      let role = step.verdict.role
      let path = spots[role].path
      if let obstacle = step.verdict.obstacle { throw walk.end(path, word, obstacle) }
      // What one item's rules leave open another's decide: the answer tells of all of them.
      for role in ObjectRole.allCases { try walk.view.requireReadable(sight.scene[role]) }
      guard walk.view.tellsAll, !step.verdict.isAllowed else {
        try walk.judge(path, step.asked.word(word, at: role), step.verdict, about: sight.scene[role])
        continue
      }
      walk.tellAll(judge.refusals(operation, sight.scene), sight.scene) { refusal in
        let role = refusal.verdict.role
        return (spots[role].path, refusal.asked.word(word, at: role))
      }
      throw .blocked
    }
  }

  /// The facts of up to four objects at one moment.
  private mutating func look(_ spots: Spots) throws(Stop) -> Sight {
    func lock(_ spot: Spot?) -> LockRequest? { spot.map { .shared($0.stripe) } }
    do throws(Errno) {
      let locks = LockRequests(
        .shared(spots.item.stripe), lock(spots.parent), lock(spots.newParent), lock(spots.victim))
      return try volume.locks.holding(locks) { () throws(Errno) in
        let facts = try volume.facts(at: spots.item)
        var scene = volume.scene(facts)
        if let spot = spots.parent { scene.parent = try volume.facts(at: spot).item }
        if let spot = spots.newParent { scene.newParent = try volume.facts(at: spot).item }
        if let spot = spots.victim { scene.victim = try volume.facts(at: spot).item }
        return (facts, scene)
      }
    } catch {
      throw walk.end(spots.item.path, deed.rawValue, failure: error)
    }
  }
}

extension Step.Asked {
  /// The right, or the word of the operation itself.
  fileprivate func word(_ word: String, at role: ObjectRole) -> String {
    switch self {
    case .operation: word
    case .adding(let isDirectory): isDirectory ? "add_subdirectory" : "add_file"
    case .removing: role == .parent || role == .newParent ? "delete_child" : "delete"
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
