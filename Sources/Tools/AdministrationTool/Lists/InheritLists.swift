// `varve acl propagate` and `inherit`: what a directory's list hands down, written to what is below it.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms

func inheritLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let isPropagation = invocation.verb == "acl propagate"
  if isPropagation, let parts = PermissionParts(invocation) {
    guard !invocation.has(.handDownOnly) else {
      throw invocation.mistake("--replace is about lists, which --owner, --group and --mode leave alone")
    }
    return try propagatePermissions(parts, invocation, console, paths)
  }
  let changer = try ListChanger(invocation, console)
  let run = ListRun(changer, inherits: true)
  let inheritance = Inheritance(changer, run)
  paths.forEach(console) { path in
    do throws(Refusal) {
      if isPropagation {
        inheritance.handDown(path, isRecursive: true, nil)
      } else {
        guard let directory = try directoryAbove(path) else {
          throw Refusal("is the root of the volume; there is nothing above it to inherit from")
        }
        let list = try directory.descriptor.accessList()
        inheritance.handDown(path, isRecursive: invocation.has(.recursive), inheritance.rule(for: list))
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  return changer.finish()
}

/// Rules made from the lists of directories.
private final class Inheritance {
  private let changer: ListChanger
  private let run: ListRun
  /// Most directories of a tree have one of a few lists, and share the rule for what is in them.
  private var rules: [AccessList?: ListRule] = [:]
  /// The rules for the items on the way down, by depth; nil for a root that stays as it is.
  private var rulesByDepth: [ListRule?] = []

  init(_ changer: ListChanger, _ run: ListRun) {
    self.changer = changer
    self.run = run
  }

  /// Changes a root by the rule for it, and what is below by what that hands down; without a rule everything begins with
  /// the root's own list.
  func handDown(_ path: Word, isRecursive: Bool, _ ruleForRoot: ListRule?) {
    rulesByDepth = [ruleForRoot]
    run.go(path, isRecursive: isRecursive) { item in
      self.visit(item)
    } ruleForFiles: {
      self.rulesByDepth[$0.depth]
    }
  }

  private func visit(_ item: VisitedItem) -> ItemWalk.Descent {
    guard rulesByDepth.indices.contains(item.depth) else { return .past }
    let outcome: ListChanger.Outcome
    if let rule = rulesByDepth[item.depth] {
      outcome = changer.change(item, by: rule)
    } else {
      do throws(Refusal) { outcome = .has(try listToHandDown(of: item)) } catch {
        changer.console.complain(item.path, error.sentence)
        return .past
      }
    }
    if case .blocked = outcome, item.depth == 0 {
      changer.console.note(
        item.path, "is marked no_inherit and left alone; --replace takes the mark and its own entries off")
    }
    guard case .has(let list) = outcome else { return .past }
    guard item.status.kind == .directory else { return .into }
    rulesByDepth.removeLast(rulesByDepth.count - item.depth - 1)
    rulesByDepth.append(rule(for: list))
    return .into
  }

  private func listToHandDown(of item: VisitedItem) throws(Refusal) -> AccessList? {
    guard item.status.kind == .directory else {
      throw Refusal("not a directory; 'varve acl inherit' renews the entries of a single file")
    }
    let list = try item.held.descriptor.accessList()
    if let list, list.flags.contains(.noInherit), !changer.replaces {
      throw Refusal("is marked no_inherit: it and everything below is left alone")
    }
    return list
  }

  func rule(for parent: AccessList?) -> ListRule {
    if let rule = rules[parent] { return rule }
    // Those of the directories on the way down live on in `rulesByDepth`.
    if rules.count > 64 { rules.removeAll() }
    let isReplacing = changer.replaces
    let rule = ListRule(replacesDamage: isReplacing) { list, kind in
      do throws(TooManyEntries) {
        let outcome = try AccessList.propagated(
          to: list, from: parent, forDirectory: kind == .directory, replacing: isReplacing)
        switch outcome {
        case .unchanged: return .unchanged
        case .store(let new): return .store(new)
        case .blocked: return .blocked
        }
      } catch {
        return .refused(
          "with what it inherits it would have more than \(AccessList.entryLimit) entries; left as it is")
      }
    }
    rules[parent] = rule
    return rule
  }
}

/// The directory an item is in; nil above the root of a volume.
func directoryAbove(_ path: Word) throws(Refusal) -> SharedDescriptor? {
  do throws(Errno) {
    let item = try Descriptor.item(atPath: path, .followed)
    let status = try item.knownStatus()
    guard !status.isMountRoot else { return nil }
    if status.kind == .directory { return SharedDescriptor(try item.parent()) }
    // Without links: the directory that holds the item, not one that holds a link to it.
    let real = try realPath(path)
    let end = max(real.lastIndex(of: slash) ?? 0, 1)
    return SharedDescriptor(try Descriptor.item(atPath: Array(real[..<end]), .held))
  } catch {
    throw Refusal(error, at: path)
  }
}
