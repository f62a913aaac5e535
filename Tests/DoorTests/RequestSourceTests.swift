// When a worker polls, and at which end it receives, over sockets that keep messages apart.

import CFUSE
import Glibc
import LinuxFiles
import Testing

@testable import FUSEDoor

@Suite("Where a worker receives requests") struct RequestSourceTests {
  /// A connection of a test that fails in the middle.
  final class SharedConnection {
    let ends: Connection
    init() throws { ends = try Connection() }
  }

  /// Two ends to read, one of which never blocks.
  final class Ends {
    let blocking: SharedConnection
    let nonBlocking: SharedConnection
    let polled: SharedDescriptor

    init() throws {
      let (first, second) = try (SharedConnection(), SharedConnection())
      polled = SharedDescriptor(try second.ends.theirs.duplicate())
      // Of the open file, hence of the duplicate as well.
      try #require(fcntl(polled.descriptor.rawValue, F_SETFL, O_NONBLOCK) == 0)
      (blocking, nonBlocking) = (first, second)
    }

    func source(_ polling: BusyPolling) -> RequestSource {
      RequestSource(Device(number: blocking.ends.theirs.rawValue), nonBlocking: polled, polling)
    }

    /// Puts a request at each end; answers whether the one at the polled end is received, which `from` must tell.
    func isPolled(_ source: borrowing RequestSource) throws -> Bool {
      try blocking.ends.send([1])
      try nonBlocking.ends.send([2])
      var buffer = RequestBuffer(dataSize: 4096)
      let (received, from) = source.receive(into: &buffer)
      #expect(received == .request)
      let isPolled = from.number == polled.descriptor.rawValue
      #expect(isPolled || from.number == blocking.ends.theirs.rawValue)
      var left: UInt8 = 0
      let other = isPolled ? blocking.ends.theirs.rawValue : polled.descriptor.rawValue
      let count = unsafe recv(other, &left, 1, CInt(MSG_DONTWAIT))
      #expect(count == 1 && left == (isPolled ? 1 : 2))
      return isPolled
    }
  }

  /// One that polls: all requests come from one thread, and soon.
  static func eagerPolling(caller: Int32 = 7) -> BusyPolling {
    let polling = BusyPolling(processors: 2)
    for turn in 0...UInt64(BusyPolling.streak + 1) {
      polling.wokeWorker(at: turn * 50_000 + 10_000)
      polling.answered(caller, at: turn * 50_000)
    }
    polling.wokeWorker(at: UInt64(BusyPolling.streak + 1) * 50_000 + 10_000)
    return polling
  }

  @Test("A worker that polls reads one end, a worker that sleeps the other, and each says which") func ends()
    throws
  {
    let ends = try Ends()
    #expect(try !ends.isPolled(ends.source(BusyPolling(processors: 2))), "no request was answered before")
    #expect(try ends.isPolled(ends.source(Self.eagerPolling())))
    let without = RequestSource(
      Device(number: ends.blocking.ends.theirs.rawValue), nonBlocking: nil, Self.eagerPolling())
    #expect(try !ends.isPolled(without))
  }

  @Test("Polling without a request ends in time, and then the worker sleeps") func polledForNothing() throws {
    let ends = try Ends()
    let polling = Self.eagerPolling()
    try ends.blocking.ends.send([1])
    var buffer = RequestBuffer(dataSize: 4096)
    let start = Clock.monotonicNanoseconds
    let (received, from) = ends.source(polling).receive(into: &buffer)
    #expect(received == .request && from.number == ends.blocking.ends.theirs.rawValue)
    #expect(Clock.monotonicNanoseconds - start >= BusyPolling.nanoseconds)
  }

  @Test("The end of the connection is seen by polling and by sleeping") func end() throws {
    let polled = try Ends()
    shutdown(polled.nonBlocking.ends.ours.rawValue, CInt(SHUT_RDWR))
    var buffer = RequestBuffer(dataSize: 4096)
    let (received, from) = polled.source(Self.eagerPolling()).receive(into: &buffer)
    #expect(received == .unmounted && from.number == polled.polled.descriptor.rawValue)
    let slept = try Ends()
    shutdown(slept.blocking.ends.ours.rawValue, CInt(SHUT_RDWR))
    #expect(slept.source(BusyPolling(processors: 1)).receive(into: &buffer).received == .unmounted)
  }

  @Test("One worker polls at a time, and none on a single processor") func alone() {
    let polling = Self.eagerPolling()
    #expect(polling.begin())
    #expect(!polling.begin())
    polling.end(caught: true)
    #expect(polling.begin())
    let single = BusyPolling(processors: 1)
    for turn in 0..<UInt64(100) {
      single.answered(7, at: turn)
      single.wokeWorker(at: turn)
      #expect(!single.begin())
    }
  }

  @Test("No worker polls while several threads send requests in turns") func turns() {
    let polling = BusyPolling(processors: 2)
    for turn in UInt64(0)..<200 {
      // Never as often in a row as it takes.
      polling.answered(turn % UInt64(BusyPolling.streak) == 0 ? 8 : 7, at: turn * 1_000)
      polling.wokeWorker(at: turn * 1_000 + 500)
      #expect(!polling.begin())
    }
  }

  @Test("Requests of the kernel itself change nothing") func kernel() {
    let polling = Self.eagerPolling()
    polling.answered(0)
    #expect(polling.begin())
  }

  @Test("A late request stops polling, an early one starts it again") func late() {
    let polling = Self.eagerPolling()
    polling.answered(7, at: 10_000_000)
    polling.wokeWorker(at: 10_000_000 + BusyPolling.nearMiss)
    #expect(!polling.begin())
    polling.answered(7, at: 20_000_000)
    polling.wokeWorker(at: 20_000_000 + BusyPolling.nearMiss - 1)
    #expect(polling.begin())
  }

  @Test("After failures polling becomes rare, and one success makes up for them") func rare() {
    let polling = Self.eagerPolling()
    var polled = 0
    for turn in UInt64(1)...1_000 {
      // Each request comes too late to be caught, but within the near miss.
      polling.answered(7, at: turn * 100_000)
      if polling.begin() {
        polled += 1
        polling.end(caught: false)
      }
      polling.wokeWorker(at: turn * 100_000 + 45_000)
    }
    #expect((7...30).contains(polled), "\(polled) of 1,000")
    while !polling.begin() {}
    polling.end(caught: true)
    #expect(polling.begin())
    polling.end(caught: false)
    #expect(!polling.begin())
    #expect(polling.begin(), "one turn is skipped, no more")
  }
}
