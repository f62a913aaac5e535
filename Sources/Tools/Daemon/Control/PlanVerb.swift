// `plan` over the control socket: what of a plan would be refused to whoever asks. Many short questions at once, and an
// answer only where there is something to say.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import JSONForm
import LayeredVolume
import LinuxFiles

extension ControlVerbs {
  /// More than a request has room for.
  private static var mostPlanned: Int { 512 }
  /// Restoring takes six: locks off, owner, owning group, mode, list, flags; and one that is assumed.
  private static var mostSteps: Int { 8 }

  /// `{"verb": "plan", "questions": [{"path": "a/b", "steps": [{"mode": 420}, ...]}, ...]}`, with `"mount"` as for `why`.
  ///
  /// A step is one of `{"mode": M}`, `{"user": U, "group": G}` (each may be missing), `{"ownerGroup": G}`,
  /// `{"flags": F}`, `{"list": TEXT}` (true: whatever it is; false: removed), `{"then": "search"}`, and `{"assumed": STATE}`
  /// with several of these as an earlier part of the plan leaves them. Answers an empty object for each question that
  /// would be carried out, with `"mode"` if another mode would come of it than is asked for, and
  /// `"keepsOwner"` if the owner would stay.
  static func plan(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      guard case .array(let bodies)? = request.body["questions"], bodies.count <= mostPlanned else {
        throw ControlRefusal("the request has no questions, or more than \(mostPlanned)")
      }
      let asker = asker(request, volume)
      let mount = mountLimits(request)
      let limits = WalkLimits(deadline: Clock.monotonicNanoseconds &+ patience)
      var questions: [Question] = []
      for body in bodies { questions.append(try planned(body, on: mount)) }
      var answers: [JSON] = []
      do throws(Errno) {
        try volume.plan(questions, as: asker, within: limits) { answers.append($0) }
      } catch {
        throw ControlRefusal(
          error == .tooBig
            ? "so much was asked that it took too long, or a way is too long"
            : "the question cannot be answered: \(error)", status: 2)
      }
      return [JSON.Member("answers", .array(answers))]
    }
  }

  private static func planned(_ body: JSON, on mount: MountLimits) throws(ControlRefusal) -> Question {
    guard let path = body.nameBytes("path"), case .array(let steps)? = body["steps"],
      (1...mostSteps).contains(steps.count)
    else { throw ControlRefusal("a question has no path, or no steps or more than \(mostSteps)") }
    var changes: [PlannedChange] = []
    for step in steps {
      guard let change = change(step) else { throw ControlRefusal("a step is not understood") }
      changes.append(change)
    }
    var question = Question(changes[0].deed, path, on: mount)
    question.changes = changes
    return question
  }

  private static func change(_ step: JSON) -> PlannedChange? {
    guard case .object(let members) = step, let first = members.first else { return nil }
    switch first.name {
    case "mode": return number(first.value).flatMap { UInt16(exactly: $0) }.map { .mode(Mode($0)) }
    case "user", "group":
      let change = OwnerChange(user: number(step["user"]), group: number(step["group"]))
      return .owner(change)
    case "ownerGroup": return number(first.value).map { .ownerGroup($0) }
    case "flags": return number(first.value).map { .flags(FileFlags(rawValue: $0)) }
    case "assumed": return assumed(first.value).map { .assumed($0) }
    case "then": return first.value.string.flatMap { Deed(rawValue: $0) }.map { .then($0) }
    case "list" where first.value == .bool(true): return .otherList
    case "list": return list(first.value).map { .list($0) }
    default: return nil
    }
  }

  private static func assumed(_ state: JSON) -> AssumedState? {
    guard case .object(let members) = state else { return nil }
    var assumed = AssumedState()
    for member in members {
      switch change(.object([member])) {
      case .mode(let mode): assumed.mode = mode
      case .owner(let owner):
        assumed.owner = OwnerChange(
          user: owner.user ?? assumed.owner?.user, group: owner.group ?? assumed.owner?.group)
      case .ownerGroup(let group): assumed.ownerGroup = group
      case .flags(let flags): assumed.flags = flags
      case .list(let list): assumed.list = .some(list)
      case .otherList: break
      case .assumed, .then, nil: return nil
      }
    }
    return assumed
  }

  /// Nil if it is none; nil inside for `false`: no list.
  private static func list(_ value: JSON) -> AccessList?? {
    guard value != .bool(false) else { return .some(nil) }
    guard let text = value.string, let list = try? AccessListText.readList(text, names: .numeric) else {
      return nil
    }
    return .some(list)
  }
}
