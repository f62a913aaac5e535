// Requests and replies of the kernel's ring: what lies where, without a ring.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Synchronization
import Testing

@testable import FUSEDoor

/// Plays the kernel to one entry of a ring.
struct RingKernel: ~Copyable {
  let door: Door
  var entry = RingEntry(payloadSize: 1 << 17)

  init(_ volume: Volume) { door = Door(volume) }

  private var header: UnsafeMutablePointer<lv_fuse_ring_header> {
    unsafe entry.buffers[0].iov_base.assumingMemoryBound(to: lv_fuse_ring_header.self)
  }

  private var payload: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(
      start: entry.buffers[1].iov_base, count: entry.buffers[1].iov_len)
  }

  /// Puts a request where the kernel does, and answers the reply with what would have to be taken back.
  mutating func ask(
    _ opcode: Opcode, node: NodeID = 1, unique: UInt64 = 8, extensions: UInt16 = 0, length: Int? = nil,
    _ body: [UInt8] = [], _ rest: [UInt8] = []
  ) -> (answer: Answer, undo: Undo) {
    let input = fuse_in_header(
      len: UInt32(length ?? 40 + body.count + rest.count), opcode: opcode.rawValue, unique: unique,
      nodeid: node, uid: 0, gid: 0, pid: 0, total_extlen: extensions, padding: 0)
    unsafe UnsafeMutableRawPointer(header).storeBytes(of: input, as: fuse_in_header.self)
    // What earlier requests left behind is still there.
    unsafe withUnsafeMutableBytes(of: &header.pointee.body) { room in
      unsafe room.copyBytes(from: body + [UInt8](repeating: 0xEE, count: room.count - body.count))
    }
    unsafe payload.copyBytes(from: rest + [0xEE, 0xEE])
    unsafe header.pointee.transfer = lv_fuse_ring_transfer(
      flags: 0, commit_id: unique, payload_size: UInt32(rest.count), padding: 0, reserved: 0)
    let door = door
    let undo = entry.answer { door.handle($0, &$1) }
    #expect(entry.commitIdentifier == unique)
    let out = unsafe UnsafeRawPointer(header).loadUnaligned(as: fuse_out_header.self)
    let count = Int(unsafe header.pointee.transfer.payload_size)
    #expect(Int(out.len) == 16 + count)
    let reply = unsafe [UInt8](UnsafeRawBufferPointer(rebasing: payload[..<count]))
    return (Answer(unique: out.unique, error: -out.error, body: reply), undo)
  }
}

@Suite("The kernel's ring") struct RingTests {
  @Test("A request in two buffers is answered as one in one piece") func sameAnswers() throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    var ring = RingKernel(volume)
    let device = Kernel(volume)
    let made = ring.ask(.mkdir, bytes(of: fuse_mkdir_in(mode: 0o755, umask: 0)), text("dir"))
    #expect(made.answer.error == 0 && made.undo != .nothing)
    #expect(made.answer.unique == 8)
    let rows: [(Opcode, [UInt8], [UInt8])] = [
      (.lookup, [], text("dir")), (.lookup, [], text("missing")), (.lookup, [], Array("endless".utf8)),
      (.getattr, bytes(of: fuse_getattr_in()), []), (.statfs, [], []),
      (.getxattr, bytes(of: fuse_getxattr_in(size: 0, padding: 0)), text("user.nothing")),
      (.rename, bytes(of: UInt64(1)), text("missing") + text("else")), (.poll, [], []),
    ]
    for (opcode, body, rest) in rows {
      let there = ring.ask(opcode, body, rest).answer
      let here = try device.ask(opcode, 1, body + rest)
      #expect(there.error == here.error, "\(opcode)")
      // Free space moves on by itself.
      if opcode != .statfs { #expect(there.body == here.body, "\(opcode)") }
    }
  }

