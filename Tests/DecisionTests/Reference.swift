// The rules of docs/SEMANTICS.md told a second time, slowly: from their text, not from the engines. Only the plain
// data types are shared; no engine function is called from here.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules

/// The rights, by their words on files.
///
/// On directories `read` is list, `write` add_file, `append`
/// add_subdirectory, `execute` search.
enum Power: String, CaseIterable {
  case read, write, execute, delete, append, deleteChild, readattr, writeattr, readextattr, writeextattr
  case readsecurity, writesecurity, chown, synchronize
  // Asked, never stored.
  case linkTarget, checkImmutable, ignoringFlags
}

/// What a caller gets to see.
enum Outcome: String {
  case ok, EPERM, EACCES, EROFS, EIO, EOPNOTSUPP, ENOKEY, EXDEV
  /// Another number: it cannot be done, whatever rights the caller has.
  case impossible
}

/// One entry in words.
struct ReferenceLine {
  var verb: String
  var who: String
  var number: UInt32 = 0
  var powers: [Power]
  var onlyInherit: Bool
}

/// One object in words.
struct Thing {
  var kind: String
  var uid: UInt32
  var gid: UInt32
  var mode: Int
  var flags: [String]
  var lines: [ReferenceLine]?
  var ownerGroup: UInt32?
  var record: String

  /// The rights by the numbers that docs/FORMATS.md gives them, and those that are asked and never stored.
  static let numbers: [(UInt32, [Power])] = [
    (0x2, [.read]), (0x4, [.write]), (0x8, [.execute]), (0x10, [.delete]), (0x20, [.append]),
    (0x40, [.deleteChild]), (0x80, [.readattr]), (0x100, [.writeattr]), (0x200, [.readextattr]),
    (0x400, [.writeextattr]), (0x800, [.readsecurity]), (0x1000, [.writesecurity]), (0x2000, [.chown]),
    (0x10_0000, [.synchronize]),
    (
      0x20_0000,
      [
        .read, .write, .execute, .delete, .append, .deleteChild, .readattr, .writeattr, .readextattr,
        .writeextattr, .readsecurity, .writesecurity,
      ]
    ),
    (0x40_0000, [.execute]),
    (0x80_0000, [.write, .delete, .append, .deleteChild, .writeattr, .writeextattr, .writesecurity]),
    (0x100_0000, [.read, .readattr, .readextattr, .readsecurity]),
    (0x200_0000, [.linkTarget]), (0x400_0000, [.checkImmutable]), (0x4000_0000, [.ignoringFlags]),
  ]

  /// The flags that matter to a decision, by their numbers in `st_flags` of macOS.
  static let flagNumbers: [(UInt32, String)] = [
    (0x2, "uchg"), (0x4, "uappnd"), (0x2_0000, "schg"), (0x4_0000, "sappnd"), (0x10_0000, "sunlnk"),
    (0x3FFF_0000, "system domain"),
  ]

  static func powers(_ word: UInt32) -> [Power] {
    var found: [Power] = []
    for (number, powers) in numbers where word & number != 0 {
      for power in powers where !found.contains(power) { found.append(power) }
    }
    return found
  }

  init(_ item: Item) {
    kind =
      switch item.kind {
      case .file: "file"
      case .directory: "directory"
      case .symbolicLink: "link"
      case .special: "special"
      }
    uid = item.user
    gid = item.group
    mode = Int(item.mode.bits)
    flags = Thing.flagNumbers.filter { item.flags.rawValue & $0.0 != 0 }.map(\.1)
    lines = item.list?.entries.map(ReferenceLine.init)
    ownerGroup = item.ownerGroup
    record =
      switch item.record {
      case .sound: "sound"
      case .damagedList: "damaged list"
      case .damaged: "damaged"
      }
  }

  var isImmutable: Bool { flags.contains("uchg") || flags.contains("schg") }
  var isAppendOnly: Bool { flags.contains("uappnd") || flags.contains("sappnd") }
}

extension ReferenceLine {
  init(_ entry: AccessEntry) {
    verb = ["?", "permit", "deny", "audit", "alarm"][Int(entry.kind.rawValue)]
    switch entry.identity {
    case .user(let uid): (who, number) = ("user", uid)
    case .group(let gid): (who, number) = ("group", gid)
    case .everyone: who = "everyone"
    case .owner: who = "owner"
    case .owningGroup: who = "owning group"
    case .nobody: who = "nobody"
    }
    powers = Thing.powers(entry.rights.rawValue)
    onlyInherit = entry.inheritance.rawValue & 0x100 != 0
  }
}

/// The caller and the volume; its functions are the rules of docs/SEMANTICS.md.
struct Reference {
  var uid: UInt32
  var gid: UInt32
  /// `nil`: they cannot be found out.
  var groups: [UInt32]?
  /// Of user 0, by the words of capabilities(7); `nil`: they cannot be found out.
  var capabilities: [String]?
  var rules: VolumeRules

