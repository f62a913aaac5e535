// Files that inherit from their directory: its daemon takes many names at once (verb `handdown`).

import AccessControl
import AccessForms
import JSONForm
import LinuxFiles

extension ListChanger {
  typealias Leaf = (item: LeafItem, rule: ListRule)

  /// Fewer are changed sooner one by one.
  private static let fewest = 4
  /// For the names of a request, which has room for 65,536 bytes: the lists that go with them take at most 20,000.
  private static let room = 40_000

  /// What the daemon leaves aside, and everything where it cannot be asked, is changed one by one.
  func handDown(_ leaves: [Leaf], _ daemon: ControlAddress) {
    var rest = leaves[...]
    while let first = rest.first {
      var room = ListChanger.room
      let taken = rest.prefix { leaf in
        // A name that is not text is sent in hexadecimal as well.
        room -= 10 + 9 * leaf.item.location.name.count
        return leaf.item.directory === first.item.directory && room >= 0
      }
      rest = rest.dropFirst(taken.count)
      change(taken.count < ListChanger.fewest ? Array(taken) : handDown(Array(taken), through: daemon))
    }
  }

  /// Answers those that were left aside.
  private func handDown(_ leaves: [Leaf], through daemon: ControlAddress) -> [Leaf] {
    let outcomes = undo == nil ? ask(leaves, daemon)?.outcomes : changeKept(leaves, daemon)
    // Where it is not known what was done, asking again about each file tells.
    guard let outcomes else { return leaves }
    ledger.count { counts in
      for outcome in outcomes {
        switch outcome {
        case .unchanged: counts.unchanged += 1
        case .changed: counts.changed += 1
        case .blocked: counts.left += 1
        case .aside: break
        }
      }
    }
    return zip(leaves, outcomes).filter { $0.1 == .aside }.map(\.0)
  }

  /// With an undo file the lists are asked for first and kept, and then only those are changed that are still the same.
  private func changeKept(_ leaves: [Leaf], _ daemon: ControlAddress) -> [HandedDown]? {
    guard let (outcomes, look) = ask(leaves, daemon, [JSON.Member("look", .bool(true))]),
      case .array(let former)? = look["former"], former.count == leaves.count,
      case .array(let lists)? = look["lists"]
    else { return nil }
    var changed: [(index: Int, record: DumpRecord)] = []
    for (index, leaf) in leaves.enumerated() where outcomes[index] == .changed {
      guard let number = former[index].integer, lists.indices.contains(number),
        let text = lists[number].string,
        let decision = try? leaf.rule.decide(Array(text.utf8), .file)
      else { return nil }
      changed.append((index, record(leaf.item.location, .file, decision)))
    }
    guard !changed.isEmpty else { return outcomes }
    undo?.keep(changed.map(\.record))
    let after = ask(
      changed.map { leaves[$0.index] }, daemon,
      [JSON.Member("former", .array(changed.map { former[$0.index] })), JSON.Member("lists", .array(lists))])
    var all = outcomes
    for (number, file) in changed.enumerated() { all[file.index] = after?.outcomes[number] ?? .aside }
    return all
  }

  private func ask(
    _ leaves: [Leaf], _ daemon: ControlAddress, _ members: [JSON.Member] = []
  ) -> (outcomes: [HandedDown], answer: JSON)? {
    guard let first = leaves.first else { return nil }
    let number = JSON.Member("directory", .number(first.item.directory.descriptor.rawValue))
    let names = JSON.nameListMembers("names", leaves.map(\.item.location.name))
    // A refusal is told by the files one by one, in the words of a single change.
    let replacing = replaces ? [JSON.Member("replace", .bool(true))] : []
    guard let answer = try? daemon.ask("handdown", [number] + names + replacing + members),
      let outcomes = answer["outcomes"]?.string?.compactMap({ HandedDown(rawValue: $0) }),
      outcomes.count == leaves.count
    else { return nil }
    return (outcomes, answer)
  }
}
