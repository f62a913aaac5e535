// The word that was probably meant, where an entry that somebody typed has one that nobody knows: `raed`, `alow`, `OWNER@`.

import AccessControl
import AccessForms
import Arguments

extension ParseFailure {
  /// The line about it for whoever typed the word.
  var sentence: String {
    // `user:owner@` is a word that is known elsewhere.
    let hint = suggestion(for: word, among: knownWords.filter { $0 != word })
    return hint.isEmpty ? "\(self)" : complaint + hint
  }
}

extension FormatFailure {
  /// The line about it for whoever typed the text.
  var sentence: String { cause?.sentence ?? "\(self)" }
}
