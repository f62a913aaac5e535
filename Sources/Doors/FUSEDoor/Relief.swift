// More hands when all are tied: a request that waits for a slow disk must not hold up the others.

import LinuxFiles
import Synchronization

/// Whether a worker is busy, and whether with the same request as before.
final class Pulse: Sendable {
  /// Odd while a request is served.
  private let beats = Atomic<UInt64>(0)
  private let relief: Relief?

  init(_ relief: Relief? = nil) {
    self.relief = relief
  }

  func begin() {
    // In one order with what `Relief` does before it sleeps: it sees this, or this sees it asleep.
    beats.add(1, ordering: .sequentiallyConsistent)
    relief?.notice()
  }

  func end() {
    beats.add(1, ordering: .releasing)
  }

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
  /// Beyond these the requests wait: whoever makes so many that hang may wait for them.
  private static let largest = 64

  private var pulses: [Pulse] = []
  /// What each beat was when it was looked at last.
  private var seen: [UInt64] = []
  private let start: @Sendable (Pulse) throws(Errno) -> Member

  init(_ start: @escaping @Sendable (Pulse) throws(Errno) -> Member) {
    self.start = start
  }

  mutating func hire(_ relief: Relief) throws(Errno) -> Member {
    let pulse = Pulse(relief)
    let member = try start(pulse)
    pulses.append(pulse)
    seen.append(0)
    return member
  }

  var count: Int { pulses.count }

  var hasFreeHands: Bool { pulses.contains { $0.now & 1 == 0 } }

  /// Whether everybody has been at the same request since this was asked last.
  mutating func isStuck() -> Bool {
    let beats = pulses.map(\.now)
    defer { seen = beats }
    return beats == seen && beats.allSatisfy { $0 & 1 == 1 } && pulses.count < Crew.largest
  }
}

/// Watches the crews, and gives one that is stuck more workers.
///
/// Those who were called to help stay: a disk that was slow once will be slow again. While some worker of
/// each crew is free, this sleeps; the next request wakes it.
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
      for index in crews.indices where crews[index].isStuck() {
        // As many as there are: where some hang, more may be on their way.
        for _ in 0..<crews[index].count {
          // Without a thread to spare everything goes on as it was.
          guard let helper = try? crews[index].hire(self) else { break }
          helpers.withLock { $0.append(helper) }
        }
      }
      rest(crews)
    }
  }

  private func rest(_ crews: borrowing [Crew]) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let maySleep = crews.allSatisfy(\.hasFreeHands)
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
