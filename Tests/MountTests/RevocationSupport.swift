// A door that opens and shuts while many walk through it.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization

/// One way to give and take the way through a directory: `area/gate/inner/file`, as root.
enum Gate: String, CaseIterable, Sendable {
  case mode, list, owner, group, exchange, move
  /// By the options of the mount: whether lists count, and whether owners do.
  case lists, owners
  /// In a view: whether others than the owner may list, so that shown names are for them.
  case listing

  /// Those that are quickly turned.
  static let allCases: [Gate] = [.mode, .list, .owner, .group, .exchange, .move]

  /// Makes the tree, open.
  func build(in area: String) throws {
    for name in ["", "/gate", "/gate/inner", "/closed", "/closed/inner", "/private"] {
      guard mkdir(area + name, 0o755) == 0 else {
        throw TestFailure("mkdir \(area + name): \(Errno.current)")
      }
    }
    for name in ["/gate/inner/file", "/closed/inner/file"] {
      if let error = Calls.write(area + name, "secret") { throw TestFailure("\(name): \(error)") }
    }
    guard chmod(area + "/closed", 0o700) == 0, chmod(area + "/private", 0o700) == 0 else {
      throw TestFailure("chmod: \(Errno.current)")
    }
    switch self {
    case .owner: _ = chmod(area + "/gate", 0o700)
    case .group: _ = chmod(area + "/gate", 0o750)
    case .owners: _ = chmod(area + "/gate", 0o700)
    case .lists:
      let list = "user:1001 allow search\ngroup:everyone deny search"
      if let error = Attribute.set(area + "/gate", Attribute.list, list) {
        throw TestFailure("list: \(error)")
      }
    default: break
    }
    if let error = turn(open: true, in: area) { throw TestFailure("\(self): \(error)") }
  }

  /// Opens or shuts; when this has returned, it is so for everybody.
  func turn(open: Bool, in area: String) -> Errno? {
    let gate = area + "/gate"
    switch self {
    case .mode: return Calls.answer(chmod(gate, open ? 0o755 : 0o700))
    case .listing: return Calls.answer(chmod(gate, open ? 0o755 : 0o711))
    case .list:
      return open
        ? Attribute.remove(gate, Attribute.list)
        : Attribute.set(gate, Attribute.list, "user:1001 allow search\ngroup:everyone deny search")
    case .owner: return Calls.answer(chown(gate, open ? 1002 : 0, .max))
    case .group: return Calls.answer(chown(gate, .max, open ? 2009 : 0))
    case .exchange:
      let isOpen = ((try? Calls.status(gate).get())?.st_mode ?? 0) & 0o001 != 0
      if isOpen == open { return nil }
      let result = lt_renameat2(AT_FDCWD, gate, AT_FDCWD, area + "/closed", 2)
      return result < 0 ? Errno(rawValue: CInt(-result)) : nil
    case .lists, .owners:
      let words = self == .lists ? ("noacl", "acl") : ("noowners", "owners")
      let mount = String(area.prefix(upTo: area.lastIndex(of: "/") ?? area.endIndex))
      let change = ["remount", "-o", open ? words.0 : words.1, mount]
      // Only that it worked matters here.
      return (try? Program.run(Program.built("varve"), change).exit) == 0 ? nil : .inputOutput
    case .move:
      let away = area + "/private/gate"
      if open, Calls.status(gate).refusal == nil { return nil }
      return Calls.answer(open ? rename(away, gate) : rename(gate, away))
    }
  }

  /// What those meet who come too late.
  var refusal: Errno { self == .move || self == .listing ? .noSuchFile : .accessDenied }
}

/// What walkers and the one at the gate tell each other.
final class Passage: Sendable {
  /// Grows by one before each change and by one after it: 0 open, 1 shutting, 2 shut, 3 opening, 4 open...
  let phase = Atomic<Int>(0)
  let isOver = Atomic<Bool>(false)
  /// Calls that began and ended in one phase, while open and while shut.
  let passed = Atomic<Int>(0)
  let refused = Atomic<Int>(0)
  let failures: Mutex<[String]> = Mutex([])
  let gate: Gate
  let file: String
  /// Whether the file is in a directory behind the gate, which is walked through and listed as well.
  let isDeep: Bool

  init(_ gate: Gate, area: String) {
    self.gate = gate
    file = area + "/gate/inner/file"
    isDeep = true
  }

  /// `file`: what is behind the gate, called so, by the path on which it is walked to.
  init(_ gate: Gate, file: String, isDeep: Bool) {
    (self.gate, self.file, self.isDeep) = (gate, file, isDeep)
  }

  private var inner: String { String(file.dropLast(5)) }

