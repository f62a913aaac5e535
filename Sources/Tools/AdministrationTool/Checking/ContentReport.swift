// What `varve fsck` says.

import JSONForm
import TextForms

/// Counts and prints what is wrong with encrypted files.
final class ContentReport {
  private let console: Console
  private let json: JSONStream?
  var checked = 0
  /// Files whose writing did not end, as far as is known, and that stay so.
  var doubtful = 0
  private var found = 0
  private var repaired = 0
  private var mendable = 0
  private var ofOthers = 0
  /// Told, and nothing is wrong.
  private var noted = 0

  init(_ console: Console, isJSON: Bool) {
    self.console = console
    json = isJSON ? JSONStream("items", console) : nil
  }

  /// What became of something that was found.
  enum Outcome {
    case stays
    /// It stays, and `--repair` mends it.
    case mendable
    case repaired
    /// It stays, unless its owner is trusted with what is in it.
    case ofOthers
    /// A crash left it, or the next mount continues it.
    case harmless

    fileprivate var word: String {
      switch self {
      case .stays, .mendable, .ofOthers: "stays"
      case .repaired: "repaired"
      case .harmless: "harmless"
      }
    }
  }

  func add(_ kind: String, _ sentence: String, _ path: [UInt8], _ outcome: Outcome = .stays) {
    switch outcome {
    case .stays: found += 1
    case .mendable: (found, mendable) = (found + 1, mendable + 1)
    case .ofOthers: (found, ofOthers) = (found + 1, ofOthers + 1)
    case .repaired: (found, repaired) = (found + 1, repaired + 1)
    case .harmless: noted += 1
    }
    if let json {
      json.add(
        JSON.nameMembers("path", path) + [
          JSON.Member("kind", .string(kind)), JSON.Member("text", .string(sentence)),
          JSON.Member("outcome", .string(outcome.word)),
        ])
    } else if outcome != .harmless || !console.isQuiet {
      console.printPath(path, ": \(kind): \(sentence)\(outcome == .repaired ? "; repaired" : "")")
    }
  }

  /// Says what mends what was found; nil if it is mended.
  func tellRemedy(_ command: String?) {
    guard json == nil, !console.isQuiet else { return }
    if let command, mendable > 0 { console.note("'\(command)' mends \(grouped(mendable)) of these") }
    guard ofOthers > 0 else { return }
    let isOne = ofOthers == 1
    console.note(
      (isOne ? "1 file of another user is" : "\(grouped(ofOthers)) files of other users are")
        + " not marked: a user may have put a copy of another user's file there; "
        + "'varve fsck --repair --trust-owners' lets \(isOne ? "its owner" : "their owners") read \(isOne ? "it" : "them")"
    )
  }

  /// Says how many files stay in doubt, which is no damage.
  func tellDoubts() {
    guard json == nil, !console.isQuiet, doubtful > 0 else { return }
    console.note(
      "the writing of \(grouped(doubtful)) \(doubtful == 1 ? "file" : "files") did not end, as far as is known, as after a crash "
        + "or where the session log was lost; 'varve fsck --repair --keyfile' settles \(doubtful == 1 ? "it" : "them")"
    )
  }

  /// 0 if nothing is wrong any more, 1 if something is, 2 if not everything could be looked at.
  func finish(isInterrupted: Bool) -> Int32 {
    json?.end([
      JSON.Member("checked", .number(checked)), JSON.Member("findings", .number(found)),
      JSON.Member("repaired", .number(repaired)), JSON.Member("notes", .number(noted)),
      JSON.Member("failed", .number(console.failures)),
    ])
    if console.finish() != 0 || isInterrupted { return 2 }
    return found > repaired ? 1 : 0
  }
}
