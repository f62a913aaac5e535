// The control socket without a volume: what peers may do to it, and what they may not.

import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import ControlDoor

/// A server that answers every line with its own words, in a directory of its own.
final class Post: Sendable {
  let base: String
  let directory: SharedDescriptor
  let asked = Atomic(0)
  private static let name = Array("post".utf8)

  init(
    _ limits: ControlLimits = ControlLimits(), pause: UInt32 = 0,
    answer: (@Sendable (_ line: [UInt8], _ peer: ControlPeer) -> String)? = nil
  ) throws {
    var template = Array("/tmp/varve-control-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    directory = SharedDescriptor(try Descriptor.directory(atPath: base))
    let directory = directory
    let socket = try FileName.with(Post.name) { name throws(Errno) in
      try ListeningSocket(name, in: directory.descriptor, mode: 0o600)
    }
    let post = Box(self)
    try ControlServer.start(socket, limits) { line, peer in
      post.value?.asked.add(1, ordering: .relaxed)
      if pause > 0 { Clock.pause(milliseconds: pause) }
      if let answer { return Array(answer(line, peer).utf8) }
      return line + Array(" for \(peer.identity.user)".utf8)
    }
  }

  func connect() throws -> LocalStream {
    let directory = directory
    return try FileName.with(Post.name) { name throws(Errno) in
      try LocalStream(to: name, in: directory.descriptor)
    }
  }

  /// What comes back for a text that is sent as it is.
  func ask(_ text: [UInt8]) throws -> String {
    let stream = try connect()
    try stream.send(text, deadline: soon)
    return String(decoding: try stream.receiveLastLine(limit: 1 << 20, deadline: soon), as: UTF8.self)
  }

  deinit {
    unlink(base + "/post")
    rmdir(base)
  }
}

/// A weak reference that a closure of another thread may hold.
private final class Box: Sendable {
  private let held: Mutex<Weak>

  private struct Weak {
    weak var post: Post?
  }

  init(_ post: Post) {
    held = Mutex(Weak(post: post))
  }

