// Carries out plans: each step is one call, or happens in the workshop.
//
// For volumes over lowers: the engine says the steps, so that a crash after any of them shows the view of before or of after
// (SEMANTICS 18).

import LayerRules
import LinuxFiles

/// What ``PlanRunner`` carries out.
typealias PlanStep = LayerRules.Step

/// A name in a directory of the upper.
struct UpperName: Sendable {
  let directory: LayerDirectory
  let name: [UInt8]
}

/// Runs the steps of one plan.
///
/// What only the operation can do, such as making its object, it brings along.
struct PlanRunner {
  let whiteouts: WhiteoutSource
  let workshop: LayerDirectory
  /// Keeps what is in the workshop and belongs to a user.
  let setAside: @Sendable ([UInt8]) throws(Errno) -> Void
  let exchangesNames: Bool
  /// The mark that closes a directory, and the one that says where it was.
  let opaqueName: [UInt8]
  let redirectName: [UInt8]
  let name: UpperName
  var newName: UpperName?
  /// The one name in the workshop that a plan uses.
  var work: [UInt8] = Workshop.nextName()
  /// Where the entry of the object is, for plans that need it.
  var index: UpperName?
  /// What gets a further name.
  var object: SharedDescriptor?
  /// Where the layers below have the directories that are moved; nil where that is too long to be stored.
  var lowerPath: LowerPath?
  var newLowerPath: LowerPath?
  /// Without privilege a directory can be marked, emptied, and moved to another parent only while its owner may write to
  /// it.
  var opensDirectories = false

  /// Carries out a plan: an error means that nothing has changed.
  ///
  /// What only tidies up after the change is left to `varve check` where it fails. `own`: the steps that the operation
  /// brings along.
  func run(_ steps: [PlanStep], own: (PlanStep) throws(Errno) -> Void) throws(Errno) {
    let opened = opensDirectories ? try openDirectories(of: steps) : []
    defer { close(opened) }
    let changed = steps.untilChanged
    var memory = Memory()
    for (count, step) in steps[..<changed].enumerated() {
      do throws(Errno) { try run(step, own, &memory) } catch {
        undo(steps[..<count], memory, sweeps: steps[...count].contains(where: \.usesWork))
        throw error
      }
    }
    for step in steps[changed...] {
      do throws(Errno) { try run(step, own, &memory) } catch {
        let what =
          step == .sweep
          ? "something of a user's is left in '.varve/work'" : "a whiteout that hides nothing is left"
        Log.error("after a change of the upper directory \(what); 'varve check' names it: \(error)")
      }
    }
  }

  /// What a plan has to know to be taken back.
  private struct Memory {
    /// The redirects that it wrote over.
    var redirects: [(position: Position, former: [UInt8]?)] = []
    /// What is in the workshop is not ours, and could not be moved away from there.
    var isForeign = false
  }

  /// Takes back what steps have done before one failed: an error means that nothing has changed.
  private func undo(_ steps: ArraySlice<PlanStep>, _ memory: Memory, sweeps: Bool) {
    var sweeps = sweeps && !memory.isForeign
    for step in steps.reversed() {
      switch step {
      case .trade(.work, _, let other):
        // The directory that a twin took the place of, with its number and its times. If it cannot be had back, the twin
        // shows the same.
        try? rename(.work, other, .exchange)
        // Something else may have come there meanwhile.
        if (try? holds(.directory, at: .work)) != true { sweeps = keepAside() && sweeps }
      case .close(let position) where position != .work:
        // A directory that only its flag closed opens again with the flag.
        try? unmark(opaqueName, at: position)
      default: break
      }
    }
    // It would show what it leads to also where its old name would not.
    for redirect in memory.redirects.reversed() {
      if let former = redirect.former {
        try? mark(redirectName, former, at: redirect.position)
      } else {
        try? unmark(redirectName, at: redirect.position)
      }
    }
    // Whatever is there now nobody sees; what cannot be removed goes at the next mount.
    if sweeps { try? sweep() }
  }

  /// Moves what is a user's away from the workshop, or else to a name by which the next mount does that; whether it could.
  private func keepAside() -> Bool {
    do throws(Errno) { try setAside(work) } catch {
      return
        (try? FileName.with(work) { name throws(Errno) in
          try FileName.with(Workshop.keptName(of: work)) { kept throws(Errno) in
            try workshop.rename(name, to: workshop, as: kept, .noReplace)
          }
        }) != nil
    }
    return true
  }

