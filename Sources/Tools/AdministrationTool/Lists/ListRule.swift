// What a verb makes of a list, worked out once for all items that have the same one.

import AccessControl
import AccessForms
import LinuxFiles
import Synchronization

/// What is to become of the list of one item.
enum ListAnswer: Sendable {
  case unchanged
  /// None: it is removed.
  case store(AccessList?)
  /// The item, and everything below it, is to be left alone.
  case blocked
  case refused(String)
}

/// An answer with everything that is needed to carry it out.
struct ListDecision: Sendable {
  let answer: ListAnswer
  let before: AccessList?
  /// The list as it was, in numbers, for an undo file.
  let linesBefore: [String]
  /// The text to write; empty: the list is removed.
  let text: [UInt8]
}

/// Turns the list an item has into the one it should have.
///
/// In most trees most items have one of a few lists, so answers are kept by the text of the list: reading a text
/// costs more than asking the volume for it.
final class ListRule: Sendable {
  private struct Question: Hashable {
    let text: [UInt8]?
    let kind: ObjectKind
  }

  // The longest lists take some 40 KB each, and there may be as many rules as directories have lists.
  private static let mostKept = 32

  /// Whether a list that cannot be read is replaced all the same.
  let replacesDamage: Bool
  private let answer: @Sendable (AccessList?, ObjectKind) -> ListAnswer
  private let known: Mutex<[Question: ListDecision]> = Mutex([:])

  init(
    replacesDamage: Bool = false,
    _ answer: @escaping @Sendable (AccessList?, ObjectKind) -> ListAnswer
  ) {
    self.replacesDamage = replacesDamage
    self.answer = answer
  }

  /// Decides about an item whose list has this text.
  func decide(_ text: [UInt8]?, _ kind: ObjectKind) throws(Refusal) -> ListDecision {
    let question = Question(text: text, kind: kind)
    if let decision = known.withLock({ $0[question] }) { return decision }
    let decision = try workOut(text, kind)
    known.withLock { known in
      if known.count >= ListRule.mostKept { known.removeAll() }
      known[question] = decision
    }
    return decision
  }

  /// Decides about an item whose list is damaged.
  func decideUnread(_ kind: ObjectKind) throws(Refusal) -> ListDecision {
    let decision = try workOut(nil, kind)
    guard case .unchanged = decision.answer else { return decision }
    return ListDecision(answer: .store(nil), before: nil, linesBefore: [], text: [])
  }

  private func workOut(_ text: [UInt8]?, _ kind: ObjectKind) throws(Refusal) -> ListDecision {
    let before = try readAccessList(text)
    let answer = answer(before, kind)
    var written: [UInt8] = []
    if case .store(let list) = answer { written = storedText(list, kind) }
    return ListDecision(
      answer: answer, before: before, linesBefore: numericLines(before, kind), text: written)
  }
}

/// A list as a dump holds it: in numbers, complete.
func numericLines(_ list: AccessList?, _ kind: ObjectKind, _ names: NameBook? = nil) -> [String] {
  guard let list else { return [] }
  return ListFormat.macos.lines(list, for: kind, names: names ?? .numeric, numeric: names == nil)
}
