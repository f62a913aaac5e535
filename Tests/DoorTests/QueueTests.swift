// Whose request is served next.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Synchronization
import Testing

@testable import FUSEDoor

@Suite("Queues of requests") struct QueueTests {
  private static let ann = ShareOwner.user(1001)
  private static let ben = ShareOwner.user(1002)

  /// Queues with `readers` threads at the device.
  private func queues(usual: Int = 2, readers: Int = 3) -> RequestQueues {
    let queues = RequestQueues(usual: usual, unlimited: 0)
    for _ in 0..<readers { queues.join() }
    return queues
  }

  private func request(
    of user: UInt32, _ unique: UInt64 = 7, _ opcode: Opcode = .getattr, node: NodeID = 1, size: Int = 0
  ) throws -> HeldRequest {
    let connection = try Connection()
    try connection.send(
      requestBytes(
        opcode.rawValue, unique: unique, node: node, user: user, thread: 5, [UInt8](repeating: 0, count: size)
      ))
    var buffer = RequestBuffer(dataSize: 1 << 17)
    let device = Device(number: connection.theirs.rawValue)
    try #require(device.receive(into: &buffer) == .request)
    return try #require(buffer.withRequest { HeldRequest(buffer, $0, from: device) })
  }

  @Test("One user leaves a worker to others, and a user with nothing under way is served by any") func bound()
    throws
  {
    let queues = queues()
    #expect(queues.admit(Self.ann) && queues.admit(Self.ann))
    #expect(!queues.admit(Self.ann), "the third worker stays at the device")
    #expect(queues.admit(Self.ben))
    #expect(!queues.admit(Self.ben))
    #expect(queues.admit(.kernel))
  }

  @Test("While others send requests, half of the workers that were added are for one user") func others() {
    let queues = queues(readers: 9)
    #expect(queues.admit(Self.ben))
    #expect(queues.next(after: .request(Self.ben)) == nil)
    var admitted = 0
    while queues.admit(Self.ann) { admitted += 1 }
    #expect(admitted == 4)
    #expect(queues.admit(Self.ben))
  }

  @Test("A user who has been alone for a while has all workers but one") func alone() {
    let queues = queues(readers: 9)
    #expect(queues.admit(Self.ann))
    let end = Clock.monotonicNanoseconds + 10_000_000_000
    var admitted = 1
    while admitted < 8, Clock.monotonicNanoseconds < end {
      if queues.admit(Self.ann) { admitted += 1 } else { Clock.pause(milliseconds: 1) }
    }
    #expect(admitted == 8 && !queues.admit(Self.ann))
    #expect(queues.admit(Self.ben))
  }

