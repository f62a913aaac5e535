// Questions to daemons about what may be done, continued where a link leads out of a volume and perhaps back into it.
//
// A daemon does not know what is mounted where, as the asker sees it: it tells where a way leaves its volume, and we
// find out where that leads.

import JSONForm
import LinuxFiles
import TextForms

/// What is asked of one or two paths on a mount of a volume.
struct WhyQuestion {
  let operation: String
  var path: VolumePath
  var newPath: VolumePath?
  /// Whether every obstacle is asked for, with what lifts it.
  var wantsAll = false

  fileprivate var json: JSON {
    var members = [JSON.Member("operation", .string(operation))] + JSON.nameMembers("path", path.path)
    if let newPath { members += JSON.nameMembers("newPath", newPath.path) }
    if wantsAll { members.append(JSON.Member("all", .bool(true))) }
    return .object(members)
  }
}

/// A question on its way, which may begin anew behind a link.
private struct FollowedQuestion {
  /// As many as the kernel follows.
  private static let mostLinks = 40

  let index: Int
  var question: WhyQuestion
  /// What was asked at first, as the first daemon echoed it.
  private var asked: [JSON.Member] = []
  private var steps: [JSON] = []
  private var links = 0

  init(_ index: Int, _ question: WhyQuestion) {
    self.index = index
    self.question = question
  }

  /// Takes an answer; nil if the question has to be asked again.
  mutating func take(_ answer: JSON) -> JSON? {
    guard case .array(var heard)? = answer["steps"] else { return answer }
    let names: Set = ["path", "pathBytes", "newPath", "newPathBytes"]
    if asked.isEmpty { asked = answer.members.filter { names.contains($0.name) } }
    let isNew = answer["newPathLeadsTo"] != nil
    guard let target = answer.nameBytes(isNew ? "newPathLeadsTo" : "pathLeadsTo") else {
      return answer.with(asked + [JSON.Member("steps", .array(steps + heard))])
    }
    // It says that the way leaves the volume; what follows says it better.
    let leaving = heard.removeLast()
    steps += heard
    links += 1
    let path = isNew ? question.newPath ?? question.path : question.path
    var (outcome, error, words) = ("outside", String?.none, "")
    if links > FollowedQuestion.mostLinks {
      (outcome, error, words) = ("impossible", "ELOOP", "too many links on the way")
    } else {
      do throws(Refusal) {
        if let found = try path.followed(target, isName: question.newPath != nil) {
          if isNew { question.newPath = found } else { question.path = found }
          if let newPath = question.newPath { try newPath.requireMount(of: question.path) }
          return nil
        }
        words = try path.elsewhere(target)
        if question.newPath != nil {
          (outcome, error) = ("impossible", "EXDEV")
          words += "; only a copy can be made there"
        }
      } catch {
        words = error.sentence
      }
    }
    let code = error.map { [JSON.Member("error", .string($0))] } ?? []
    let step = leaving.without(["error", "allowed"]).with(
      code + [
        JSON.Member("reason", .string(error == nil ? "outside" : "fact")),
        JSON.Member("because", .string(words)),
      ])
    let others = ["pathLeadsTo", "pathLeadsToBytes", "newPathLeadsTo", "newPathLeadsToBytes"]
    return answer.without(Set(["error", "directory"] + others)).with(
      asked + code + [
        JSON.Member("outcome", .string(outcome)), JSON.Member("steps", .array(steps + [step])),
      ])
  }
}

/// Asks about several things at once and answers one explanation for each; the paths are on one mount.
func askWhy(_ questions: [WhyQuestion], _ other: AskedUser?) throws(Refusal) -> [JSON] {
  for path in questions.flatMap({ [$0.path, $0.newPath] }) {
    if let words = path?.rightViewName { throw Refusal("\(Errno.noSuchFile); \(words)", status: 2) }
  }
  var answers: [JSON] = Array(repeating: .null, count: questions.count)
  var pending = questions.enumerated().map { FollowedQuestion($0.offset, $0.element) }
  while let mount = pending.first?.question.path.named {
    let together = pending.filter { $0.question.path.named == mount }
    pending.removeAll { $0.question.path.named == mount }
    let heard = try askDaemonWhy(together[0].question.path, together.map(\.question.json), other)
    for (var question, answer) in zip(together, heard) {
      if let answer = question.take(answer) {
        answers[question.index] = answer
      } else {
        pending.append(question)
      }
    }
  }
  return answers
}

extension VolumePath {
  /// Where a way goes on that has left the volume, as it would be typed.
  private func typed(_ target: [UInt8]) -> [UInt8] {
    let isWhole = named.root == [slash]
    return target.first == slash ? target : joined(isWhole ? named.mountPoint : mount.mountPoint, target)
  }

  /// The path at which a way comes back that has left the volume; nil if it stays away.
  ///
  /// `isName`: whether what the last name leads to need not be there.
  fileprivate func followed(_ target: [UInt8], isName: Bool) throws(Refusal) -> VolumePath? {
    let typed = typed(target)
    do throws(Refusal) {
      let table = try volumeTable()
      let found = try TypedPath(isName ? typed.withoutLastName : typed, table)
      guard found.mount.device == mount.device, found.mount.isOurs else { return nil }
      return try VolumePath(typed, found.table)
    } catch {
      throw Refusal("leads out of the volume, to \(PathText.escaped(typed)): \(error.sentence)")
    }
  }

  /// What is known of where a way leads that stays away.
  fileprivate func elsewhere(_ target: [UInt8]) throws(Refusal) -> String {
    let typed = typed(target)
    let mount = try TypedPath(typed.withoutLastName, try volumeTable()).mount
    return "leads out of the volume, to \(PathText.escaped(typed))\(mount.words)"
  }

  /// Nothing is renamed or linked from one mount to another.
  func requireMount(of other: VolumePath) throws(Refusal) {
    guard mount.device == other.mount.device else {
      throw Refusal("the two paths are on different volumes (EXDEV)", status: 2)
    }
    guard named == other.named else {
      throw Refusal("the two paths are on different mounts of the volume (EXDEV)", status: 2)
    }
  }
}

extension MountedVolume {
  /// A path from the root of the volume, as this mount shows it.
  func absolute(_ path: [UInt8]) -> [UInt8] {
    if path.first == slash { return path }
    let below = ([slash] + path).dropFirst(root.count).drop { $0 == slash }
    return ExplanationText.absolute(Array(below), on: mountPoint)
  }

  /// What the asker can know of it elsewhere.
  fileprivate var words: String {
    if isOurs { return ", on another volume" }
    return type.isEmpty ? "" : ", on \(type) at \(PathText.escaped(mountPoint))"
  }
}

extension [UInt8] {
  /// The path of the directory that the last name is in.
  var withoutLastName: [UInt8] {
    let end = (lastIndex { $0 != slash } ?? -1) + 1
    return self[..<end].lastIndex(of: slash).map { Array(self[...$0]) } ?? [UInt8(ascii: ".")]
  }
}

extension JSON {
  var members: [Member] {
    if case .object(let members) = self { members } else { [] }
  }

  /// The object with these members, in place of those it has of the same names.
  func with(_ changes: [Member]) -> JSON {
    let kept = members.map { member in changes.first { $0.name == member.name } ?? member }
    return .object(kept + changes.filter { change in !members.contains { $0.name == change.name } })
  }

  func without(_ names: Set<String>) -> JSON {
    .object(members.filter { !names.contains($0.name) })
  }
}
