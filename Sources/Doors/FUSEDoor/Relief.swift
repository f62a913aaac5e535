// More hands when all are tied: a request that waits for a slow disk must not hold up the others.

import LayeredVolume
import LinuxFiles
import Synchronization

/// Whether a worker is busy, and whether with the same request as before.
final class Pulse: Sendable {
  /// Odd while a request is served.
  private let beats = Atomic<UInt64>(0)
  private let subject = Atomic<NodeID>(0)
  private let relief: Relief?

  init(_ relief: Relief? = nil) {
    self.relief = relief
  }

  /// A request about `node` begins.
  func begin(_ node: NodeID) {
    subject.store(node, ordering: .relaxed)
    // In one order with what `Relief` does before it sleeps: it sees this, or this sees it asleep.
    beats.add(1, ordering: .sequentiallyConsistent)
    relief?.notice()
  }

  func end() {
    beats.add(1, ordering: .releasing)
  }

  /// What the present request, or the last one, is about.
  var node: NodeID { subject.load(ordering: .relaxed) }

  var now: UInt64 { beats.load(ordering: .sequentiallyConsistent) }
}

/// A thread that is waited for.
final class Member: Sendable {
  private let thread: Mutex<PlainThread?>

  init(_ thread: consuming PlainThread) {
    self.thread = Mutex(thread)
  }

  func join() {
    thread.withLock { $0.take() }?.join()
  }
}

/// Workers of which any can serve what comes to one of them: all at the device, or those at one queue.
struct Crew: Sendable {
  /// Beyond these requests wait: each worker may come to hold a megabyte or two.
  private static let largest = 32

  private var pulses: [Pulse] = []
  /// What each beat was when it was looked at last.
  private var seen: [UInt64] = []
  /// How many are to be free when others are tied.
  private let spare: Int
  private let start: @Sendable (Pulse, _ tied: [NodeID]) throws(Errno) -> Member

  init(
    spare: Int, _ start: @escaping @Sendable (Pulse, _ tied: [NodeID]) throws(Errno) -> Member
  ) {
    self.spare = spare
    self.start = start
  }

  /// Adds a worker, who is told what those are at who do not get on.
  mutating func hire(_ relief: Relief, tied: [NodeID] = []) throws(Errno) -> Member {
    let pulse = Pulse(relief)
    let member = try start(pulse, tied)
    pulses.append(pulse)
    seen.append(0)
    return member
  }

  /// Whether nothing can go wrong before the next request begins.
  var isAtEase: Bool {
    let free = pulses.count { $0.now & 1 == 0 }
    return free == pulses.count || free >= spare
  }

  /// What those are at who have been at the same request since this was asked last, if they are so many that
  /// others are needed; else nothing.
  mutating func needsHelp() -> [NodeID] {
    let beats = pulses.map(\.now)
    defer { seen = beats }
    let tied = pulses.indices.filter { beats[$0] & 1 == 1 && beats[$0] == seen[$0] }
    guard pulses.count - tied.count < spare else { return [] }
    return tied.map { pulses[$0].node }
  }

  /// Hires as many as hang, for more of their kind may be on their way, and answers those who came.
  mutating func relieve(_ relief: Relief) -> [Member] {
    let tied = needsHelp()
    var helpers: [Member] = []
    for _ in tied.prefix(max(0, Crew.largest - pulses.count)) {
      // Without a thread to spare everything goes on as it was.
      guard let helper = try? hire(relief, tied: tied) else { break }
      helpers.append(helper)
    }
    return helpers
  }
}

/// Watches the crews, and gives one that is stuck more workers.
///
/// Those who were called to help stay: a disk that was slow once will be slow again. While enough
/// of each crew are free, this sleeps; the next request wakes it.
final class Relief: Sendable {
  private static let interval = 20

  private let isAsleep = Atomic(false)
  private let isOver = Atomic(false)
  private let bell = Bell()
  private let helpers: Mutex<[Member]> = Mutex([])

  /// A request begins.
  func notice() {
    guard isAsleep.load(ordering: .sequentiallyConsistent),
      isAsleep.exchange(false, ordering: .sequentiallyConsistent)
    else { return }
    bell.ring()
  }

  /// Watches until it is over.
  func watch(_ crews: consuming [Crew]) {
    while !isOver.load(ordering: .acquiring) {
      for index in crews.indices {
        let more = crews[index].relieve(self)
        helpers.withLock { $0 += more }
      }
      rest(crews)
    }
  }

  private func rest(_ crews: borrowing [Crew]) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let maySleep = crews.allSatisfy(\.isAtEase)
    // Whoever has found this asleep rings, and his ring must not cut the interval short.
    if maySleep || !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { bell.wait() }
    _ = bell.wait(milliseconds: Relief.interval)
  }

  /// Nobody needs help any more; the thread that watches ends.
  func end() {
    isOver.store(true, ordering: .releasing)
    bell.ring()
    bell.ring()
  }

  /// Waits for those who were called to help, after the thread that watches has ended.
  func join() {
    for helper in helpers.withLock({ $0 }) { helper.join() }
  }
}
