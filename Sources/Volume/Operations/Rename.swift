// Moving, replacing and swapping names.

import Decisions
import FlagRules
package import LinuxFiles
import RecordFormat

extension Volume {
  package func rename(
    _ name: borrowing FileName, in parentID: NodeID, to newName: borrowing FileName,
    in newParentID: NodeID, _ style: RenameStyle, for caller: Caller
  ) throws(Errno) {
    let parent = try directory(of: name, in: parentID, for: caller)
    let newParent = try directory(of: newName, in: newParentID, for: caller)
    guard resolver.stack != nil else {
      return try rename(name, in: parent, to: newName, in: newParent, style, for: caller)
    }
    var moved: [Node] = []
    // Nodes that the kernel does not know are held for as long as they are brought up.
    defer { for node in moved { forget(node.id, references: 1) } }
    try raising(
      for: caller,
      {
        () throws(Errno) in
        moved += try held(name, in: parent)
        if style == .exchange { moved += try held(newName, in: newParent) }
        return [parent, newParent] + moved
      },
      names: { () throws(Errno) in
        try bringUp(name, in: parent)
        if style == .exchange { try bringUp(newName, in: newParent) }
      }
    ) { () throws(Errno) in
      try rename(name, in: parent, to: newName, in: newParent, style, for: caller)
    }
  }

  /// The node of what has a name, with one more reference.
  private func held(_ name: borrowing FileName, in parent: Node) throws(Errno) -> [Node] {
    var item: Int?
    while true {
      let locks = LockRequests(.shared(parent.stripe), item.map { .shared($0) })
      let node = try self.locks.holding(locks) { () throws(Errno) -> Node? in
        item = nil
        guard let found = try resolver.find(name, in: parent) else { return nil }
        let known = try refer(to: found, name, in: parent, under: locks) { () throws(Errno) in
          try briefFacts(of: found, name)
        }
        if let known { return known.node }
        item = found.links?.origin.number.stripe
        return nil
      }
      if let node { return [node] }
      if item == nil { return [] }
    }
  }

  private func rename(
    _ name: borrowing FileName, in parent: Node, to newName: borrowing FileName, in newParent: Node,
    _ style: RenameStyle, for caller: Caller
  ) throws(Errno) {
    // Before any lock is taken, as the ways there may have to be walked.
    _ = try resolver.directory(parent)
    _ = try resolver.directory(newParent)
    // As with a removal: the locks are guessed, and what is found under them says whether that was right.
    var sourceStripe = guesses.stripe(of: name, in: parent.id)
    var targetStripe = guesses.stripe(of: newName, in: newParent.id)
    while true {
      let locks = LockRequests(
        .exclusive(parent.stripe), .exclusive(newParent.stripe), sourceStripe.map { .exclusive($0) },
        targetStripe.map { .exclusive($0) })
      let isDone = try self.locks.holding(locks) { () throws(Errno) in
        guard let foundSource = try resolver.find(name, in: parent) else { throw .noSuchFile }
        let foundTarget = try resolver.find(newName, in: newParent)
        sourceStripe = try number(of: foundSource, name).stripe
        targetStripe = try foundTarget.map { found throws(Errno) in try number(of: found, newName).stripe }
        guard sourceStripe.map(locks.includesExclusive) ?? false,
          targetStripe.map(locks.includesExclusive) ?? true
        else {
          return false
        }
        let changesParent = parent.backing != newParent.backing
        let above = try facts(of: parent)
        let move = Move(
          foundSource: foundSource, source: try facts(of: foundSource, name), foundTarget: foundTarget,
          target: try foundTarget.map { found throws(Errno) in try facts(of: found, newName) },
          above: above, below: changesParent ? try facts(of: newParent) : above)
        var rename = Rename(changesParent: changesParent)
        (rename.exchanges, rename.mayReplace) = (style == .exchange, style != .noReplace)
        try gate.require(
          caller, .rename(rename),
          Scene(move.source.item, in: above.item, to: move.below.item, over: move.target?.item))
        if try isAlone(move, style, name, in: parent, newName, in: newParent) {
          try renameAlone(move, name, in: parent, newName, in: newParent, style)
        } else {
          try renameInLayers(move, name, in: parent, newName, in: newParent, style)
        }
        return true
      }
      if isDone { return }
    }
  }

  /// Whether a rename concerns the upper alone, so that nothing has to be marked.
  private func isAlone(
    _ move: Move, _ style: RenameStyle, _ name: borrowing FileName, in parent: Node,
    _ newName: borrowing FileName, in newParent: Node
  ) throws(Errno) -> Bool {
    guard resolver.stack != nil else { return true }
    guard style != .exchange, !move.source.item.isDirectory, !hasOrigin(move.source),
      try isAlone(move.foundSource, move.source, name, in: parent), try isPure(newParent)
    else { return false }
    guard let found = move.foundTarget, let target = move.target else { return true }
    guard !target.item.isDirectory else { return false }
    return try isAlone(found, target, newName, in: newParent)
  }

