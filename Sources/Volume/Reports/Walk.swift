// The way of a question: from the root of the volume down, component by component, as the kernel would walk it for the
// subject. Every directory passed is asked for `search`, links are followed inside the volume, and what is found is
// held by a descriptor.

import AccessControl
import Decisions
import DisplayNames
import LinuxFiles

/// A place on the way, held so that what is looked at next is the same object.
struct Spot {
  let descriptor: SharedDescriptor
  let identity: ObjectIdentity
  let layerFacts: LayerFacts
  /// From the root of the volume, by real names.
  let path: [UInt8]
  /// With lowers, the directories it is made of; of anything else, itself.
  let parts: [LayerPart]
  /// The view in which it was come to, if it was in one.
  var view: ViewedSpot?

  var isDirectory: Bool { identity.kind == .directory }
  var stripe: Int { layerFacts.number.stripe }
}

/// Where a path leads.
enum WayEnd {
  /// To an object; `parent` is the directory its name is in, absent for the root and after a step by "." or "..".
  case found(Spot, parent: Spot?)
  /// To a name in `parent` that nothing has.
  case free(parent: Spot, path: [UInt8])
}

/// Why a question goes no further.
enum Stop: Error, Equatable {
  /// The last step says why.
  case blocked
  /// The asker may not know the rest.
  case notYours
  /// The answer would be too long, or take too long.
  case tooMuch
  /// The way leads to `.varve` on the mount, which no rule is about.
  case volumesOwn
}

/// What one question may cost the daemon: links make a way of any length.
///
/// A way that is longer gets no answer, rather than a wrong one.
package struct WalkLimits: Sendable {
  /// Names looked at, by `.` and `..` as well.
  var names = 16_384
  /// What is written down, and the bytes of its paths and sentences.
  var steps = 1_024
  var bytes = 512 << 10
  /// Of the monotonic clock, in nanoseconds.
  var deadline: UInt64

  package init(deadline: UInt64) {
    self.deadline = deadline
  }
}

/// With whose eyes is looked: those of the subject, and of the asker if that is another user.
struct View: Sendable {
  let judge: Judge
  /// Absent where the answer needs no protection: users ask about their own rights, or root asks.
  let asker: Judge?
  let askerIsRoot: Bool
  /// Whether a refusal is told with all that would refuse behind it.
  let tellsAll: Bool

  /// Whether the rules of an object may be told.
  func mayRead(_ item: Item) -> Bool {
    askerIsRoot || (asker ?? judge).decide(.readAttributes, on: item).isAllowed
  }

  /// Users who ask about others get no further than they could get themselves.
  func require(_ operation: Operation, _ scene: Scene) throws(Stop) {
    if let asker, !asker.decide(operation, scene).isAllowed { throw .notYours }
  }

  func requireReadable(_ item: Item) throws(Stop) {
    if asker != nil, !mayRead(item) { throw .notYours }
  }
}

/// Walks for one explanation and writes down its steps.
struct Walk {
  /// What is done with a link in the last place.
  enum LastLink {
    case followed
    case held
  }

  let volume: Volume
  let view: View
  private(set) var steps: [ExplanationStep] = []
  /// Where the way left the volume: an absolute path, or one from the root of the volume that begins with a step up.
  private(set) var departure: [UInt8]?
  /// What follows `.varve`, if the way led there.
  private(set) var namesOfVolume: [[UInt8]] = []
  private var linksLeft = 40
  private var left: WalkLimits

  init(_ volume: Volume, _ view: View, _ limits: WalkLimits) {
    self.volume = volume
    self.view = view
    left = limits
  }

  /// Writes down a step.
  ///
  /// One that is too much is left out, and so is all that follows: the next name ends the way, or `finish`.
  mutating func add(
    _ path: [UInt8], _ asked: String, _ content: ExplanationStep.Content, remedy: Remedy? = nil
  ) {
    left.steps -= 1
    left.bytes -= path.count + 64
    if case .noted(let words) = content { left.bytes -= words.utf8.count }
    if case .ends(_, let words) = content { left.bytes -= words.utf8.count }
    guard !hasTooMuch else { return }
    steps.append(ExplanationStep(path: path, asked: asked, content: content, remedy: remedy))
  }

  private var hasTooMuch: Bool { left.steps < 0 || left.bytes < 0 }

  /// Refuses an answer of which a part was left out.
  func finish() throws(Stop) {
    if hasTooMuch { throw .tooMuch }
  }

  /// Pays for the next name.
  private mutating func advance() throws(Stop) {
    left.names -= 1
    guard left.names >= 0, !hasTooMuch, Clock.monotonicNanoseconds < left.deadline else { throw .tooMuch }
  }

  /// Writes down a judgement, and ends the way if it refuses.
  mutating func judge(
    _ path: [UInt8], _ asked: String, _ verdict: Verdict, about item: Item
  ) throws(Stop) {
    try view.requireReadable(item)
    add(path, asked, .judged(verdict, item: view.mayRead(item) ? item : nil))
    guard verdict.isAllowed else { throw .blocked }
  }

