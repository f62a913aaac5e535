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

    /// Puts a request at each end and says which one the ear takes, which must also be the one it names.
    func isHeardAwake(_ ear: inout Ear) throws -> Bool {
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

    /// Answers one program until it is worth listening; a machine that stops for a moment does not matter.
    func makeKeen(_ ear: inout Ear, caller: Int32 = 7) throws {
      for _ in 0..<100 {
        for _ in 0...Vigil.streak {
          ear.hasAnswered(caller)
        }
        if try isHeardAwake(&ear) { return ear.hasAnswered(caller) }
        ear.hasAnswered(caller)
      }
      Issue.record("a program that asks without a pause is never listened for")
    }
  }

  @Test("Who has just answered one program often stays awake for it") func keen() throws {
    let ends = try Ends()
    var ear = ends.ear(Vigil(processors: 2))
    #expect(try !ends.isHeardAwake(&ear), "nobody has asked before")
    try ends.makeKeen(&ear)
  }

  @Test("Two programs by turns: nobody stays awake") func turns() throws {
    let ends = try Ends()
    var ear = ends.ear(Vigil(processors: 2))
    for turn in Int32(0)..<200 {
      ear.hasAnswered(turn & 1 + 7)
      #expect(try !ends.isHeardAwake(&ear))
    }
  }

  @Test("Requests of another program that another worker answers count, too") func others() throws {
    let ends = try Ends()
    let vigil = Vigil(processors: 2)
    var ear = ends.ear(vigil)
    for _ in 0..<200 {
      ear.hasAnswered(7)
      _ = vigil.isSameCaller(8)
      #expect(try !ends.isHeardAwake(&ear))
    }
  }

  @Test("What the kernel asks by itself changes nothing") func kernel() throws {
    let ends = try Ends()
    let vigil = Vigil(processors: 2)
    var ear = ends.ear(vigil)
    try ends.makeKeen(&ear)
    for _ in 0..<100 {
      ear.hasAnswered(0)
      if try ends.isHeardAwake(&ear) { return }
      try ends.makeKeen(&ear)
    }
    Issue.record("a request of the kernel's own ends the vigils")
  }

  @Test("One worker at a time, and none where there is one processor") func alone() throws {
    let ends = try Ends()
    let vigil = Vigil(processors: 2)
    var ear = ends.ear(vigil)
    try ends.makeKeen(&ear)
    #expect(vigil.begin())
    #expect(!vigil.begin())
    #expect(try !ends.isHeardAwake(&ear))
    vigil.end()
    try ends.makeKeen(&ear)
    let single = Vigil(processors: 1)
    #expect(!single.begin())
  }

  @Test("A vigil for nothing ends, is let go, and is not kept again at once") func inVain() throws {
    let ends = try Ends()
    let vigil = Vigil(processors: 2)
    var ear = ends.ear(vigil)
    try ends.makeKeen(&ear)
    usleep(1_000)
    try ends.patient.ends.send([1])
    var buffer = RequestBuffer(dataSize: 4096)
    let start = Clock.monotonicNanoseconds
    let (received, from) = ear.receive(into: &buffer)
    #expect(received == .request && from.number == ends.patient.ends.theirs.rawValue)
    #expect(Clock.monotonicNanoseconds - start >= Vigil.nanoseconds)
    #expect(vigil.begin(), "the right is free again")
    vigil.end()
    ear.hasAnswered(7)
    #expect(try !ends.isHeardAwake(&ear), "the last request came late")
  }

  @Test("The end of the mount is heard at either end") func end() throws {
    let ends = try Ends()
    var ear = ends.ear(Vigil(processors: 2))
    try ends.makeKeen(&ear)
    shutdown(ends.eager.ends.ours.rawValue, CInt(SHUT_RDWR))
    shutdown(ends.patient.ends.ours.rawValue, CInt(SHUT_RDWR))
    var buffer = RequestBuffer(dataSize: 4096)
    #expect(ear.receive(into: &buffer).received == .unmounted)
    var asleep = ends.ear(Vigil(processors: 1))
    #expect(asleep.receive(into: &buffer).received == .unmounted)
  }
}
