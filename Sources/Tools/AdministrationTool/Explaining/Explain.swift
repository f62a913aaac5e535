// `varve why`: what the daemon would decide, and by which rule.
//
// For users who were refused something, and for administrators who want to know beforehand. The answer is the daemon's
// (`WhyVerbTests`).

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func explain(_ invocation: Invocation) throws(UsageError) -> Int32 {
  if invocation.has(.lastDenials) { return try showDenials(invocation) }
  let words = invocation.operands
  guard words.count >= 2 else {
    throw UsageError("\(words.isEmpty ? "OP" : "PATH") is missing", verb: invocation.verb)
  }
  let operation = String(decoding: words[0], as: UTF8.self)
  guard Verb.operationWords.contains(operation) else {
    if let other = Verb.operationsOfRights[operation] {
      throw invocation.mistake("'\(operation)' is a right and not an operation; ask about '\(other)'")
    }
    let hint = suggestion(for: operation, among: Verb.operationWords)
    let words = "; one of " + Verb.operationWords.joined(separator: ", ")
    throw invocation.mistake("'\(operation)' is not an operation" + (hint.isEmpty ? words : hint))
  }
  guard words.count == 2 || ["rename", "link"].contains(operation) else {
    throw UsageError("'\(operation)' takes one path", verb: invocation.verb)
  }
  let console = Console("varve why")
  let colors = try Colors(invocation)
  let other = try AskedUser(invocation)
  // What a complaint is about.
  var asked = words[1]
  do throws(Refusal) {
    let path: VolumePath
    let answer: JSON
    if words.count > 2 {
      (path, answer) = try askTwoNames(
        operation, Array(words[1...2]), other, wantsAll: invocation.has(.everyObstacle), about: &asked)
    } else {
      path = try VolumePath(words[1], try volumeTable())
      var question = WhyQuestion(operation: operation, path: path)
      question.wantsAll = invocation.has(.everyObstacle)
      answer = try askWhy([question], other)[0]
    }
    let text = ExplanationText(asTyped(answer, on: path.named), mountPoint: path.mount.mountPoint)
    if invocation.has(.json) {
      console.print(answer.indentedText() + "\n")
    } else {
      printExplanation(text, console, colors)
    }
    let status = console.finish()
    return status == 0 ? text.exitStatus : 2
  } catch {
    console.complain(asked, error.sentence)
    _ = console.finish()
    return 2
  }
}

/// An explanation about the paths as they were typed, on the mount that they were named on.
private func asTyped(_ answer: JSON, on named: MountedVolume) -> JSON {
  ["path", "newPath"].reduce(answer) { answer, key in
    guard let path = answer.nameBytes(key) else { return answer }
    return answer.without([key, key + "Bytes"]).with(JSON.nameMembers(key, named.absolute(path)))
  }
}

private func printExplanation(_ text: ExplanationText, _ console: Console, _ colors: Colors) {
  var lines = text.lines
  let first = console.line(lines.removeFirst(), indent: 2)
  console.print((text.exitStatus == 0 ? colors.success(first) : colors.failure(first)) + "\n")
  for line in lines { console.print(console.line(line, indent: 4) + "\n") }
}

/// Asks the daemon of a mount about several things at once and answers one explanation for each.
func askDaemonWhy(
  _ path: VolumePath, _ questions: [JSON], _ other: AskedUser?
) throws(Refusal) -> [JSON] {
  // The daemon knows nothing of whom the kernel turns away.
  guard !path.named.isClosed(to: other?.user ?? CurrentProcess.user) else {
    throw Refusal("\(MountState.closed(path.named)) (EACCES)", status: 2)
  }
  return try askAll(path, "why", questions, other.map { [JSON.Member("as", $0.json)] } ?? [], "explanations")
}

/// Asks what of a dry run would be refused; answers one object for each question, empty if nothing.
func askDryRun(_ path: VolumePath, _ questions: [JSON]) throws(Refusal) -> [JSON] {
  try askAll(path, "dryrun", questions, [], "answers")
}

private func askAll(
  _ path: VolumePath, _ verb: String, _ questions: [JSON], _ others: [JSON.Member], _ name: String
) throws(Refusal) -> [JSON] {
  // What the mount forbids that the path was named on, of which the daemon knows nothing.
  let limits = JSON.object([
    JSON.Member("readOnly", .bool(path.named.isReadOnly)),
    JSON.Member("noexec", .bool(path.named.forbidsPrograms)),
  ])
  let members = [JSON.Member("questions", .array(questions)), JSON.Member("mount", limits)] + others
  let answer = try ask(path.mount, verb, members)
  guard case .array(let answers)? = answer[name], answers.count == questions.count else {
    throw Refusal("the daemon's answer is not understood", status: 2)
  }
  return answers
}

