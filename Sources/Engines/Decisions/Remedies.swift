// Every obstacle at once: what would refuse an operation if what refuses it now were lifted, and what lifts each.
//
// Nothing is decided here. The one decision is asked again and again, each time about objects and rules as they would be
// after the remedy for what refused last.

package import AccessControl
import DirectoryModes
package import FlagRules

/// What would lift a refusal.
package enum Remedy: Hashable, Sendable {
  case mountWritable
  case mountWithPrograms
  case clearFlags(FileFlags)
  /// Entry `index` of the list goes.
  case removeEntry(index: Int)
  /// An entry grants the caller these rights.
  case grant(Rights)
  /// A class of the mode gets bits: where lists do not count.
  case addModeBits(ModeClass, UInt16)
  case makeExecutable
  case clearStickyBit
  case unlock(ProtectionClass)
}

/// One reason why an operation is refused, and what would lift it.
package struct RemediedRefusal: Hashable, Sendable {
  package let verdict: Verdict
  /// What was asked of the object.
  package let asked: Step.Asked
  /// Nil: only another user, or another operation, would be allowed.
  package let remedy: Remedy?
}

extension Judge {
  /// Every refusal an operation would meet, in the order it would meet them, up to one that has no remedy.
  ///
  /// Empty if it is allowed.
  package func refusals(_ operation: Operation, _ scene: Scene) -> [RemediedRefusal] {
    var (judge, scene) = (self, scene)
    var found: [RemediedRefusal] = []
    var removed: [ObjectRole: [Int]] = [:]
    // Each round lifts something, and there is only so much to lift: entries, flags, bits, the mount.
    for _ in 0..<Judge.mostRemedies {
      var asked = Step.Asked.operation
      let verdict = judge.decide(operation, scene) { asked = $0.asked }
      // A remedy that changes nothing ends it: the object it was for is not in the scene.
      guard !verdict.isAllowed, verdict != found.last?.verdict else { break }
      let remedy = judge.remedy(for: verdict, on: scene[verdict.role])
      var told = remedy
      // The command counts among what is left of the list when it is typed.
      if case .removeEntry(let index)? = remedy {
        let gone = removed[verdict.role, default: []]
        told = .removeEntry(index: index - gone.filter { $0 < index }.count)
        removed[verdict.role] = gone + [index]
      }
      found.append(RemediedRefusal(verdict: verdict, asked: asked, remedy: told))
      guard let remedy else { break }
      judge.apply(remedy, to: &scene, verdict.role)
    }
    return found
  }

  private static var mostRemedies: Int { AccessList.entryLimit * 2 + 32 }

  private func remedy(for verdict: Verdict, on item: Item) -> Remedy? {
    switch verdict.reason {
    case .readOnlyVolume: .mountWritable
    case .executionForbidden: .mountWithPrograms
    case .flag(let flags):
      flags.isEmpty || rules.secureLevel > 0 && !flags.isDisjoint(with: .systemDomain)
        ? nil : .clearFlags(flags)
    case .entry(let index): .removeEntry(index: index)
    case .modeBits(let name, let asked):
      usesList(of: item) ? .grant(asked) : .addModeBits(name, asked.modeBits)
    case .noEntryGrants(let rights): usesList(of: item) ? .grant(rights) : nil
    case .noExecuteBit: item.kind == .file ? .makeExecutable : nil
    case .sticky: .clearStickyBit
    case .locked(let protection): .unlock(protection)
    // A repair closes an item, until root or the owner has looked at it.
    case .damagedRecord, .damagedList: nil
    case .nothingAsked, .superuser, .administrator, .ownership, .freeToAll, .notOwner, .giveAway,
      .unconfirmedLock, .notMemberOfGroup, .needsRoot, .deviceNeedsRoot, .secureLevel, .linkToDirectory,
      .foreignContent, .replacedContent, .encryptedContent, .noKeybag, .unmarked, .protectingDirectory,
      .protectedLink, .sharedOwner, .shownNames, .obstacle:
      nil
    }
  }

