// The word that was probably meant, where an entry that somebody typed has one that nobody knows: `raed`, `alow`, `OWNER@`.

import AccessControl
import AccessForms
import Arguments

extension ParseFailure {
  /// The line about it for whoever typed the word.
  var sentence: String {
    let hint = suggestion(for: word, among: knownWords)
    return hint.isEmpty ? "\(self)" : complaint + hint
  }
}

extension FormatFailure {
  /// The line about it for whoever typed the text.
  var sentence: String { cause?.sentence ?? "\(self)" }
}
