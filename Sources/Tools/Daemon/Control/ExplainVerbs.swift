// `why` and `denials` over the control socket. Who asks is what the kernel says of the peer; whom they ask about is their
// word, and the volume tells them of others only what they could read themselves.

import AccessControl
import Decisions
import JSONForm
import LayeredVolume
import LinuxFiles

extension ControlVerbs {
  /// As many questions as a table of one item has, and room for more.
  private static var mostQuestions: Int { 64 }
  /// For all the answers to one request: what nobody reads must not fill the daemon's memory.
  private static var mostBytes: Int { 1 << 20 }
  /// For one request, in nanoseconds: the connection is to be free for the next peer soon.
  static var patience: UInt64 { 2_000_000_000 }

  /// `{"verb": "why", "questions": [{"operation": "delete", "path": "a/b"}, ...], "as": {"user": 1001, ...}}`, and with
  /// `"mount": {"readOnly": true, "noexec": true}` what the kernel forbids where the paths were named.
  ///
  /// A question that says `"all": true` is answered with every obstacle and what lifts it.
  static func why(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      guard case .array(let questions)? = request.body["questions"], questions.count <= mostQuestions else {
        throw ControlRefusal("the request has no questions, or more than \(mostQuestions)")
      }
      let asker = asker(request, volume)
      let other = try request.body["as"].map { body throws(ControlRefusal) in try subject(body, volume) }
      let mount = mountLimits(request)
      let limits = WalkLimits(deadline: Clock.monotonicNanoseconds &+ patience)
      var answers: [JSON] = []
      var bytes = 0
      for body in questions {
        let answer = try explanation(try question(body, on: mount), as: other, for: asker, limits, volume)
        bytes += answer.compactText.utf8.count
        guard bytes <= mostBytes else {
          throw ControlRefusal("the answers are too long; ask about less at once", status: 2)
        }
        answers.append(answer)
      }
      return [JSON.Member("explanations", .array(answers))]
    }
  }

  private static func explanation(
    _ question: Question, as other: Subject?, for asker: Subject, _ limits: WalkLimits, _ volume: Volume
  ) throws(ControlRefusal) -> JSON {
    do throws(Errno) {
      let explanation = try volume.explain(
        question, as: other ?? asker, for: other == nil ? nil : asker, within: limits)
      return explanation.json
    } catch .accessDenied {
      throw ControlRefusal(
        "about other users you can ask only where you can search the whole path and read every list on it",
        status: 2)
    } catch .tooBig {
      throw ControlRefusal(
        "a path is too long, or the answer took too long; ask about fewer items", status: 2)
    } catch {
      throw ControlRefusal("the question cannot be answered: \(error)", status: 2)
    }
  }

  /// `{"verb": "denials", "count": 10}`.
  static func denials(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      let count = request.body["count"]?.integer ?? 10
      guard (1...512).contains(count) else { throw ControlRefusal("'count' is a number from 1 to 512") }
      let answer = volume.denials(
        latest: count, for: asker(request, volume), bytes: mostBytes,
        deadline: Clock.monotonicNanoseconds &+ patience)
      return [JSON.Member("denials", answer)]
    }
  }

  static func mountLimits(_ request: ControlRequest) -> MountLimits {
    MountLimits(
      isReadOnly: request.body["mount"]?["readOnly"] == .bool(true),
      forbidsExecution: request.body["mount"]?["noexec"] == .bool(true))
  }

  static func asker(_ request: ControlRequest, _ volume: Volume) -> Subject {
    volume.subject(of: request.peer)
  }

  /// The user a question is about, with the groups it names; without any, those of the user database.
  private static func subject(_ body: JSON, _ volume: Volume) throws(ControlRefusal) -> Subject {
    guard let user = number(body["user"]), let group = number(body["group"]),
      case .array(let listed)? = body["groups"], listed.count <= 65_536
    else { throw ControlRefusal("'as' needs a user, a group and groups, as numbers") }
    var groups: [UInt32] = []
    for value in listed {
      guard let group = number(value) else { throw ControlRefusal("'as' has a group that is not a number") }
      groups.append(group)
    }
    return volume.assumed(user: user, group: group, groups: groups)
  }

  static func number(_ value: JSON?) -> UInt32? {
    // The highest number is nobody's: system calls take it for "leave alone".
    value?.integer.flatMap { UInt32(exactly: $0) }.flatMap { $0 == .max ? nil : $0 }
  }

  private static func question(_ body: JSON, on mount: MountLimits) throws(ControlRefusal) -> Question {
    guard let word = body["operation"]?.string, let deed = Deed(rawValue: word) else {
      throw ControlRefusal("a question has no operation that is known")
    }
    guard let path = body.nameBytes("path") else { throw ControlRefusal("a question has no path") }
    var question = Question(
      deed, path, to: body["newPath"] == nil ? nil : body.nameBytes("newPath"), on: mount)
    question.wantsAll = body["all"] == .bool(true)
    return question
  }
}
