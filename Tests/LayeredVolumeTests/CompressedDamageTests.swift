// What is on the disk is not what was written: EIO, and never another content.

import CompressedFormat
import Foundation
import Glibc
import LinuxFiles
import Randomness
import Testing

@testable import LayeredVolume

@Suite("Compressed files that are damaged") struct CompressedDamageTests {
  /// A file of its own, which is removed with this.
  private final class Scratch {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("frames-\(UUID().uuidString)")
      .path
    let cache = FrameCache()

    deinit { unlink(path) }

    /// What a file with these bytes is read as; nil: EIO.
    func content(_ bytes: [UInt8], logicalSize: UInt64) throws -> [UInt8]? {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let file = try Descriptor.open(path: path, .readOnly)
      do throws(Errno) {
        let frames = try FrameFile(file, logicalSize: logicalSize, cache)
        var content = [UInt8](repeating: 0, count: Int(min(logicalSize, 1 << 20)))
        var span = content.mutableSpan
        guard try frames.read(file, at: 0, into: &span) == content.count else { return [] }
        return content
      } catch {
        guard error == .inputOutput else { throw error }
        return nil
      }
    }

    /// The stored form of a content.
    func stored(_ content: [UInt8]) throws -> [UInt8] {
      try Data(content).write(to: URL(fileURLWithPath: path))
      let made = path + ".made"
      defer { unlink(made) }
      do {
        let source = try Descriptor.open(path: path, .readOnly)
        _ = FileManager.default.createFile(atPath: made, contents: nil)
        let target = try Descriptor.open(path: made, .readWrite)
        _ = try FrameWriting.compress(source, UInt64(content.count), level: 3, to: target, ReplacementWatch())
      }
      return Array(try Data(contentsOf: URL(fileURLWithPath: made)))
    }
  }

