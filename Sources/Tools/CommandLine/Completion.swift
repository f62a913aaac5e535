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
      let operands = verb.operands.first { $0.kind.completes }?.kind.words ?? []
      if !operands.isEmpty { cases.append("      operands=\(quoted(operands.joined(separator: " ")))") }
      for option in verb.options {
        guard let value = option.value else { continue }
        let known = value.kind.bashWords ?? "<none>"
        let patterns = option.spellings.joined(separator: "|")
        cases.append("      case $previous in \(patterns)) values=\(quoted(known)) ;; esac")
      }
      cases.append("      ;;")
    }
    let groupNames = groups.map(\.name).joined(separator: "|")
    let groupCases = groups.map { group in
      "    \(group.name)) words=\(quoted(verbs(of: group).map(\.lastWord).joined(separator: " "))) ;;"
    }
    return """
      # bash completion for \(name); 'source <(\(name) completion bash)' in ~/.bashrc switches it on.
      _\(name)_files() {
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
      }
      _\(name)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
        local verb=${COMP_WORDS[1]-} options= operands= values= words= first=2 given=0 index
        COMPREPLY=()
        # '=' breaks words in bash: '--format=z' arrives as three.
        if [[ $current == '=' ]]; then current=; fi
        if [[ $previous == '=' ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W \(quoted(openingWords.joined(separator: " "))) -- "$current")
          return
        fi
        if [[ $verb == help ]]; then
          mapfile -t COMPREPLY < <(compgen -W \(quoted(firstWords.map(\.name).joined(separator: " "))) -- "$current")
          return
        fi
        case $verb in \(groupNames.isEmpty ? "''" : groupNames))
          if ((COMP_CWORD == 2)); then
            case $verb in
      \(groupCases.joined(separator: "\n"))
            esac
            mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$current")
            return
          fi
          verb="$verb ${COMP_WORDS[2]}"
          first=3 ;;
        esac
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
        elif [[ -n $values ]]; then mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
        elif [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        elif [[ -n $operands && $given -eq 0 ]]; then
          # Several words have commas between them.
          if [[ $current == *,* ]]; then
            mapfile -t COMPREPLY < <(compgen -P "${current%,*}," -W "$operands" -- "${current##*,}")
          else mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$current")
          fi
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
      "  local verb=$words[2]", "  shift words; ((CURRENT--))", "  case $verb in",
    ]
    if !groups.isEmpty {
      lines.append("    \(groups.map(\.name).joined(separator: "|")))")
      lines += ["      if ((CURRENT == 2)); then", "        local -a second", "        case $verb in"]
      for group in groups {
        let known = verbs(of: group).map { quoted("\($0.lastWord):\(zshText($0.summary))") }
        lines.append("          \(group.name)) second=(\(known.joined(separator: " "))) ;;")
      }
      lines += [
        "        esac", "        _describe -t verbs verb second", "        return", "      fi",
        "      verb=\"$verb $words[2]\"", "      shift words; ((CURRENT--)) ;;",
      ]
    }
    lines += ["  esac", "  case $verb in"]
    for verb in verbs {
      lines.append("    \(quoted(verb.name)))")
      var specifications = (verb.options + [Program.help]).flatMap { zshSpecifications($0) }
      specifications += zshOperands(verb)
      lines.append("      _arguments -s " + specifications.joined(separator: " \\\n        ") + " ;;")
    }
    lines += ["    help) compadd -- \(firstWords.map(\.name).joined(separator: " ")) ;;", "  esac", "}"]
    lines += ["_\(name) \"$@\"", ""]
    return lines.joined(separator: "\n")
  }

  private func zshSpecifications(_ option: Option) -> [String] {
    let summary = zshText(option.summary).replacing("[", with: "\\[").replacing("]", with: "\\]")
    return option.spellings.map { spelling in
      guard let value = option.value else { return quoted("*\(spelling)[\(summary)]") }
      let joint = spelling.hasPrefix("--") ? "=" : "+"
      return quoted("*\(spelling)\(joint)[\(summary)]:\(value.name.lowercased()):\(value.kind.zshAction)")
    }
  }

  /// Operands that are one word by their place, and the last of those that can be many.
  private func zshOperands(_ verb: Verb) -> [String] {
    var specifications: [String] = []
    for (place, operand) in verb.operands.enumerated() {
      guard operand.count == .one || operand.count == .optional else { break }
      specifications.append(
        quoted("\(place + 1):\(zshText(operand.name.lowercased())):\(operand.kind.zshAction)"))
    }
    let many = verb.operands.last { $0.count == .oneOrMore || $0.count == .any }
    return specifications
      + (many.map { [quoted("*:\(zshText($0.name.lowercased())):\($0.kind.zshAction)")] } ?? [])
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
      "  if contains -- $verb \(groups.map(\.name).joined(separator: " ")); and test (count $words) -ge 3",
      "    set verb \"$verb $words[3]\"",
      "  end",
      "  test \"$verb\" = \"$argv[1]\"",
      "end",
      "function __\(name)_count",
      "  test (count (commandline -opc)) -eq $argv[1]",
      "end",
    ]
    for word in firstWords {
      lines.append("complete -c \(name) -n '__\(name)_count 1' -f -a \(word.name) -d \(quoted(word.summary))")
    }
    lines.append("complete -c \(name) -n '__\(name)_count 1' -f -a help -d 'explain a verb'")
    lines.append("complete -c \(name) -n '__\(name)_verb help' -f -a \(quoted(firsts))")
    for group in groups {
      for verb in verbs(of: group) {
        let condition = "__\(name)_count 2; and __\(name)_verb \(group.name)"
        lines.append(
          "complete -c \(name) -n \(quoted(condition)) -f -a \(verb.lastWord) -d \(quoted(verb.summary))")
      }
    }
    for verb in verbs {
      for option in verb.options + [Program.help] {
        var line = "complete -c \(name) -n \(quoted("__\(name)_verb \"\(verb.name)\""))"
        if let letter = option.letter { line += letter == "@" ? " -s '@'" : " -s \(letter)" }
        if let word = option.word { line += " -l \(word)" }
        if let value = option.value {
          line += " -r" + value.kind.fishWords
        }
        lines.append(line + " -d \(quoted(option.summary))")
      }
      if let words = verb.operands.first(where: { $0.kind.completes })?.kind.words {
        let condition = "__\(name)_verb \"\(verb.name)\""
        // Files are offered beside the words where paths may follow.
        let files = verb.operands.count > 1 ? "" : " -f"
        lines.append(
          "complete -c \(name) -n \(quoted(condition))\(files) -a \(quoted(words.joined(separator: " ")))")
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

extension ArgumentKind {
  fileprivate var words: [String]? {
    if case .words(let words) = self { words } else { nil }
  }

  fileprivate var completes: Bool { words != nil }

  /// The words a value can be; `<file>` for a path, nil where nothing can be offered.
  fileprivate var bashWords: String? {
    switch self {
    case .words(let words): words.joined(separator: " ")
    case .path, .directory: "<file>"
    case .user: "<user>"
    case .text, .number: nil
    }
  }

  fileprivate var fishWords: String {
    switch self {
    case .words(let words): " -f -a \(quoted(words.joined(separator: " ")))"
    case .user: " -f -a '(__fish_complete_users)'"
    case .text, .number: " -f"
    case .path, .directory: ""
    }
  }

  fileprivate var zshAction: String {
    switch self {
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .path: "_files"
    case .directory: "_files -/"
    case .user: "_users"
    case .text, .number: " "
    }
  }
}
