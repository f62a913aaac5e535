// Colour, where a person looks at it.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

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
      throw invocation.mistake("'\(word)' is not a way to colour: auto, always and never are")
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
    return painted(text, code(of: entry))
  }

  private func code(of entry: AccessEntry) -> String {
    let color =
      switch entry.kind {
      case .allow: "32"
      case .deny: "31"
      case .audit, .alarm: "33"
      }
    return entry.isInherited ? "2;\(color)" : color
  }

  /// Colours what a listing shows of an item, so that locks, ways and programs are seen at once.
  func paint(_ item: inout ListedItem, _ status: FileStatus, _ entries: [AccessEntry]) {
    guard isOn else { return }
    item.nameColor =
      switch status.kind {
      case .directory: "1;34"
      case .symbolicLink: "36"
      case .regular: status.mode & 0o111 == 0 ? "" : "32"
      default: "33"
      }
    item.flagsColor = item.flags.isEmpty ? "" : "33"
    item.entryColors = entries.map { code(of: $0) }
  }

  private func painted(_ text: String, _ code: String) -> String {
    isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
