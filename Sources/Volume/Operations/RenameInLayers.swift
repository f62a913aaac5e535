// rename where layers are below, or where a whiteout is in the way.

import LayerRules
import LinuxFiles
import RecordFormat

extension Volume {
  /// Under all locks, after the decision.
  func renameInLayers(
    _ move: Move, _ name: borrowing FileName, in parent: Node, _ newName: borrowing FileName,
    in newParent: Node, _ style: RenameStyle
  ) throws(Errno) {
    let (from, to) = (try upperPart(of: parent), try upperPart(of: newParent))
    let isOne =
      move.target.map { ObjectIdentity($0.status) == ObjectIdentity(move.source.status) } ?? false
    let request = RenameRequest(
      try nameFacts(name, in: parent, move.source, found: move.foundSource),
      to: try nameFacts(
        newName, in: newParent, move.target, losesDirectory: style == .replace, found: move.foundTarget),
      RenameRequest.Style(style), isInOneParent: parent.backing == newParent.backing,
      parent: ParentFacts(isUp: from != nil, isImpure: move.above.record.isImpure),
      newParent: ParentFacts(isUp: to != nil, isImpure: move.below.record.isImpure), isOneObject: isOne)
    if !isOne { try requireUnfrozen(move, style) }
    let answer = request.answer
    if case .bringUp = answer {
      guard features.exchangesNames || !request.exchangesNames else { throw .invalid }
      try requireMovable(name, in: parent, move.source, move.foundSource)
      if style == .exchange { try requireMovable(newName, in: newParent, move.target, move.foundTarget) }
    }
    let steps = try steps(answer)
    guard !steps.isEmpty else { return }
    guard let from, let to else { throw .belowUpper }
    var runner = try planRunner(name, in: from)
    runner.newName = UpperName(directory: to, name: newName.copy())
    // Where they are now in the layers below: asked before the moment in which nobody may ask for a way.
    if steps.contains(.setRedirect(.name)) { runner.lowerPath = try lowerPath(of: name, in: parent) }
    if steps.contains(.setRedirect(.newName)) {
      runner.newLowerPath = try lowerPath(of: newName, in: newParent)
    }
    let twin = steps.contains(.makeTwin) ? move.target : nil
    if steps.contains(.markImpure(.name)) { try markImpure(parent, from) }
    if steps.contains(.markImpure(.newName)) { try markImpure(newParent, to) }
    let plan = runner
    try perform(move, name, in: parent, from, newName, in: newParent, to, style) { (_) throws(Errno) in
      try plan.run(steps) { step throws(Errno) in
        switch step {
        case .makeTwin: if let twin { try makeTwin(of: twin, plan) }
        // Done before.
        case .markImpure: return
        case .settleCount(_, let change):
          if let lost = move.foundTarget, let facts = move.target {
            settleCount(of: lost, facts, by: change)
          }
        default: throw .inputOutput
        }
      }
    }
  }

  private func lowerPath(of name: borrowing FileName, in parent: Node) throws(Errno) -> LowerPath? {
    guard let stack = resolver.stack, let upper = try upperPart(of: parent) else { return nil }
    let above = try resolver.lowerPath(of: parent)
    let redirect: Redirect?
    switch try stack.redirect(of: try upper.hold(name)) {
    case .says(let found): redirect = found
    case .unusable: throw .inputOutput
    }
    return Redirect.lowerPath(of: name.copy().span, in: above, redirect)
  }

  /// An empty closed directory like the one that is about to be replaced, with the same number and times.
  ///
  /// It is in that one's place for a moment, or for good where the moment is the last one.
  private func makeTwin(of target: Facts, _ runner: PlanRunner) throws(Errno) {
    try runner.at(.work) { (workshop, name) throws(Errno) in
      try workshop.makeDirectory(name, mode: 0o700)
      let twin = try workshop.hold(name)
      if isPrivileged {
        try twin.descriptor.changeOwner(user: target.status.user, group: target.status.group)
      }
      let source = try runner.at(.newName) { (directory, name) throws(Errno) in try directory.hold(name) }
      try ObjectCopy.attributes(of: source, to: twin.descriptor, except: store.coreName)
      let record = recordOfTwin(of: target, try twin.descriptor.status())
      if !record.isVoid { try store.write(record, list: .keep, over: .none, to: twin.descriptor) }
      try workshop.setAttribute(runner.opaqueName, to: [Marks.opaqueValue], of: name)
      // Without privilege it can be moved only by those who may write to it.
      try twin.descriptor.changeMode(target.status.mode | (isPrivileged ? 0 : 0o700))
      try twin.descriptor.changeTimes(
        access: .set(target.status.access), modification: .set(target.status.modification))
    }
  }

  private func recordOfTwin(of target: Facts, _ twin: FileStatus) -> CoreRecord {
    var record = target.record
    record.birthTime = record.birthTime ?? target.status.birthTime
    // Without an origin its number is its own, and nothing says that names in its parent have others.
    record.origin = store.numbers?.countingOrigin(of: target.status, target.record).map {
      CoreRecord.Origin(IndexName($0), of: twin)
    }
    return record
  }
}

extension RenameRequest.Style {
  init(_ style: RenameStyle) {
    self =
      switch style {
      case .replace: .replace
      case .noReplace: .noReplace
      case .exchange: .exchange
      }
  }
}