  init(_ subject: Subject, _ rules: VolumeRules) {
    uid = subject.user
    gid = subject.group
    if case .listed(let all) = subject.groups { groups = all } else { groups = nil }
    let words = [
      (0, "CHOWN"), (1, "DAC_OVERRIDE"), (2, "DAC_READ_SEARCH"), (3, "FOWNER"), (4, "FSETID"),
      (9, "LINUX_IMMUTABLE"), (27, "MKNOD"),
    ]
    capabilities = subject.capabilities.map { set in
      words.filter { set.rawValue >> UInt64($0.0) & 1 == 1 }.map(\.1)
    }
    self.rules = rules
  }

  // The rights that change something: the read-only volume and the flags of SEMANTICS 1.1 refuse them.
  static let modifying: [Power] = [
    .write, .delete, .append, .deleteChild, .writeattr, .writeextattr, .writesecurity, .chown, .linkTarget,
    .checkImmutable,
  ]

  // Who is it. `nil` is "cannot be known".

  func isMember(_ group: UInt32) -> Bool? {
    if group == gid { return true }
    return groups?.contains(group)
  }

  func owns(_ thing: Thing) -> Bool? {
    if rules.ignoresOwnership { return true }
    if let group = thing.ownerGroup { return isMember(group) }
    if thing.uid == 99 { return true }
    return thing.uid == uid
  }

  func isInGroup(of thing: Thing) -> Bool? {
    if rules.ignoresOwnership || thing.gid == 99 { return true }
    return isMember(thing.gid)
  }

  /// Whether this is user 0 with one of these capabilities.
  func isRoot(_ words: String...) -> Bool {
    uid == 0 && words.contains { capabilities?.contains($0) ?? false }
  }

  /// By the group of administrators.
  func isAdministrator(_ thing: Thing) -> Bool {
    guard uid != 0, let group = rules.adminGroup, isMember(group) == true else { return false }
    // Flags that cannot be read may be flags of the system domain.
    return !thing.flags.contains("system domain") && thing.record != "damaged"
  }

  /// Whether neither list nor mode is asked: for each right root needs what Linux asks for it.
  func isSuperuser(_ thing: Thing, _ asked: [Power], parent: Thing?) -> Bool {
    guard uid == 0 else { return isAdministrator(thing) && (parent.map(isAdministrator) ?? true) }
    if let parent, isStuck(thing, parent), !isRoot("FOWNER") { return false }
    return asked.allSatisfy { power in
      switch power {
      case .chown: isRoot("CHOWN")
      case .writesecurity: isRoot("FOWNER")
      case .writeattr: isRoot("FOWNER", "DAC_OVERRIDE")
      case .read, .readattr, .readextattr, .readsecurity, .synchronize:
        isRoot("DAC_OVERRIDE", "DAC_READ_SEARCH")
      case .execute where thing.kind == "directory": isRoot("DAC_OVERRIDE", "DAC_READ_SEARCH")
      default: isRoot("DAC_OVERRIDE")
      }
    }
  }

  func mayBeSuperuser(_ thing: Thing) -> Bool {
    if uid == 0 { return capabilities == nil }
    guard let group = rules.adminGroup, isMember(group) == nil else { return false }
    return !thing.flags.contains("system domain")
  }

  /// The sticky bit of SEMANTICS 1.13.
  func isStuck(_ thing: Thing, _ parent: Thing) -> Bool {
    parent.mode & 0o1000 != 0 && owns(thing) != true && owns(parent) != true
  }

  func applies(_ line: ReferenceLine, to thing: Thing) -> Bool? {
    switch line.who {
    case "user": line.number == uid
    case "group": isMember(line.number)
    case "everyone": true
    case "owner": owns(thing)
    case "owning group": isInGroup(of: thing)
    default: false
    }
  }

  /// SEMANTICS 1.2.
  func scan(_ thing: Thing, _ asked: [Power]) -> (answer: String, left: [Power]) {
    var left = asked
    for line in thing.lines ?? [] where !line.onlyInherit {
      if line.verb == "permit" {
        if !overlaps(line.powers, left) { continue }
        if applies(line, to: thing) ?? false == false { continue }
        left = left.filter { !line.powers.contains($0) }
        if left.isEmpty { return ("allow", []) }
      }
      if line.verb == "deny" {
        if !overlaps(line.powers, asked) { continue }
        if applies(line, to: thing) ?? true == false { continue }
        return ("deny", left)
      }
    }
    return ("defer", left)
  }

  /// The mode classes the caller may turn out to be judged by; all of them have to grant.
  func classes(_ thing: Thing) -> [Int] {
    let isOwner = owns(thing)
    if isOwner == true { return [6] }
    let isInGroup = isInGroup(of: thing)
    return (isOwner == nil ? [6] : []) + (isInGroup == false ? [] : [3]) + (isInGroup == true ? [] : [0])
  }

