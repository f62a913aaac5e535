// What the daemon answers to "why", as sentences. The reasons come in words already: they are the daemon's, which knows
// the rules; here they are put beside paths and names.
//
// For people who were refused something, and do not read JSON; the daemon makes no sentences while it serves
// (`ExplanationTextTests`).

package import JSONForm

/// The sentences of one explanation.
package struct ExplanationText {
  /// Where the volume is mounted.
  private let mountPoint: [UInt8]
  private let answer: JSON

  package init(_ answer: JSON, mountPoint: [UInt8]) {
    self.answer = answer
    self.mountPoint = mountPoint
  }

  /// `allowed`, `denied`, `impossible`, or `outside` where the path leads out of the volume.
  package var outcome: String { answer["outcome"]?.string ?? "impossible" }

  package var exitStatus: Int32 {
    switch outcome {
    case "allowed": 0
    case "denied": 1
    default: 2
    }
  }

  /// The first line, and one for each step.
  package var lines: [String] { [sentence] + steps }

  private var sentence: String {
    if outcome == "outside" { return "outside: whether \(who) may \(deed) is decided outside of the volume" }
    let verb =
      switch outcome {
      case "allowed": "may"
      case "denied": "may not"
      default: "cannot"
      }
    let error = answer["error"]?.string.map { " (\($0))" } ?? ""
    return "\(outcome): \(who) \(verb) \(deed)\(error)"
  }

  private var who: String {
    answer["userName"]?.string ?? "user \(answer["user"]?.integer ?? -1)"
  }

  private var deed: String {
    let path = shown("path")
    let newPath = answer["newPath"] == nil ? nil : shown("newPath")
    let word = answer["operation"]?.string ?? ""
    switch word {
    case "rename": return "rename \(path) \(newPath.map { "to \($0)" } ?? "within its directory")"
    case "link": return "link \(path) \(newPath.map { "as \($0)" } ?? "within its directory")"
    default: return "\(ExplanationText.phrases[word] ?? word) \(path)"
    }
  }

  private static let phrases = [
    "append": "append to", "execute": "run", "mkdir": "make the directory",
    "readattr": "read the attributes of", "writeattr": "set the times of",
    "readxattr": "read extended attributes of", "writexattr": "set extended attributes of",
    "readacl": "read the access list of", "writeacl": "change the access list of",
    "chown": "take ownership of", "chmod": "change the mode of", "chflags": "change the flags of",
  ]

  private func shown(_ key: String) -> String {
    PathText.escaped(ExplanationText.absolute(answer.nameBytes(key) ?? [], on: mountPoint))
  }

  /// A path of the volume as the mount shows it.
  package static func absolute(_ path: [UInt8], on mountPoint: [UInt8]) -> [UInt8] {
    if path.isEmpty { return mountPoint }
    // Outside of the volume.
    if path.first == UInt8(ascii: "/") { return path }
    return mountPoint + (mountPoint.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + path
  }

  private var steps: [String] {
    guard case .array(let steps)? = answer["steps"] else { return [] }
    return folded(
      steps.flatMap { step in ["  " + line(step)] + (remedy(step).map { ["    lift it with: \($0)"] } ?? []) }
    )
  }

  /// The steps of a loop are printed once.
  private func folded(_ lines: [String]) -> [String] {
    guard answer["error"]?.string == "ELOOP", let last = lines.last else { return lines }
    var seen: Set<String> = []
    let fresh = lines.dropLast().filter { seen.insert($0).inserted }
    let others = lines.count - 1 - fresh.count
    return fresh + (others > 0 ? ["  the link loops (\(others) more steps)"] : []) + [last]
  }

  /// The root by its mount point, everything else by its path from there.
  private func line(_ step: JSON) -> String {
    line(of: step.nameBytes("path") ?? []) + ExplanationText.told(step)
  }

  /// The command that lifts what a step refuses.
  private func remedy(_ step: JSON) -> String? {
    guard let remedy = step["remedy"], case .array(let words)? = remedy["command"] else { return nil }
    let path = remedy["onMount"] == .bool(true) ? [] : step.nameBytes("path") ?? []
    let place = PathText.shellWord(ExplanationText.absolute(path, on: mountPoint))
    let command = words.map { PathText.shellWord(Array(($0.string ?? "").utf8)) } + [place]
    let keyfile = words.first?.string == "unlock" ? ["KEYFILE"] : []
    return (["varve"] + command + keyfile).joined(separator: " ")
  }

  /// What a step says of its path.
  private static func told(_ step: JSON) -> String {
    let because = reason(of: step)
    switch step["reason"]?.string {
    case "note", "outside": return because
    case "fact": return because + (step["error"]?.string.map { " (\($0))" } ?? "")
    default:
      let verdict = step["allowed"] == .bool(true) ? "allowed" : "denied"
      return "\(step["asked"]?.string ?? "") \(verdict)\(joined(because))"
    }
  }

  /// The reason, as one line whatever names the daemon has put into it.
  fileprivate static func reason(of object: JSON) -> String {
    let words = object["because"]?.string ?? ""
    return String(decoding: PathText.forTerminal(Array(words.utf8)), as: UTF8.self)
  }

  /// The reason as it follows a verdict: "by a rule" goes on, anything else is said after a colon.
  fileprivate static func joined(_ because: String) -> String {
    because.hasPrefix("by ") ? " \(because)" : because.isEmpty ? "" : ": \(because)"
  }

  /// Whether the operation makes sense for this kind of item; a table of everything leaves the others out.
  package var isForItsKind: Bool {
    guard let isDirectory = answer["directory"] else { return true }
    let others =
      isDirectory == .bool(true)
      ? ["read", "write", "append", "execute"] : ["search", "list", "create", "mkdir"]
    return !others.contains(answer["operation"]?.string ?? "")
  }

  /// The line of a table: the operation, yes or no, and what decided.
  package func row(width: Int) -> (operation: String, answer: String, reason: String) {
    let word = answer["operation"]?.string ?? ""
    var reason = ""
    if let step = decisiveStep {
      let path = step.nameBytes("path") ?? []
      // Where it is not the item itself, the table says what was asked of what.
      if path != answer.nameBytes("path") {
        let isRule = !["fact", "note", "outside"].contains(step["reason"]?.string)
        reason = line(of: path)
        if isRule, let asked = step["asked"]?.string {
          reason += asked + ExplanationText.joined(ExplanationText.reason(of: step))
        } else {
          reason += ExplanationText.reason(of: step)
        }
      } else {
        reason = ExplanationText.reason(of: step)
      }
      if step["reason"]?.string == "fact" { reason += step["error"]?.string.map { " (\($0))" } ?? "" }
    }
    return (filled(word, width), outcome == "allowed" ? "yes" : outcome == "denied" ? "no" : "-", reason)
  }

  /// In which layer the item is, where there are several.
  package var layer: String? {
    guard case .array(let steps)? = answer["steps"],
      let note = steps.first(where: { $0["asked"]?.string == "layer" })
    else { return nil }
    return ExplanationText.reason(of: note)
  }

  /// What keeps everything from being done with a thing that is not there, or not to be reached; nil if a rule, or
  /// the kind of thing it is, has any say.
  package static func commonObstacle(_ texts: [ExplanationText]) -> String? {
    // A free name is what these two want.
    let others = texts.filter {
      $0.outcome == "outside" || !["create", "mkdir"].contains($0.answer["operation"]?.string)
    }
    let isHopeless = others.allSatisfy { text in
      text.outcome == "outside"
        || ["ENOENT", "ELOOP", "ENAMETOOLONG"].contains(text.answer["error"]?.string)
          && text.outcome == "impossible"
    }
    let reasons = Set(others.map { $0.row(width: 0).reason })
    return isHopeless && reasons.count == 1 ? reasons.first : nil
  }

  private func line(of path: [UInt8]) -> String {
    PathText.escaped(path.isEmpty ? mountPoint : path) + ": "
  }

  /// The step that refuses, or the last one.
  private var decisiveStep: JSON? {
    guard case .array(let steps)? = answer["steps"] else { return nil }
    return steps.first { $0["error"] != nil } ?? steps.last
  }
}

/// The sentence about one refusal.
package enum DenialText {
  package static func line(_ denial: JSON, mountPoint: [UInt8]) -> String {
    func shown(_ key: String) -> String {
      PathText.escaped(ExplanationText.absolute(denial.nameBytes(key) ?? [], on: mountPoint))
    }
    let who = denial["userName"]?.string ?? "user \(denial["user"]?.integer ?? -1)"
    let target = denial["newPath"] == nil ? "" : " to \(shown("newPath"))"
    let error = denial["error"]?.string.map { " (\($0))" } ?? ""
    return
      "\(denial["time"]?.string ?? "") \(who): \(denial["operation"]?.string ?? "") \(shown("path"))\(target)"
      + " denied\(ExplanationText.joined(ExplanationText.reason(of: denial)))\(error)"
  }
}
