// stat, access, and the changes stat shows: chmod, chown, truncate, utimes.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
package import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  package func attributes(
    of nodeID: NodeID, handle: HandleID?, for caller: Caller
  ) throws(Errno) -> AttributeAnswer {
    if let own = SyntheticNode(rawValue: nodeID) {
      return AttributeAnswer(attributes: own.attributes(since: startedAt), validity: .none)
    }
    let node = try node(nodeID)
    let file = try handle.map { handle throws(Errno) in try handles.file(handle) }
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let isView = ViewTable.isNumber(nodeID)
      let noted = isView ? toldAttributes.note(nodeID, stripe: node.stripe) : nil
      let found = try through(file, node) { reach throws(Errno) in try briefFacts(at: node, by: reach) }
      // A read through a handle refreshes attributes and must not fail; the handle is proof enough. What denies nobody
      // a look needs no decision.
      if file == nil, let facts = found.facts {
        try gate.require(caller, .readAttributes, on: facts.item)
      }
      var answer = answer(node, found, for: caller)
      if isView { answer.validity = noted.map { briefly(answer.validity, since: $0) } ?? .none }
      return answer
    }
  }

  /// access(2), chdir(2): `mask` holds the bits of `R_OK`, `W_OK` and `X_OK`.
  package func access(_ nodeID: NodeID, mask: UInt32, for caller: Caller) throws(Errno) {
    if let own = SyntheticNode(rawValue: nodeID) { return try own.requireAccess(mask: mask) }
    let node = try node(nodeID)
    try settling(node, for: caller) { () throws(Errno) in
      try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        let facts = node.isDirectory ? try directoryFacts(node) : try facts(of: node)
        try gate.require(caller, .access(AccessMode(rawValue: UInt8(mask & 7))), on: facts.item)
      }
    }
  }

  package func changeAttributes(
    of nodeID: NodeID, _ change: AttributeChange, handle: HandleID?, for caller: Caller
  ) throws(Errno) -> AttributeAnswer {
    let node = try node(nodeID)
    guard change.mode != nil || change.user != nil || change.group != nil else {
      return try settling(node, for: caller) { () throws(Errno) in
        try carryOut(change, of: nodeID, node, handle: handle, for: caller)
      }
    }
    return try changingRights(of: node, by: nodeID) { () throws(Errno) in
      try carryOut(change, of: nodeID, node, handle: handle, for: caller)
    }
  }

  private func carryOut(
    _ change: AttributeChange, of nodeID: NodeID, _ node: Node, handle: HandleID?, for caller: Caller
  ) throws(Errno) -> AttributeAnswer {
    let file = try handle.map { handle throws(Errno) in try handles.file(handle) }
    var cut: CutOnTheWay?
    if let size = change.size, file == nil, node.layer != 0 {
      cut = CutOnTheWay(to: size) { facts throws(Errno) in
        _ = try self.plan(change, on: facts, of: node, through: nil, for: caller)
      }
    }
    return try changing(node, for: caller, cut: cut) { () throws(Errno) in
      let object = try hold(node, through: file)
      var plan = try plan(
        change, on: object.facts, of: node, through: file, isCut: cut?.isDone ?? false, for: caller)
      if plan.changesAnything {
        try requireUp(node)
        try requireSettled(object.facts)
      }
      // Its copy was made so: what somebody has written to it since stays.
      if cut?.isDone == true { plan.size = nil }
      if let size = plan.size, size > 0 { try requireExpanded(object.facts) }
      let after = try apply(plan, to: node, object, isOpen: file != nil, for: caller).brief
      return shown(answer(node, after, for: caller), of: nodeID)
    }
  }

  /// What is true of a node, for requests that may come from a handle.
  ///
  /// A handle leads to its file also when the name was given to something else behind the mount. The kernel does
  /// not always say which handle it asks for: fstat(2) names none, so any will do where the name fails.
  private func through<Found>(
    _ file: OpenFile?, _ node: Node, _ find: (Reach) throws(Errno) -> Found
  ) throws(Errno) -> Found {
    if let object = file?.object { return try find(.held(object)) }
    do throws(Errno) {
      return try find(try resolver.reach(node))
    } catch {
      guard error == .stale, let open = anyHandle(of: node) else { throw error }
      return try find(.held(open))
    }
  }

  /// The same, for a change.
  private func hold(_ node: Node, through file: OpenFile?) throws(Errno) -> HeldObject {
    var open = file?.object
    if open == nil {
      do throws(Errno) { return try hold(node) } catch {
        open = anyHandle(of: node)
        guard error == .stale, open != nil else { throw error }
      }
    }
    guard let open else { throw .stale }
    let facts = try facts(of: node, by: .held(open))
    return HeldObject(
      descriptor: open, facts: facts, nameless: facts.status.linkCount == 0 ? node.nameless : nil)
  }

  // MARK: Deciding

  /// What will be done, once all of it is allowed.
  private struct Plan {
    var mode: UInt16?
    var owner: OwnerChange?
    var size: UInt64?
    var access = TimeChange.omit
    var modification = TimeChange.omit
    /// A capability of the file goes with its set-id bits.
    var dropsCapability = false

    var changesAnything: Bool {
      mode != nil || owner != nil || size != nil || access != .omit || modification != .omit
        || dropsCapability
    }
  }

  /// `isCut`: whether the size was decided about, and the file cut, when it was brought up.
  private func plan(
    _ change: AttributeChange, on facts: Facts, of node: Node, through file: OpenFile?, isCut: Bool = false,
    for caller: Caller
  ) throws(Errno) -> Plan {
    var plan = Plan()
    if change.namesNothing {
      try planStrip(facts, of: node, for: caller, into: &plan)
      return plan
    }
    if change.user != nil || change.group != nil {
      try planOwner(change, on: facts, for: caller, into: &plan)
    } else if let mode = change.mode, change.size == nil {
      try planMode(mode, on: facts, of: node, for: caller, into: &plan)
    }
    if let size = change.size {
      if let file, !file.canWrite { throw .invalid }
      if !isCut { try gate.require(caller, .truncate(throughHandle: file != nil), on: facts.item) }
      plan.size = size
      // A mode beside a size is how kernels without KILLPRIV_V2 strip; no program sends both.
      let isForeign = change.clearsSetID || change.mode != nil
      if Judge.strips(.size(isForeign: isForeign), by: caller.user) { stripPrivilege(facts, into: &plan) }
    } else {
      try planTimes(change, on: facts, for: caller, into: &plan)
    }
    return plan
  }

  private func stripPrivilege(_ facts: Facts, into plan: inout Plan) {
    guard facts.status.kind == .regular else { return }
    // A mode that is set in the same request is stripped as well.
    let mode = plan.mode.map { Mode($0) } ?? facts.item.mode
    let stripped = mode.afterForeignWrite
    if stripped != mode { plan.mode = stripped.bits }
    plan.dropsCapability = true
  }

  /// The kernel's message that a caller without privilege writes to a file with set-id bits.
  ///
  /// It looks like a stranger's `chown(-1, -1)`, so it is believed only from a caller who may write or may change the
  /// mode, or while a process has the file open for writing.
  private func planStrip(
    _ facts: Facts, of node: Node, for caller: Caller, into plan: inout Plan
  ) throws(Errno) {
    guard mayStrip(facts, of: node, for: caller) else {
      try gate.require(caller, .stripNothing, on: facts.item)
      return
    }
    stripPrivilege(facts, into: &plan)
  }

  private func mayStrip(_ facts: Facts, of node: Node, for caller: Caller) -> Bool {
    let isOpenForWriting = node.existingAttachment?.isOpenForWriting ?? false
    return gate.allows(caller, .stripSetID(isOpenForWriting: isOpenForWriting), on: facts.item)
  }

  private func planMode(
    _ bits: UInt16, on facts: Facts, of node: Node, for caller: Caller, into plan: inout Plan
  ) throws(Errno) {
    let wanted = Mode(bits)
    let judge: Judge
    do throws(Errno) {
      judge = try gate.require(caller, .setMode(wanted), on: facts.item)
    } catch {
      guard error == .notPermitted, let stripped = Judge.stripped(by: wanted, of: facts.item),
        mayStrip(facts, of: node, for: caller)
      else { throw error }
      plan.mode = stripped.bits
      return
    }
    plan.mode = granted(wanted, by: judge, on: facts.item, for: caller).bits
  }

  /// The mode that is really set: the setgid bit is for members of the object's group.
  func granted(_ wanted: Mode, by judge: Judge, on item: Item, for caller: Caller) -> Mode {
    let judge = judge.grantHingesOnUnread(wanted, on: item) ? gate.informed(judge, caller) : judge
    return judge.granted(wanted, on: item)
  }

  private func planOwner(
    _ change: AttributeChange, on facts: Facts, for caller: Caller, into plan: inout Plan
  ) throws(Errno) {
    let owner = OwnerChange(user: change.user, group: change.group)
    let judge = try gate.require(caller, .setOwner(owner), on: facts.item)
    guard judge.changesOwners else { return }
    plan.owner = owner
    // The mode that comes along is the kernel's own idea of stripping; the rule here strips all kinds.
    if facts.status.kind != .symbolicLink {
      plan.mode = facts.item.mode.afterChangeOfOwner.bits
      plan.dropsCapability = facts.status.kind == .regular
    }
  }

  private func planTimes(
    _ change: AttributeChange, on facts: Facts, for caller: Caller, into plan: inout Plan
  ) throws(Errno) {
    switch (change.access, change.modification) {
    case (.omit, .omit): return
    case (.now, .now): try gate.require(caller, .touch, on: facts.item)
    default: try gate.require(caller, .setTimes, on: facts.item)
    }
    plan.access = change.access
    plan.modification = change.modification
  }

  // MARK: Doing

  /// Does what was planned; what is true afterwards.
  private func apply(
    _ plan: Plan, to node: Node, _ object: HeldObject, isOpen: Bool, for caller: Caller
  ) throws(Errno) -> Facts {
    // First what may be delayed: nothing has been changed then.
    let cut = plan.size == nil ? nil : try cutting(node, object, isOpen: isOpen)
    let object = plan.size == 0 ? try emptied(try marked(object, node), node) : object
    guard plan.mode != nil || plan.owner != nil else {
      let stored = try carryOut(plan, on: object, cut)
      return try facts(after: stored, of: node, object)
    }
    return try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
      try carryOut(plan, on: object, cut)
    }
  }

  /// Facts after a change of an object whose record is known.
  private func facts(
    after stored: StoredRecord, of node: Node, _ object: HeldObject
  ) throws(Errno) -> Facts {
    let status = try object.status()
    let head = head(of: node, status, stored, after: object.facts)
    return store(of: node.layer).facts(status, StoredFacts(stored, head), of: node)
  }

  /// Cuts or extends a file; to be had before anything is changed, as it may be delayed.
  private typealias Cut = (UInt64) throws(Errno) -> Void

  private func cutting(_ node: Node, _ object: HeldObject, isOpen: Bool) throws(Errno) -> Cut {
    let way = try wayToChange(node, object.descriptor, object.facts, isOpen: isOpen)
    return { size throws(Errno) in
      try self.usingContent(of: node, by: way, object.facts) { (content) throws(Errno) in
        try content.truncate(to: size)
      }
    }
  }

  /// Answers what the record says afterwards; there is a `cut` if the size changes.
  private func carryOut(
    _ plan: Plan, on object: HeldObject, _ cut: Cut?
  ) throws(Errno) -> StoredRecord {
    let facts = object.facts
    var stored = facts.stored
    do throws(Errno) {
      if let owner = plan.owner {
        if facts.item.ownerGroup != nil, owner.user != nil {
          var record = facts.record
          record.ownerGroup = nil
          stored = try rewrite(record, list: .keep, over: stored, to: object)
        }
        try object.changeOwner(user: owner.user, group: owner.group)
      }
      // The kernel below has its own rule for set-id bits at chown; ours is the last word.
      if let mode = plan.mode { try setMode(Mode(mode), of: object) }
      if plan.dropsCapability { try dropCapability(of: object) }
    } catch {
      if plan.owner != nil { putBackOwner(of: object, over: stored) }
      throw error
    }
    if let size = plan.size {
      actAsOwner(FileOwner(facts.status))
      try cut?(size)
    }
    if plan.access != .omit || plan.modification != .omit {
      try object.changeTimes(access: plan.access, modification: plan.modification)
    }
    return stored
  }

  /// Takes a change of owner back that failed half-way, as far as that can be done: the error is told already.
  private func putBackOwner(of object: HeldObject, over stored: StoredRecord) {
    let facts = object.facts
    if stored !== facts.stored { _ = try? rewrite(facts.record, list: .keep, over: stored, to: object) }
    // Set-id bits come back only to the owner they are of.
    do throws(Errno) {
      try object.changeOwner(user: facts.status.user, group: facts.status.group)
      if facts.status.kind != .symbolicLink { try object.changeMode(facts.status.mode) }
    } catch {
      Log.error("a change of owner that failed could not be taken back: \(error)")
    }
  }

  private func dropCapability(of object: HeldObject) throws(Errno) {
    try dropCapability(of: object.descriptor.descriptor, object.nameless)
  }

  func dropCapability(of object: borrowing Descriptor, _ nameless: NamelessFile?) throws(Errno) {
    // It need not have any.
    if let nameless {
      try? nameless.removeAttribute(Volume.capabilityName)
      return
    }
    let name = try AttributeName("security.capability")
    do throws(Errno) {
      // Asked first: without privilege even the removal of what is not there is refused.
      guard features.storesCapabilities, try object.attribute(name) != nil else { return }
      try object.removeCapability()
    } catch {
      // In a volume that was mounted read-only at first nobody has tried whether there are such attributes.
      if error != .noData, error != .unsupported { throw error }
    }
  }

  /// Runs a change of mode, owner, flags or list under the node's exclusive lock; what is true afterwards.
  ///
  /// Once it is answered, no remembered name or attribute may let anybody through who was let through before;
  /// after a change that failed half-way neither.
  /// `change` answers what the record says then.
  @discardableResult
  func changingPolicy(
    of node: Node, _ object: HeldObject, for caller: Caller, _ change: () throws(Errno) -> StoredRecord
  ) throws(Errno) -> Facts {
    try requireUp(node)
    // Nobody can remember them anew before the lock is released.
    forgetFacts(of: node)
    do throws(Errno) {
      let stored = try change()
      let after = try facts(after: stored, of: node, object)
      policyChanged(node, from: object.facts, to: after)
      audit?.add(
        .change(PolicyChange(caller, lastKnownPath(of: node), from: object.facts.item, to: after.item)))
      return after
    } catch {
      link?.expireNames()
      link?.expireAttributes(node.id)
      throw error
    }
  }

  private func policyChanged(_ node: Node, from before: Facts, to after: Facts) {
    if node.isDirectory, let stack = resolver.stack,
      before.record.flags.contains(.opaque) != after.record.flags.contains(.opaque)
    {
      stack.changeShape()
      link?.expireNames()
    }
    node.existingAttachment?.marks.learn(after)
    // Shown names are for those who may list, too.
    if before.item.isSearchableByAnyone && !after.item.isSearchableByAnyone
      || views.count > 0 && before.item.isListableByAnyone && !after.item.isListableByAnyone
    {
      link?.expireNames()
    }
    if before.item.isVisibleToAnyone, !after.item.isVisibleToAnyone {
      link?.expireAttributes(node.id)
    }
  }
}
