// Answers to lookups that the kernel notes late: after the directory they are about was closed and looked at again.
//
// The stage of each round: a walker checks a name while the directory is open to everybody; the daemon answers with a
// time; the walker's thread is kept from its processor, so that the kernel cannot note the answer; the directory is closed,
// and its owner looks inside; then the walker runs on, and a stranger tries the way.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite(
    "Answers that are noted late", .timeLimit(.minutes(5)),
    .enabled(if: LateWalker.canBeHeld, "needs two processors and real-time priorities"))
  struct LateAnswerTests {
    @Test(
      "A directory that was closed stays closed, however late an answer from before arrives",
      arguments: Closing.allCases, ["", "cache=exclusive"])
    func closed(closing: Closing, options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let daemon = try #require(volume.daemon)
      let walker = try LateWalker(at: closing.start(volume.path), name: closing.name)
      defer {
        kill(daemon, SIGCONT)
        walker.end()
      }
      try closing.build(in: volume.path)
      // The daemon is to answer while the walker's processor is taken.
      for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task") {
        _ = lt_run_on_processor(CInt(thread) ?? 0, 0)
      }
      walker.begin()
      var (round, late) = (0, 0)
      // A thousand rounds where nobody else needs the processors; fewer on a busy machine.
      let deadline = Clock.monotonicNanoseconds &+ 5_000_000_000
      while round < 1_000, round < 20 || Clock.monotonicNanoseconds < deadline {
        round += 1
        try #require(closing.prepare(in: volume.path) == nil)
        if try walker.goesLate(stopping: daemon) { late += 1 }
        try #require(closing.close(in: volume.path) == nil)
        walker.runOn()
        let opened = TestUser.carol.run { Calls.open(closing.file(volume.path), O_RDONLY) }
        try #require(opened == .accessDenied, "\(closing), -o '\(options)', round \(round)")
      }
      #expect(late > round / 2, "\(late) of \(round) answers were late")
    }

    @Test("Names in a closed directory are not made stale again and again once the late answers have arrived")
    func settles() throws {
      let volume = try MountedVolume("cache=exclusive")
      defer { volume.remove() }
      let closing = Closing.mode
      try closing.build(in: volume.path)
      let beside = try volume.file("beside", 0, 0, 0o644)
      try #require(closing.prepare(in: volume.path) == nil)
      for user in [TestUser.bob, .carol] {
        #expect(user.run { Calls.status(closing.file(volume.path)).refusal } == nil)
      }
      try #require(closing.close(in: volume.path) == nil)
      _ = Calls.status(beside)
      let before = try volume.requests("lookup")
      let looks = 50
      for _ in 0..<looks {
        #expect(Calls.status(closing.inner(volume.path)).refusal == nil)
        #expect(Calls.status(beside).refusal == nil)
      }
      // One lookup for the name in the closed directory, none for the other, and the few of reading the status.
      #expect(try volume.requests("lookup") - before <= looks + 10)
    }
  }
}

/// A way to close `gate/inner/file` to strangers.
///
/// Not among them: to exchange the directory with one that is closed. That makes names stale when it opens, too, and then the
/// walker's name is looked up with the lock of its directory held, for which whoever closes it has to wait.
enum Closing: CaseIterable, Sendable {
  case mode, move

  /// Where the walker stands, and the name it checks, whose answer comes late.
  func start(_ mount: String) -> String { self == .mode ? mount + "/gate" : mount }
  var name: String { self == .mode ? "inner" : "gate" }

  func build(in mount: String) throws {
    for name in ["/gate", "/gate/inner", "/private"] {
      guard mkdir(mount + name, 0o755) == 0 else { throw TestFailure("mkdir \(name): \(Errno.current)") }
    }
    if let error = Calls.write(mount + "/gate/inner/file", "secret") { throw TestFailure("file: \(error)") }
    guard chmod(mount + "/private", 0o700) == 0 else { throw TestFailure("chmod: \(Errno.current)") }
    if let error = close(in: mount) { throw TestFailure("close: \(error)") }
  }

  /// Where `inner` is once it is closed.
  func inner(_ mount: String) -> String { mount + (self == .mode ? "/gate" : "/private/gate") + "/inner" }

  func file(_ mount: String) -> String { inner(mount) + "/file" }

  /// Closes; the owner then looks at what was checked.
  func close(in mount: String) -> Errno? {
    let result =
      self == .mode
      ? chmod(mount + "/gate", 0o700) : rename(mount + "/gate", mount + "/private/gate")
    return Calls.answer(result)
      ?? Calls.status(self == .mode ? inner(mount) : mount + "/private/gate").refusal
  }

  /// Opens, in such a way that the next walk has to check the name: the kernel knows it, and without a time.
  func prepare(in mount: String) -> Errno? {
    _ = Calls.status(inner(mount))
    return Calls.answer(
      self == .mode ? chmod(mount + "/gate", 0o755) : rename(mount + "/private/gate", mount + "/gate"))
  }
}

