// Compressed files, without a kernel: what is read, when they are expanded, and what stands against it.

import Decisions
import Faults
import Foundation
import Glibc
import LinuxFiles
import Randomness
import Testing

@testable import LayeredVolume

/// Text that gets shorter, and of which no two pieces are alike.
func softText(_ count: Int) -> String {
  var text = ""
  var line = 0
  while text.utf8.count < count {
    text += "line \(line) of a text that says hardly anything\n"
    line += 1
  }
  return String(text.prefix(count))
}

@Suite("Compressed files") struct CompressedFileTests {
  private let text = softText(300_000)

  private func expect(_ error: Errno, _ work: () throws -> Void) {
    #expect(throws: error) { try work() }
  }

  /// A tree with the file `f` of this text, which was left alone for a moment.
  private func tree(_ text: String? = nil) throws -> Tree {
    let tree = try Tree { file("f", "") }
    try (text ?? self.text).write(toFile: "\(tree.path)/f", atomically: false, encoding: .utf8)
    usleep(30_000)
    return tree
  }

  private func compressed(_ text: String? = nil) throws -> Tree {
    let tree = try tree(text)
    try tree.setAttribute("f", Self.door, "zstd")
    #expect(try form(tree).hasPrefix("zstd "))
    usleep(30_000)
    return tree
  }

  static let door = "system.varve.compression"

  private func form(_ tree: Tree) throws -> String {
    String(decoding: try tree.attribute("f", Self.door), as: UTF8.self)
  }