func volumeTable() throws(Refusal) -> [MountedVolume] {
  try attempt(mountTable()) { Refusal("/proc/self/mountinfo: \($0)", status: 2) }
}

// MARK: - --as

/// The user of `--as`, in numbers.
struct AskedUser {
  let user: UInt32
  let group: UInt32
  let groups: [UInt32]

  /// `nil` without the option.
  init?(_ invocation: Invocation) throws(UsageError) {
    guard let word = invocation.values(.asUser).last else { return nil }
    try self.init(word, invocation)
  }

  /// Takes `USER[:GROUP,...]`.
  init(_ word: Word, _ invocation: Invocation) throws(UsageError) {
    let parts = String(decoding: word, as: UTF8.self).split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let user = UInt32(name) ?? UserDatabase.user(named: name) else {
      throw invocation.mistake("there is no user '\(name)'; a number will do")
    }
    var groups: [UInt32] = []
    if parts.count > 1 {
      for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
        guard let group = UInt32(part) ?? UserDatabase.group(named: String(part)) else {
          throw invocation.mistake("there is no group '\(part)'; a number will do")
        }
        groups.append(group)
      }
    } else {
      guard let listed = UserDatabase.groups(ofUser: user) else {
        throw invocation.mistake("user \(name) has no account; name its groups as well: \(name):GROUP")
      }
      groups = listed
    }
    self.user = user
    group = groups[0]
    self.groups = groups
  }

  var json: JSON {
    .object([
      JSON.Member("user", .number(user)), JSON.Member("group", .number(group)),
      JSON.Member("groups", .array(groups.map { .number($0) })),
    ])
  }
}

// MARK: - --last

/// `varve why --last [N]`: of the volume the working directory is on, or else of all.
private func showDenials(_ invocation: Invocation) throws(UsageError) -> Int32 {
  var count = 10
  guard invocation.operands.count <= 1 else {
    throw UsageError("'--last' takes a number and nothing else", verb: invocation.verb)
  }
  if let word = invocation.operands.first {
    guard let number = Int(String(decoding: word, as: UTF8.self)), (1...512).contains(number) else {
      throw invocation.mistake("'--last' takes a number from 1 to 512")
    }
    count = number
  }
  let console = Console("varve why")
  do throws(Refusal) {
    let table = try volumeTable()
    let here = try? VolumePath([UInt8(ascii: ".")], table)
    let mounts = here.map { [$0.mount] } ?? volumes(table)
    if mounts.isEmpty { throw Refusal("no Varve volume is mounted", status: 2) }
    var found: [(mount: MountedVolume, denial: JSON)] = []
    for mount in mounts where here != nil || !MountState.isOutOfReach(mount) {
      do throws(Refusal) {
        let answer = try ask(mount, "denials", [JSON.Member("count", .number(count))])
        guard case .array(let denials)? = answer["denials"] else { continue }
        found += denials.map { (mount, $0) }
      } catch {
        console.complain(mount.mountPoint, error.sentence)
      }
    }
    found.sort { ($0.denial["time"]?.string ?? "") > ($1.denial["time"]?.string ?? "") }
    let latest = found.prefix(count)
    if invocation.has(.json) {
      console.print(JSON.array(latest.map { withMountPoint($0.denial, $0.mount) }).indentedText() + "\n")
    } else {
      if latest.isEmpty { console.print("nothing was denied lately\n") }
      for (mount, denial) in latest {
        console.print(console.line(DenialText.line(denial, mountPoint: mount.mountPoint), indent: 2) + "\n")
      }
    }
  } catch {
    console.complain(error.sentence)
  }
  return console.finish() == 0 ? 0 : 2
}

/// One mount of each volume that can be asked here, however often it, or a part of it, is bound elsewhere.
private func volumes(_ table: [MountedVolume]) -> [MountedVolume] {
  var seen: Set<String> = []
  return table.filter(\.isOurs).compactMap { mount in
    seen.insert(mount.device).inserted ? mount.whole(in: table) : nil
  }
}

private func withMountPoint(_ denial: JSON, _ mount: MountedVolume) -> JSON {
  guard case .object(let members) = denial else { return denial }
  return .object(JSON.nameMembers("mountPoint", mount.mountPoint) + members)
}