  private func usesList(of item: Item) -> Bool { rules.usesLists && item.kind != .symbolicLink }

  /// As it would be after a remedy.
  private mutating func apply(_ remedy: Remedy, to scene: inout Scene, _ role: ObjectRole) {
    var rules = rules
    scene.change(role) { item in
      switch remedy {
      case .mountWritable: rules.isReadOnly = false
      case .mountWithPrograms: rules.forbidsExecution = false
      case .clearFlags(let flags): item.flags.subtract(flags)
      // It says nothing any more, so that the numbers of the others stay.
      case .removeEntry(let index):
        if item.list?.entries.indices.contains(index) == true { item.list?.entries[index].rights = [] }
      case .grant(let rights):
        let entry = AccessEntry(.allow, .user(subject.user), rights)
        item.list = AccessList((item.list?.entries ?? []) + [entry], flags: item.list?.flags ?? [])
      case .addModeBits(let name, let bits): item.mode = Mode(item.mode.bits | bits << name.rawValue)
      case .makeExecutable: item.mode = Mode(item.mode.bits | 0o111)
      case .clearStickyBit: item.mode = item.mode.without(0o1000)
      case .unlock(let protection):
        rules.keys.opening.insert(ProtectionClasses(protection))
        rules.keys.making.insert(ProtectionClasses(protection))
      }
    }
    self = Judge(rules: rules, subject: subject)
  }
}

extension Scene {
  /// Changes the object a verdict speaks about; where a scene leaves one out, another stands for it.
  fileprivate mutating func change(_ role: ObjectRole, _ body: (inout Item) -> Void) {
    switch role {
    case .victim where victim != nil: if var item = victim { body(&item); victim = item }
    case .newParent where newParent != nil: if var item = newParent { body(&item); newParent = item }
    case .parent where parent != nil, .newParent where parent != nil:
      if var item = parent { body(&item); parent = item }
    default: body(&item)
    }
  }
}

extension Rights {
  /// The bits of a mode class that stand for the rights.
  fileprivate var modeBits: UInt16 { Judge.modeNeed(of: self) }
}

extension Remedy {
  /// Words of `varve` that do it, with the path behind them.
  package func command(user: String, onDirectory isDirectory: Bool) -> [String] {
    switch self {
    case .mountWritable: ["remount", "-o", "rw"]
    case .mountWithPrograms: ["remount", "-o", "exec"]
    case .clearFlags(let flags):
      ["chflags", flags.keywords.map { Remedy.off("\($0)") }.joined(separator: ",")]
    case .removeEntry(let index): ["chmod", "-a#", "\(index)"]
    case .grant(let rights):
      [
        "chmod", "+a",
        "user:\(user) allow \(AccessListText.words(rights, for: ObjectKind(isDirectory: isDirectory)))",
      ]
    case .addModeBits(let name, let bits): ["chmod", "\(name.letter)+\(Remedy.letters(bits))"]
    case .makeExecutable: ["chmod", "+x"]
    case .clearStickyBit: ["chmod", "-t"]
    case .unlock: ["unlock"]
    }
  }

  /// Whether the command is about the mount, not about the item.
  package var isAboutMount: Bool {
    switch self {
    case .mountWritable, .mountWithPrograms, .unlock: true
    default: false
    }
  }

  private static func off(_ word: String) -> String { word == "nodump" ? "dump" : "no\(word)" }

  private static func letters(_ bits: UInt16) -> String {
    (bits & 4 != 0 ? "r" : "") + (bits & 2 != 0 ? "w" : "") + (bits & 1 != 0 ? "x" : "")
  }
}

extension ModeClass {
  fileprivate var letter: String {
    switch self {
    case .owner: "u"
    case .group: "g"
    case .other: "o"
    }
  }
}
