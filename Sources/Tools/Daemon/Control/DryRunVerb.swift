// `dryrun` over the control socket: what of a run would be refused to the peer. Many short questions at once, and an
// answer only where there is something to say.

import Decisions
import DirectoryModes
import FlagRules
import JSONForm
import LayeredVolume
import LinuxFiles

extension ControlVerbs {
  /// More than a request has room for.
  private static var mostItems: Int { 512 }
  /// Restoring takes four: owner, mode, list, flags; and one more where a group owns the item.
  private static var mostChanges: Int { 5 }

  /// `{"verb": "dryrun", "questions": [{"path": "a/b", "changes": [{"mode": 420}, ...]}, ...]}`, with `"mount"` as for
  /// `why`.
  ///
  /// A change is one of `{"mode": M}`, `{"user": U, "group": G}` (each may be missing), `{"ownerGroup": G}`,
  /// `{"flags": F}`, `{"list": true}` (false: it is removed), `{"class": "complete"}` and `{"compressed": true}`. Answers an
  /// empty object for each question of which nothing would be refused, with `"mode"` if another mode would come of it than is asked for, and `"keepsOwner"` if
  /// the owner would stay.
  static func dryRun(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      guard case .array(let bodies)? = request.body["questions"], bodies.count <= mostItems else {
        throw ControlRefusal("the request has no questions, or more than \(mostItems)")
      }
      let mount = mountLimits(request)
      let limits = WalkLimits(deadline: Clock.monotonicNanoseconds &+ patience)
      var questions: [Question] = []
      for body in bodies { questions.append(try changes(body, on: mount)) }
      do throws(Errno) {
        let answers = try volume.dryRun(questions, as: asker(request, volume), within: limits)
        return [JSON.Member("answers", .array(answers))]
      } catch {
        throw ControlRefusal(
          error == .tooBig
            ? "a path is too long, or the answer took too long; ask about fewer items"
            : "the question cannot be answered: \(error)", status: 2)
      }
    }
  }

  private static func changes(_ body: JSON, on mount: MountLimits) throws(ControlRefusal) -> Question {
    guard let path = body.nameBytes("path"), case .array(let values)? = body["changes"],
      (1...mostChanges).contains(values.count)
    else { throw ControlRefusal("a question has no path, or no changes or more than \(mostChanges)") }
    var changes: [Operation] = []
    for value in values {
      guard let change = change(value) else { throw ControlRefusal("a change is not understood") }
      changes.append(change)
    }
    var question = Question(changes[0].deed ?? .changeMode, path, on: mount)
    question.changes = changes
    return question
  }

  private static func change(_ value: JSON) -> Operation? {
    guard case .object(let members) = value, let first = members.first else { return nil }
    switch first.name {
    case "mode": return number(first.value).flatMap { UInt16(exactly: $0) }.map { .setMode(Mode($0)) }
    case "user", "group":
      return .setOwner(OwnerChange(user: number(value["user"]), group: number(value["group"])))
    case "ownerGroup": return number(first.value).map { .setOwnerGroup($0) }
    case "flags": return number(first.value).map { .setFlags(FileFlags(rawValue: $0)) }
    case "list":
      return first.value == .bool(true) ? .setOtherList : first.value == .bool(false) ? .setList(nil) : nil
    case "class":
      guard let word = first.value.string else { return nil }
      return word == "none" ? .setClass(nil) : ProtectionClass(word: word).map { .setClass($0) }
    case "compressed":
      return first.value == .bool(true)
        ? .setCompressed(true) : first.value == .bool(false) ? .setCompressed(false) : nil
    default: return nil
    }
  }
}