  var value: Post? { held.withLock { $0.post } }
}

private var soon: UInt64 { Clock.monotonicNanoseconds + 10_000_000_000 }

/// What the other side threw at us, or nothing.
private func failure(_ body: () throws -> Void) -> Errno? {
  do { try body() } catch { return error as? Errno }
  return nil
}

@Suite("The control socket", .timeLimit(.minutes(1))) struct SocketTests {
  @Test func answersOneLineWithOneLineAndKnowsWhoAsks() throws {
    let post = try Post()
    #expect(try post.ask(Array("hello\n".utf8)) == "hello for \(geteuid())")
    // What is not text travels as well as text.
    let stream = try post.connect()
    try stream.send([0xFF, 0, 0xC3, 0x0A], deadline: soon)
    let line = try stream.receiveLine(limit: 100, deadline: soon)
    #expect(Array(line.prefix(3)) == [0xFF, 0, 0xC3])
    let peer = try stream.peer
    #expect(peer.user == geteuid())
    #expect(peer.process == getpid())
  }

  @Test func knowsThePeersGroups() throws {
    let post = try Post()
    let stream = try post.connect()
    var groups = [gid_t](repeating: 0, count: 65_536)
    let count = getgroups(65_536, &groups)
    #expect(try Set(stream.peer.groups ?? [1]) == Set(groups[..<Int(count)]))
  }

  @Test func aSecondRequestOnTheSameConnectionIsNotAnswered() throws {
    let post = try Post()
    let stream = try post.connect()
    try stream.send(Array("one\ntwo\n".utf8), deadline: soon)
    #expect(try stream.receiveLine(limit: 100, deadline: soon).starts(with: "one".utf8))
    #expect(failure { _ = try stream.receiveLine(limit: 100, deadline: soon) } == .noData)
    #expect(post.asked.load(ordering: .relaxed) == 1)
  }

  @Test func aRequestMayBeAsLongAsTheLimitAndNoLonger() throws {
    let post = try Post()
    let longest = [UInt8](repeating: 0x61, count: 65_536)
    #expect(try post.ask(longest + [0x0A]).utf8.count > 65_536)
    #expect(failure { _ = try post.ask(longest + [0x61, 0x0A]) } != nil)
    #expect(post.asked.load(ordering: .relaxed) == 1)
    #expect(try post.ask(Array("still there\n".utf8)) == "still there for \(geteuid())")
  }

  @Test func aPeerThatGoesAwayInTheMiddleHarmsNobody() throws {
    let post = try Post()
    for text in ["", "half", "whole\n"] {
      let stream = try post.connect()
      try stream.send(Array(text.utf8), deadline: soon)
    }
    #expect(try post.ask(Array("next\n".utf8)) == "next for \(geteuid())")
  }

  @Test func whoKeepsSilentIsLeftAfterAWhile() throws {
    var limits = ControlLimits()
    limits.patience = 100_000_000
    let post = try Post(limits)
    let silent = try post.connect()
    let slow = try post.connect()
    // A byte now and then does not buy more time.
    let start = Clock.monotonicNanoseconds
    var isCut = false
    while !isCut, Clock.monotonicNanoseconds - start < 5_000_000_000 {
      isCut = failure { try slow.send([0x61], deadline: soon) } != nil
      Clock.pause(milliseconds: 20)
    }
    #expect(isCut)
    #expect(failure { _ = try silent.receiveLine(limit: 10, deadline: soon) } == .noData)
    #expect(post.asked.load(ordering: .relaxed) == 0)
  }

  @Test func whoAsksOneThingAfterAnotherIsNeverTurnedAway() throws {
    var limits = ControlLimits()
    limits.peers = 1
    let post = try Post(limits)
    for count in 1...2_000 {
      #expect(try post.ask(Array("\(count)\n".utf8)) == "\(count) for \(geteuid())")
    }
  }

  @Test func silentPeersDoNotKeepOthersOut() throws {
    let post = try Post()
    let first = try post.connect()
    let second = try post.connect()
    #expect(try post.ask(Array("me\n".utf8)) == "me for \(geteuid())")
    #expect(try first.peer.user == second.peer.user)
  }

  @Test func thereAreOnlySoManyPeersAtOnce() throws {
    var limits = ControlLimits()
    limits.peers = 2
    limits.peersOfOneUser = 2
    let post = try Post(limits, pause: 300)
    let answers = Mutex(0)
    var threads = 0
    for _ in 0..<6 {
      _ = try PlainThread {
        // Those who are turned away get no answer.
        if (try? post.ask(Array("x\n".utf8))) != nil { answers.withLock { $0 += 1 } }
        answers.withLock { $0 += 100 }
      }
      threads += 1
    }
    while answers.withLock({ $0 }) < 100 * threads { Clock.pause(milliseconds: 10) }
    let answered = answers.withLock { $0 } % 100
    #expect((1...2).contains(answered))
    #expect(post.asked.load(ordering: .relaxed) == answered)
  }
}

@Suite("Connections to the control socket") struct SlotTests {
  @Test func nobodyCanShutRootOut() {
    var slots = ConnectionSlots(ControlLimits())
    var taken = 0
    for user in UInt32(1)...100 where slots.take(user) { taken += 1 }
    #expect(taken == 16)
    let roots = (0..<40).filter { _ in slots.take(0) }.count
    #expect(roots == 16)
    slots.giveBack(1)
    let isIn = slots.take(0)
    #expect(isIn)
  }

  @Test func twoUsersDoNotKeepAThirdOut() {
    var slots = ConnectionSlots(ControlLimits())
    for user in UInt32(1_000)...1_001 { for _ in 0..<20 where slots.take(user) {} }
    let third = slots.take(1_002)
    #expect(third)
  }

  @Test func oneUserLeavesRoomForOthers() {
    var slots = ConnectionSlots(ControlLimits())
    let first = (0..<20).filter { _ in slots.take(1_000) }.count
    #expect(first == 4)
    let other = slots.take(1_001)
    #expect(other)
    for _ in 0..<4 { slots.giveBack(1_000) }
    let again = (0..<20).filter { _ in slots.take(1_000) }.count
    #expect(again == 4)
  }
}