  /// Everything a walker does, each by a path through the gate.
  private func call(_ turn: Int) -> (name: String, refusal: Errno?) {
    switch turn % 6 {
    case 0: ("stat", Calls.status(file).refusal)
    case 1: ("open", Calls.open(file, O_RDONLY))
    case 2: ("cat", Calls.read(file).refusal)
    case 3 where isDeep: ("list", Calls.list(inner).refusal)
    case 4: ("access", Calls.answer(access(file, R_OK)))
    // A name that is not there tells as much as one that is.
    case 5 where isDeep: ("missing", Calls.status(inner + "/missing").refusal)
    default: ("stat", Calls.status(file).refusal)
    }
  }

  /// Walks until it is over.
  ///
  /// Whoever starts after the gate was shut must not get through.
  func walk(from start: Int) {
    var turn = start
    while !isOver.load(ordering: .acquiring) {
      let before = phase.load(ordering: .sequentiallyConsistent)
      let (name, refusal) = call(turn)
      let after = phase.load(ordering: .sequentiallyConsistent)
      turn += 1
      guard before == after, before % 2 == 0 else { continue }
      let isOpen = before % 4 == 0
      let expected: Errno? = isOpen ? (name == "missing" ? .noSuchFile : nil) : gate.refusal
      switch (refusal == expected, isOpen) {
      case (true, true): passed.add(1, ordering: .relaxed)
      case (true, false): refused.add(1, ordering: .relaxed)
      default:
        let seen = refusal.map { "\($0)" } ?? "let through"
        failures.withLock {
          $0.append("\(gate) \(isOpen ? "open" : "shut"), phase \(before), \(name): \(seen)")
        }
        isOver.store(true, ordering: .releasing)
      }
    }
  }

  private var tries: Int { passed.load(ordering: .relaxed) + refused.load(ordering: .relaxed) }

  /// Waits until somebody has tried in the present phase.
  func awaitTry() throws {
    let start = tries
    let deadline = time(nil) + 20
    while tries == start, !isOver.load(ordering: .acquiring) {
      guard time(nil) < deadline else { throw TestFailure("\(gate): nobody walks any more") }
      sched_yield()
    }
  }

  /// Root walks and lists all the time, so that the kernel always knows every name.
  func warm() {
    var turn = 0
    while !isOver.load(ordering: .acquiring) {
      _ = call(turn)
      _ = Calls.list(String(inner.dropLast(6)))
      turn += 1
    }
  }
}

extension Passage {
  /// Opens and shuts the gate while others walk through it, by whatever path they go.
  ///
  /// `area`: where the gate is turned.
  func alternate(at area: String, rounds: Int, seed: UInt64) throws {
    let bob = TestUser.bob
    var crowd = Crowd()
    defer {
      isOver.store(true, ordering: .releasing)
      crowd.join()
    }
    for number in 0..<3 {
      try crowd.add {
        bob.become(umask: 0)
        self.walk(from: number * 2)
      }
    }
    try crowd.add { self.warm() }
    var dice = SeededDice(seed: seed)
    for _ in 0..<rounds {
      for isOpen in [false, true] {
        phase.add(1, ordering: .sequentiallyConsistent)
        if let error = gate.turn(open: isOpen, in: area) { throw TestFailure("\(gate): \(error)") }
        phase.add(1, ordering: .sequentiallyConsistent)
        // Sometimes at once, so that changes follow each other closely, sometimes after somebody has tried.
        if dice.next() % 2 == 0 { try awaitTry() }
        if isOver.load(ordering: .acquiring) { return }
      }
    }
  }
}

/// Threads that are all waited for.
struct Crowd: ~Copyable {
  private final class Member {
    private var thread: PlainThread?

    init(_ thread: consuming PlainThread) {
      self.thread = consume thread
    }

    func join() { thread.take()?.join() }
  }

  private var members: [Member] = []

  mutating func add(_ body: @escaping @Sendable () -> Void) throws {
    members.append(Member(try PlainThread(name: "crowd", body)))
  }

  mutating func join() {
    for member in members { member.join() }
    members = []
  }
}

/// Two threads that take turns.
final class Turns: Sendable {
  private let done = Atomic<Int>(0)

  func finish(_ turn: Int) { done.store(turn, ordering: .releasing) }

  /// Nobody has to wait any longer.
  func end() { finish(.max) }

  /// Waits until a turn is finished, but not for ever.
  func await(_ turn: Int) {
    let deadline = time(nil) + 20
    while done.load(ordering: .acquiring) < turn, time(nil) < deadline { usleep(1_000) }
  }
}

/// Numbers that come again with the same seed.
struct SeededDice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) ^ (state << 31)
  }
}