  func modeGrants(_ thing: Thing, _ need: Int) -> Bool {
    classes(thing).allSatisfy { (thing.mode >> $0) & need == need }
  }

  /// SEMANTICS 1.2 to 1.4: the rights that are asked of one item.
  func simple(_ thing: Thing, _ request: [Power], pre: [Power] = []) -> Outcome {
    var asked = request
    let isOwner = owns(thing) == true
    if isOwner { asked = asked.filter { $0 != .writesecurity } }
    if asked.contains(.chown) { asked = asked.filter { $0 != .writesecurity } }
    if asked.isEmpty { return .ok }
    var left = asked
    if rules.usesLists {
      if thing.record != "sound" { return .EIO }
      if thing.lines != nil {
        let found = scan(thing, asked)
        if found.answer == "deny" { return .EACCES }
        if found.answer == "allow" { return .ok }
        left = found.left
      }
    }
    left = left.filter { !pre.contains($0) }
    if isOwner { left = left.filter { $0 != .writeattr } }
    if left.isEmpty { return .ok }
    if left.contains(.chown) || left.contains(.writesecurity) { return .EACCES }
    var need = 0
    if overlaps(left, [.read, .readextattr]) { need |= 4 }
    if overlaps(left, [.write, .append, .deleteChild, .writeattr, .writeextattr]) { need |= 2 }
    if left.contains(.execute) { need |= 1 }
    return modeGrants(thing, need) ? .ok : .EACCES
  }

  /// SEMANTICS 1.13.
  func deleteRule(_ thing: Thing, _ parent: Thing) -> Outcome {
    if rules.usesLists {
      for (object, power) in [(thing, Power.delete), (parent, Power.deleteChild)] {
        if object.record != "sound" { return .EIO }
        if object.lines == nil { continue }
        let found = scan(object, [power])
        if found.answer == "deny" { return .EACCES }
        if found.answer == "allow" { return .ok }
      }
    }
    if !modeGrants(parent, 2) { return .EACCES }
    if isStuck(thing, parent), !isRoot("FOWNER") { return .EACCES }
    return .ok
  }

  /// SEMANTICS 2.1.
  func flagsForbid(_ thing: Thing, _ asked: [Power]) -> Bool {
    if asked.contains(.ignoringFlags) { return false }
    let changes = asked.filter { Reference.modifying.contains($0) }
    if changes.isEmpty { return false }
    if thing.isImmutable { return true }
    if thing.isAppendOnly {
      let kept: [Power] =
        thing.kind == "directory" ? [.write, .append, .writeextattr] : [.append, .writeextattr]
      if !changes.allSatisfy({ kept.contains($0) }) { return true }
    }
    return changes.contains(.delete) && thing.flags.contains("sunlnk")
  }

  /// SEMANTICS 1.1, step by step.
  func check(
    _ thing: Thing, _ asked: [Power], parent: Thing? = nil, spares spared: String? = nil
  ) -> Outcome {
    // The read-only volume. Writing into a FIFO changes nothing on disk; everything else that modifies does.
    let changes = asked.filter { Reference.modifying.contains($0) }
    let isStream = thing.kind == "special" && changes.allSatisfy { $0 == .write || $0 == .append }
    if rules.isReadOnly, !changes.isEmpty, !isStream { return .EROFS }
    // The noexec volume.
    if rules.forbidsExecution, asked.contains(.execute), thing.kind == "file" { return .EACCES }
    if isUnreadable(thing, parent, asked) { return .EIO }
    // Root, where flags have no say.
    let rest = asked.filter { ![.linkTarget, .checkImmutable, .ignoringFlags].contains($0) }
    let isSuper =
      if let spared, uid == 0 { isRoot(spared) } else { isSuperuser(thing, rest, parent: parent) }
    if isSuper, !asked.contains(.execute), changes.isEmpty { return .ok }
    // The flags.
    let flagged = thing.kind == "special" ? asked.filter { $0 != .write } : asked
    if flagsForbid(thing, flagged) { return .EPERM }
    if let parent, flagsForbid(parent, [.deleteChild]) { return .EPERM }
    // That was all that was asked.
    if rest.isEmpty { return .ok }
    // Root. The error is the one exec(2) and access(2) report (SEMANTICS 1.9 and 1.10).
    let isHopeless = rest.contains(.execute) && thing.kind == "file" && thing.mode & 0o111 == 0
    if isSuper { return isHopeless ? .EACCES : .ok }
    // Denied where it cannot be found out: an administrator could not run it.
    if isHopeless, mayBeSuperuser(thing) { return .EACCES }
    // The list and the mode.
    guard let parent else { return simple(thing, rest) }
    let removal = deleteRule(thing, parent)
    if removal != .ok || rest == [.delete] { return removal }
    return simple(thing, rest, pre: [.delete])
  }
}

func overlaps(_ one: [Power], _ other: [Power]) -> Bool {
  one.contains { other.contains($0) }
}
