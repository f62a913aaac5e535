// The kernel's side of the wire, played by the tests: requests as bytes in, replies as bytes out.

import CFUSE
import LayeredVolume
import LinuxFiles
import Testing

@testable import FUSEDoor

/// A reply as it would go to the device.
struct Answer: Equatable {
  let unique: UInt64
  /// Positive, as in `errno`; 0 for success.
  let error: CInt
  let body: [UInt8]

  /// A structure in the body; fails the test when the body ends before.
  func read<T: BitwiseCopyable>(_ type: T.Type, at offset: Int = 0) throws -> T {
    try #require(offset >= 0 && offset + MemoryLayout<T>.size <= body.count, "the reply is too short")
    return unsafe body.withUnsafeBytes { bytes in
      unsafe bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
    }
  }
}

/// The bytes of a value as they lie in memory.
func bytes<T: BitwiseCopyable>(of value: T) -> [UInt8] {
  unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
}

/// A text with its terminator.
func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

/// The bytes of a request, header first.
func requestBytes(
  _ opcode: UInt32, unique: UInt64 = 7, node: NodeID = 1, user: UInt32 = 0, group: UInt32 = 0,
  thread: UInt32 = 0, extensions: UInt16 = 0, _ rest: [UInt8]
) -> [UInt8] {
  let header = fuse_in_header(
    len: UInt32(MemoryLayout<fuse_in_header>.size + rest.count), opcode: opcode, unique: unique,
    nodeid: node, uid: user, gid: group, pid: thread, total_extlen: extensions, padding: 0)
  return bytes(of: header) + rest
}

extension Door {
  /// Answers one request, and waits on this thread while it is delayed.
  func handle(_ request: borrowing Request, _ buffer: inout ReplyBuffer) -> Reply {
    var waiting: Waiting?
    while true {
      let reply = attempt(request, &buffer, isFirst: waiting == nil)
      let answer = reply.answer
      guard case .delayed(let delay) = answer else { return reply }
      let now = Clock.monotonicNanoseconds
      let wait = Waiting(for: delay, after: waiting, at: now)
      if let error = wait.failure(at: now) { return Reply(to: request.unique, .failure(error)) }
      Clock.pause(milliseconds: UInt32(clamping: wait.pause(at: now) / 1_000_000))
      waiting = wait
    }
  }
}

/// Plays the kernel to one door.
final class Kernel {
  let door: Door
  private var buffer = ReplyBuffer(capacity: 1 << 17)
  private var unique: UInt64 = 100

  init(_ volume: Volume) {
    door = Door(volume)
  }

  /// Sends the bytes of a request; nil when there is no reply.
  ///
  /// With `delivers` false the reply is refused, as the device does when the caller is gone.
  func send(_ request: [UInt8], delivers: Bool = true) -> Answer? {
    var reply: [UInt8]?
    unsafe request.withUnsafeBytes { bytes in
      guard let request = unsafe Request(borrowing: bytes) else { return }
      let undo = door.handle(request, &buffer).send(&buffer) { sent in
        reply = unsafe sent.withUnsafeBytes { unsafe [UInt8]($0) }
        return delivers
      }
      door.takeBack(undo, buffer)
    }
    guard let reply else { return nil }
    return Kernel.parse(reply)
  }

  private static func parse(_ reply: [UInt8]) -> Answer? {
    guard reply.count >= MemoryLayout<fuse_out_header>.size else {
      Issue.record("a reply of \(reply.count) bytes has no header")
      return nil
    }
    let header = unsafe reply.withUnsafeBytes { unsafe $0.loadUnaligned(as: fuse_out_header.self) }
    #expect(Int(header.len) == reply.count, "the length in the header is that of the reply")
    return Answer(
      unique: header.unique, error: -header.error,
      body: Array(reply[MemoryLayout<fuse_out_header>.size...]))
  }

  /// Asks a well-formed question and answers the reply to it.
  func ask(
    _ opcode: Opcode, _ node: NodeID = 1, as user: UInt32 = 0, _ rest: [UInt8] = [], delivers: Bool = true
  ) throws -> Answer {
    unique += 1
    let request = requestBytes(opcode.rawValue, unique: unique, node: node, user: user, group: user, rest)
    let answer = try #require(send(request, delivers: delivers), "\(opcode) was not answered")
    #expect(answer.unique == unique)
    if answer.error != 0 { #expect(answer.body == [], "a failure has no body") }
    return answer
  }

  /// Asks a question that must succeed.
  func get(
    _ opcode: Opcode, _ node: NodeID = 1, as user: UInt32 = 0, _ rest: [UInt8] = [], delivers: Bool = true
  ) throws -> Answer {
    let answer = try ask(opcode, node, as: user, rest, delivers: delivers)
    try #require(answer.error == 0, "\(opcode): \(Errno(rawValue: answer.error))")
    return answer
  }
}
