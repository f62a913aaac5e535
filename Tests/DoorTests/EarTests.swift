// How long a worker listens, and where, over sockets that keep messages apart.

import CFUSE
import Glibc
import LinuxFiles
import Testing

@testable import FUSEDoor

@Suite("A worker's ear") struct EarTests {
  /// A connection of a test that fails in the middle.
  final class SharedConnection {
    let ends: Connection
    init() throws { ends = try Connection() }
  }

  /// Two ends to listen at; the eager one never blocks.
  final class Ends {
    let patient: SharedConnection
    let eager: SharedConnection
    let listening: SharedDescriptor

    init() throws {
      let (first, second) = try (SharedConnection(), SharedConnection())
      listening = SharedDescriptor(try second.ends.theirs.duplicate())
      // Of the open file, hence of the duplicate as well.
      try #require(fcntl(listening.descriptor.rawValue, F_SETFL, O_NONBLOCK) == 0)
      (patient, eager) = (first, second)
    }

    func ear(_ vigil: Vigil) -> Ear {
      Ear(Device(number: patient.ends.theirs.rawValue), eager: listening, vigil)
    }

    /// Puts a request at each end and says whether the ear takes the one at the eager end; it must say where it was.
    func isHeardAwake(_ ear: borrowing Ear) throws -> Bool {
      try patient.ends.send([1])
      try eager.ends.send([2])
      var buffer = RequestBuffer(dataSize: 4096)
      let (received, from) = ear.receive(into: &buffer)
      #expect(received == .request)
      let isAwake = from.number == listening.descriptor.rawValue
      #expect(isAwake || from.number == patient.ends.theirs.rawValue)
      var left: UInt8 = 0
      let other = isAwake ? patient.ends.theirs.rawValue : listening.descriptor.rawValue
      let count = unsafe recv(other, &left, 1, CInt(MSG_DONTWAIT))
      #expect(count == 1 && left == (isAwake ? 1 : 2))
      return isAwake
    }
  }

  /// A right that is worth using: one thread asks, and soon.
  static func keenVigil(caller: Int32 = 7) -> Vigil {
    let vigil = Vigil(processors: 2)
    for turn in 0...UInt64(Vigil.streak + 1) {
      vigil.came(at: turn * 50_000 + 10_000)
      vigil.answered(caller, at: turn * 50_000)
    }
    vigil.came(at: UInt64(Vigil.streak + 1) * 50_000 + 10_000)
    return vigil
  }

  @Test("Who is awake hears what comes to the eager end, and says so; who sleeps hears the other") func ends()
    throws
  {
    let ends = try Ends()
    #expect(try !ends.isHeardAwake(ends.ear(Vigil(processors: 2))), "nobody has asked before")
    #expect(try ends.isHeardAwake(ends.ear(Self.keenVigil())))
    let without = Ear(Device(number: ends.patient.ends.theirs.rawValue), eager: nil, Self.keenVigil())
    #expect(try !ends.isHeardAwake(without))
  }

  @Test("A vigil takes its time, ends, and lets the right go") func inVain() throws {
    let ends = try Ends()
    let vigil = Self.keenVigil()
    try ends.patient.ends.send([1])
    var buffer = RequestBuffer(dataSize: 4096)
    let start = Clock.monotonicNanoseconds
    let (received, from) = ends.ear(vigil).receive(into: &buffer)
    #expect(received == .request && from.number == ends.patient.ends.theirs.rawValue)
    #expect(Clock.monotonicNanoseconds - start >= Vigil.nanoseconds)
  }

  @Test("Of an end that is over the ear says so, awake and asleep") func end() throws {
    let awake = try Ends()
    shutdown(awake.eager.ends.ours.rawValue, CInt(SHUT_RDWR))
    var buffer = RequestBuffer(dataSize: 4096)
    let (received, from) = awake.ear(Self.keenVigil()).receive(into: &buffer)
    #expect(received == .unmounted && from.number == awake.listening.descriptor.rawValue)
    let asleep = try Ends()
    shutdown(asleep.patient.ends.ours.rawValue, CInt(SHUT_RDWR))
    #expect(asleep.ear(Vigil(processors: 1)).receive(into: &buffer).received == .unmounted)
  }

  @Test("One worker at a time, and none where there is one processor") func alone() {
    let vigil = Self.keenVigil()
    #expect(vigil.begin())
    #expect(!vigil.begin())
    vigil.end(heard: true)
    #expect(vigil.begin())
    let single = Vigil(processors: 1)
    for turn in 0..<UInt64(100) {
      single.answered(7, at: turn)
      single.came(at: turn)
      #expect(!single.begin())
    }
  }

  @Test("Threads by turns: nobody stays awake") func turns() {
    let vigil = Vigil(processors: 2)
    for turn in UInt64(0)..<200 {
      // Never as often in a row as it takes.
      vigil.answered(turn % UInt64(Vigil.streak) == 0 ? 8 : 7, at: turn * 1_000)
      vigil.came(at: turn * 1_000 + 500)
      #expect(!vigil.begin())
    }
  }

  @Test("What the kernel asks by itself changes nothing") func kernel() {
    let vigil = Self.keenVigil()
    vigil.answered(0)
    #expect(vigil.begin())
  }

  @Test("A request that comes late ends the vigils, one that comes soon begins them again") func late() {
    let vigil = Self.keenVigil()
    vigil.answered(7, at: 10_000_000)
    vigil.came(at: 10_000_000 + Vigil.nearlyHeard)
    #expect(!vigil.begin())
    vigil.answered(7, at: 20_000_000)
    vigil.came(at: 20_000_000 + Vigil.nearlyHeard - 1)
    #expect(vigil.begin())
  }

  @Test("Vigils in vain become rare, and one that was not makes up for them") func rare() {
    let vigil = Self.keenVigil()
    var kept = 0
    for turn in UInt64(1)...1_000 {
      // Always a little too late for a vigil, and always soon enough to give it hope.
      vigil.answered(7, at: turn * 100_000)
      if vigil.begin() {
        kept += 1
        vigil.end(heard: false)
      }
      vigil.came(at: turn * 100_000 + 45_000)
    }
    #expect((7...30).contains(kept), "\(kept) of 1,000")
    while !vigil.begin() {}
    vigil.end(heard: true)
    #expect(vigil.begin())
    vigil.end(heard: false)
    #expect(!vigil.begin())
    #expect(vigil.begin(), "one left out, no more")
  }
}
