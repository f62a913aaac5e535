// `varve acl propagate` and `inherit`: what a directory's list hands down, written to what is below it.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms

func inheritLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let isPropagation = invocation.verb == "acl propagate"
  let changer = try ListChanger(invocation, console)
  let run = ListRun(changer, inherits: true)
  let inheritance = Inheritance()
  paths.forEach(console) { path in
    do throws(Refusal) {
      if isPropagation {
        inheritance.propagate(path, changer, run)
      } else {
        try inheritance.renew(path, isRecursive: invocation.has(.recursive), changer, run)
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  return changer.finish()
}

/// Rules made from the lists of directories.
private final class Inheritance {
  /// Most directories of a tree have one of a few lists, and share the rule for what is in them.
  private var rules: [AccessList?: ListRule] = [:]
  /// The rule for what is in the directories on the way down, by depth.
  private var way: [ListRule] = []

  /// Leaves the root as it is.
  func propagate(_ path: Word, _ changer: ListChanger, _ run: ListRun) {
    way = []
    run.go(path, isRecursive: true) { item in
      guard item.depth > 0 else { return self.begin(item, changer) }
      return self.visit(item, changer)
    } ruleForFiles: {
      self.way[$0.depth - 1]
    }
  }

  /// The list of the root is where everything begins; nothing is changed there.
  private func begin(_ item: VisitedItem, _ changer: ListChanger) -> ItemWalk.Descent {
    guard item.status.kind == .directory else {
      changer.console.complain(
        item.path, "not a directory; 'varve acl inherit' renews the entries of a single file")
      return .past
    }
    do throws(Refusal) {
      let list = try item.place.descriptor.accessList()
      if let list, list.flags.contains(.noInherit) {
        throw Refusal("is marked no_inherit: it and everything below is left alone")
      }
      way = [rule(for: list)]
      return .into
    } catch {
      changer.console.complain(item.path, error.sentence)
      return .past
    }
  }

  func renew(_ path: Word, isRecursive: Bool, _ changer: ListChanger, _ run: ListRun) throws(Refusal) {
    guard let directory = try directoryAbove(path) else {
      throw Refusal("is the root of the volume; there is nothing above it to inherit from")
    }
    way = [rule(for: try directory.descriptor.accessList())]
    run.go(path, isRecursive: isRecursive) { item in
      // The rule of the directory above stands in front.
      self.visit(item, changer, offset: 1)
    } ruleForFiles: {
      self.way[$0.depth]
    }
  }

  private func visit(_ item: VisitedItem, _ changer: ListChanger, offset: Int = 0) -> ItemWalk.Descent {
    let position = item.depth + offset - 1
    guard way.indices.contains(position) else { return .past }
    guard case .has(let after) = changer.change(item, by: way[position]) else { return .past }
    guard item.status.kind == .directory else { return .into }
    way.removeLast(way.count - position - 1)
    way.append(rule(for: after))
    return .into
  }

  private func rule(for parent: AccessList?) -> ListRule {
    if let rule = rules[parent] { return rule }
    // Those of the directories on the way down live on in `way`.
    if rules.count > 64 { rules.removeAll() }
    let rule = ListRule { list, kind in
      do throws(TooManyEntries) {
        let outcome = try AccessList.propagated(
          to: list, from: parent, forDirectory: kind == .directory)
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
    let item = try Descriptor.place(path, .followed)
    let status = try item.knownStatus()
    guard !status.isMountRoot else { return nil }
    if status.kind == .directory { return SharedDescriptor(try item.parent()) }
    // Without links: the directory that holds the item, not one that holds a link to it.
    let real = try realPath(path)
    let end = max(real.lastIndex(of: slash) ?? 0, 1)
    return SharedDescriptor(try Descriptor.place(Array(real[..<end]), .held))
  } catch {
    throw Refusal(error, at: path)
  }
}
