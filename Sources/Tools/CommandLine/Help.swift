// Help, printed from the table.

extension Program {
  /// Help about the whole program.
  package func help() -> String {
    overview(
      name, summary, discussion, firstWords, examples,
      end: "'\(name) help VERB' explains a verb, '\(name) --version' shows the version.")
  }

  /// Help about the verbs of a group.
  package func help(_ group: VerbGroup) -> String {
    overview(
      "\(name) \(group.name)", group.summary, group.discussion,
      words(in: group), group.examples,
      end: "'\(name) help \(group.name) VERB' explains a verb.")
  }

  private func overview(
    _ name: String, _ summary: String, _ discussion: [String], _ verbs: [(String, String)],
    _ examples: [Example], end: String
  ) -> String {
    var lines = ["\(name): \(summary)", "", "Usage: \(name) VERB [OPTIONS] ..."]
    lines += discussion.flatMap { [""] + wrapped($0, width: 78) }
    lines += ["", "Verbs:"] + table(verbs) + examplesSection(examples) + ["", end]
    return lines.joined(separator: "\n") + "\n"
  }

  /// Help about whatever has this name; about the program if nothing has.
  package func help(about topic: String?) -> String {
    guard let topic else { return help() }
    if let verb = verb(named: topic) { return help(verb) }
    return group(named: topic).map { help($0) } ?? help()
  }

  /// Help about one verb.
  package func help(_ verb: Verb) -> String {
    var lines = ["\(name) \(verb.name): \(verb.summary)", ""]
    lines += usage(verb)
    lines += verb.discussion.flatMap { [""] + wrapped($0, width: 78) }
    let operands = verb.operands.map { ($0.name, $0.summary) }
    if !operands.isEmpty { lines += [""] + table(operands) }
    let options = (verb.options + [Program.help]).map { (Program.spellings($0), $0.summary) }
    lines += ["", "Options:"] + table(options)
    lines += examplesSection(verb.examples)
    return lines.joined(separator: "\n") + "\n"
  }

  /// The usage lines of one verb.
  package func usage(_ verb: Verb) -> [String] {
    let forms = verb.forms.isEmpty ? [verb.synopsis] : verb.forms
    return forms.enumerated().flatMap { index, form in
      let start = "\(index == 0 ? "Usage:" : "      ") \(name) \(verb.name) "
      let indent = String(repeating: " ", count: start.count + 2)
      return wrapped(form, width: 78 - start.count).enumerated().map { $0 == 0 ? start + $1 : indent + $1 }
    }
  }

  /// The column of an option: `-R, --recursive` or `    --json`.
  private static func spellings(_ option: Option) -> String {
    let letter = option.letter.map { "-\($0)" }
    let word = option.word.map { "--\($0)" }
    let both =
      switch (letter, word) {
      case (let letter?, let word?): "\(letter), \(word)"
      case (let letter?, nil): letter
      case (nil, let word?): "    \(word)"
      case (nil, nil): ""
      }
    guard let value = option.value else { return both }
    return both + (option.word == nil ? " " : "=") + value.name
  }
}

extension Verb {
  /// Options and operands in one line.
  package var synopsis: String {
    let letters = options.filter { $0.value == nil }.compactMap(\.letter).map { String($0) }.joined()
    var parts = letters.isEmpty ? [] : ["[-\(letters)]"]
    for option in options where option.letter == nil || option.value != nil {
      let value = option.value.map { (option.letter == nil ? "=" : " ") + $0.name } ?? ""
      let spelling = option.letter.map { "-\($0)" } ?? option.spelling
      parts.append("[\(spelling)\(value)]")
    }
    return (parts + operands.map(\.synopsis)).joined(separator: " ")
  }
}

private func examplesSection(_ examples: [Example]) -> [String] {
  guard !examples.isEmpty else { return [] }
  return ["", "Examples:"]
    + examples.flatMap { example in
      ["  \(example.command)"] + wrapped(example.effect, width: 70).map { "      \($0)" }
    }
}

/// Two columns; a first column that is too wide gets a line of its own.
private func table(_ rows: [(String, String)]) -> [String] {
  let width = min(24, rows.map(\.0.count).max() ?? 0)
  let indent = String(repeating: " ", count: width + 4)
  return rows.flatMap { name, summary in
    let lines = wrapped(summary, width: 78 - indent.count)
    let fill = String(repeating: " ", count: max(0, width - name.count))
    guard name.count <= width else { return ["  \(name)"] + lines.map { indent + $0 } }
    return lines.enumerated().map { $0 == 0 ? "  \(name)\(fill)  \($1)" : indent + $1 }
  }
}

/// Breaks a paragraph at blanks; a piece in brackets stays on one line.
func wrapped(_ text: String, width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in unbreakable(text) {
    if line.isEmpty {
      line = word
    } else if line.count + 1 + word.count <= width {
      line += " " + word
    } else {
      lines.append(line)
      line = word
    }
  }
  return lines + [line]
}

private func unbreakable(_ text: String) -> [String] {
  var words: [String] = []
  var depth = 0
  for word in text.split(separator: " ") {
    if depth > 0, let last = words.indices.last {
      words[last] += " " + word
    } else {
      words.append(String(word))
    }
    depth += word.count { $0 == "[" } - word.count { $0 == "]" }
  }
  return words
}