  /// A read through a handle.
  private func read(_ volume: Volume, _ handle: HandleID, at offset: Int = 0, _ count: Int) throws -> String {
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    var isSecret = false
    let read = try volume.read(handle, at: UInt64(offset), into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<read], as: UTF8.self)
  }

  private func content(_ tree: Tree) throws -> String {
    try tree.open("f") { volume, handle in try read(volume, handle, 400_000) }
  }

  @Test("A compressed file shows everything as it was, but the room it takes") func shown() throws {
    let tree = try tree()
    try tree.change("f") { $0.mode = 0o640 }
    try tree.change("f") { $0.modification = .set(Timestamp(seconds: 1_000_000, nanoseconds: 7)) }
    usleep(30_000)
    let before = try tree.attributes("f")
    #expect(try form(tree) == "none")
    try tree.setAttribute("f", Self.door, "zstd:19")
    let after = try tree.attributes("f")
    #expect((after.inode, after.mode, after.size) == (before.inode, before.mode, before.size))
    #expect(after.modification == before.modification && after.change != before.change)
    #expect(after.blocks < before.blocks / 2)
    let stored = try tree.stored("f").count
    #expect(try form(tree) == "zstd 300000 \(stored)")
    #expect(try String(decoding: tree.attribute("f", "system.varve.flags"), as: UTF8.self) == "compressed")
    #expect(try content(tree) == text)
    // It says nothing else the second time, and the flag is nobody's to clear.
    try tree.setAttribute("f", Self.door, "zstd:1")
    try tree.setAttribute("f", "system.varve.flags", "hidden")
    #expect(try form(tree) == "zstd 300000 \(stored)" && content(tree) == text)
    #expect(
      try String(decoding: tree.attribute("f", "system.varve.flags"), as: UTF8.self) == "hidden,compressed")
    try tree.setAttribute("f", Self.door, "none")
    #expect(try String(decoding: tree.attribute("f", "system.varve.flags"), as: UTF8.self) == "hidden")
    #expect(try tree.stored("f") == Data(text.utf8) && form(tree) == "none")
    #expect(try tree.attributes("f").modification == before.modification)
  }

  @Test("Any range is read, at the ends of frames and behind the content") func ranges() throws {
    let tree = try compressed()
    let bytes = Array(text.utf8)
    var dice = Dice(for: "ranges of a compressed file")
    try tree.open("f") { volume, handle in
      for round in 0..<400 {
        let edge = dice.below(10) * 32_768
        let start = round % 2 == 0 ? max(0, edge - 3 + dice.below(6)) : dice.below(310_000)
        let count = [1, 4096, 32_768, 131_072, 250_000][dice.below(5)]
        let want = start < bytes.count ? Array(bytes[start..<min(bytes.count, start + count)]) : []
        let got = try read(volume, handle, at: start, count)
        #expect(Array(got.utf8) == want, "\(start) \(count)")
      }
      let (data, hole) = (
        try volume.seek(handle, offset: 5, whence: 3), try volume.seek(handle, offset: 5, whence: 4)
      )
      #expect(data == 5 && hole == 300_000)
      expect(.noDevice) { _ = try volume.seek(handle, offset: 300_000, whence: 3) }
    }
  }

  @Test(
    "Whoever opens a compressed file to write has it expanded, and readers follow",
    arguments: ["write", "append", "cut", "empty by opening", "empty by truncation", "rights"])
  func expanded(_ way: String) throws {
    let tree = try compressed()
    var want = text
    try tree.open("f") { volume, handle in
      #expect(try read(volume, handle, at: 100, 50) == String(text.dropFirst(100).prefix(50)))
      switch way {
      case "write":
        try tree.write("f", "NEW", at: 0)
        want = "NEW" + text.dropFirst(3)
      case "append":
        try tree.write("f", "END", [.write, .append], appends: true)
        want = text + "END"
      case "cut":
        try tree.change("f") { $0.size = 200_001 }
        want = String(text.prefix(200_001))
      case "empty by opening":
        try tree.write("f", "fresh", [.write, .truncate])
        want = "fresh"
      case "empty by truncation":
        try tree.change("f") { $0.size = 0 }
        want = ""
      default:
        // Is nothing to it.
        try tree.change("f") { $0.mode = 0o600 }
        #expect(try form(tree).hasPrefix("zstd"))
        try tree.setAttribute("f", Self.door, "none")
      }
      #expect(try read(volume, handle, 400_000) == want)
      #expect(try form(tree) == "none")
    }
    #expect(try tree.stored("f") == Data(want.utf8))
    #expect(try content(tree) == want && tree.attributes("f").size == UInt64(want.utf8.count))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(tree.path)/.varve/work").isEmpty)
    #expect(try !tree.attribute("f", "system.varve.flags").starts(with: "compressed".utf8))
  }

  @Test("A file without bytes whose record still says compressed is empty") func cut() throws {
    let tree = try compressed()
    truncate("\(tree.path)/f", 0)
    tree.unmount()
    #expect(try tree.attributes("f").size == 0 && content(tree).isEmpty)
    try tree.write("f", "more")
    #expect(try content(tree) == "more" && form(tree) == "none")
    #expect(try tree.stored("f") == Data("more".utf8))
  }

  @Test("A file that somebody has open is not compressed") func open() throws {
    let tree = try tree()
    try tree.open("f") { _, _ in expect(.delayed(.inUse)) { try tree.setAttribute("f", Self.door, "zstd") } }
    let descriptor = Glibc.open("\(tree.path)/f", O_RDONLY)
    expect(.busy) { try tree.setAttribute("f", Self.door, "zstd") }
    close(descriptor)
    #expect(try form(tree) == "none" && tree.stored("f") == Data(text.utf8))
  }

  @Test("Words that the door does not know, and items that have no content, are refused") func words() throws
  {
    let tree = try Tree {
      file("f", text)
      directory("d")
      symbolicLink("l", to: "f")
    }
    for word in ["zstd:0", "zstd:20", "zstd:03", "gzip", "zstd:", "ZSTD", "none "] {
      expect(.invalid) { try tree.setAttribute("f", Self.door, word) }
    }
    for name in ["d", "l"] {
      expect(.invalid) { try tree.setAttribute(name, Self.door, "zstd") }
      expect(.noData) { _ = try tree.attribute(name, Self.door) }
    }
    #expect(try content(tree) == text)
  }

  @Test("It takes the right to write, and no flag in the way", .enabled(if: Tree.isRoot, "has other users"))
  func rights() throws {
    let tree = try compressed()
    try tree.change("f") { $0.mode = 0o644 }
    tree.user = 1001
    for word in ["zstd", "none"] { expect(.accessDenied) { try tree.setAttribute("f", Self.door, word) } }
    #expect(try form(tree).hasPrefix("zstd"))
    tree.user = 0
    for flag in ["uchg", "uappnd", "schg"] {
      try tree.setAttribute("f", "system.varve.flags", flag)
      for word in ["zstd", "none"] { expect(.notPermitted) { try tree.setAttribute("f", Self.door, word) } }
      #expect(try content(tree) == text)
    }
    try tree.setAttribute("f", "system.varve.flags", "")
    tree.unmount()
    let readOnly = try Tree({ $0.live.rules.isReadOnly = true }) { file("f", text) }
    for word in ["zstd", "none"] { expect(.readOnly) { try readOnly.setAttribute("f", Self.door, word) } }
  }

  @Test("An encrypted file is not compressed, and a compressed one is encrypted as if it were not")
  func encrypted() throws {
    let tree = try Tree.vault()
    try tree.make("plain/file", text)
    usleep(30_000)
    try tree.setAttribute("plain/file", Self.door, "zstd")
    try tree.open("plain/file") { _, _ in
      expect(.delayed(.inUse)) { try tree.setClass("plain/file", "complete") }
    }
    #expect(try tree.attribute("plain/file", Self.door).starts(with: "zstd".utf8))
    usleep(30_000)
    try tree.setClass("plain/file", "complete")
    #expect(try tree.attribute("plain/file", Self.door) == Array("none".utf8))
    #expect(try tree.stored("plain/file").range(of: Data("hardly".utf8)) == nil)
    expect(.unsupported) { try tree.setAttribute("plain/file", Self.door, "zstd") }
    try tree.setAttribute("plain/file", Self.door, "none")
    #expect(try tree.read("plain/file").hasPrefix("line 0 of"))
  }

  @Test("A signal ends it while nothing is changed", arguments: ["zstd", "none", "open"], [1, 2, 3])
  func interrupted(_ way: String, _ question: Int) throws {
    let long = String(repeating: text, count: 12)
    let tree = try way == "zstd" ? tree(long) : compressed(long)
    let before = try tree.stored("f")
    let asked = try tree.interrupting(at: question) {
      expect(.interrupted) {
        guard way == "open" else { return try tree.setAttribute("f", Self.door, way) }
        try tree.open("f", .write)
      }
    }
    #expect(asked == question)
    #expect(try tree.stored("f") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(tree.path)/.varve/work").isEmpty)
  }

  @Test("Without room it stays compressed, and can be read") func noSpace() throws {
    let tree = try compressed()
    for call in 0..<60 {
      let fault = Fault(.write, .noSpace, after: call, count: .max >> 1)
      let (result, hits) = fault.during { try tree.write("f", "NEW") }
      let words = "call \(call): \(result)"
      if hits == 0 { break }
      guard case .failure(let error) = result else {
        Issue.record("it had no room, and succeeded; \(words)")
        break
      }
      #expect(error as? Errno == .noSpace, "\(words)")
      // From the first overwritten byte on it goes on as soon as there is room.
      #expect(try content(tree) == text, "\(words)")
      if try form(tree) == "none" {
        usleep(30_000)
        try tree.setAttribute("f", Self.door, "zstd")
      }
      usleep(30_000)
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(tree.path)/.varve/work").isEmpty)
    }
    try tree.write("f", "NEW")
    #expect(try content(tree) == "NEW" + text.dropFirst(3))
  }

  @Test("What zstd makes of the stored bytes is the content")
  func stranger() throws {
    let tree = try compressed()
    let zstd = Process()
    zstd.executableURL = URL(fileURLWithPath: "/usr/bin/zstd")
    zstd.arguments = ["-dcq", "\(tree.path)/f"]
    let pipe = Pipe()
    zstd.standardOutput = pipe
    try zstd.run()
    let content = pipe.fileHandleForReading.readDataToEndOfFile()
    zstd.waitUntilExit()
    #expect(zstd.terminationStatus == 0 && content == Data(text.utf8))
  }
}
