// A name without its extension must not pass for another kind of thing.

import ItemKinds

extension KindTables {
  /// Whether a text seems to end in an extension: behind a dot, or what looks like one, stands a known extension, or a
  /// short word in letters that look Latin and are not.
  func passesForNameWithExtension(_ text: Span<UInt8>, in range: Range<Int>) -> Bool {
    var index = range.lowerBound
    while index < range.upperBound {
      guard let (code, length) = character(in: text, at: index, end: range.upperBound) else {
        index += 1
        continue
      }
      index += length
      guard code.looksLikeDot else { continue }
      let run = Run(text, from: index, to: range.upperBound)
      if run.hasForeignLetter {
        if run.count <= 8 { return true }
      } else if let word = FileExtension(text, in: index..<run.end), isKnown(word) {
        // One letter is an extension at the very end only: `J.S. Bach`.
        if run.count > 1 || run.end == range.upperBound { return true }
      }
    }
    return false
  }

  /// The letters, digits, look-alikes and marks directly behind a dot.
  private struct Run {
    var end: Int
    var count = 0
    var hasForeignLetter = false

    init(_ text: Span<UInt8>, from start: Int, to limit: Int) {
      end = start
      // Longer ones count as neither.
      while end < limit, count <= FileExtension.limit,
        let (code, length) = character(in: text, at: end, end: limit)
      {
        let isForeign = !code.isLetterOrDigit
        guard !isForeign || code.looksLatin || code.isMark else { return }
        hasForeignLetter = hasForeignLetter || isForeign
        count += 1
        end += length
      }
    }
  }
}

/// Whether blanks in a name could push its end out of sight: three in a row, or one at the end.
func blanksHideEnd(_ text: Span<UInt8>, in range: Range<Int>) -> Bool {
  var index = range.lowerBound
  var blanks = 0
  while index < range.upperBound {
    guard let (code, length) = character(in: text, at: index, end: range.upperBound) else {
      index += 1
      blanks = 0
      continue
    }
    index += length
    blanks = code.isBlank ? blanks + 1 : 0
    if blanks == 3 { return true }
  }
  return blanks > 0
}

/// Whether a text begins or ends with a blank.
func hasBlankAtAnEnd(_ text: Span<UInt8>) -> Bool {
  var index = 0
  var isBlank = false
  while index < text.count, let (code, length) = character(in: text, at: index, end: text.count) {
    isBlank = code.isBlank
    if isBlank, index == 0 { return true }
    index += length
  }
  return isBlank
}
