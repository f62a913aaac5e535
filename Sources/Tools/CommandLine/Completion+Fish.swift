// Completion for fish.

extension Program {
  var fishCompletion: String {
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
      "  if test \"$verb\" = help; and set -q words[1]",
      "    set verb (string join ' ' help $words)",
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
      "# What \(name) itself knows of this machine: entries, whom they are about, mount points.",
      "function __\(name)_asked",
      "  set -l given (string replace -r '^(--[^=]*=|-[^-])' '' -- (commandline -ct))",
      "  \(name) completion $argv[1] (string unescape -- $given; or string trim -l -c '\\'\"' -- $given) 2>/dev/null",
      "end",
      "# Whether the word at the cursor comes after one of these, or after a number that does.",
      "function __\(name)_behind",
      "  set -l words (commandline -opc)",
      "  set -q words[2]; or return 1",
      "  contains -- $words[-1] (string match -v '*#' -- $argv); and return 0",
      "  contains -- $words[-2] (string match '*#' -- $argv)",
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
      let topics = words(in: group).map(\.name).joined(separator: " ")
      lines.append(
        "complete -c \(name) -n \(quoted("__\(name)_verb \"help \(group.name)\"")) -f -a \(quoted(topics))")
    }
    for verb in verbs {
      for option in verb.options + [Program.help] {
        var line = "complete -c \(name) -n \(quoted("__\(name)_verb \"\(verb.name)\""))"
        if let letter = option.letter { line += letter == "@" ? " -s '@'" : " -s \(letter)" }
        if let word = option.word {
          line += " -l \(word)"
          if verb.offeredSpellings(option).contains("-\(word)") { line += " -o \(word)" }
        }
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
      if let words = verb.wordsBeforeEntry {
        let condition =
          "__\(name)_verb \"\(verb.name)\"; and __\(name)_behind \(words.map { quoted($0) }.joined(separator: " "))"
        lines.append("complete -c \(name) -n \(quoted(condition)) -f -a '(__\(name)_asked entry)'")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
