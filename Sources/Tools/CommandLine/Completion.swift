// Completion for shells, made from the same table that parses and helps.

/// A shell completion is made for.
package enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish
}

extension Program {
  /// The script that completes this program's command lines.
  package func completion(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletion
    case .zsh: zshCompletion
    case .fish: fishCompletion
    }
  }

  /// The words that can follow the program's name.
  private var openingWords: [String] { firstWords.map(\.name) + ["help", "--help", "--version"] }

  // MARK: - bash

  private var bashCompletion: String {
    var cases: [String] = []
    for verb in verbs {
      let words = verb.options.flatMap(\.spellings) + ["--help"]
      cases.append("    '\(verb.name)')")
      cases.append("      options=\(quoted(words.joined(separator: " ")))")
      if let kind = verb.completedOperand?.kind, let operands = kind.words {
        cases.append("      operands=\(quoted(operands.joined(separator: " ")))\(kind.bashList)")
      }
      for option in verb.options {
        guard let value = option.value else { continue }
        let known = value.kind.bashWords ?? "<none>"
        let patterns = option.spellings.joined(separator: "|")
        cases.append(
          "      case $previous in \(patterns)) values=\(quoted(known))\(value.kind.bashList) ;; esac")
      }
      cases.append("      ;;")
    }
    let groupCases = groups.map { group in
      "      \(quoted(group.name))) words=\(quoted(words(in: group).map(\.name).joined(separator: " "))) ;;"
    }
    return """
      # bash completion for \(name); 'source <(\(name) completion bash)' in ~/.bashrc switches it on.
      _\(name)_files() {
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
      }
      # Offers words; where several may stand with commas between them, for the last of them.
      _\(name)_words() {
        local word=$2 before= index
        if [[ -n $list && $word == *,* ]]; then before=${word%,*}, word=${word##*,}; fi
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "$word")
        for index in "${!COMPREPLY[@]}"; do
          if [[ ${COMPREPLY[index]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
          # Bash replaces only what stands behind the last '='.
          COMPREPLY[index]=${COMPREPLY[index]#"$broken"}
        done
      }
      _\(name)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} whole broken=
        local verb=${COMP_WORDS[1]-} options= operands= values= list= words= first=2 given=0
        local index=$COMP_CWORD
        COMPREPLY=()
        # '=' breaks words in bash: '--format=z' arrives as three, '-o ro,cache=s' as four.
        whole=$current
        while ((index > 1)) && [[ ${COMP_WORDS[index]} == '=' || ${COMP_WORDS[index-1]} == '=' ]]; do
          index=$((index - 1)) whole=${COMP_WORDS[index]}$whole
        done
        if [[ $current == '=' ]]; then current=; fi
        previous=${COMP_WORDS[index-1]}
        case $whole in
          --*=*) previous=${whole%%=*} whole=${whole#*=} ;;
          -*) ;;
          *=*) [[ $previous == -* ]] || whole=$current ;;
        esac
        broken=${whole%"$current"}
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W \(quoted(openingWords.joined(separator: " "))) -- "$current")
          return
        fi
        if [[ $verb == help ]]; then
          mapfile -t COMPREPLY < <(compgen -W \(quoted(firstWords.map(\.name).joined(separator: " "))) -- "$current")
          return
        fi
        # A group, which may be in another one.
        while ((first <= COMP_CWORD)); do
          case $verb in
      \(groupCases.joined(separator: "\n"))
            *) break ;;
          esac
          if ((COMP_CWORD == first)); then
            mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$current")
            return
          fi
          verb="$verb ${COMP_WORDS[first]}"
          first=$((first + 1))
        done
        case $verb in
      \(cases.joined(separator: "\n"))
        esac
        # Operands in front of the cursor; the words of a verb are for the first.
        for ((index = first; index < COMP_CWORD; index++)); do
          [[ ${COMP_WORDS[index]} == -* ]] || given=$((given + 1))
        done
        if [[ $values == '<file>' ]]; then _\(name)_files "$current"
        elif [[ $values == '<none>' ]]; then :
        elif [[ $values == '<user>' ]]; then mapfile -t COMPREPLY < <(compgen -u -- "$current")
        elif [[ -n $values ]]; then _\(name)_words "$values" "$whole"
        elif [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        elif [[ -n $operands && $given -eq 0 ]]; then broken=; _\(name)_words "$operands" "$current"
        else _\(name)_files "$current"
        fi
      }
      complete -F _\(name) \(name)

      """
  }

  // MARK: - zsh

  private var zshCompletion: String {
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
      "  local verb=$words[2]", "  local -a second", "  shift words; ((CURRENT--))",
      "  # A group, which may be in another one.", "  while ((CURRENT >= 2)); do", "    case $verb in",
    ]
    for group in groups {
      let known = words(in: group).map { quoted("\($0.name):\(zshText($0.summary))") }
      lines.append("      \(quoted(group.name))) second=(\(known.joined(separator: " "))) ;;")
    }
    lines += [
      "      *) break ;;", "    esac",
      "    if ((CURRENT == 2)); then _describe -t verbs verb second; return; fi",
      "    verb=\"$verb $words[2]\"", "    shift words; ((CURRENT--))", "  done", "  case $verb in",
    ]
    for verb in verbs {
      lines.append("    \(quoted(verb.name)))")
      var specifications = (verb.options + [Program.help]).flatMap { zshSpecifications($0, verb) }
      specifications += zshOperands(verb)
      lines.append("      _arguments -s " + specifications.joined(separator: " \\\n        ") + " ;;")
    }
    lines += ["    help) compadd -- \(firstWords.map(\.name).joined(separator: " ")) ;;", "  esac", "}"]
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
    default: kind.zshAction
    }
  }

  private func zshSpecifications(_ option: Option, _ verb: Verb) -> [String] {
    let summary = zshText(option.summary).replacing("[", with: "\\[").replacing("]", with: "\\]")
    return option.spellings.map { spelling in
      guard let value = option.value else { return quoted("*\(spelling)[\(summary)]") }
      let joint = spelling.hasPrefix("--") ? "=" : "+"
      return quoted(
        "*\(spelling)\(joint)[\(summary)]:\(value.name.lowercased()):\(zshAction(value.kind, value.name, verb))"
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

  // MARK: - fish

  private var fishCompletion: String {
    let firsts = firstWords.map(\.name).joined(separator: " ")
    var lines = [
      "# fish completion for \(name); '\(name) completion fish > ~/.config/fish/completions/\(name).fish'.",
      "function __\(name)_verb",
      "  set -l words (commandline -opc)",
      "  test (count $words) -ge 2; or return 1",
      "  set -l verb $words[2]",
      "  set -e words[1..2]",
      "  while contains -- $verb \(groups.map { quoted($0.name) }.joined(separator: " ")); and set -q words[1]",
      "    set verb \"$verb $words[1]\"",
      "    set -e words[1]",
      "  end",
      "  test \"$verb\" = \"$argv[1]\"",
      "end",
      "function __\(name)_count",
      "  test (count (commandline -opc)) -eq $argv[1]",
      "end",
      "# Several words have commas between them: each is offered behind those that are there.",
      "function __\(name)_list",
      "  set -l given (string replace -r '^(--[^=]*=|-[^-])' '' -- (commandline -ct))",
      "  set -l before (string match -r '^.*,' -- $given)",
      "  for word in $argv",
      "    echo -- \"$before$word\"",
      "  end",
      "end",
    ]
    for word in firstWords {
      lines.append("complete -c \(name) -n '__\(name)_count 1' -f -a \(word.name) -d \(quoted(word.summary))")
    }
    lines.append("complete -c \(name) -n '__\(name)_count 1' -f -a help -d 'explain a verb'")
    lines.append("complete -c \(name) -n '__\(name)_verb help' -f -a \(quoted(firsts))")
    for group in groups {
      let depth = group.name.split(separator: " ").count + 1
      for word in words(in: group) {
        let condition = "__\(name)_count \(depth); and __\(name)_verb \"\(group.name)\""
        lines.append(
          "complete -c \(name) -n \(quoted(condition)) -f -a \(word.name) -d \(quoted(word.summary))")
      }
    }
    for verb in verbs {
      for option in verb.options + [Program.help] {
        var line = "complete -c \(name) -n \(quoted("__\(name)_verb \"\(verb.name)\""))"
        if let letter = option.letter { line += letter == "@" ? " -s '@'" : " -s \(letter)" }
        if let word = option.word { line += " -l \(word)" }
        if let value = option.value {
          line += " -r" + value.kind.fishWords(name)
        }
        lines.append(line + " -d \(quoted(option.summary))")
      }
      if let kind = verb.completedOperand?.kind {
        let condition = "__\(name)_verb \"\(verb.name)\""
        // Files are offered beside the words where paths may follow.
        let files = verb.operands.count > 1 ? "" : " -f"
        lines.append("complete -c \(name) -n \(quoted(condition))\(files)\(kind.fishArguments(name))")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

/// In single quotes, for any of the three shells.
private func quoted(_ text: String) -> String {
  "'" + text.replacing("'", with: "'\\''") + "'"
}

extension Option {
  /// Both spellings, with their dashes.
  package var spellings: [String] {
    [letter.map { "-\($0)" }, word.map { "--\($0)" }].compactMap { $0 }
  }
}

extension Verb {
  /// The operand that words are offered for.
  fileprivate var completedOperand: Operand? { operands.first { $0.kind.words != nil } }
}

extension ArgumentKind {
  fileprivate var words: [String]? {
    switch self {
    case .words(let words), .list(let words): words
    default: nil
    }
  }

  /// The words a value can be; `<file>` for a path, nil where nothing can be offered.
  fileprivate var bashWords: String? {
    switch self {
    case .words(let words), .list(let words): words.joined(separator: " ")
    case .path, .directory: "<file>"
    case .user: "<user>"
    case .text, .number: nil
    }
  }

  /// What tells the function for bash that commas separate words.
  fileprivate var bashList: String {
    if case .list = self { " list=1" } else { " list=" }
  }

  /// What fish offers in place of files.
  fileprivate func fishWords(_ program: String) -> String {
    switch self {
    case .words, .list: " -f" + fishArguments(program)
    case .user: " -f -a '(__fish_complete_users)'"
    case .text, .number: " -f"
    case .path, .directory: ""
    }
  }

  fileprivate func fishArguments(_ program: String) -> String {
    let words = (words ?? []).joined(separator: " ")
    if case .list = self { return " -a \(quoted("(__\(program)_list \(words))"))" }
    return " -a \(quoted(words))"
  }

  fileprivate var zshAction: String {
    switch self {
    case .words(let words), .list(let words): "(\(words.joined(separator: " ")))"
    case .path: "_files"
    case .directory: "_files -/"
    case .user: "_users"
    case .text, .number: " "
    }
  }
}