  @Test("A user who is alone and served fast has the last worker too, and another user comes first again")
  func fast() {
    let queues = queues(usual: 2, readers: 3)
    #expect(queues.admit(Self.ann) && queues.admit(Self.ann) && !queues.admit(Self.ann))
    let end = Clock.monotonicNanoseconds + 10_000_000_000
    var isAdmitted = false
    while !isAdmitted, Clock.monotonicNanoseconds < end {
      // One ends, the next begins.
      #expect(queues.next(after: .request(Self.ann)) == nil && queues.admit(Self.ann))
      isAdmitted = queues.admit(Self.ann)
    }
    #expect(isAdmitted)
    for _ in 0..<3 { #expect(queues.next(after: .request(Self.ann)) == nil) }
    #expect(queues.admit(Self.ben) && queues.admit(Self.ann))
    #expect(!queues.admit(Self.ann))
  }

  @Test("The reader in reserve is at the device only when others may need it") func reserve() throws {
    let queues = queues(usual: 2, readers: 3)
    let isOver = Atomic(false)
    let thread = try PlainThread(name: "reserve") {
      while !isOver.load(ordering: .acquiring) { queues.restWhileNotNeeded() }
    }
    let reserve = JoinableThread(thread)
    defer {
      isOver.store(true, ordering: .releasing)
      queues.end()
      reserve.join()
    }
    var rests: Bool { queues.state.withLock { $0.reserveRests } }
    // A test that is held up for a moment looks like a slow disk: so it is tried again.
    let end = Clock.monotonicNanoseconds + 10_000_000_000
    var isLeftAlone = false
    while !isLeftAlone, Clock.monotonicNanoseconds < end {
      while !rests, Clock.monotonicNanoseconds < end {}
      _ = queues.admit(Self.ann)
      _ = queues.next(after: .request(Self.ann))
      let both = queues.admit(Self.ann) && queues.admit(Self.ann)
      isLeftAlone = both && rests
      if !isLeftAlone { for _ in 0..<2 { _ = queues.next(after: .request(Self.ann)) } }
    }
    #expect(isLeftAlone, "one user, served fast, needs no more readers")
    #expect(queues.next(after: .request(Self.ann)) == nil)
    #expect(queues.admit(Self.ben) && !rests, "nobody is at the device, and there are two users")
    #expect(queues.next(after: .request(Self.ann)) == nil && queues.next(after: .request(Self.ben)) == nil)
  }

  @Test("Requests that take long call the reader in reserve, also for one user") func reserveForSlow() throws
  {
    let queues = queues(usual: 2, readers: 3)
    queues.state.withLock { $0.reserveRests = true }
    #expect(queues.admit(Self.ann) && queues.next(after: .request(Self.ann)) == nil)
    let end = Clock.monotonicNanoseconds + 10_000_000_000
    while queues.state.withLock({ $0.othersCame(before: Clock.monotonicNanoseconds) }) {
      #expect(Clock.monotonicNanoseconds < end)
      Clock.pause(milliseconds: 1)
    }
    #expect(queues.admit(Self.ann) && queues.state.withLock { $0.reserveRests }, "one is still at the device")
    #expect(queues.admit(Self.ann) && !queues.state.withLock { $0.reserveRests })
    #expect(queues.bellOfReserve.wait(milliseconds: 0))
  }

  @Test("Those who wait are served user by user, each in their order") func turns() throws {
    let queues = queues(usual: 1, readers: 4)
    #expect(queues.admit(Self.ann) && queues.admit(Self.ben))
    for unique in UInt64(1)...3 { #expect(queues.keep(try request(of: 1001, unique))) }
    #expect(queues.next(after: .nothing) == nil, "one at a time")
    #expect(queues.keep(try request(of: 1002, 11)))
    #expect(queues.keep(try request(of: 1002, 12)))
    #expect(queues.areWaiting)
    var served: [UInt64] = []
    for owner in [Self.ann, Self.ben, Self.ann, Self.ben, Self.ann] {
      served.append(try #require(queues.next(after: .request(owner))).request.unique)
    }
    #expect(served == [1, 11, 2, 12, 3])
    #expect(!queues.areWaiting && queues.next(after: .request(Self.ann)) == nil)
    #expect(queues.next(after: .request(Self.ben)) == nil)
    #expect(queues.admit(Self.ann) && queues.admit(Self.ben), "nothing is left of them")
  }

  @Test("What holds a directory in the kernel is served before what holds nothing") func directories() throws
  {
    let queues = queues(usual: 1, readers: 3)
    #expect(queues.admit(Self.ann))
    #expect(queues.keep(try request(of: 1001, 1, .fsync)))
    #expect(queues.keep(try request(of: 1001, 2, .create)))
    #expect(queues.keep(try request(of: 1001, 3, .lookup)))
    var served: [UInt64] = []
    while let next = queues.next(after: .request(Self.ann)) { served.append(next.request.unique) }
    #expect(served == [2, 3, 1])
  }

  @Test("The last worker at the device serves none of those who wait") func lastReader() throws {
    let queues = queues(usual: 2, readers: 2)
    #expect(queues.admit(Self.ann))
    #expect(!queues.admit(Self.ann))
    #expect(queues.keep(try request(of: 1001, 1)))
    #expect(queues.next(after: .nothing) == nil)
    #expect(queues.admit(Self.ben))
    #expect(queues.next(after: .request(Self.ben)) == nil)
    #expect(queues.next(after: .request(Self.ann))?.request.unique == 1)
  }

  @Test("What one user lets wait is bounded, and others are not bound by it") func memory() throws {
    let queues = queues(usual: 1, readers: 2)
    let large = try request(of: 1001, 1, .write, size: 100_000)
    var kept = 0
    while queues.keep(large), kept < 10_000 { kept += 1 }
    #expect((1_000...3_000).contains(kept), "\(kept)")
    #expect(queues.keep(try request(of: 1002)))
  }

  @Test("What is taken out is served no more, and leaves the others their order and its room") func takenOut()
    throws
  {
    let queues = queues(usual: 1, readers: 4)
    #expect(queues.admit(Self.ann) && queues.admit(Self.ben))
    for unique in UInt64(1)...4 { #expect(queues.keep(try request(of: 1001, unique, .write, size: 100))) }
    #expect(queues.keep(try request(of: 1001, 5, .lookup)))
    #expect(queues.keep(try request(of: 1002, 6, .write, size: 100)))
    #expect(
      queues.park(try request(of: 1001, 7, .write, size: 100), Waiting(for: .names, after: nil, at: 0)) == nil
    )
    let taken = queues.takeOut { [2, 3, 6, 7].contains($0.unique) }
    #expect(Set(taken.map(\.unique)) == [2, 3, 6, 7] && taken.allSatisfy { $0.write != nil })
    #expect(queues.takeOut { [2, 3, 6, 7].contains($0.unique) }.isEmpty)
    queues.ended(.names)
    var served: [UInt64] = []
    while let next = queues.next(after: .request(Self.ann)) { served.append(next.request.unique) }
    #expect(served == [5, 1, 4])
    #expect(queues.state.withLock { state in state.shares.allSatisfy { $0.bytes == 0 && $0.parked == 0 } })
    #expect(!queues.areWaiting)
  }

  @Test("A delayed request comes when a file is closed, when names came or an index was made, and by itself")
  func delayed() throws {
    let queues = queues()
    let start = Clock.monotonicNanoseconds
    let waiting = { (delay: Delay) in
      Waiting(for: delay, after: Waiting(for: delay, after: nil, at: start &- 40_000_000), at: start)
    }
    #expect(queues.park(try request(of: 1001, 1, node: 5), waiting(.inUse)) == nil)
    #expect(queues.park(try request(of: 1001, 2, node: 6), waiting(.inUse)) == nil)
    #expect(queues.park(try request(of: 1002, 3), waiting(.names)) == nil)
    queues.released(6)
    #expect(queues.next(after: .nothing)?.request.unique == 2)
    queues.ended(.names)
    #expect(queues.next(after: .request(Self.ann))?.request.unique == 3)
    // Just begun to wait for an index, and far from its next attempt.
    #expect(queues.park(try request(of: 1002, 4), waiting(.building)) == nil)
    queues.ended(.names)
    queues.ended(.building)
    #expect(queues.next(after: .request(Self.ben))?.request.unique == 4)
    let last = try #require(queues.wait(after: .nothing))
    #expect(last.request.unique == 1 && last.waiting?.delay == .inUse)
    queues.end()
    #expect(queues.wait(after: .request(Self.ann)) == nil)
  }

  @Test("A request that is served can be asked whether it was interrupted, and no other was") func asked() {
    let queues = RequestQueues(usual: 2)
    #expect(!queues.isInterrupted(2))
    #expect(queues.takeInterrupted(2) == nil)
    #expect(queues.isInterrupted(2))
    #expect(!queues.isInterrupted(3))
  }

  @Test("A signal takes a request out that waits for a lease, and no other") func interrupted() throws {
    let queues = queues()
    let now = Clock.monotonicNanoseconds
    #expect(queues.park(try request(of: 1001, 1), Waiting(for: .leased, after: nil, at: now)) == nil)
    #expect(queues.park(try request(of: 1001, 2), Waiting(for: .names, after: nil, at: now)) == nil)
    #expect(queues.takeInterrupted(2) == nil)
    #expect(queues.takeInterrupted(1)?.unique == 1)
    #expect(queues.takeInterrupted(3) == nil)
    let late = Waiting(for: .leased, after: nil, at: now)
    #expect(queues.park(try request(of: 1001, 3), late) == .interrupted, "the signal came while it was tried")
  }

  @Test("Once the last delayed request has been taken out, nothing is waited for until another comes")
  func nothingDue()
    throws
  {
    let queues = queues()
    let number = Atomic<Int32>(0)
    let thread = try PlainThread(name: "delayed") {
      number.store(PlainThread.currentIdentifier, ordering: .releasing)
      while queues.wait(after: .nothing) != nil {}
    }
    let now = Clock.monotonicNanoseconds
    #expect(queues.park(try request(of: 1001, 1), Waiting(for: .leased, after: nil, at: now)) == nil)
    #expect(queues.takeInterrupted(1)?.unique == 1)
    // It was due soon: from then on the thread has nothing to do, and must not look again and again.
    usleep(50_000)
    var asleep = 0
    for _ in 0..<100 {
      if ThreadActivity.of(thread: number.load(ordering: .acquiring)) == .asleep { asleep += 1 }
      usleep(1_000)
    }
    #expect(asleep > 90)
    queues.end()
    thread.join()
  }

  @Test("A wait has an end, and the pauses grow with it") func waits() {
    let second: UInt64 = 1_000_000_000
    let inUse = Waiting(for: .inUse, after: nil, at: second)
    #expect(inUse.failure(at: second + 99_000_000) == nil)
    #expect(inUse.failure(at: second + 100_000_000) == .busy)
    #expect(inUse.pause(at: second) == 2_000_000)
    #expect(inUse.pause(at: second + 80_000_000) == 20_000_000)
    let lease = Waiting(for: .leased, after: inUse, at: 2 * second)
    #expect(lease.failure(at: 3 * second) == nil)
    #expect(lease.pause(at: 100 * second) == 250_000_000)
    #expect(lease.failure(at: 5_000 * second) == .again)
    let again = Waiting(for: .leased, after: lease, at: 7 * second)
    #expect(again.pause(at: 2 * second + 400_000_000) == 100_000_000, "counted from the beginning")
    // For names that are made of a directory, a minute.
    let building = Waiting(for: .building, after: nil, at: second)
    #expect(building.failure(at: 61 * second - 1) == nil)
    #expect(building.failure(at: 61 * second) == .again)
  }

  @Test("What gives something back, or expects no answer, is never kept") func neverQueued() throws {
    for opcode in Opcode.allCases {
      let bytes = requestBytes(opcode.rawValue, user: 1001, [])
      let isNeverQueued = bytes.withUnsafeBytes { unsafe Request(borrowing: $0)?.isNeverQueued }
      let exempt: [Opcode] = [
        .forget, .batchForget, .release, .releasedir, .flush, .interrupt, .notifyReply, .destroy,
      ]
      #expect(isNeverQueued == exempt.contains(opcode), "\(opcode)")
    }
  }
}