  /// As docs/FORMATS.md has it.
  private static let golden: [UInt8] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x64, 0x00, 0xff, 0x55, 0x00, 0x00, 0x10, 0x61, 0x61, 0x01, 0x00, 0xfb,
    0x7f, 0x1d, 0x60, 0x01, 0x9b, 0x1e, 0xe2, 0x40,  // frame 0
    0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x01, 0x09, 0x00, 0x00, 0x62, 0x9b, 0x9f, 0xf3, 0x1a,  // frame 1
    0x5e, 0x2a, 0x4d, 0x18, 0x19, 0x00, 0x00, 0x00,  // a frame to skip, of 25 bytes
    0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,  // 24 bytes hold 65,536
    0x0e, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,  // 14 bytes hold 1
    0x02, 0x00, 0x00, 0x00, 0x00, 0xb1, 0xea, 0x92, 0x8f,  // two frames
  ]

  @Test("The bytes of the format's own example are read") func example() throws {
    let content = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536) + [UInt8(ascii: "b")]
    #expect(try Scratch().content(Self.golden, logicalSize: 65_537) == content)
    for size in [0, 1, 65_536, 65_538, UInt64.max] {
      #expect(try Scratch().content(Self.golden, logicalSize: size) == nil, "\(size)")
    }
  }

  @Test("Every byte that is changed is noticed, or changes nothing") func flips() throws {
    let scratch = Scratch()
    let content = Array(softText(140_000).utf8)
    let stored = try scratch.stored(content)
    #expect(try scratch.content(stored, logicalSize: 140_000) == content)
    var dice = Dice(for: "bits of compressed files")
    let table = stored.count - 57
    // All of the table and of the ends of frames, and some of the rest.
    for place in stored.indices where place >= table - 8 || place < 24 || dice.once(in: 40) {
      var damaged = stored
      damaged[place] ^= 1 << UInt8(dice.below(8))
      let found = try scratch.content(damaged, logicalSize: 140_000)
      #expect(found == nil || found == content, "byte \(place) of \(stored.count)")
      if place >= table { #expect(found == nil, "byte \(place) of the table") }
    }
    for length in [0, 8, 9, 57, stored.count / 2, stored.count - 1] {
      #expect(try scratch.content(Array(stored.prefix(length)), logicalSize: 140_000) == nil)
      #expect(try scratch.content(Array(stored.suffix(length)), logicalSize: 140_000) == nil)
    }
    #expect(try scratch.content(stored + [0], logicalSize: 140_000) == nil)
    // Frames that changed places.
    let frames = try SeekTable(
      Array(stored[table...]).span,
      SeekTableFooter(Array(stored.suffix(9)).span, storedSize: UInt64(stored.count), logicalSize: 140_000),
      logicalSize: 140_000)
    let first = try #require(frames.frame(0)).storedSize
    let second = try #require(frames.frame(1)).storedSize
    let swapped = stored[first..<first + second] + stored[..<first] + stored[(first + second)...]
    let found = try scratch.content(Array(swapped), logicalSize: 140_000)
    #expect(first == second || found == nil)
  }

  @Test("Any bytes at all are refused, or read as what they say") func fuzz() throws {
    let scratch = Scratch()
    let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
    var dice = Dice(for: "any bytes as a compressed file")
    let sound = try scratch.stored(Array(softText(70_000).utf8))
    var (opened, refused) = (0, 0)
    for _ in 0..<(isLong ? 200_000 : 3000) {
      var bytes = dice.once(in: 3) ? sound : (0..<dice.below(300)).map { _ in UInt8(dice.below(256)) }
      for _ in 0..<dice.below(4) where !bytes.isEmpty {
        // Near the end more often.
        let place = dice.once(in: 2) ? dice.below(bytes.count) : max(0, bytes.count - 1 - dice.below(40))
        bytes[place] = dice.once(in: 2) ? UInt8(dice.below(256)) : [0, 1, 0xFF, 0x80][dice.below(4)]
      }
      if dice.once(in: 3) { bytes += [UInt8(dice.below(4)), 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f] }
      let size = [70_000, UInt64(dice.below(100_000)), 1 << 36, UInt64(dice.next())][dice.below(4)]
      if try scratch.content(bytes, logicalSize: size) != nil { opened += 1 } else { refused += 1 }
    }
    #expect(opened > 0, "nothing was read")
    #expect(refused > 0, "nothing was refused")
  }

  @Test("Of a damaged file the rest is read, and programs hear EIO for the damage alone") func part() throws {
    let text = softText(200_000)
    let tree = try Tree { file("f", text) }
    usleep(30_000)
    try tree.setAttribute("f", CompressedFileTests.door, "zstd")
    let stored = try tree.stored("f")
    // In the third frame of seven.
    let descriptor = Glibc.open("\(tree.path)/f", O_WRONLY)
    let place = stored.count * 3 / 8
    _ = [stored[place] ^ 0x55].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, 1, off_t(place)) }
    close(descriptor)
    try tree.open("f") { volume, handle in
      let (first, rest) = (try read(volume, handle, 0, 65_536), try read(volume, handle, 140_000, 60_000))
      #expect(first == 65_536 && rest == 60_000)
      #expect(throws: Errno.inputOutput) { try self.read(volume, handle, 65_536, 1) }
      #expect(throws: Errno.inputOutput) { try self.read(volume, handle, 0, 200_000) }
    }
    // Nor is it lost by a writer.
    #expect(throws: Errno.inputOutput) { try tree.write("f", "new") }
    #expect(try tree.stored("f").count == stored.count)
    #expect(throws: Errno.inputOutput) { try tree.setAttribute("f", CompressedFileTests.door, "none") }
    try tree.write("f", "new", [.write, .truncate])
    #expect(try tree.read("f") == "new")
  }

  /// How many bytes a read answers.
  private func read(
    _ volume: Volume, _ handle: HandleID, _ offset: UInt64, _ count: Int
  ) throws(Errno) -> Int {
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    var isSecret = false
    return try volume.read(handle, at: offset, into: &span, isSecret: &isSecret)
  }
}