  /// Ends the way with a fact.
  mutating func end(_ path: [UInt8], _ asked: String, _ error: Errno, _ words: String) -> Stop {
    add(path, asked, .ends(error, words))
    return .blocked
  }

  /// Ends the way with what stands in it.
  mutating func end(_ path: [UInt8], _ asked: String, _ obstacle: Obstacle) -> Stop {
    end(path, asked, Errno(obstacle), obstacle.words)
  }

  /// Ends the way with what cannot be looked at.
  mutating func end(_ path: [UInt8], _ asked: String, failure error: Errno) -> Stop {
    end(
      path, asked, error,
      error == .inputOutput
        ? "it, or what the volume keeps of it, cannot be read; 'varve check' of the upper directory tells more"
        : error.words)
  }

  /// Follows `path`; throws when the subject gets no further, with the reason as the last step.
  ///
  /// One directory is held at a time: an asker with paths of thousands of names must not use up the
  /// daemon's descriptors.
  mutating func go(_ path: [UInt8], _ last: LastLink, mayBeFree: Bool = false) throws(Stop) -> WayEnd {
    guard path.count < 4_096 else { throw end([], "search", .nameTooLong, "the path is too long") }
    var here = volume.rootSpot()
    /// The directories above.
    var above: [ObjectIdentity] = []
    var rest = Walk.components(path, keepsSlash: last == .followed)
    // Only a name that is itself the last component can be free: "a/" and "a/." want a directory.
    while let name = rest.popLast() {
      try advance()
      guard here.isDirectory else {
        throw end(here.path, "search", .notDirectory)
      }
      if name == Walk.dot { continue }
      if name == Walk.dotDot {
        guard let identity = above.popLast() else {
          if here.view != nil { throw leaves(to: rest) }
          departure = Walk.path([name] + rest.reversed())
          throw end(here.path, "search", .crossDevice, Walk.leads)
        }
        // The step up asks nothing: the kernel sends no request for it.
        here = try parent(of: here, identity)
        continue
      }
      if here.path.isEmpty, name == OwnDirectory.bytes {
        try searchAlone(here)
        if here.view != nil { throw end(name, "search", .missing) }
        if let view = enteredView(&rest) {
          here.view = ViewedSpot(name: view)
          continue
        }
        if try passes(&rest, mayBeFree) { continue }
      }
      switch try look(at: name, in: here) {
      case .missing(let found):
        guard mayBeFree, rest.isEmpty else { throw missing(found, name, in: here) }
        return .free(parent: here, path: found)
      case .link(let spot, let target):
        if rest.isEmpty, last == .held { return .found(spot, parent: here) }
        try follow(target, from: spot, &rest)
      case .object(let spot):
        if rest.isEmpty { return .found(spot, parent: here) }
        above.append(here.identity)
        here = spot
      }
    }
    return .found(here, parent: nil)
  }

  /// The directory above, reached from the root again; paths of spots hold no links.
  private mutating func parent(of here: Spot, _ identity: ObjectIdentity) throws(Stop) -> Spot {
    let path = Array(here.path[..<(here.path.lastIndex(of: Walk.slash) ?? here.path.startIndex)])
    let view = here.view?.above
    if path.isEmpty {
      var root = volume.rootSpot()
      root.view = view
      return root
    }
    do throws(Errno) {
      var spot = try volume.spot(atPath: path)
      guard spot.identity == identity else { throw .stale }
      spot.view = view
      return spot
    } catch {
      throw end(here.path, "search", error, "the directory above was moved meanwhile")
    }
  }

  private enum Sight {
    case missing([UInt8])
    case link(Spot, target: [UInt8])
    case object(Spot)

    /// The same, in the view in which the directory above is.
    func inView(of above: Spot, _ volume: Volume) -> Sight {
      guard let view = above.view else { return self }
      switch self {
      case .missing: return self
      case .link(var spot, let target):
        spot.view = view.below(isPackage: false)
        return .link(spot, target: target)
      case .object(var spot):
        spot.view = view.below(isPackage: spot.isDirectory && volume.isPackage(spot))
        return .object(spot)
      }
    }
  }

  /// Asks for the search and takes what stands under the name, both under the directory's lock.
  ///
  /// In a view a name that nothing has may be one that something is shown by.
  private mutating func look(at name: [UInt8], in here: Spot) throws(Stop) -> Sight {
    let sight = try lookReal(at: name, in: here)
    guard case .missing = sight, let view = here.view else { return sight.inView(of: here, volume) }
    guard let real = volume.realName(shownAs: name, in: here, view) else { return sight }
    return try lookReal(at: real, in: here).inView(of: here, volume)
  }

