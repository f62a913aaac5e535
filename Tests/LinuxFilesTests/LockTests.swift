import Glibc
import LinuxFiles
import Synchronization
import Testing

/// Plain numbers that many threads change, protected by nothing but the locks under test.
@safe private final class Unprotected: @unchecked Sendable {
  // Sendable: the test holds the stripe of an index whenever it touches that index; seeing a lost
  // update is its purpose.
  private let numbers: UnsafeMutablePointer<Int>

  init(count: Int) {
    unsafe numbers = .allocate(capacity: count)
    unsafe numbers.initialize(repeating: 0, count: count)
  }

  deinit { unsafe numbers.deallocate() }

  subscript(index: Int) -> Int {
    get { unsafe numbers[index] }
    set { unsafe numbers[index] = newValue }
  }
}

extension LinuxFilesTests {
  @Suite("Striped locks") struct LockTests {
    @Test("requests in any order and number lose no update and never wait for each other in a circle")
    func contention() throws {
      let (threads, rounds, stripes) = (4, 20_000, 8)
      let locks = try StripedLocks()
      let numbers = Unprotected(count: stripes)
      let expected = Mutex([Int](repeating: 0, count: stripes))
      let torn = Atomic(0)
      try runThreads(threads) { thread in
        var random = UInt64(thread + 1) &* 0x9E37_79B9_7F4A_7C15
        var added = [Int](repeating: 0, count: stripes)
        for _ in 0..<rounds {
          func next() -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33)
          }
          let (first, second, third, read) = (
            next() % stripes, next() % stripes, next() % stripes, next() % stripes
          )
          // The same stripes again by other numbers; the reader's may be among the writers'.
          let requests = LockRequests(
            .exclusive(first), .shared(read), .exclusive(second + 1_024), .exclusive(third),
            .shared(first - 2_048), .exclusive(second))
          try? locks.holding(requests) { () throws(Errno) in
            let before = numbers[read]
            for index in [first, second, third] {
              numbers[index] += 1
              added[index] += 1
            }
            let own = [first, second, third].count { $0 == read }
            if numbers[read] != before + own { torn.add(1, ordering: .relaxed) }
          }
        }
        expected.withLock { total in for index in 0..<stripes { total[index] += added[index] } }
      }
      let wanted = expected.withLock { $0 }
      #expect((0..<stripes).map { numbers[$0] } == wanted)
      #expect(wanted.reduce(0, +) == threads * rounds * 3)
      #expect(torn.load(ordering: .relaxed) == 0)
    }

    @Test("readers share a stripe, a writer does not, and asked for twice it is held in the stronger way")
    func modes() throws {
      let locks = try StripedLocks()
      let inside = Atomic(0)
      // Both readers must be inside at once for either to leave.
      try runThreads(2) { _ in
        try? locks.holding(.shared(5)) { () throws(Errno) in
          inside.add(1, ordering: .sequentiallyConsistent)
          while inside.load(ordering: .sequentiallyConsistent) < 2 { sched_yield() }
        }
      }
      let alone = Atomic(0)
      let crowded = Atomic(0)
      try runThreads(4) { thread in
        for _ in 0..<5_000 {
          let requests =
            thread % 2 == 0
            ? LockRequests(.shared(9), .exclusive(9)) : LockRequests(.exclusive(9), .shared(9))
          try? locks.holding(requests) { () throws(Errno) in
            if alone.add(1, ordering: .sequentiallyConsistent).newValue != 1 {
              crowded.add(1, ordering: .relaxed)
            }
            alone.subtract(1, ordering: .sequentiallyConsistent)
          }
        }
      }
      #expect(crowded.load(ordering: .relaxed) == 0)
    }

    @Test("a failure inside lets all locks go")
    func failures() throws {
      let locks = try StripedLocks()
      let requests = LockRequests(.exclusive(1), .exclusive(2), .shared(3))
      for _ in 0..<3 {
        expectFailure(.noSpace) { () throws(Errno) in
          try locks.holding(requests) { () throws(Errno) in throw .noSpace }
        }
      }
      let value = try locks.holding(LockRequests(.exclusive(3), .exclusive(2), .exclusive(1))) {
        () throws(Errno) in 7
      }
      #expect(value == 7)
    }
  }
}

/// Runs `body` on `count` threads at once and waits for all of them.
private func runThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  guard count > 0 else { return }
  let thread = try PlainThread(name: "worker") { body(count - 1) }
  let others = Result { try runThreads(count - 1, body) }
  thread.join()
  try others.get()
}