  @Test("Data is written from the buffer it came in, and read into the buffer it leaves from")
  func data() throws {
    let scratch = try Scratch()
    var ring = RingKernel(try scratch.volume())
    let created = ring.ask(
      .create, bytes(of: fuse_create_in(flags: UInt32(O_RDWR), mode: 0o644, umask: 0, open_flags: 0)),
      text("file"))
    let entry = try created.answer.read(fuse_entry_out.self)
    let opened = try created.answer.read(fuse_open_out.self, at: MemoryLayout<fuse_entry_out>.size)
    let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    var write = fuse_write_in()
    write.fh = opened.fh
    write.size = 100_000
    let written = ring.ask(.write, node: entry.nodeid, bytes(of: write), content).answer
    #expect(try written.read(fuse_write_out.self).size == 100_000)
    var read = fuse_read_in()
    read.fh = opened.fh
    read.size = 131_072
    #expect(ring.ask(.read, node: entry.nodeid, bytes(of: read)).answer.body == content)
    // More than lies there is refused, and nothing beyond the payload is taken for data.
    write.size = 100_001
    let long = ring.ask(.write, node: entry.nodeid, bytes(of: write), content).answer
    #expect(long.error == Errno.inputOutput.rawValue && long.body == [])
  }

  @Test("Lengths that do not fit together are EIO, extensions are cut off, and nothing goes unanswered")
  func damaged() throws {
    let scratch = try Scratch()
    var ring = RingKernel(try scratch.volume())
    let body = bytes(of: fuse_getattr_in())
    for length in [0, 39, 40, 55, 40 + 129, Int(Int32.max)] {
      #expect(ring.ask(.getattr, length: length, body).answer.error == Errno.inputOutput.rawValue)
    }
    let padded = text("dir") + [UInt8](repeating: 0xFF, count: 16)
    #expect(ring.ask(.lookup, extensions: 2, [], padded).answer.error == Errno.noSuchFile.rawValue)
    #expect(ring.ask(.lookup, extensions: 3, [], padded).answer.error == Errno.inputOutput.rawValue)
    // Nobody waits for these, but the next request comes only with an answer.
    for opcode in [Opcode.forget, .notifyReply] {
      #expect(
        ring.ask(opcode, [UInt8](repeating: 0, count: 40)).answer == Answer(unique: 8, error: 0, body: []))
    }
  }

  @Test("What a listing handed out can be taken back from where it lies") func listing() throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    var ring = RingKernel(volume)
    let made = ring.ask(.mkdir, bytes(of: fuse_mkdir_in(mode: 0o755, umask: 0)), text("dir"))
    let directory = try ring.ask(.opendir, bytes(of: fuse_open_in())).answer.read(fuse_open_out.self)
    let before = volume.nodeCount
    var input = fuse_read_in()
    input.fh = directory.fh
    input.size = 4096
    let (answer, undo) = ring.ask(.readdirplus, bytes(of: input))
    #expect(answer.error == 0 && undo == .forgetListed)
    ring.entry.withReply { ring.door.takeBack(undo, $0) }
    ring.door.takeBack(made.undo, ReplyBuffer(capacity: 0))
    #expect(volume.nodeCount == before - 1, "the directory is known to nobody any more")
  }

  @Test("Every queue of the kernel has its seats") func queues() {
    let four = Processors(possible: [0, 1, 2, 3], online: [0, 2])
    #expect(Transport.queues(four, threadsPerQueue: 2) == [0, 0, 1, 2, 2, 3])
    #expect(Set(Transport.queues(four, threadsPerQueue: nil)) == [0, 1, 2, 3])
    #expect(Transport.queues(four, threadsPerQueue: 0) == [0, 1, 2, 3])
    // Numbered from 0, however many numbers are left out.
    #expect(Transport.queues(Processors(possible: [0, 8], online: [0, 8]), threadsPerQueue: 1) == [0, 1])
  }

  @Test("What makes the kernel send a request: a retrieval of nothing, in the words of the protocol")
  func stir() throws {
    let connection = try Connection()
    #expect(Notices.stir(connection.theirs.rawValue, by: [5, 6]))
    let sent = connection.receive()
    #expect(Array(sent[..<16]) == hex("30000000 05000000 0000000000000000"))
    #expect(sent[23] == 0x40 && sent[16] % 2 == 0, "no number of the kernel's")
    #expect(Array(sent[24...]) == hex("0500000000000000 0000000000000000 00000000 00000000"))
    #expect(connection.receive(CInt(MSG_DONTWAIT)) == [])
    #expect(!Notices.stir(-1, by: [5, 6]) && !Notices.stir(connection.theirs.rawValue, by: []))
  }

  @Test("Nodes are named one after the other until the kernel knows one") func stirCandidates() {
    var named: [NodeID] = []
    var numbers: Set<UInt64> = []
    func stir(_ nodes: [NodeID], knows: NodeID) -> Bool {
      Notices.stir(by: nodes) { notice in
        named.append(notice.body.nodeid)
        numbers.insert(notice.body.notify_unique)
        return notice.body.nodeid == knows
      }
    }
    #expect(stir([5, 6, 7], knows: 6))
    #expect(named == [5, 6])
    #expect(!stir([5, 6, 7], knows: 8))
    #expect(named == [5, 6, 5, 6, 7])
    #expect(numbers.count == 5, "no number twice")
  }

  @Test("What could not be stirred is made up for as soon as a plain file is known, unless nobody hangs")
  func stirringAgain() throws {
    let connection = try Connection()
    let stirring = Stirring(queue: 0, device: connection.theirs.rawValue)
    stirring.stirAgain(by: [5])
    stirring.join()
    #expect(connection.receive(CInt(MSG_DONTWAIT)) == [], "nothing is owed")
    // Two seats were added while no node was known.
    for _ in 0..<2 { stirring.stir(by: []) }
    stirring.stirAgain(by: [])
    #expect(stirring.isOwed)
    stirring.stirAgain(by: [5])
    stirring.join()
    #expect(!stirring.isOwed)
    for _ in 0..<2 { #expect(connection.receive(CInt(MSG_DONTWAIT)).count == 48) }
    #expect(connection.receive(CInt(MSG_DONTWAIT)) == [])
    stirring.stir(by: [])
    stirring.forgive()
    #expect(!stirring.isOwed)
  }

  @Test("A crew that owes somebody a stir is watched on, and remembers plain files for it") func owing()
    throws
  {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    let connection = try Connection()
    let stirring = Stirring(queue: 0, device: connection.theirs.rawValue)
    let pulses: Mutex<[Pulse]> = Mutex([])
    let relief = Relief()
    var crew = Crew(spare: 1, stirring) { (pulse, known) throws(Errno) in
      pulses.withLock { $0.append(pulse) }
      return Member(try PlainThread {})
    }
    for _ in 0..<2 { try crew.hire(relief).join() }
    let members = pulses.withLock { $0 }
    members[0].begin(1)
    #expect(crew.isAtEase && crew.relieve(relief).isEmpty)
    stirring.stir(by: [])
    #expect(!crew.isAtEase)
    #expect(crew.relieve(relief).isEmpty && crew.files.isEmpty && stirring.isOwed)
    // Of a directory and of a file that are made only the file is remembered.
    let directory = try kernel.get(.mkdir, 1, bytes(of: fuse_mkdir_in(mode: 0o755, umask: 0)) + text("dir"))
    let file = try kernel.get(
      .create, 1,
      bytes(of: fuse_create_in(flags: UInt32(O_RDWR), mode: 0o644, umask: 0, open_flags: 0)) + text("file"))
    for (opcode, answer) in [(Opcode.create, file), (.lookup, directory), (.getattr, file)] {
      try note(members[1], opcode, answer)
    }
    let node = try file.read(fuse_entry_out.self).nodeid
    #expect(crew.files == [node])
    #expect(crew.relieve(relief, files: crew.files).isEmpty)
    crew.join()
    #expect(!stirring.isOwed && crew.isAtEase)
    #expect(Array(connection.receive(CInt(MSG_DONTWAIT))[24..<32]) == bytes(of: node))
  }

  /// Shows a worker's pulse a request and the answer to it.
  private func note(_ pulse: Pulse, _ opcode: Opcode, _ answer: Answer) throws {
    var reply = ReplyBuffer(capacity: 4096)
    try reply.append(answer.body.span)
    let request = requestBytes(opcode.rawValue, node: 99, text("name"))
    unsafe request.withUnsafeBytes { bytes in
      guard let request = unsafe Request(borrowing: bytes) else { return }
      pulse.note(request, reply)
    }
  }
}