  private func run(
    _ step: PlanStep, _ own: (PlanStep) throws(Errno) -> Void, _ memory: inout Memory
  ) throws(Errno) {
    switch step {
    case .close(let position):
      try mark(opaqueName, [Marks.opaqueValue], at: position)
    case .setRedirect(let position):
      let former = try at(position) { (directory, name) throws(Errno) in
        try AttributeName.with(redirectName) { attribute throws(Errno) in
          try directory.attribute(attribute, of: name)
        }
      }
      memory.redirects.append((position, former))
      try setRedirect(to: position == .newName ? newLowerPath : lowerPath, at: position)
    case .link(let position):
      guard let object else { throw .inputOutput }
      try at(position) { (directory, name) throws(Errno) in try directory.link(object, as: name) }
    case .linkWhiteout(let position):
      try at(position) { (directory, name) throws(Errno) in
        try whiteouts.link(into: directory, as: name, workshop: workshop)
      }
    case .rename(let from, let to, let call):
      var flags: RenameFlags = []
      if call.noReplace { flags.insert(.noReplace) }
      if call.leavesWhiteout { flags.insert(.whiteout) }
      try rename(from, to, flags)
    case .exchange(let first, let second):
      try rename(first, second, .exchange)
    case .trade(let first, let expected, let second):
      try trade(first, for: expected, at: second, &memory.isForeign)
    case .remove(.work):
      // What stays in the workshop goes at the next mount.
      try? at(.work) { (directory, name) throws(Errno) in try directory.remove(name, isDirectory: false) }
    case .remove(let position):
      try at(position) { (directory, name) throws(Errno) in try directory.remove(name, isDirectory: false) }
    case .removeDirectory(let position):
      try at(position) { (directory, name) throws(Errno) in try directory.remove(name, isDirectory: true) }
    case .sweep:
      // The rest goes at the next mount; what was no directory any more when it was moved here is kept.
      if (try? holds(.directory, at: .work)) == false { try setAside(work) }
      try? sweep()
    case .make, .makeTwin, .markImpure, .makeCopy, .makeUnnamedCopy, .copyData,
      .syncData, .describe, .restoreParentTimes, .linkFromIndex, .startCount, .settleCount:
      try own(step)
    }
  }

  /// ESTALE makes the kernel look again, and ask for what is right by then.
  private func trade(
    _ first: Position, for expected: Occupant, at second: Position, _ isForeign: inout Bool
  ) throws(Errno) {
    guard exchangesNames else {
      // A new object replaces a whiteout that is seen just before; what comes in between is lost there. Nothing else can be
      // done without an exchange.
      guard first == .work, expected == .whiteout else { throw .invalid }
      guard try holds(expected, at: second) else { throw .stale }
      do throws(Errno) { return try rename(first, second, []) } catch .notDirectory { throw .invalid }
    }
    try rename(first, second, .exchange)
    do throws(Errno) {
      guard try holds(expected, at: first) else { throw .stale }
    } catch {
      do throws(Errno) { try rename(first, second, .exchange) } catch let failure {
        Log.error("what took a name behind the mount could not be given it back: \(failure)")
        isForeign = first == .work && !keepAside()
      }
      throw error
    }
  }

  private func holds(_ expected: Occupant, at position: Position) throws(Errno) -> Bool {
    let status = try at(position) { (directory, name) throws(Errno) in try directory.look(name) }
    return switch expected {
    case .whiteout: status?.isWhiteout ?? false
    case .directory: status?.kind == .directory
    }
  }

  func setRedirect(to path: LowerPath?, at position: Position) throws(Errno) {
    guard let path, !path.isRoot else { throw .crossDevice }
    do throws(Errno) {
      try mark(redirectName, path.bytes, at: position)
    } catch {
      // No room for it: programs copy instead.
      let hasNoRoom = error == .noSpace || error == .range || error == .tooBig
      throw hasNoRoom ? .crossDevice : error
    }
  }

