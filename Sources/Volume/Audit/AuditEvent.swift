// What the audit log tells: one JSON object a line.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import JSONForm
import LinuxFiles

/// A change of what decides about an object, after it was made.
struct PolicyChange: Sendable {
  let time: Timestamp
  let caller: Caller
  let path: [UInt8]
  let before: Item
  let after: Item

  init(_ caller: Caller, _ path: [UInt8], from before: Item, to after: Item) {
    time = Clock.realtime
    self.caller = caller
    self.path = path
    self.before = before
    self.after = after
  }

  /// Whether a rule differs; a chmod to the present mode changes none.
  var isChange: Bool {
    var before = before
    // Whether a file has bytes is no rule.
    if before.content.protection == after.content.protection { before.content = after.content }
    return before != after
  }
}

/// The volume was unlocked or locked, or that was tried.
struct KeyChange: Sendable {
  enum Deed: String, Sendable {
    case unlocked
    case locked
    case refused = "unlockrefused"
  }

  let time = Clock.realtime
  /// Who asked; the daemon itself when the time for it came.
  let user: UInt32
  let deed: Deed
  var classes: [String] = []
  var error: Errno?
}

/// Other options were put in force.
struct OptionsChange: Sendable {
  let time = Clock.realtime
  /// Who asked.
  let user: UInt32
  /// The words of `-o` that were in force, and those that are now.
  let before: [[UInt8]]
  let after: [[UInt8]]
}

/// One event of the audit log, as values: it becomes text where nobody waits.
enum AuditEvent: Sendable {
  /// `repeated`: how often the same was refused since the line before about it; 0 for a first time.
  case denial(Denial, repeated: Int = 0)
  case change(PolicyChange)
  case keys(KeyChange)
  case options(OptionsChange)

  /// The line, without its end; `volume` are the members that say where it happened.
  func line(_ names: NameBook, _ volume: [JSON.Member]) -> String {
    var object: [JSON.Member] = []
    object.add("event", word)
    object += volume
    switch self {
    case .denial(let denial, let repeated):
      object.add(denial, names: names, hidingRules: false)
      if repeated > 0 { object.add("repeated", repeated) }
    case .change(let change):
      object.add("time", change.time.text)
      object.add(change.caller, names: names)
      object.add(path: change.path)
      object.add(difference: change, names: names)
    case .keys(let change):
      object.add("time", change.time.text)
      object.add(user: change.user, names: names)
      object.add("classes", .array(change.classes.map { .string($0) }))
      if let error = change.error { object.add("error", error.name) }
    case .options(let change):
      object.add("time", change.time.text)
      object.add(user: change.user, names: names)
      let text = { (words: [[UInt8]]) in
        JSON.string(String(decoding: Array(words.joined(separator: [UInt8(ascii: ",")])), as: UTF8.self))
      }
      object.add(
        "options",
        .object([JSON.Member("old", text(change.before)), JSON.Member("new", text(change.after))]))
    }
    return JSON.object(object).compactText
  }

  private var word: String {
    switch self {
    case .denial: "denied"
    case .change: "changed"
    case .keys(let change): change.deed.rawValue
    case .options: "remounted"
    }
  }

  /// The lines that say how many changes and how many refusals are missing.
  static func lines(about lost: AuditQueue.Lost, _ volume: [JSON.Member]) -> [String] {
    [("changed", lost.changes), ("denied", lost.denials)].filter { $0.1 > 0 }.map { what, count in
      var object: [JSON.Member] = []
      object.add("event", "dropped")
      object += volume
      object.add("time", Clock.realtime.text)
      object.add("what", what)
      object.add("count", count)
      return JSON.object(object).compactText
    }
  }
}

extension [JSON.Member] {
  mutating func add(user: UInt32, names: NameBook) {
    add("user", Int(user))
    if let name = names.userName(user) { add("userName", name) }
  }

  mutating func add(_ caller: Caller, names: NameBook) {
    add(user: caller.user, names: names)
    add("group", Int(caller.group))
    add("thread", Int(caller.thread))
  }

  /// The members of a refusal; `hidingRules` leaves out what the caller could not read.
  mutating func add(_ denial: Denial, names: NameBook, hidingRules: Bool) {
    let request = denial.request
    add("time", denial.time.text)
    add(denial.caller, names: names)
    add("operation", request.deed)
    add(path: request.path)
    if let newName = request.newName {
      add("newPath", bytes: (request.newNodePath ?? []).path(to: newName))
    }
    add("error", request.error.name)
    add("about", denial.verdict.role.word)
    let item = hidingRules && !denial.mayReadRules ? nil : denial.item
    add(ToldReason(denial.verdict, about: item, whose: denial.verdict.role.whose, names: names))
  }

  mutating func add(_ told: ToldReason) {
    add("reason", told.code)
    add("because", told.words)
    if let entry = told.entry { add("entry", entry) }
    if let text = told.entryText { add("entryText", text) }
  }

  mutating func add(path: [UInt8]) { add("path", bytes: path) }

  /// The old and the new value of each rule that differs.
  fileprivate mutating func add(difference change: PolicyChange, names: NameBook) {
    let (before, after) = (change.before, change.after)
    func pair(_ old: JSON, _ new: JSON) -> JSON {
      .object([JSON.Member("old", old), JSON.Member("new", new)])
    }
    func pair(_ old: String, _ new: String) -> JSON { pair(.string(old), .string(new)) }
    if before.mode != after.mode { add("mode", pair(before.mode.octal, after.mode.octal)) }
    if before.user != after.user || before.ownerGroup != after.ownerGroup {
      add("owner", pair(before.owner(names), after.owner(names)))
    }
    if before.group != after.group { add("fileGroup", pair("\(before.group)", "\(after.group)")) }
    if before.content.protection != after.content.protection {
      add("class", pair(before.content.word, after.content.word))
    }
    if before.flags != after.flags { add("flags", pair(before.flags.text, after.flags.text)) }
    if before.list != after.list {
      add("acl", pair(before.lines(names), after.lines(names)))
    }
  }
}

extension Mode {
  var octal: String {
    let digits = String(bits, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

extension Item.Content {
  fileprivate var word: String { protection?.word ?? "none" }
}

extension Item {
  fileprivate func owner(_ names: NameBook) -> String {
    AccessListText.print(ownerGroup.map { .group($0) } ?? .user(user), names: names)
  }

  fileprivate func lines(_ names: NameBook) -> JSON {
    guard let list else { return .array([]) }
    let lines = AccessListText.lines(
      list, for: ObjectKind(isDirectory: isDirectory), names: names, detail: .complete)
    return .array(lines.map { .string($0) })
  }
}

extension ObjectRole {
  /// For programs.
  var word: String {
    switch self {
    case .item: "item"
    case .parent: "parent"
    case .newParent: "newParent"
    case .victim: "victim"
    }
  }

  /// Whose rule it is, seen from the item that was asked about.
  var whose: String {
    switch self {
    case .item: "its"
    case .parent: "its directory's"
    case .newParent: "the new directory's"
    case .victim: "the replaced item's"
    }
  }
}