/// A thread that checks one name, and one that keeps it from its processor.
final class LateWalker: Sendable {
  /// Real-time priorities, on a processor that is left to them.
  static let canBeHeld: Bool = {
    guard Machine.canMount, sysconf(CInt(_SC_NPROCESSORS_ONLN)) > 1 else { return false }
    let result = TestUser.root.run { lt_hold_processor(1, 10) }
    return result == 0
  }()

  private let start: String
  private let name: String
  private let thread = Atomic<Int32>(0)
  private let asked = Atomic<Int>(0)
  private let answered = Atomic<Int>(0)
  private let isHeld = Atomic(false)
  private let holds = Atomic(false)
  private let isOver = Atomic(false)
  private let crowd = Mutex(Crowd())

  init(at start: String, name: String) throws {
    self.start = start
    self.name = name
  }

  func begin() {
    crowd.withLock { crowd in
      try? crowd.add { self.walk() }
      try? crowd.add { self.hold() }
    }
    LateWalker.await { self.thread.load(ordering: .acquiring) != 0 }
  }

  func end() {
    isHeld.store(false, ordering: .releasing)
    isOver.store(true, ordering: .releasing)
    crowd.withLock { $0.join() }
  }

  private func walk() {
    let directory = open(start, O_RDONLY | O_DIRECTORY)
    defer { close(directory) }
    _ = lt_run_on_processor(0, 1)
    TestUser.bob.become(umask: 0)
    thread.store(Int32(truncatingIfNeeded: lt_call(Int(SYS_gettid), 0, 0, 0, 0, 0, 0)), ordering: .releasing)
    var done = 0
    while !isOver.load(ordering: .acquiring) {
      let turn = asked.load(ordering: .acquiring)
      guard turn != done else { continue }
      var status = stat()
      fstatat(directory, name, &status, 0)
      // Asked for something else, so that its answer to the first counts as noted.
      fstatat(directory, "none\(turn)", &status, 0)
      done = turn
      answered.store(turn, ordering: .releasing)
    }
  }

  private func hold() {
    guard lt_hold_processor(1, 10) == 0 else { return }
    while !isOver.load(ordering: .acquiring) {
      guard isHeld.load(ordering: .acquiring) else {
        holds.store(false, ordering: .releasing)
        usleep(50)
        continue
      }
      holds.store(true, ordering: .releasing)
      while isHeld.load(ordering: .acquiring) {}
    }
  }

  /// Checks the name, and is answered while it cannot run; whether that came about.
  func goesLate(stopping daemon: Int32) throws -> Bool {
    kill(daemon, SIGSTOP)
    // The signal takes its time from thread to thread.
    LateWalker.await { LateWalker.isStopped(daemon) }
    let turn = asked.add(1, ordering: .acquiringAndReleasing).newValue
    let asks = LateWalker.await { self.state == .asleep }
    isHeld.store(true, ordering: .releasing)
    let holds = LateWalker.await { self.holds.load(ordering: .acquiring) }
    kill(daemon, SIGCONT)
    let isAnswered = LateWalker.await { self.state == .mayBeWorking }
    return asks && holds && isAnswered && answered.load(ordering: .acquiring) < turn
  }

  /// Lets the thread go on, and waits until it has.
  func runOn() {
    isHeld.store(false, ordering: .releasing)
    LateWalker.await { self.answered.load(ordering: .acquiring) == self.asked.load(ordering: .acquiring) }
  }

  private var state: ThreadActivity { ThreadActivity.of(thread: thread.load(ordering: .acquiring)) }

  private static func isStopped(_ process: Int32) -> Bool {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    return !threads.isEmpty
      && threads.allSatisfy { thread in
        let text = (try? Text.read("/proc/\(process)/task/\(thread)/stat")) ?? ""
        return text[text.index(after: text.lastIndex(of: ")") ?? text.startIndex)...].hasPrefix(" T")
      }
  }

  @discardableResult
  private static func await(_ condition: () -> Bool) -> Bool {
    let deadline = Clock.monotonicNanoseconds &+ 5_000_000_000
    while !condition() {
      guard Clock.monotonicNanoseconds < deadline else { return false }
      usleep(20)
    }
    return true
  }
}

extension MountedVolume {
  /// How often a kind of request has come, from the volume's own status.
  func requests(_ kind: String) throws -> Int {
    let text = try Text.read(path + "/.varve/status")
    guard let requests = text.firstRange(of: "\"requests\":"),
      let start = text[requests.upperBound...].firstRange(of: "\"\(kind)\":")
    else { return 0 }
    return Int(text[start.upperBound...].prefix { $0.isNumber }) ?? 0
  }
}
