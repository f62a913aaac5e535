// Seats at the kernel's ring that are refused or lost. What refuses here is a socket, which takes no commands.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Synchronization
import Testing

@testable import FUSEDoor

/// Whether this kernel and this process can have a ring at all.
private let hasRings: Bool = {
  do throws(Errno) {
    let ring = try CommandRing()
    try ring.start()
    return true
  } catch {
    return false
  }
}()

@Suite("Seats at the ring", .enabled(if: hasRings, "no io_uring here")) struct SeatTests {
  @Test("What the ring itself refuses is told apart from what a command ends with") func outcomes() throws {
    let connection = try Connection()
    let ring = try CommandRing()
    // Not started: the kernel takes nothing from it.
    let broken = unsafe ring.run(.probe, to: connection.theirs.rawValue, queue: 0, buffers: .none)
    #expect(broken == .broken(Errno(rawValue: EBADFD)))
    let other = try CommandRing()
    try other.start()
    for _ in 0..<3 {
      let refused = unsafe other.run(.probe, to: connection.theirs.rawValue, queue: 0, buffers: .none)
      #expect(refused == .failed(.unsupported))
    }
  }

  @Test("A queue that never had a seat and one that has lost its last are not the same") func losses() {
    let seating = Seating()
    for queue in [0, 0, 1, 2] { seating.sit(at: queue) }
    #expect(seating.description == "uring")
    #expect(seating.leave(0, because: .noMemory) == .bearable)
    #expect(seating.description == "uring, with fewer places than wanted: \(Errno.noMemory)")
    #expect(!seating.isServed(1))
    seating.served(1)
    #expect(seating.isServed(1) && !seating.isServed(0))
    #expect(seating.leave(0, because: .unsupported) == .neverServed)
    #expect(seating.description.hasPrefix("dev:"))
    #expect(seating.leave(1, because: .unsupported) == .fatal)
  }

  @Test("Seats that are refused: requests go to the device, status says so, and their crew counts them out")
  func refused() throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    let severed = Atomic(false)
    let workplace = Workplace(
      door: Door(volume), maxWrite: 1 << 17, sever: { severed.store(true, ordering: .relaxed) })
    let connection = try Connection()
    let seating = Seating()
    let seats = [try RingSeat(queue: 0), try RingSeat(queue: 0), try RingSeat(queue: 1)]
    let workers = try Workers.start(at: seats, workplace, session: connection.theirs.rawValue, seating)
    for unique in UInt64(1)...20 {
      try connection.send(
        requestBytes(Opcode.getattr.rawValue, unique: unique, bytes(of: fuse_getattr_in())))
      #expect(Array(connection.receive()[8..<16]) == bytes(of: unique))
    }
    var patience = 1_000
    while !seating.description.hasPrefix("dev: "), patience > 0 {
      usleep(5_000)
      patience -= 1
    }
    #expect(seating.description == "dev: the kernel's ring had to be given up: \(Errno.unsupported)")
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    workers.join()
    #expect(!severed.load(ordering: .relaxed) && workplace.firstFailure == nil)
  }

  @Test("A queue that was served and has nobody any more ends the session") func fatal() throws {
    let scratch = try Scratch()
    let severed = Atomic(0)
    let workplace = Workplace(
      door: Door(try scratch.volume()), maxWrite: 1 << 17,
      sever: { severed.add(1, ordering: .relaxed) })
    // The one end is closed: whoever goes to the device from here comes back at once.
    let connection = try Connection()
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    let device = Device(number: connection.theirs.rawValue)
    let seating = Seating()
    for _ in 0..<2 { seating.sit(at: 0) }
    seating.served(0)
    let first = Pulse()
    let began = ContinuousClock.now
    workplace.work(at: try RingSeat(queue: 0), device: device, first, seating)
    #expect(first.isGone && severed.load(ordering: .relaxed) == 0 && workplace.firstFailure == nil)
    #expect(ContinuousClock.now - began > .milliseconds(500), "asked for again, for a while")
    // One whose ring is started already, so that it cannot even ask.
    let seat = try RingSeat(queue: 0)
    try seat.ring.start()
    workplace.work(at: seat, device: device, Pulse(), seating)
    #expect(severed.load(ordering: .relaxed) == 1 && workplace.firstFailure != nil)
  }

  @Test("A seat whose ring cannot be started takes the wish for a ring back by another one")
  func withdrawal() throws {
    let scratch = try Scratch()
    let severed = Atomic(0)
    let workplace = Workplace(
      door: Door(try scratch.volume()), maxWrite: 1 << 17,
      sever: { severed.add(1, ordering: .relaxed) })
    let connection = try Connection()
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    let seating = Seating()
    seating.sit(at: 0)
    let seat = try RingSeat(queue: 0)
    try seat.ring.start()
    workplace.work(at: seat, device: Device(number: connection.theirs.rawValue), Pulse(), seating)
    // Heard by the device: so nobody waits, and the mount lives.
    #expect(severed.load(ordering: .relaxed) == 0 && seating.description.hasPrefix("dev: "))
  }

  @Test("Who has left is no free hand, and after the end nobody is hired") func crew() throws {
    let pulses: Mutex<[Pulse]> = Mutex([])
    let relief = Relief()
    var crew = Crew(spare: 1) { (pulse, _) throws(Errno) in
      pulses.withLock { $0.append(pulse) }
      return Member(try PlainThread {})
    }
    for _ in 0..<3 { try crew.hire(relief).join() }
    let members = pulses.withLock { $0 }
    members[0].begin(11)
    members[1].begin(12)
    #expect(crew.isAtEase, "one is free")
    members[2].leave()
    #expect(!crew.isAtEase)
    #expect(crew.needsHelp() == [])
    #expect(crew.needsHelp() == [11, 12])
    members[1].sawTheEnd()
    #expect(relief.isOver && crew.relieve(relief).isEmpty)
    #expect(throws: Errno.canceled) { try crew.hire(relief) }
  }
}
