// Chooses the next operation with an eye on the model: mostly names that exist, few names altogether, so that
// users meet each other's objects all the time.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles
import MountSupport
import Randomness

struct Generator {
  static let names = ["a", "b", "c", "d", "e"]
  static let deepest = 4
  static let slotCount = 6

  var dice: Dice
  let model: Model
  /// What the last operation was about.
  private var last: Call = .status("", follows: false)

  init(dice: Dice, model: Model) {
    self.dice = dice
    self.model = model
  }

  mutating func next() -> Operation {
    // A look right after it, while whoever remembers something wrong still does.
    if dice.once(in: 6) {
      let isOfMapping = !model.mappings.isEmpty && dice.once(in: 3)
      return Operation(user: dice.pick([0, 0, 1, 2, 3]), call: isOfMapping ? wholeMapping() : last)
    }
    let operation = fresh()
    last = operation.call.slot.map { .statusOfOpen(slot: $0) } ?? .status(lastPath, follows: true)
    return operation
  }

  private var lastPath = ""

  private mutating func fresh() -> Operation {
    if dice.once(in: 12) { return healing() }
    let user = dice.pick([0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    while true {
      let operation = Operation(user: user, call: call())
      if !model.leavesOpen(operation) { return operation }
    }
  }

  private mutating func call() -> Call {
    switch dice.below(100) {
    case 0..<24: callOnOpen()
    case 24..<30: callOnMapping()
    case 30..<52: callOnName()
    case 52..<70: callOnAttribute()
    default: callOnObject()
    }
  }

  /// Root puts something right again, or in the end nobody could do anything.
  private mutating func healing() -> Operation {
    if dice.once(in: 3), let operation = meddling() { return operation }
    let path = existing()
    lastPath = path
    let isDirectory = (try? model.peek(path))?.isDirectory ?? false
    let call: Call =
      switch dice.below(8) {
      case 0, 1: .setFlags(path, [])
      case 2, 3: .removeList(path)
      case 4: isDirectory ? .removeDirectory(emptyDirectory()) : .unlink(path)
      case 5: .changeOwner(path, user: dice.pick([1001, 1002, 1003]), group: 2001, follows: false)
      default: .changeMode(path, isDirectory ? dice.pick([0o777, 0o775, 0o755, 0o1777, 0o2775]) : 0o664)
      }
    return Operation(user: 0, call: call)
  }

  /// Root changes what an open file is, under the hands of whoever has it open.
  private mutating func meddling() -> Operation? {
    guard let slot = model.slots.keys.sorted().randomElement(using: &dice),
      let thing = model.slots[slot]?.thing, let path = model.path(of: thing)
    else { return nil }
    let calls: [Call] = [
      .setFlags(path, .userAppendOnly), .setFlags(path, .systemAppendOnly), .setFlags(path, .userImmutable),
      .changeMode(path, 0o6777), .changeMode(path, 0o6766), .unlink(path),
    ]
    return Operation(user: 0, call: dice.pick(calls))
  }

  // MARK: Calls

  private mutating func callOnOpen() -> Call {
    let slot = dice.below(Generator.slotCount)
    let used = model.slots.keys.sorted()
    let open = used.isEmpty ? slot : dice.pick(used)
    switch dice.below(16) {
    case 0...3: return .open(slot: slot, anyPath(), wish(), mode: mode())
    case 4: return .openUnnamed(slot: slot, dice.once(in: 4) ? anyPath() : directory(), mode: mode())
    case 5: return .linkOpen(slot: open, freePath())
    case 6: return dice.once(in: 2) ? .close(slot: open) : .write(slot: open, byte: letter(), count: length())
    case 7: return .read(slot: open, count: dice.pick([1, 10, 100, 8_192]))
    case 8: return .readAt(slot: open, offset: offset(), count: dice.pick([1, 10, 100, 8_192]))
    case 9...11: return .write(slot: open, byte: letter(), count: length())
    case 12, 13: return .writeAt(slot: open, offset: offset(), byte: letter(), count: length())
    case 14: return .cutOpen(slot: open, size: offset())
    default: return .statusOfOpen(slot: open)
    }
  }

  private static let mappingCount = 4

  private mutating func mapping() -> Int {
    model.mappings.keys.sorted().randomElement(using: &dice) ?? dice.below(Generator.mappingCount)
  }

  private mutating func wholeMapping() -> Call { .readMapped(mapping(), offset: 0, count: Mapping.length) }

  private mutating func callOnMapping() -> Call {
    switch dice.below(8) {
    case 0...2:
      let slot = model.slots.keys.sorted().randomElement(using: &dice) ?? 0
      return .map(dice.below(Generator.mappingCount), slot: slot, writes: dice.once(in: 2))
    case 3...5:
      return .writeMapped(
        mapping(), offset: offset(), byte: letter(), count: length(), syncs: !dice.once(in: 3))
    case 6: return wholeMapping()
    default: return dice.once(in: 4) ? .unmap(mapping()) : wholeMapping()
    }
  }

  private mutating func callOnName() -> Call {
    switch dice.below(24) {
    case 0, 1: .makeDirectory(freePath(), mode: mode())
    case 2...6: .open(slot: dice.below(Generator.slotCount), freePath(), creatingWish(), mode: mode())
    case 7, 8: .removeDirectory(dice.once(in: 4) ? anyName() : emptyDirectory())
    case 9...11: .unlink(anyName())
    case 12...17: .rename(anyName(), anyName(), dice.pick(Generator.styles))
    case 18, 19: .link(anyName(), freePath())
    case 20, 21: .makeLink(freePath(), target: target())
    default: .makeFIFO(freePath(), mode: mode())
    }
  }

  private static let styles: [Replacing] = [
    .replace, .replace, .replace, .replace, .noReplace, .noReplace, .exchange, .exchange, .exchange, .both,
  ]

  private mutating func callOnAttribute() -> Call {
    let path = anyPath()
    switch dice.below(32) {
    case 0...3: return .setFlags(path, flags())
    case 4: return dice.once(in: 8) ? .setFlagsText(path, "uchg,nosuch") : .removeFlags(path)
    case 5, 6: return .getFlags(path)
    case 7...14: return .setList(path, list())
    case 15: return dice.once(in: 4) ? .setListText(path, "user:1001 allow fly") : .removeList(path)
    case 16, 17: return .getList(path)
    case 18...22:
      return .setAttribute(path, attributeName(), value: letter(), mode: dice.pick([0, 0, 0, 1, 2]))
    case 23...26: return .getAttribute(path, attributeName())
    case 27, 28: return .removeAttribute(path, attributeName())
    default: return .listAttributes(path)
    }
  }

  private mutating func callOnObject() -> Call {
    let path = anyPath()
    switch dice.below(34) {
    case 0...6: return .status(path, follows: dice.once(in: 2))
    case 7...10: return .list(dice.once(in: 4) ? path : directory())
    case 11: return .readLink(path)
    case 12...15: return .access(path, mode: UInt8(dice.below(8)))
    case 16, 17: return .truncate(path, size: offset())
    case 18...23: return .changeMode(path, mode())
    case 24...28:
      let users: [UInt32?] = [nil, nil, 0, 1001, 1002, 1003]
      let groups = [nil, nil] + Cast.groups.map(Optional.init)
      return .changeOwner(
        path, user: dice.pick(users), group: dice.pick(groups), follows: dice.once(in: 2))
    case 29...31:
      let times: [(TimeWish, TimeWish)] = [
        (.now, .now), (.now, .now), (.seconds(1_000), .seconds(2_000)), (.seconds(3_000), .omit),
        (.omit, .seconds(4_000)), (.now, .omit), (.omit, .now), (.now, .seconds(5_000)),
      ]
      let (access, modification) = dice.pick(times)
      return .changeTimes(path, access: access, modification: modification)
    default: return .open(slot: dice.below(Generator.slotCount), path, wish(), mode: mode())
    }
  }

  // MARK: Paths

  private mutating func anyPath() -> String {
    // Files that are open: what is done to them meets what is done through their handles.
    if dice.once(in: 4), let open = model.slots.keys.sorted().randomElement(using: &dice),
      let thing = model.slots[open]?.thing, let path = model.path(of: thing)
    {
      lastPath = path
      return path
    }
    lastPath = dice.once(in: 5) ? freePath() : existing()
    return lastPath
  }

  /// The same, but not the root, whose name is in another file system.
  private mutating func anyName() -> String {
    let path = anyPath()
    return path.isEmpty ? Generator.names[0] : path
  }

  /// Something that exists; rarely the root itself.
  private mutating func existing() -> String {
    var path: [String] = []
    var current = model.root
    while path.count < Generator.deepest, let name = current.entries.keys.sorted().randomElement(using: &dice)
    {
      path.append(name)
      guard let next = current.entries[name], next.isDirectory, !dice.once(in: 3) else { break }
      current = next
    }
    if path.isEmpty || dice.once(in: 60) { return dice.once(in: 3) ? "" : Generator.names[0] }
    return turned(path)
  }

  /// A directory that exists.
  private mutating func directory() -> String {
    var path: [String] = []
    var current = model.root
    while path.count < Generator.deepest - 1, !dice.once(in: 4) {
      let below = current.entries.filter(\.value.isDirectory).keys.sorted()
      guard let name = below.randomElement(using: &dice), let next = current.entries[name] else { break }
      path.append(name)
      current = next
    }
    return path.joined(separator: "/")
  }

  /// A directory with nothing in it, if there is one.
  private mutating func emptyDirectory() -> String {
    var all: [String] = []
    func visit(_ directory: Thing, _ path: String) {
      for (name, thing) in directory.entries.sorted(by: { $0.key < $1.key }) where thing.isDirectory {
        if thing.entries.isEmpty { all.append(path + name) }
        visit(thing, "\(path)\(name)/")
      }
    }
    visit(model.root, "")
    return all.randomElement(using: &dice) ?? anyName()
  }

  /// A name in a directory that exists, taken or not.
  private mutating func freePath() -> String {
    let directory = directory()
    var name = dice.pick(Generator.names)
    // Mostly one that is not taken, if there is one.
    if !dice.once(in: 3), let entries = try? model.peek(directory)?.entries {
      name = Generator.names.filter { entries[$0] == nil }.randomElement(using: &dice) ?? name
    }
    return directory.isEmpty ? name : turned("\(directory)/\(name)".split(separator: "/").map(String.init))
  }

  /// The same path, now and then with a step down and up again in it.
  private mutating func turned(_ path: [String]) -> String {
    guard path.count > 1, dice.once(in: 25) else { return path.joined(separator: "/") }
    return ([path[0], ".."] + path).joined(separator: "/")
  }

  /// Where a symbolic link leads: always down, so that no link leaves the volume.
  private mutating func target() -> String {
    dice.once(in: 2)
      ? dice.pick(Generator.names) : "\(dice.pick(Generator.names))/\(dice.pick(Generator.names))"
  }

  // MARK: Values

  private mutating func offset() -> Int { dice.pick([0, 0, 1, 5, 50, 4_095, 4_096, 9_000]) }
  private mutating func length() -> Int { dice.pick([1, 1, 7, 7, 64, 5_000]) }
  private mutating func letter() -> UInt8 { UInt8(ascii: "a") + UInt8(dice.below(26)) }

  private mutating func wish() -> OpenWish {
    var wish = OpenWish()
    wish.reads = dice.once(in: 2)
    wish.writes = !wish.reads || !dice.once(in: 3)
    wish.creates = dice.once(in: 4)
    wish.excludes = wish.creates && dice.once(in: 4)
    wish.truncates = dice.once(in: 5)
    wish.appends = dice.once(in: 3)
    wish.stopsAtLink = dice.once(in: 6)
    return wish
  }

  private mutating func creatingWish() -> OpenWish {
    var wish = wish()
    wish.creates = true
    return wish
  }

  private mutating func mode() -> UInt16 {
    let plain: [UInt16] = [
      0o755, 0o755, 0o777, 0o777, 0o700, 0o750, 0o775, 0o1777, 0o2775, 0o644, 0o664, 0o666, 0o600, 0o000,
      0o111, 0o444, 0o1755, 0o4755, 0o6755, 0o2755, 0o2644, 0o4777, 0o3777,
    ]
    return dice.once(in: 6) ? UInt16(dice.below(0o10000)) : dice.pick(plain)
  }

  private mutating func flags() -> FileFlags {
    let single: [FileFlags] = [
      [], [], .userImmutable, .userImmutable, .userAppendOnly, .userAppendOnly, .userAppendOnly,
      .systemImmutable, .systemAppendOnly, .systemNoUnlink, .restricted, .dataVault, .hidden, .noDump,
      .archived, .opaque,
      .compressed,
    ]
    let flags = dice.once(in: 3) ? dice.pick(single).union(dice.pick(single)) : dice.pick(single)
    // Over lowers it changes what a directory shows, and in a lower it is not shown (SEMANTICS 18.9).
    return model.hasLowers ? flags.subtracting(.opaque) : flags
  }

  private mutating func attributeName() -> String {
    let names = [
      "user.one", "user.one", "user.one", "user.two", "user.two", "com.apple.mark", "user.com.apple.mark",
    ]
    return dice.once(in: 15) ? dice.pick(["trusted.varve.m", "user.varve.kind"]) : dice.pick(names)
  }

  private mutating func list() -> AccessList {
    AccessList((0...dice.below(4)).map { _ in entry() })
  }

  private mutating func entry() -> AccessEntry {
    let identities: [Identity] = [
      .user(1001), .user(1002), .user(1003), .group(2001), .group(2002), .group(2009), .everyone, .owner,
      .owningGroup, .nobody,
    ]
    let rights: [Rights] = [
      .read, .write, .execute, .delete, .append, .deleteChild, .readAttributes, .writeAttributes,
      .readExtended, .writeExtended, .readSecurity, .writeSecurity, .takeOwnership, .genericAll, .genericRead,
      .genericWrite,
      .search, .addFile, .addSubdirectory, .list,
    ]
    var wanted: Rights = []
    repeat { wanted.formUnion(dice.pick(rights)) } while !dice.once(in: 3)
    var inheritance: AccessEntry.Inheritance = []
    if dice.once(in: 3) { inheritance.insert(.fileInherit) }
    if dice.once(in: 3) { inheritance.insert(.directoryInherit) }
    if dice.once(in: 8) { inheritance.insert(.limitInherit) }
    if dice.once(in: 8) { inheritance.insert(.onlyInherit) }
    if dice.once(in: 10) { inheritance.insert(.inherited) }
    return AccessEntry(dice.once(in: 4) ? .deny : .allow, dice.pick(identities), wanted, inheritance)
  }
}