  private mutating func lookReal(at name: [UInt8], in here: Spot) throws(Stop) -> Sight {
    let path = here.path.path(to: name)
    // Links can lead further down than any path that can be written.
    guard path.count < 4_096 else { throw .tooMuch }
    let item: Item
    let sight: Result<Volume.SeenSpot, Errno>
    do throws(Errno) {
      (item, sight) = try volume.look(at: name, in: here, path: path)
    } catch {
      throw end(here.path, "search", failure: error)
    }
    try search(here, item)
    switch sight {
    case .failure(let error):
      if error == .noSuchFile { return .missing(path) }
      if error == .crossDevice {
        throw end(path, "search", error, "another file system is mounted there")
      }
      throw end(path, "search", failure: error)
    case .success(let found):
      if found.facts.item.kind == .special {
        let scene = Scene(found.facts.item, in: item)
        let verdict = view.judge.decide(.find, scene)
        try view.require(.find, scene)
        try judge(path, "search", verdict, about: found.facts.item)
      }
      if let target = found.target { return .link(found.spot, target: target) }
      return .object(found.spot)
    }
  }

  /// The search of a directory, written down once for each visit.
  private mutating func search(_ here: Spot, _ item: Item) throws(Stop) {
    try view.require(.search, Scene(item))
    let verdict = view.judge.decide(.search, on: item)
    if let step = steps.last, step.path == here.path, step.asked == "search", step.failure == nil {
      if verdict.isAllowed { return }
    }
    guard view.tellsAll, !verdict.isAllowed else {
      return try judge(here.path, "search", verdict, about: item)
    }
    try view.requireReadable(item)
    let scene = Scene(item)
    let isLiftable = tellAll(view.judge.refusals(.search, scene), scene) { _ in (here.path, "search") }
    // What lies behind is told to root alone: others could not see it before the way is open.
    guard isLiftable, view.askerIsRoot else { throw .blocked }
  }

  private mutating func follow(_ target: [UInt8], from link: Spot, _ rest: inout [[UInt8]]) throws(Stop) {
    linksLeft -= 1
    let text = "'" + String(decoding: target, as: UTF8.self) + "'"
    guard linksLeft > 0 else {
      throw end(link.path, "follow", .tooManySymbolicLinks, "too many links, the last one to \(text)")
    }
    add(link.path, "follow", .noted("is a link to \(text)"))
    guard target.first != Walk.slash else {
      departure = Walk.path([target] + rest.reversed())
      throw end(link.path, "follow", .crossDevice, Walk.leads)
    }
    rest += Walk.components(target, keepsSlash: true)
  }

  // MARK: The volume's own names

  /// Whether the way comes back out of `.varve`; else what follows is noted, and the way ends.
  private mutating func passes(_ rest: inout [[UInt8]], _ mayBeFree: Bool) throws(Stop) -> Bool {
    let path = OwnDirectory.bytes
    guard volume.mounted.showsReservedDirectory else {
      // Not there, and not to be made.
      throw end(path, "search", mayBeFree && rest.isEmpty ? .reserved : .missing)
    }
    while let next = rest.last, next == Walk.dot { rest.removeLast() }
    if rest.last == Walk.dotDot {
      rest.removeLast()
      return true
    }
    namesOfVolume = rest.reversed()
    throw .volumesOwn
  }

  /// Whether the way leads on into a view.
  private func enteredView(_ rest: inout [[UInt8]]) -> ViewName? {
    guard volume.mounted.showsReservedDirectory else { return nil }
    var left = rest
    func next() -> [UInt8]? {
      while left.last == Walk.dot { left.removeLast() }
      return left.popLast()
    }
    guard next() == SyntheticNode.viewsName, let name = next(), let view = ViewName(name) else { return nil }
    rest = left
    return view
  }

  /// A step up from the root of a view.
  private mutating func leaves(to rest: [[UInt8]]) -> Stop {
    namesOfVolume = [SyntheticNode.viewsName] + rest.reversed()
    return .volumesOwn
  }

  /// Asks for the search of a directory without looking for anything in it.
  private mutating func searchAlone(_ here: Spot) throws(Stop) {
    let item: Item
    do throws(Errno) {
      item = try volume.locks.holding(.shared(here.stripe)) { () throws(Errno) in
        try volume.facts(at: here).item
      }
    } catch {
      throw end(here.path, "search", failure: error)
    }
    try search(here, item)
  }

  // MARK: Components

  /// What is said where a way leaves the volume; where it goes on from there, only the tool can see.
  private static let leads = "leads out of the volume"

  private static func path(_ names: [[UInt8]]) -> [UInt8] { Array(names.joined(separator: [slash])) }

  private static let slash = UInt8(ascii: "/")
  private static let dot = [UInt8(ascii: ".")]
  private static let dotDot = [UInt8(ascii: "."), UInt8(ascii: ".")]

  /// The names of a path, the last one first; a slash at the end is a step to ".".
  private static func components(_ path: [UInt8], keepsSlash: Bool) -> [[UInt8]] {
    var names = path.split(separator: slash).map { Array($0) }
    if keepsSlash, path.last == slash, !names.isEmpty { names.append(dot) }
    return names.reversed()
  }
}