@Suite("Relief") struct ReliefTests {
  @Test("A crew wants help when those who do not get on leave too few, and not before") func crew() throws {
    let pulses: Mutex<[Pulse]> = Mutex([])
    let relief = Relief()
    var crew = Crew(spare: 1) { (pulse, _) throws(Errno) in
      pulses.withLock { $0.append(pulse) }
      return Member(try PlainThread {})
    }
    for _ in 0..<2 { try crew.hire(relief).join() }
    let members = pulses.withLock { $0 }
    #expect(crew.isAtEase && crew.needsHelp() == [])
    members[0].begin(11)
    #expect(crew.isAtEase)
    #expect(crew.needsHelp() == [] && crew.needsHelp() == [], "one is free")
    members[1].begin(12)
    #expect(!crew.isAtEase)
    #expect(crew.needsHelp() == [], "one has only just begun")
    #expect(crew.needsHelp() == [11, 12])
    // The next request in place of the first one: that one gets on.
    members[0].end()
    members[0].begin(13)
    #expect(crew.needsHelp() == [])
    #expect(crew.needsHelp() == [13, 12])
    try crew.hire(relief, known: [13, 12]).join()
    #expect(crew.isAtEase && crew.needsHelp() == [])
  }

  @Test("A crew grows to its limit and not beyond") func limit() throws {
    let pulses: Mutex<[Pulse]> = Mutex([])
    let relief = Relief()
    var crew = Crew(spare: 2) { (pulse, _) throws(Errno) in
      pulses.withLock { $0.append(pulse) }
      return Member(try PlainThread {})
    }
    for _ in 0..<20 { try crew.hire(relief).join() }
    for pulse in pulses.withLock({ $0 }) { pulse.begin(5) }
    #expect(crew.relieve(relief).isEmpty, "they have only just begun")
    // It was as many as hang, whatever the limit: 40.
    let helpers = crew.relieve(relief)
    for helper in helpers { helper.join() }
    #expect(helpers.count == 12)
    for pulse in pulses.withLock({ $0.dropFirst(20) }) { pulse.begin(6) }
    #expect(crew.relieve(relief).isEmpty && crew.relieve(relief).isEmpty)
    #expect(crew.needsHelp().count == 32)
  }