  private func unmark(_ attribute: [UInt8], at position: Position) throws(Errno) {
    try at(position) { (directory, name) throws(Errno) in
      try directory.removeAttribute(attribute, of: name)
    }
  }

  private func mark(_ attribute: [UInt8], _ value: [UInt8], at position: Position) throws(Errno) {
    try at(position) { (directory, name) throws(Errno) in
      try directory.setAttribute(attribute, to: value, of: name)
    }
  }

  private func upperName(_ position: Position) throws(Errno) -> UpperName {
    switch position {
    case .name: return name
    case .newName:
      guard let newName else { throw .inputOutput }
      return newName
    case .work: return UpperName(directory: workshop, name: work)
    case .index:
      guard let index else { throw .inputOutput }
      return index
    }
  }

  func at<R>(
    _ position: Position, _ body: (LayerDirectory, borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    let target = try upperName(position)
    return try FileName.with(target.name) { name throws(Errno) in try body(target.directory, name) }
  }

  private func rename(_ from: Position, _ to: Position, _ flags: RenameFlags) throws(Errno) {
    let target = try upperName(to)
    try at(from) { (directory, name) throws(Errno) in
      try FileName.with(target.name) { newName throws(Errno) in
        try directory.rename(name, to: target.directory, as: newName, flags)
      }
    }
  }

  // MARK: Directories that keep their owner out

  /// A directory whose mode is another one while a plan is carried out.
  private struct OpenedDirectory {
    let directory: SharedDescriptor
    let mode: UInt16
  }

  /// Lets the daemon write to the directories that a plan marks or moves; a crash leaves their owner a bit more.
  private func openDirectories(of steps: [PlanStep]) throws(Errno) -> [OpenedDirectory] {
    var opened: [OpenedDirectory] = []
    for position in [Position.name, .newName] where steps.contains(where: { $0.needsAccess(to: position) }) {
      do throws(Errno) {
        if let one = try openDirectory(position) { opened.append(one) }
      } catch {
        close(opened)
        throw error
      }
    }
    return opened
  }

  /// Nil for what need not be opened, or is another user's: what that means, the steps will tell.
  private func openDirectory(_ position: Position) throws(Errno) -> OpenedDirectory? {
    let found = try at(position) { (directory, name) throws(Errno) -> SharedDescriptor? in
      try directory.look(name)?.kind == .directory ? try directory.hold(name) : nil
    }
    guard let found else { return nil }
    let mode = try found.descriptor.status().mode
    guard mode & 0o700 != 0o700 else { return nil }
    do throws(Errno) { try found.descriptor.changeMode(mode | 0o700) } catch .notPermitted { return nil }
    return OpenedDirectory(directory: found, mode: mode)
  }

  private func close(_ opened: [OpenedDirectory]) {
    for one in opened { one.directory.giveBack(mode: one.mode) }
  }

  /// Empties and removes what has the name in the workshop, whatever it is.
  private func sweep() throws(Errno) {
    try FileName.with(work) { name throws(Errno) in
      guard let status = try workshop.look(name) else { return }
      guard status.kind == .directory else { return try workshop.remove(name, isDirectory: false) }
      let directory = try workshop.open(name, [.readOnly, .directory])
      try Sweeper.removeWhiteouts(in: directory)
      try workshop.remove(name, isDirectory: true)
    }
  }
}

extension PlanStep {
  fileprivate var usesWork: Bool {
    switch self {
    case .make(.work), .makeTwin, .link(.work), .linkWhiteout(.work), .makeCopy: true
    default: false
    }
  }

  /// Whether it marks or moves a directory of this name.
  fileprivate func needsAccess(to position: Position) -> Bool {
    switch self {
    case .close(position), .setRedirect(position): true
    case .rename(let from, let to, _), .exchange(let from, let to), .trade(let from, _, let to):
      from == position || to == position
    default: false
    }
  }
}

extension SharedDescriptor {
  /// Takes back from the owner of a directory what a change gave them; that this fails is no failure of the change.
  func giveBack(mode: UInt16) {
    // Once more where it fails: nothing else ever takes the right back.
    if (try? descriptor.changeMode(mode)) != nil { return }
    do throws(Errno) { try descriptor.changeMode(mode) } catch {
      Log.error("the owner of a directory keeps the right to write to it: \(error)")
    }
  }
}
