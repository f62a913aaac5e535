// Completion for zsh.

extension Program {
  var zshCompletion: String {
    var lines = [
      "#compdef \(name)",
      "# zsh completion for \(name); '\(name) completion zsh > DIRECTORY-IN-fpath/_\(name)' switches it on.",
      "_\(name)() {",
      "  local -a first",
      "  first=(",
    ]
    lines += firstWords.map { "    \(quoted("\(zshText($0.name)):\(zshText($0.summary))"))" }
    lines += [
      "    'help:explain a verb'", "  )",
      "  if ((CURRENT == 2)); then _describe -t verbs verb first; return; fi",
      "  local verb=$words[2] topics=", "  local -a second", "  shift words; ((CURRENT--))",
      "  if [[ $verb == help ]]; then",
      "    if ((CURRENT == 2)); then compadd -- \(firstWords.map(\.name).joined(separator: " ")); return; fi",
      "    topics=1 verb=$words[2]; shift words; ((CURRENT--))", "  fi",
      "  # A group, which may be in another one.", "  while ((CURRENT >= 2)); do", "    case $verb in",
    ]
    for group in groups {
      let known = words(in: group).map { quoted("\($0.name):\(zshText($0.summary))") }
      lines.append("      \(quoted(group.name))) second=(\(known.joined(separator: " "))) ;;")
    }
    lines += [
      "      *) break ;;", "    esac",
      "    if ((CURRENT == 2)); then _describe -t verbs verb second; return; fi",
      "    verb=\"$verb $words[2]\"", "    shift words; ((CURRENT--))", "  done",
      "  [[ -z $topics ]] || return", "  case $verb in",
    ]
    for verb in verbs {
      lines.append("    \(quoted(verb.name)))")
      if let words = verb.wordsBeforeEntry {
        let numbered = words.filter { $0.hasSuffix("#") }.map { quoted($0) }
        let others = words.filter { !$0.hasSuffix("#") }.map { quoted($0) }
        lines.append(
          "      if [[ $words[CURRENT-1] == (\(others.joined(separator: "|"))) || "
            + "$words[CURRENT-2] == (\(numbered.joined(separator: "|"))) ]]; then _\(name)_asked entry; return; fi"
        )
      }
      var specifications = (verb.options + [Program.help]).flatMap { zshSpecifications($0, verb) }
      specifications += zshOperands(verb)
      // With -s a word with one dash is letters.
      let stacking = verb.hasWordsWithOneDash ? "" : "-s "
      lines.append("      _arguments \(stacking)" + specifications.joined(separator: " \\\n        ") + " ;;")
    }
    lines += [
      "  esac", "}",
      "# What \(name) itself knows of this machine: entries, whom they are about, mount points.",
      "_\(name)_asked() {", "  local -a answers",
      "  answers=(${(f)\"$(\(name) completion $1 ${(Q)PREFIX} 2>/dev/null)\"})",
      "  if [[ $1 == mounts ]]; then compadd -f -a answers || _files -/; else compadd -S '' -a answers; fi",
      "}",
    ]
    lines += zshLists + ["_\(name) \"$@\"", ""]
    return lines.joined(separator: "\n")
  }

  /// A function for each value or operand that is a list with commas.
  private var zshLists: [String] {
    var functions: [String] = []
    for verb in verbs {
      let options = verb.options.compactMap(\.value).map { ($0.name, $0.kind) }
      for (place, kind) in options + verb.operands.map({ ($0.name, $0.kind) }) {
        guard case .list(let words) = kind else { continue }
        let known = zshValues(words).map { quoted($0) }.joined(separator: " ")
        let function = zshList(place, verb)
        functions.append("\(function)() { _values -s , \(quoted(place.lowercased())) \(known) }")
        functions.append("\(function)_or_path() { \(function); _files }")
      }
    }
    return functions
  }

  private func zshList(_ place: String, _ verb: Verb) -> String {
    "_\(name)_\(verb.name.replacing(" ", with: "_"))_\(place.lowercased())"
  }

  /// The words as `_values` takes them: those with values come once.
  private func zshValues(_ words: [String]) -> [String] {
    var names: [String] = []
    var values: [String: [String]] = [:]
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        String($0)
      }
      if !names.contains(parts[0]) { names.append(parts[0]) }
      if parts.count > 1 { values[parts[0], default: []].append(parts[1]) }
    }
    return names.map { name in
      guard let known = values[name] else { return name }
      return "\(name):value:(\(known.filter { !$0.isEmpty }.joined(separator: " ")))"
    }
  }

  private func zshAction(_ kind: ArgumentKind, _ place: String, _ verb: Verb) -> String {
    switch kind {
    case .list: zshList(place, verb)
    case .entry: "{ _\(name)_asked entry }"
    case .identity: "{ _\(name)_asked who }"
    case .owner: "{ _\(name)_asked owner }"
    case .mountPoint: "{ _\(name)_asked mounts }"
    default: kind.zshAction
    }
  }

  private func zshSpecifications(_ option: Option, _ verb: Verb) -> [String] {
    let summary = zshText(option.summary).replacing("[", with: "\\[").replacing("]", with: "\\]")
    return verb.offeredSpellings(option).map { spelling in
      guard let value = option.value else { return quoted("*\(spelling)[\(summary)]") }
      let joint = spelling.count > 2 ? "=" : "+"
      return quoted(
        "*\(spelling)\(joint)[\(summary)]:\(zshText(value.name.lowercased())):"
          + zshAction(value.kind, value.name, verb)
      )
    }
  }

  /// Operands that are one word by their place, and the last of those that can be many.
  private func zshOperands(_ verb: Verb) -> [String] {
    var specifications: [String] = []
    // Words that may be left out stand in front of paths; only a list has a function for them.
    if let words = verb.completedOperand, words.count == .any, case .list = words.kind {
      specifications.append(
        quoted("1:\(zshText(words.name.lowercased())):\(zshList(words.name, verb))_or_path"))
    }
    if let words = verb.completedOperand, words.count == .any, case .words(let known) = words.kind {
      let offered = known.map { "\"\($0)\"" }.joined(separator: " ")
      specifications.append(
        quoted("1:\(zshText(words.name.lowercased())):{ compadd -- \(offered); _files }"))
    }
    if let owner = verb.completedOperand, owner.count == .any, owner.kind == .owner {
      specifications.append(
        quoted("1:\(zshText(owner.name.lowercased())):\(zshAction(.owner, owner.name, verb))"))
    }
    for (place, operand) in verb.operands.enumerated() {
      guard operand.count == .one || operand.count == .optional else { break }
      specifications.append(
        quoted(
          "\(place + 1):\(zshText(operand.name.lowercased())):\(zshAction(operand.kind, operand.name, verb))")
      )
    }
    let many = verb.operands.last { $0.count == .oneOrMore || $0.count == .any }
    return specifications
      + (many.map { [quoted("*:\(zshText($0.name.lowercased())):\(zshAction($0.kind, $0.name, verb))")] }
        ?? [])
  }

  private func zshText(_ text: String) -> String { text.replacing(":", with: "\\:") }
}