  @Test("Workers that hang get help, and everybody ends") func workers() throws {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    let workplace = Workplace(door: Door(volume), maxWrite: 1 << 17)
    let connection = try Connection()
    let workers = try Workers.start(
      1, at: workplace, session: connection.theirs.rawValue, clonesDevice: false)
    let kernel = Kernel(volume)
    let made = try kernel.get(
      .create, 1,
      bytes(of: fuse_create_in(flags: UInt32(O_RDWR), mode: 0o644, umask: 0, open_flags: 0))
        + text("file"))
    let file = try made.read(fuse_entry_out.self).nodeid
    let handle = try made.read(fuse_open_out.self, at: MemoryLayout<fuse_entry_out>.size).fh
    var release = fuse_release_in()
    release.fh = handle
    _ = try kernel.get(.release, file, bytes(of: release))
    signal(SIGIO, SIG_IGN)
    let lease = Glibc.open(scratch.path + "/file", O_RDWR)
    try #require(lease >= 0 && fcntl(lease, 1024, CInt(F_WRLCK)) == 0)
    // The one worker waits for the lease; a helper answers.
    try connection.send(requestBytes(Opcode.open.rawValue, unique: 20, node: file, bytes(of: fuse_open_in())))
    try connection.send(requestBytes(Opcode.getattr.rawValue, unique: 22, bytes(of: fuse_getattr_in())))
    #expect(Array(connection.receive()[8..<16]) == bytes(of: UInt64(22)))
    close(lease)
    #expect(Array(connection.receive()[8..<16]) == bytes(of: UInt64(20)))
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    workers.join()
  }
}
