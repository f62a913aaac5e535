// Files whose content was half replaced when something failed: who changes them, and who reads them, until that is settled.

import Decisions
import Faults
import Foundation
import Glibc
import LinuxFiles
import RecordFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Content that was half replaced") struct HalfReplacedTests {
  private let text = softText(3_000_000)
  private static let capability: [UInt8] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  /// A tree with the compressed file `f`.
  private func compressed() throws -> Tree {
    let tree = try Tree { file("f", "") }
    try text.write(toFile: "\(tree.path)/f", atomically: false, encoding: .utf8)
    usleep(30_000)
    try tree.setAttribute("f", CompressedFileTests.door, "zstd")
    usleep(30_000)
    return tree
  }

  private func work(_ tree: Tree) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(tree.path)/.varve/work")
  }

  /// Lets an expansion fail from one change on, as a disk does; false if it did not fail.
  private func fail(_ tree: Tree, from call: Int) -> Bool {
    let fault = Fault(.changes, .inputOutput, after: call, count: .max >> 1)
    return fault.during { try tree.setAttribute("f", CompressedFileTests.door, "none") }.hits > 0
  }

  private func isHalf(_ tree: Tree) throws -> Bool {
    try tree.at("f") { volume, node in try volume.facts(of: volume.node(node)).record.isReplacing }
  }

  /// At each change from which on it can fail, with what it has left then.
  private func forEachHalf(
    _ prepare: (Tree) throws -> Void = { _ in }, _ look: (Tree, Int) throws -> Void
  ) throws {
    var halves = 0
    for call in 0..<200 {
      let tree = try compressed()
      try prepare(tree)
      guard fail(tree, from: call) else { break }
      // What has not begun is as it was.
      guard try isHalf(tree) else { continue }
      halves += 1
      try look(tree, call)
    }
    #expect(halves > 2)
  }

  @Test(
    "Times and modes that are set until it is settled stay", .enabled(if: Tree.isRoot, "changes capabilities")
  )
  func changed() throws {
    let wanted = Timestamp(seconds: 1_234_567, nanoseconds: 89)
    let capability = HalfReplacedTests.capability
    try forEachHalf { tree, call in
      try tree.change("f") { $0.modification = .set(wanted) }
      #expect(try tree.attributes("f").modification == wanted, "call \(call)")
      try tree.change("f") { $0.mode = 0o640 }
      try tree.setAttribute("f", "security.capability", bytes: capability)
      try tree.open("f") { _, _ in }
      #expect(try tree.attributes("f").modification == wanted, "call \(call)")
      #expect(try tree.attributes("f").mode == 0o640)
      #expect(try tree.attribute("f", "security.capability") == capability)
      #expect(try tree.stored("f") == Data(text.utf8))
      #expect(try work(tree).isEmpty)
    }
  }

  @Test(
    "Set-id bits and a capability that are taken away until it is settled do not come back",
    .enabled(if: Tree.isRoot, "changes capabilities"))
  func revoked() throws {
    try forEachHalf {
      try $0.change("f") { $0.mode = 0o6755 }
      try $0.setAttribute("f", "security.capability", bytes: HalfReplacedTests.capability)
      usleep(30_000)
    } _: { tree, call in
      // Either may come first.
      if call % 2 == 0 { try tree.change("f") { $0.mode = 0o755 } }
      try? tree.removeAttribute("f", "security.capability")
      try tree.change("f") { $0.mode = 0o755 }
      try tree.open("f") { _, _ in }
      #expect(try tree.attributes("f").mode == 0o755, "call \(call)")
      #expect((try? tree.attribute("f", "security.capability")) == nil, "call \(call)")
    }
  }

  @Test("Who has it open reads what is in it, before it is settled, meanwhile and after") func readers()
    throws
  {
    let bytes = Array(text.utf8)
    for call in 0..<200 {
      let tree = try compressed()
      let isOver = try tree.open("f") { volume, handle in
        guard fail(tree, from: call) else { return true }
        let isDone = Atomic(false)
        let wrong = Mutex<[String]>([])
        let threads = (0..<2).map { number in
          let thread = Thread {
            var offset = number * 65_000
            while !isDone.load(ordering: .acquiring) {
              offset = (offset + 1_234_567) % bytes.count
              do {
                let read = try HalfReplacedTests.read(volume, handle, at: offset, 5_000)
                if read != bytes[offset..<min(offset + 5_000, bytes.count)] {
                  wrong.withLock { $0.append("other bytes at \(offset)") }
                }
              } catch {
                wrong.withLock { $0.append("\(error) at \(offset)") }
              }
            }
          }
          thread.start()
          return thread
        }
        defer {
          isDone.store(true, ordering: .releasing)
          for thread in threads { while !thread.isFinished { usleep(1_000) } }
        }
        try tree.open("f", .write) { _, _ in }
        #expect(wrong.withLock { $0 } == [], "call \(call)")
        return false
      }
      #expect(try tree.stored("f") == Data(bytes) || isOver)
      if isOver { break }
    }
  }

  @Test(
    "Where nothing is written to it a file that was half replaced is EIO, and a check names it",
    .enabled(if: Tree.isRoot, "has a volume as a lower"))
  func unsettled() throws {
    let caller = Caller(user: 0, group: 0, thread: getpid())
    try forEachHalf { tree, call in
      tree.close()
      do {
        var options = VolumeOptions()
        options.live.rules.isReadOnly = true
        let volume = try Volume(UpperRoot(Array(tree.path.utf8)), options: options)
        let node = try volume.find("f", in: Volume.rootNode, for: caller)
        #expect(throws: Errno.inputOutput, "call \(call)") {
          _ = try volume.open(node, .read, for: caller)
        }
        #expect(throws: Errno.readOnly) { _ = try volume.open(node, .write, for: caller) }
      }
      do {
        let layered = try LayeredTree(making: { _ in [tree.path] })
        #expect(throws: Errno.inputOutput, "call \(call)") { _ = try layered.read("f") }
        #expect(throws: Errno.inputOutput, "call \(call)") { try layered.write("f", "x") }
        #expect(throws: Errno.inputOutput, "call \(call)") { try layered.change("f") { $0.size = 0 } }
        #expect(throws: Errno.inputOutput, "call \(call)") { try layered.change("f") { $0.mode = 0o600 } }
        #expect(try FileManager.default.contentsOfDirectory(atPath: layered.upper) == [".varve"])
      }
      let file = SharedDescriptor(try Descriptor.open(path: tree.path + "/f", .path))
      let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
      #expect(try VolumeInspection(of: root, for: .looking).hasNewContent(of: file), "call \(call)")
      // And the next mount for writing has it.
      #expect(try tree.open("f") { try HalfReplacedTests.read($0, $1, at: 0, 10) == Array(text.utf8)[..<10] })
      tree.close()
      #expect(try !VolumeInspection(of: root, for: .looking).hasNewContent(of: file))
    }
  }

  @Test("Why says who finishes a file that was half replaced") func explained() throws {
    func explain(_ volume: Volume) throws -> Explanation {
      try volume.explain(
        Question(.read, Array("f".utf8)), as: volume.assumed(user: 0, group: 0, groups: []),
        within: WalkLimits(deadline: .max))
    }
    try forEachHalf { tree, call in
      let here = try explain(tree.volume())
      let notes = here.steps.compactMap { if case .noted(let words) = $0.content { words } else { nil } }
      #expect(here.outcome == .allowed, "call \(call)")
      #expect(notes == ["its content was being expanded when that was interrupted; this finishes it first"])
      tree.close()
      var options = VolumeOptions()
      options.live.rules.isReadOnly = true
      let readOnly = try explain(Volume(UpperRoot(Array(tree.path.utf8)), options: options))
      guard case .ends(.inputOutput, let words)? = readOnly.steps.last?.content else {
        Issue.record("call \(call): \(readOnly.steps)")
        return
      }
      #expect(words.hasSuffix("the next mount for writing finishes that"))
    }
  }

  @Test("A repair finishes a file that was half replaced, and changes nothing else of it") func repaired()
    throws
  {
    var before: FileStatus?
    try forEachHalf {
      before = try status($0)
    } _: { tree, call in
      tree.close()
      let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
      let object = SharedDescriptor(try Descriptor.open(path: tree.path + "/f", .path))
      do {
        let inspection = try VolumeInspection(of: root, for: .repairing)
        #expect(try inspection.hasNewContent(of: object))
        try inspection.finishReplacement(of: object)
        #expect(try !inspection.hasNewContent(of: object), "call \(call)")
        // Of a file that is whole nothing is left to do.
        try inspection.finishReplacement(of: object)
      }
      let after = try status(tree)
      #expect(after.inode == before?.inode && after.modification == before?.modification, "call \(call)")
      #expect(after.mode == before?.mode && after.linkCount == before?.linkCount)
      #expect(try tree.stored("f") == Data(text.utf8), "call \(call)")
      #expect(try work(tree).isEmpty)
      #expect(try !isHalf(tree))
      #expect(try tree.attribute("f", CompressedFileTests.door) == Array("none".utf8))
    }
  }

  @Test("A repair that does not find the new content changes nothing") func unrepaired() throws {
    try forEachHalf { tree, call in
      tree.close()
      let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
      let object = SharedDescriptor(try Descriptor.open(path: tree.path + "/f", .path))
      let stored = try tree.stored("f")
      let name = try #require(work(tree).first { $0.hasPrefix("r-") })
      let (place, aside) = ("\(tree.path)/.varve/work/\(name)", "\(tree.path)/.varve/aside")
      do {
        let inspection = try VolumeInspection(of: root, for: .repairing)
        #expect(rename(place, aside) == 0)
        #expect(throws: Errno.inputOutput) { try inspection.finishReplacement(of: object) }
        #expect(rename(aside, place) == 0)
      }
      #expect(try tree.stored("f") == stored && work(tree).contains(name), "call \(call)")
      // Nor is it lost: the next mount has it.
      #expect(try !isHalf(tree) && tree.stored("f") == Data(text.utf8), "call \(call)")
    }
  }

  private func status(_ tree: Tree) throws -> FileStatus {
    try Descriptor.open(path: tree.path + "/f", .path).status()
  }

  @Test("A file that was half replaced is settled before it is cut") func cut() throws {
    try forEachHalf { tree, call in
      try tree.change("f") { $0.size = 5 }
      #expect(try tree.stored("f") == Data(text.utf8.prefix(5)), "call \(call)")
      #expect(try work(tree).isEmpty)
    }
  }

  @Test("A file that was half replaced is settled before its form or class changes, or it is verified")
  func asked() throws {
    try forEachHalf { tree, call in
      switch call % 4 {
      case 0: try tree.setAttribute("f", CompressedFileTests.door, "none")
      case 1:
        usleep(30_000)
        try tree.setAttribute("f", CompressedFileTests.door, "zstd")
        #expect(try tree.attribute("f", CompressedFileTests.door).starts(with: Array("zstd ".utf8)))
        return
      case 2: try tree.setAttribute("f", "system.varve.class", "none")
      default:
        let answer = String(decoding: try tree.attribute("f", "system.varve.verify"), as: UTF8.self)
        #expect(answer.contains("\"none\""))
      }
      #expect(try tree.stored("f") == Data(text.utf8), "call \(call)")
      #expect(try !isHalf(tree) && work(tree).isEmpty)
    }
  }

  @Test("Who has a file open whose half replaced content is settled hears that its blocks are others")
  func expired() throws {
    var halves = 0
    for call in 0..<200 {
      let tree = try compressed()
      let isOver = try tree.open("f") { volume, _ in
        guard fail(tree, from: call) else { return true }
        guard try isHalf(tree) else { return false }
        halves += 1
        let expired = Mutex<Set<NodeID>>([])
        volume.attach(.expiring { node in expired.withLock { _ = $0.insert(node) } })
        let form = try tree.attribute("f", CompressedFileTests.door)
        let node = try tree.at("f") { _, node in node }
        #expect(form == Array("none".utf8) && expired.withLock { $0 } == [node], "call \(call)")
        return false
      }
      if isOver { break }
    }
    #expect(halves > 2)
  }

  @Test(
    "An encrypted file that was half decrypted when it failed has no encrypted content once it is settled")
  func decrypted() throws {
    var halves = 0
    for call in 0..<200 {
      let tree = try Tree.vault()
      try tree.make("a/file", text)
      let isOver = try tree.at("a/file") { volume, id in
        let node = try volume.node(id)
        #expect(try tree.read("a/file").hasPrefix("line 0 of"))
        usleep(30_000)
        let fault = Fault(.changes, .inputOutput, after: call, count: .max >> 1)
        guard fault.during({ try tree.setClass("a/file", "none") }).hits > 0 else { return true }
        guard try volume.facts(of: node).record.isReplacing else { return false }
        halves += 1
        #expect((try? tree.classOf("a/file")) == nil)
        #expect(node.existingAttachment?.encrypted == nil, "call \(call)")
        #expect(try tree.stored("a/file") == Data(text.utf8))
        return false
      }
      if isOver { break }
    }
    #expect(halves > 2)
  }

  private static func read(
    _ volume: Volume, _ handle: HandleID, at offset: Int, _ count: Int
  ) throws -> ArraySlice<UInt8> {
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    var isSecret = false
    let read = try volume.read(handle, at: UInt64(offset), into: &span, isSecret: &isSecret)
    return bytes[..<read]
  }
}
