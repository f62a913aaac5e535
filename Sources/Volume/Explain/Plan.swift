// Asking about a plan: the checks of the operations in `Operations`, in their order, made of an item as it would be by
// then.

package import AccessControl
import Decisions
import DirectoryModes
import FlagRules
package import JSONForm
package import LinuxFiles

extension Volume {
  /// Says of each question of a plan why it could not be carried out; nothing if it could.
  ///
  /// Items come as in a walk, so the way to a directory is walked once for what is in it.
  package func plan(
    _ questions: [Question], as subject: Subject, within limits: WalkLimits,
    _ take: (JSON) -> Void
  ) throws(Errno) {
    var directory: Spot?
    let names = NameBook.forOneRequest()
    for question in questions {
      take(try explain(question, as: subject, for: nil, within: limits, from: &directory).refusal(names))
    }
  }
}

/// What comes of a plan that can be carried out, where that is not what was asked for.
package struct PlanDeviation: Sendable {
  /// The mode that is set.
  var mode: Mode?
  /// Whether the owner and the group stay.
  var keepsOwner = false

  var json: JSON {
    var members: [JSON.Member] = []
    if let mode { members.add("mode", Int(mode.bits)) }
    if keepsOwner { members.add("keepsOwner", true) }
    return .object(members)
  }
}

extension Inquiry {
  /// Goes through the steps until one is refused.
  mutating func plan() throws(Stop) {
    let spot = try place()
    // From here on it is about the item.
    isDirectory = spot.isDirectory
    let facts = try look([spot])[0]
    var item = facts.item
    for change in question.changes {
      try checkKind(change, spot, facts)
      try tell(verdict(change, item, facts), change.deed.rawValue, Scene(item), [.item: spot.path])
      try checkStore(change, item, spot, facts)
      // As the operation itself has it, which succeeds and does nothing.
      if case .owner = change, judge.rules.ignoresOwnership, judge.subject.user != 0 {
        deviation.keepsOwner = true
        continue
      }
      item = change.applied(to: item)
      guard case .mode(let wanted) = change else { continue }
      let granted = judge.granted(wanted, on: item)
      item.mode = volume.keepingRecordsReadable(granted, of: facts.status.kind)
      if item.mode != wanted { deviation.mode = item.mode }
    }
  }

  private mutating func place() throws(Stop) -> Spot {
    let path = question.path
    if let directory, path.starts(with: directory.path) {
      let rest = path.dropFirst(directory.path.count).drop { $0 == UInt8(ascii: "/") }
      let isNext = directory.path.isEmpty || path.dropFirst(directory.path.count).first == UInt8(ascii: "/")
      if isNext, !rest.isEmpty, !rest.contains(UInt8(ascii: "/")), rest != [UInt8(ascii: ".")],
        rest != [UInt8(ascii: "."), UInt8(ascii: ".")]
      {
        return try walk.find(Array(rest), in: directory)
      }
    }
    guard case .found(let spot, let parent) = try walk.go(path, .held) else { throw .blocked }
    directory = parent
    return spot
  }

  /// What is refused before anybody's rights are asked.
  private mutating func checkKind(_ change: PlannedChange, _ spot: Spot, _ facts: Facts) throws(Stop) {
    switch change {
    // The kernel refuses on a read-only mount first.
    case _ where judge.rules.isReadOnly: return
    case .mode where facts.status.kind == .symbolicLink:
      throw walk.end(spot.path, "chmod", .unsupported, "a link has no mode")
    case .list(.some) where !judge.rules.usesLists, .otherList where !judge.rules.usesLists:
      throw walk.end(spot.path, "writeacl", .unsupported, "the volume is mounted with noacl")
    case .ownerGroup where !volume.store.canCarryRecord(facts.status.kind):
      throw notKept(change, spot)
    case .flags where facts.item.record == .damaged:
      throw walk.end(spot.path, "chflags", .inputOutput, "the record of its flags is damaged")
    default: return
    }
  }

  private func verdict(_ change: PlannedChange, _ item: Item, _ facts: Facts) -> Verdict {
    let verdict = judge.permits(change, item)
    // Whoever may write may take set-id bits off, as a write does on old kernels.
    guard case .mode(let mode) = change, !verdict.isAllowed, facts.status.kind == .regular,
      mode != item.mode, mode.bits | 0o6000 == item.mode.bits | 0o6000, mode.bits & ~item.mode.bits == 0
    else { return verdict }
    return verdict.or { judge.truncate(item) }
  }

  /// What is refused once rights were asked.
  private mutating func checkStore(
    _ change: PlannedChange, _ item: Item, _ spot: Spot, _ facts: Facts
  ) throws(Stop) {
    let stores =
      switch change {
      case .flags(let flags): !FlagChange(from: item.flags, to: flags).isNothing
      case .list(let list): list != nil || item.list != nil
      case .otherList: true
      default: false
      }
    if stores, !volume.store.canCarryRecord(facts.status.kind) { throw notKept(change, spot) }
  }

  private mutating func notKept(_ change: PlannedChange, _ spot: Spot) -> Stop {
    walk.end(
      spot.path, change.deed.rawValue, .unsupported, "a volume without root keeps none on this kind of item")
  }
}
