// Colour, where somebody looks at it.

import AccessControl
import Arguments
import LinuxPrograms
import Verbs

/// Whether output is coloured, and how.
struct Colors {
  private let isOn: Bool

  /// `--color` decides, else whether it is a terminal and NO_COLOR is not set.
  init(_ invocation: Invocation) throws(UsageError) {
    switch invocation.values(.color).last.map({ String(decoding: $0, as: UTF8.self) }) {
    case nil, "auto":
      let isUnwanted = environment("NO_COLOR").map { !$0.isEmpty } ?? false
      isOn = StandardStream.output.isTerminal && !isUnwanted && environment("TERM") != Array("dumb".utf8)
    case "always": isOn = true
    case "never": isOn = false
    case let word?:
      throw UsageError(
        "'\(word)' is no way to colour: auto, always and never are", verb: invocation.verb, .value)
    }
  }

  func dimmed(_ text: String) -> String { painted(text, "2") }
  func warning(_ text: String) -> String { painted(text, "33") }
  func failure(_ text: String) -> String { painted(text, "31") }
  func success(_ text: String) -> String { painted(text, "32") }
  func bold(_ text: String) -> String { painted(text, "1") }

  /// What denies is red, what allows green; what is inherited is dimmed.
  func entry(_ text: String, _ entry: AccessEntry?) -> String {
    guard let entry else { return dimmed(text) }
    let color =
      switch entry.kind {
      case .allow: "32"
      case .deny: "31"
      case .audit, .alarm: "33"
      }
    return painted(text, entry.isInherited ? "2;\(color)" : color)
  }

  private func painted(_ text: String, _ code: String) -> String {
    isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
