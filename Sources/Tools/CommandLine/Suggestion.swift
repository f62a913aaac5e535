// "Did you mean": the known word nearest to an unknown one.

/// Ends a message with the nearest known word, or with nothing.
///
/// Package code outside the parser uses it for keywords of its own.
package func suggestion(for word: String, among known: [String], prefix: String = "") -> String {
  guard let nearest = nearest(to: word, among: known) else { return "" }
  return "; did you mean '\(prefix)\(nearest)'?"
}

/// The known word that fewest slips of the finger lead to; nil if none is near.
///
/// Capital letters are no slip.
package func nearest(to word: String, among known: [String]) -> String? {
  let limit = max(1, min(word.count, 8) / 3)
  let word = word.lowercased()
  let ranked = known.map { (word: $0, distance: slips(from: word, to: $0)) }
  guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= limit else { return nil }
  return best.word
}

/// How many letters must be added, left out, replaced or swapped with their neighbour.
func slips(from first: String, to second: String) -> Int {
  let first = Array(first.utf8.prefix(64))
  let second = Array(second.utf8.prefix(64))
  var beforeLast: [Int] = []
  var last = Array(0...second.count)
  for (row, letter) in first.enumerated() {
    var current = [row + 1]
    for (column, other) in second.enumerated() {
      var best = min(current[column] + 1, last[column + 1] + 1, last[column] + (letter == other ? 0 : 1))
      if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
        best = min(best, beforeLast[column - 1] + 1)
      }
      current.append(best)
    }
    beforeLast = last
    last = current
  }
  return last[second.count]
}

/// What is said of a verb that other programs have for what one of ours does; nil if there is nothing to say.
func advice(onForeignVerb name: String) -> String? {
  switch name {
  case "encrypt": "; did you mean: varve protect complete PATH"
  case "decrypt": "; did you mean: varve protect none PATH"
  default: nil
  }
}

/// What is said of an option that a program for the same purpose has, and this verb has not; nil if there is nothing to say.
func advice(onForeign option: String, of verb: String?) -> String? {
  let bare = String(option.drop { $0 == "-" })
  if verb == "find" {
    let tests: Set<String> = [
      "name", "iname", "path", "type", "user", "group", "perm", "size", "mtime", "newer", "maxdepth",
      "mindepth",
      "exec", "print", "print0", "delete",
    ]
    guard tests.contains(bare) else { return nil }
    let example = "varve find -flags uchg -0 DIR | find -files0-from - -maxdepth 0 -name '*.txt'"
    return "; find(1) has it, also for what this finds: \(example)"
  }
  let isOfLists = verb == "acl" || verb?.hasPrefix("acl ") == true || verb == "chmod"
  // The options of setfacl.
  guard isOfLists, ["m", "x", "b", "k", "modify", "remove", "remove-all"].contains(bare) else { return nil }
  return switch bare {
  case "m", "modify": "; an entry is added with: varve chmod +a \"user:bob allow modify\" PATH"
  case "x", "remove":
    "; an entry is removed with: varve chmod -a# N PATH, with the number N that 'varve ls -le PATH' shows"
  default: "; a list is removed with: varve chmod -N PATH"
  }
}