  /// Where the upper alone is concerned: in one call, unless the new name has a whiteout that is left of others.
  private func renameAlone(
    _ move: Move, _ name: borrowing FileName, in parent: Node,
    _ newName: borrowing FileName, in newParent: Node, _ style: RenameStyle
  ) throws(Errno) {
    let (from, to) = (move.foundSource.directory, try resolver.directory(newParent))
    do throws(Errno) {
      return try perform(move, name, in: parent, from, newName, in: newParent, to, style) {
        (flags) throws(Errno) in
        try moveName(name, in: from, to: to, as: newName, flags, isDirectory: move.source.item.isDirectory)
      }
    } catch {
      guard error == .exists || error == .notDirectory, move.target == nil,
        try isWhiteout(newName, in: newParent)
      else { throw error }
    }
    try renameInLayers(move, name, in: parent, newName, in: newParent, style)
  }

  /// What a rename is about.
  struct Move {
    var foundSource: FoundName
    var source: Facts
    var foundTarget: FoundName?
    var target: Facts?
    /// The directory the source is in.
    var above: Facts
    /// The directory it goes to.
    var below: Facts
  }

  /// `call`: what changes the names.
  func perform(
    _ move: Move, _ name: borrowing FileName, in parent: Node, _ from: LayerDirectory,
    _ newName: borrowing FileName, in newParent: Node, _ to: LayerDirectory, _ style: RenameStyle,
    _ call: (RenameFlags) throws(Errno) -> Void
  ) throws(Errno) {
    // Two names of one file: nothing happens, as POSIX wants it.
    if style == .replace, let target = move.target,
      ObjectIdentity(target.status) == ObjectIdentity(move.source.status)
    {
      return
    }
    let marked = try takeOver(move.source, name, in: from, below: move.below)
    var markedTarget: SharedDescriptor?
    do throws(Errno) {
      if style == .exchange, let target = move.target {
        markedTarget = try takeOver(target, newName, in: to, below: move.above)
      }
      if style == .replace, let target = move.foundTarget {
        try loseName(target, newName, in: newParent) { () throws(Errno) in
          try changeNames(move, name, in: parent, newName, in: newParent, style, call)
        }
      } else {
        try changeNames(move, name, in: parent, newName, in: newParent, style, call)
      }
    } catch {
      giveBack(move.source, by: marked)
      if let target = move.target { giveBack(target, by: markedTarget) }
      throw error
    }
    expireNames(move, style)
    nameChanged(name, in: parent)
    nameChanged(newName, in: newParent)
  }

  /// The system call; and what has moved is known under its new name before anything below it is looked for.
  private func changeNames(
    _ move: Move, _ name: borrowing FileName, in parent: Node,
    _ newName: borrowing FileName, in newParent: Node, _ style: RenameStyle,
    _ call: (RenameFlags) throws(Errno) -> Void
  ) throws(Errno) {
    let flags: RenameFlags =
      switch style {
      case .replace: []
      case .noReplace: .noReplace
      case .exchange: .exchange
      }
    let movesDirectory =
      move.source.item.isDirectory || style == .exchange && move.target?.item.isDirectory ?? false
    guard movesDirectory else {
      try call(flags)
      return learnNames(move, name, in: parent, newName, in: newParent, style)
    }
    try resolver.movingDirectory { () throws(Errno) in
      try call(flags)
      learnNames(move, name, in: parent, newName, in: newParent, style)
    }
  }

  private func learnNames(
    _ move: Move, _ name: borrowing FileName, in parent: Node,
    _ newName: borrowing FileName, in newParent: Node, _ style: RenameStyle
  ) {
    learn(move.source, is: newName, in: newParent)
    if style == .exchange, let target = move.target {
      learn(target, is: name, in: parent)
    }
  }

  private func learn(_ facts: Facts, is name: borrowing FileName, in parent: Node) {
    guesses.note(name, in: parent.id, facts.number.stripe)
    nodes.node(of: ObjectIdentity(facts.status))?.seen(as: name.copy(), in: parent)
  }

  /// Gives an object what its new directory passes on: before it moves, so that it is never there without.
  ///
  /// Answers the way to take that back; nil if there was nothing to give.
  private func takeOver(
    _ facts: Facts, _ name: borrowing FileName, in directory: LayerDirectory, below parent: Facts
  ) throws(Errno) -> SharedDescriptor? {
    let identity = ObjectIdentity(facts.status)
    if let node = nodes.node(of: identity) { forgetFacts(of: node) }
    let passedOn = parent.item.flags.intersection(.fromParent)
    guard !passedOn.isSubset(of: facts.item.flags), store.canCarryRecord(facts.status.kind) else {
      return nil
    }
    var record = facts.record
    record.flags.formUnion(passedOn)
    let found = try directory.findHeld(name)
    // A process behind the mount may have put something else there.
    guard found.identity == identity else { return nil }
    try store.write(record, list: .keep, over: facts.stored, to: found.descriptor.descriptor)
    return found.descriptor
  }

  /// Takes back what was given to an object that has not moved after all; the first error is the one to tell.
  private func giveBack(_ facts: Facts, by object: SharedDescriptor?) {
    guard let object else { return }
    try? store.write(facts.record, list: .keep, over: facts.stored, to: object.descriptor)
  }

  /// A name that everybody could walk must not stay remembered where not everybody may.
  private func expireNames(_ move: Move, _ style: RenameStyle) {
    let leavesPublic =
      move.above.item.isSearchableByAnyone && !move.below.item.isSearchableByAnyone
    let swapsIntoPrivate =
      style == .exchange && move.below.item.isSearchableByAnyone
      && !move.above.item.isSearchableByAnyone
    if leavesPublic || swapsIntoPrivate { link?.expireNames() }
  }
}
