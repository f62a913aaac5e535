// Requests that are not what they should be: the daemon answers or passes over, and never dies.

import CFUSE
import LayeredVolume
import LinuxFiles
import Randomness
import Testing

@testable import FUSEDoor

@Suite("Damaged requests") struct DamageTests {
  /// A request of each kind with all that belongs to it.
  static func complete(_ opcode: Opcode) -> [UInt8] {
    let names = text("first") + text("second") + [1, 2, 3, 4, 5, 6, 7, 8]
    var body = [UInt8](repeating: 0, count: opcode.bodySize)
    switch opcode {
    // Sizes that promise more than the shortest of the truncated requests holds.
    case .write, .read, .readdir, .readdirplus: body[16] = 16
    case .setxattr, .getxattr, .listxattr: body[0] = 8
    case .batchForget: body[0] = 200
    case .ioctl: body.replaceSubrange(12..<16, with: bytes(of: LV_FS_IOC_FSSETXATTR))
    default: break
    }
    return body + names
  }

  @Test("Every request, cut off at every length, is answered or passed over") func truncated() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    for opcode in Opcode.allCases {
      let whole = requestBytes(opcode.rawValue, unique: 5, Self.complete(opcode))
      for count in 0..<whole.count {
        // As cut off on the way: the header still promises the whole.
        let cut = Array(whole.prefix(count))
        let answer = kernel.send(cut)
        if count < 40 || !opcode.expectsReply {
          #expect(answer == nil, "\(opcode), \(count) bytes")
        } else {
          #expect(answer == Answer(unique: 5, error: Errno.inputOutput.rawValue, body: []), "\(opcode)")
        }
        // As made too short: the header says the same as the length.
        guard count >= 40 else { continue }
        let short = requestBytes(opcode.rawValue, unique: 5, Array(whole[40..<count]))
        #expect((kernel.send(short) != nil) == opcode.expectsReply, "\(opcode), \(count) bytes")
        if opcode.expectsReply, count < 40 + opcode.bodySize {
          #expect(kernel.send(short)?.error == Errno.inputOutput.rawValue, "\(opcode), \(count) bytes")
        }
      }
    }
  }

  @Test("A name without an end is EIO") func endlessName() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    for rest in [[], Array("name".utf8), [UInt8](repeating: 97, count: 5000)] {
      #expect(try kernel.ask(.lookup, 1, rest).error == Errno.inputOutput.rawValue)
      #expect(try kernel.ask(.rmdir, 1, rest).error == Errno.inputOutput.rawValue)
    }
    // The second of two.
    let newParent = bytes(of: UInt64(1))
    #expect(try kernel.ask(.rename, 1, newParent + text("a")).error == Errno.inputOutput.rawValue)
    #expect(
      try kernel.ask(.rename, 1, newParent + text("a") + Array("b".utf8)).error
        == Errno.inputOutput.rawValue)
    #expect(try kernel.ask(.symlink, 1, text("a")).error == Errno.inputOutput.rawValue)
  }

  @Test("Names that no directory can hold have their own errors") func impossibleNames() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    let rows: [(String, Errno)] = [
      ("", .noSuchFile), (".", .invalid), ("..", .invalid), ("a/b", .invalid),
      (String(repeating: "a", count: 256), .nameTooLong),
    ]
    for (name, error) in rows {
      #expect(try kernel.ask(.lookup, 1, text(name)).error == error.rawValue, "'\(name)'")
    }
  }

  @Test("Opcodes that are not served say so for good, and no others do") func unknown() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    let refused: [Opcode] = [
      .getlk, .setlk, .setlkw, .bmap, .poll, .setupMapping, .removeMapping, .syncfs,
    ]
    for number in UInt32(0)...100 {
      let rest = Opcode(rawValue: number).map(Self.complete) ?? []
      let answer = kernel.send(requestBytes(number, rest))
      let isRefused = Opcode(rawValue: number).map(refused.contains) ?? true
      #expect((answer?.error == Errno.notImplemented.rawValue) == isRefused, "opcode \(number)")
    }
    for number in [UInt32(4096), 1_048_576, 436_207_616, .max] {
      #expect(kernel.send(requestBytes(number, []))?.error == Errno.notImplemented.rawValue)
    }
  }

  @Test("Extensions behind a request are cut off; ones longer than it are EIO") func extensions() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    let name = text("name") + [UInt8](repeating: 0xFF, count: 19)
    // Two units of eight bytes of the 24 are extension; the name still ends before them.
    let fitting = requestBytes(Opcode.rmdir.rawValue, extensions: 2, name)
    #expect(kernel.send(fitting)?.error == Errno.noSuchFile.rawValue)
    let tooLong = requestBytes(Opcode.lookup.rawValue, extensions: 4, name)
    #expect(kernel.send(tooLong)?.error == Errno.inputOutput.rawValue)
    // Here they would cover the name's end.
    let covering = requestBytes(Opcode.lookup.rawValue, extensions: 3, name)
    #expect(kernel.send(covering)?.error == Errno.inputOutput.rawValue)
  }

  @Test("A write with less data than it says is EIO") func shortWrite() throws {
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    var input = fuse_write_in()
    input.size = 9
    let answer = try kernel.ask(.write, 1, bytes(of: input) + [UInt8](repeating: 1, count: 8))
    #expect(answer.error == Errno.inputOutput.rawValue)
    input.size = .max
    #expect(try kernel.ask(.write, 1, bytes(of: input)).error == Errno.inputOutput.rawValue)
  }

  @Test("Random bytes, mostly with honest headers, never trap") func noise() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var generator = Dice(seed: seed)
    let scratch = try Scratch()
    let kernel = Kernel(try scratch.volume())
    let uniqueNumber: UInt64 = 9
    for round in 0..<20_000 {
      let count = Int.random(in: 0...160, using: &generator)
      var rest = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // Structures full of noise fail at their first number; small numbers get further.
      if Bool.random(using: &generator) {
        for index in rest.indices where Int.random(in: 0...3, using: &generator) > 0 { rest[index] = 0 }
      }
      let number = UInt32.random(in: 0...56, using: &generator)
      // Cannot be fuzzed on a real tree: they act for as long, or take as much room, as they are told.
      if number == Opcode.fallocate.rawValue { continue }
      var request = requestBytes(
        number, unique: uniqueNumber, node: .random(in: 0...3, using: &generator),
        user: .random(in: 0...1, using: &generator), extensions: .random(in: 0...1, using: &generator), rest)
      if Int.random(in: 0...15, using: &generator) == 0 {
        request = Array(request.prefix(.random(in: 0...request.count, using: &generator)))
      }
      let answer = kernel.send(request)
      if let answer, answer.unique != uniqueNumber || !(0..<512).contains(answer.error) {
        Issue.record("seed \(seed), round \(round): \(answer) to \(request)")
        return
      }
    }
  }
}
