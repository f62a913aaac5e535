// Workers and notices over a socket that keeps messages apart, as the device does.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Testing

@testable import FUSEDoor

/// Two ends of a connection; `ours` plays the kernel.
struct Connection: ~Copyable {
  let ours: Descriptor
  let theirs: Descriptor

  init() throws {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_SEQPACKET.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Errno.current }
    ours = Descriptor(adopting: ends[0])
    theirs = Descriptor(adopting: ends[1])
  }

  func send(_ bytes: [UInt8]) throws {
    let sent = unsafe bytes.withUnsafeBytes { unsafe Glibc.send(ours.rawValue, $0.baseAddress, $0.count, 0) }
    try #require(sent == bytes.count)
  }

  /// The next message; empty when the other side has closed.
  func receive(_ flags: CInt = 0) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe recv(ours.rawValue, $0.baseAddress, $0.count, flags)
    }
    return Array(bytes.prefix(max(0, count)))
  }
}

@Suite("The device") struct DeviceTests {
  @Test("Workers answer until the connection ends", arguments: [1, 3]) func workers(_ count: Int) throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    let loop = RequestLoop(door: Door(volume), maxWrite: 1 << 17)
    let connection = try Connection()
    let workers = try Workers.start(
      count, running: loop, session: connection.theirs.rawValue, clonesDevice: false)
    for unique in UInt64(1)...50 {
      // Too short to be a request, one that is not answered, and one that is.
      try connection.send([1, 2, 3])
      try connection.send(requestBytes(Opcode.forget.rawValue, node: 99, bytes(of: UInt64(1))))
      try connection.send(
        requestBytes(Opcode.getattr.rawValue, unique: unique, bytes(of: fuse_getattr_in())))
      let reply = connection.receive()
      #expect(reply.count == 16 + 104)
      #expect(Array(reply[8..<16]) == bytes(of: unique))
    }
    let counts = loop.door.counters.snapshot
    #expect(counts.first { $0.opcode == .getattr }?.count == 50)
    #expect(counts.first { $0.opcode == .forget }?.count == 50)
    // Our end goes first; the workers see the end of the connection.
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    workers.join()
    #expect(loop.firstFailure == nil)
  }

  @Test("A reply nobody takes is counted and taken back") func undelivered() throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    let loop = RequestLoop(door: Door(volume), maxWrite: 1 << 17)
    // A pipe can be read but not answered.
    var ends: [CInt] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    let reading = Descriptor(adopting: ends[0])
    let writing = Descriptor(adopting: ends[1])
    let request = requestBytes(Opcode.opendir.rawValue, bytes(of: fuse_open_in()))
    let sent = unsafe request.withUnsafeBytes {
      unsafe Glibc.write(writing.rawValue, $0.baseAddress, $0.count)
    }
    try #require(sent == request.count)
    _ = close(writing.release())
    loop.run(at: Device(number: reading.rawValue))
    #expect(loop.door.counters.undeliveredReplies == 1)
    #expect(volume.handleCount == 0)
  }

  @Test("A descriptor that cannot be read ends the worker with its error") func unreadable() throws {
    let scratch = try Scratch()
    let loop = RequestLoop(door: Door(try scratch.volume()), maxWrite: 1 << 17)
    loop.run(at: Device(number: -1))
    #expect(loop.firstFailure == .badDescriptor)
  }
}

@Suite("Notices") struct NoticeTests {
  static func agreement(minor: UInt32, disabled: Set<String> = []) -> Agreement {
    Agreement(
      to: Offer(major: 7, minor: minor, flags: 0), disabled: disabled, pageSize: 4096, stackDepth: 0)
  }

  @Test("All names at once: a header and nothing else") func epoch() throws {
    let connection = try Connection()
    let agreement = Self.agreement(minor: 44)
    let notices = try Notices(session: connection.theirs.rawValue, agreement: agreement)
    #expect(notices.canExpireNames)
    // Length 16, the number of the notice in the place of the error, request 0.
    let expected = hex("10000000 08000000 0000000000000000")
    #expect(connection.receive() == expected, "tried once at the start")
    let link = notices.link(agreement, requests: { [] })
    #expect(link.canExpireNames)
    link.expireNames()
    #expect(connection.receive() == expected)
  }

  @Test("The attributes of one node, no pages") func attributes() throws {
    let connection = try Connection()
    let agreement = Self.agreement(minor: 43)
    let notices = try Notices(session: connection.theirs.rawValue, agreement: agreement)
    notices.link(agreement, requests: { [] }).expireAttributes(0x0102)
    #expect(
      connection.receive()
        == hex("28000000 02000000 0000000000000000 0201000000000000 ffffffffffffffff 0000000000000000"))
  }

  @Test("An older kernel, the option, or a refusal: names cannot be expired and nothing is sent")
  func without() throws {
    let connection = try Connection()
    for agreement in [Self.agreement(minor: 43), Self.agreement(minor: 45, disabled: ["epoch"])] {
      let notices = try Notices(session: connection.theirs.rawValue, agreement: agreement)
      #expect(!notices.canExpireNames)
      notices.expireNames()
      #expect(connection.receive(CInt(MSG_DONTWAIT)) == [])
    }
    // Nothing can be written there.
    let null = try Descriptor.open(path: "/dev/null", .readOnly)
    #expect(!(try Notices(session: null.rawValue, agreement: Self.agreement(minor: 45)).canExpireNames))
  }

  @Test("After the end nothing is sent") func closed() throws {
    let connection = try Connection()
    let notices = try Notices(
      session: connection.theirs.rawValue, agreement: Self.agreement(minor: 45))
    _ = connection.receive()
    notices.close()
    notices.expireNames()
    notices.expireAttributes(of: 1)
    #expect(connection.receive(CInt(MSG_DONTWAIT)) == [])
  }
}
