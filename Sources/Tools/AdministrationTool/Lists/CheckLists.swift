// `varve acl check`: what in the lists of a tree does not do what it seems to do.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

func checkLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let checker = ListChecker(invocation, console, try Colors(invocation))
  paths.forEach(console) { path in
    let walk = ItemWalk.ofLists(isRecursive: invocation.has(.recursive), console, console.progress())
    checker.begin(path)
    walk.go(path, leaf: nil) { checker.check($0) }
  }
  return checker.finish()
}

private final class ListChecker {
  private let console: Console
  private let colors: Colors
  private let json: JSONStream?
  private var items = 0
  private var found = 0
  /// The lists of the directory the root is in and of those below that lead to the item; nil where there is no
  /// directory, or its list could not be read.
  private var listsAbove: [AccessList??] = []

  init(_ invocation: Invocation, _ console: Console, _ colors: Colors) {
    self.console = console
    self.colors = colors
    json = invocation.has(.json) ? JSONStream("items", console) : nil
  }

  /// Begins with another root.
  func begin(_ path: Word) {
    listsAbove = [nil]
    do throws(Refusal) {
      guard let directory = try directoryAbove(path) else { return }
      listsAbove = [.some(try directory.descriptor.accessList())]
    } catch {
      // The walk reports what is wrong with the path; errors of the directory above it were not asked for.
    }
  }

  func check(_ item: VisitedItem) -> ItemWalk.Descent {
    guard item.status.kind != .symbolicLink else { return .past }
    items += 1
    let kind = item.status.objectKind
    listsAbove.removeLast(max(0, listsAbove.count - item.depth - 1))
    var findings: [Finding] = []
    var list: AccessList??
    do throws(Errno) {
      let text = try item.held.descriptor.storedAccessList() ?? []
      do throws(ParseFailure) {
        list = .some(text.isEmpty ? nil : try AccessListText.readList(bytes: text, names: .machine))
      } catch {
        findings.append(Finding(.damage, "the list cannot be read: \(error)"))
      }
    } catch .inputOutput {
      findings.append(Finding(.damage, Refusal.reading(.inputOutput, item.held.descriptor).sentence))
    } catch {
      let refusal = Refusal.reading(error, item.held.descriptor)
      console.complain(item.path, refusal.sentence)
      // The walk stays on one file system: what is below has no lists either.
      if refusal.isAboutVolume { return .past }
    }
    if case .some(.some(let list)) = list {
      findings += ListReview(list, on: kind, mode: item.status.mode, names: .machine).findings
    }
    if let list, let above = listsAbove.last ?? nil,
      let stale = stale(list, below: above, kind)
    {
      findings.append(stale)
    }
    if let list = list ?? nil, let above = listsAbove.last ?? nil, let above {
      findings += copied(list, below: above, item, kind)
    }
    if kind == .directory { listsAbove.append(list) }
    report(findings, item)
    return .into
  }

  /// Whether the inherited entries are those that the directory above hands down now.
  private func stale(_ list: AccessList?, below above: AccessList?, _ kind: ObjectKind) -> Finding? {
    // Who turned inheritance off for an item meant it.
    if let list, !list.entries.contains(where: \.isInherited) { return nil }
    let outcome = try? AccessList.propagated(to: list, from: above, forDirectory: kind == .directory)
    guard case .store? = outcome else { return nil }
    return Finding(
      .stale,
      "does not inherit what the directory above hands down now; 'varve acl inherit' renews it")
  }

  /// Entries of the item's own that say what the directory above hands down: they stay when it takes that back.
  private func copied(
    _ list: AccessList, below above: AccessList, _ item: VisitedItem, _ kind: ObjectKind
  ) -> [Finding] {
    guard !list.flags.contains(.noInherit) else { return [] }
    let source = InheritanceSource(
      owners: InheritanceSource.Owners(user: item.status.user, group: item.status.group),
      handedDown: InheritanceSource.handedDown(from: above, to: kind))
    return source.copies(in: list, for: kind).map { index in
      Finding(
        .copied, entry: index,
        "the directory above hands this down, but here it is an entry of its own, which stays when the directory "
          + "takes it back; 'varve acl inherit --replace' leaves what is handed down")
    }
  }

  private func report(_ findings: [Finding], _ item: VisitedItem) {
    guard !findings.isEmpty else { return }
    found += findings.count
    guard !console.isQuiet || json != nil else { return }
    if let json {
      let values = findings.map { finding in
        JSON.object(
          [JSON.Member("kind", .string(finding.kind.rawValue))]
            + (finding.entry.map { [JSON.Member("entry", .number($0))] } ?? [])
            + [JSON.Member("text", .string(finding.text))])
      }
      return json.add(JSON.nameMembers("path", item.path) + [JSON.Member("findings", .array(values))])
    }
    for finding in findings {
      let prefix = finding.entry.map { "entry \($0): " } ?? ""
      let word = finding.kind == .damage ? colors.failure("damage") : colors.warning(finding.kind.rawValue)
      console.printPath(item.path, ": \(word): \(prefix)\(finding.text)")
    }
  }

  func finish() -> Int32 {
    json?.end([
      JSON.Member("checked", .number(items)), JSON.Member("findings", .number(found)),
      JSON.Member("failed", .number(console.failures)),
    ])
    let status = console.finish()
    return found > 0 ? 1 : status
  }
}
