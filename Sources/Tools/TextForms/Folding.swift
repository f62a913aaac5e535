// Texts of a width: long lines on a terminal, broken at blanks, with what follows set in; columns.

/// The lines of a text that is one line, each as wide as the terminal at most.
///
/// A word that is wider, such as a long path, stays in one piece, so that it can be copied; the terminal breaks it.
///
/// Letters are counted, not columns: a line with letters that are two columns wide, such as those of
/// Chinese, can be wider than the terminal.
///
/// - Parameters:
///   - text: what is printed.
///   - width: how many letters a line holds.
///   - indent: how far the lines after the first are set in.
///   - start: how many letters stand in front of the text already.
/// - Returns: the lines, with newlines between them.
package func folded(_ text: String, width: Int, indent: Int, start: Int = 0) -> String {
  guard start + text.count > width, width > indent else { return text }
  let margin = String(repeating: " ", count: indent)
  var lines: [String] = []
  // What the line begins with belongs to its first word.
  var line = String(text.prefix { $0 == " " })
  var taken = start
  var hasWord = false
  for word in text.drop(while: { $0 == " " }).split(separator: " ", omittingEmptySubsequences: false) {
    if hasWord, taken + line.count + 1 + word.count > width {
      lines.append(line)
      taken = 0
      line = margin + word
    } else {
      line += hasWord ? " " + word : word
    }
    hasWord = true
  }
  return (lines + [line]).joined(separator: "\n")
}

/// A number with zeros in front of it.
package func digits(_ number: some BinaryInteger, radix: Int = 10, width: Int) -> String {
  let digits = String(number, radix: radix)
  return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

/// A text with blanks behind it.
package func filled(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}
