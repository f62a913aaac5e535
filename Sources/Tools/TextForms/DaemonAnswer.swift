// What the daemon says on its ready pipe: one line, then the end.

/// How starting the daemon went.
package enum DaemonAnswer: Equatable, Sendable {
  case ready
  /// It refused: the exit status for mount(8) and a sentence.
  case refused(status: UInt8, message: String)
  /// It ended, or closed the pipe, without a complete line.
  case silent

  /// Reads everything that came through the pipe: `ok` or `error STATUS MESSAGE`, and a newline.
  package init(_ text: [UInt8]) {
    guard let end = text.firstIndex(of: UInt8(ascii: "\n")) else {
      self = .silent
      return
    }
    let words = String(decoding: text[..<end], as: UTF8.self)
      .split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    if words == ["ok"] {
      self = .ready
    } else if words.first == "error", words.count == 3, let status = UInt8(words[1]), status != 0 {
      self = .refused(status: status, message: String(words[2]))
    } else {
      self = .silent
    }
  }
}
