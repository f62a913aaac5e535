// Content that is being replaced while others look at the file: what they see, and what they wait for.

import Decisions
import Faults
import Foundation
import Glibc
import LinuxFiles
import RecordFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Content that is being replaced") struct UnderReplacementTests {
  /// Into which form a file of 300,000 bytes is brought.
  enum Change: String, CaseIterable, Sendable {
    case compressed, expanded, encrypted, decrypted

    var door: (name: String, value: String, former: String?) {
      switch self {
      case .compressed: ("system.varve.compression", "zstd", nil)
      case .expanded: ("system.varve.compression", "none", "zstd")
      case .encrypted: ("system.varve.class", "complete", nil)
      case .decrypted: ("system.varve.class", "none", "complete")
      }
    }
  }

  /// What somebody else has seen when the bytes were those of neither form.
  private struct Seen {
    var size: UInt64 = 0
    var modified: Timestamp?
    var isReplacing = false
    /// Who was done before the bytes were copied.
    var early: [String] = []
    var failures: [String] = []
    /// What `why` notes.
    var told: [String] = []
  }

  private let text = softText(300_000)

  private func tree(_ change: Change) throws -> (Tree, NodeID) {
    let tree = try Tree { file("f", "") }
    try text.write(toFile: "\(tree.path)/f", atomically: false, encoding: .utf8)
    try tree.addKeybag()
    try tree.unlock()
    usleep(30_000)
    if let former = change.door.former { try tree.setAttribute("f", change.door.name, former) }
    usleep(30_000)
    // With a reference of our own: it is the same for everybody below.
    let caller = Caller(user: geteuid(), group: getegid(), thread: getpid())
    let volume = try tree.volume()
    return (tree, try volume.find("f", in: Volume.rootNode, for: caller))
  }

  private final class SeenBox: Sendable {
    let state = Mutex(Seen())
    let isLetGo = Atomic(false)

    /// Does something in a thread of its own, once the bytes are copied.
    func aside(
      _ what: String, once held: HeldCall, _ body: @escaping @Sendable () throws -> Void
    ) -> Thread {
      let thread = Thread {
        while !held.isHeld { usleep(200) }
        do { try body() } catch { self.state.withLock { $0.failures.append("\(what): \(error)") } }
        if !self.isLetGo.load(ordering: .acquiring) { self.state.withLock { $0.early.append(what) } }
      }
      thread.start()
      return thread
    }
  }

  @Test(
    "Others see size and time as they were, and who wants the content waits for it and gets it",
    .enabled(if: Tree.isRoot, "gives files away"), arguments: Change.allCases)
  func watched(_ change: Change) throws {
    let (tree, node) = try tree(change)
    let (volume, before) = (try tree.volume(), try tree.attributes("f"))
    let (box, held) = (SeenBox(), HeldCall(.times))
    let caller = Caller(user: 0, group: 0, thread: getpid())
    let others = [
      box.aside("open", once: held) {
        let handle = try volume.open(node, .read, for: caller).handle
        defer { volume.release(handle) }
        var bytes = [UInt8](repeating: 0, count: 100)
        var span = bytes.mutableSpan
        var isSecret = false
        let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
        guard count == 100, bytes.starts(with: "line 0 of".utf8) else { throw Errno.inputOutput }
      },
      box.aside("access", once: held) { try volume.access(node, mask: UInt32(R_OK), for: caller) },
      box.aside("chmod", once: held) {
        var wanted = AttributeChange()
        wanted.mode = 0o640
        _ = try volume.changeAttributes(of: node, wanted, handle: nil, for: caller)
      },
    ]
    let watcher = box.aside("look", once: held) {
      defer {
        box.isLetGo.store(true, ordering: .releasing)
        held.letGo()
      }
      // The bytes are copied, and the times are not given back: no lock of the file is held.
      let shown = try volume.attributes(of: node, handle: nil, for: caller).attributes
      let isReplacing = try volume.facts(of: volume.node(node)).record.isReplacing
      box.state.withLock {
        ($0.size, $0.modified, $0.isReplacing) = (shown.size, shown.modification, isReplacing)
      }
      usleep(50_000)
    }
    try held.during { try tree.setAttribute("f", change.door.name, change.door.value) }
    #expect(held.isHeld)
    for thread in others + [watcher] { while !thread.isFinished { usleep(1_000) } }
    let seen = box.state.withLock { $0 }
    #expect(seen.failures == [])
    #expect(seen.isReplacing)
    #expect(seen.size == 300_000 && seen.modified == before.modification)
    #expect(seen.early == [])
    #expect(try tree.attributes("f").modification == before.modification)
    #expect(try tree.attributes("f").mode & 0o777 == 0o640)
    volume.forget(node, references: 1)
  }

  @Test(
    "Why says what is being done to the content, and that an operation waits for it",
    .enabled(if: Tree.isRoot, "gives files away"), arguments: Change.allCases)
  func explained(_ change: Change) throws {
    let (tree, node) = try tree(change)
    let volume = try tree.volume()
    let (box, held) = (SeenBox(), HeldCall(.times))
    let watcher = box.aside("why", once: held) {
      defer { held.letGo() }
      for deed in [Deed.read, .write, .changeMode, .delete] {
        let question = Question(deed, Array("f".utf8))
        let answer = try volume.explain(
          question, as: volume.assumed(user: 0, group: 0, groups: []), within: WalkLimits(deadline: .max))
        guard answer.outcome == .allowed else { throw answer.failure ?? .invalid }
        for case .noted(let words) in answer.steps.map(\.content) {
          box.state.withLock { $0.told.append("\(deed.rawValue): \(words)") }
        }
      }
    }
    try held.during { try tree.setAttribute("f", change.door.name, change.door.value) }
    while !watcher.isFinished { usleep(1_000) }
    let seen = box.state.withLock { $0 }
    #expect(seen.failures == [])
    let words = "its content is being \(change.rawValue) now; this waits until that is done"
    #expect(seen.told == ["read: \(words)", "write: \(words)", "chmod: \(words)"])
    volume.forget(node, references: 1)
  }

  @Test(
    "A volume does not become read-only while a file is written over",
    .enabled(if: Tree.isRoot, "gives files away"))
  func readOnly() throws {
    let (tree, node) = try tree(.expanded)
    let volume = try tree.volume()
    let (box, held) = (SeenBox(), HeldCall(.times))
    let watcher = box.aside("remount", once: held) {
      defer { held.letGo() }
      var wanted = volume.live.wanted
      wanted.rules.isReadOnly = true
      do { try volume.change(to: wanted) } catch ChangeRefusal.openForWriting(files: 1) { return }
      throw Errno.inputOutput
    }
    try held.during { try tree.setAttribute("f", "system.varve.compression", "none") }
    while !watcher.isFinished { usleep(1_000) }
    #expect(box.state.withLock { $0.failures } == [])
    #expect(try tree.stored("f") == Data(text.utf8))
    var wanted = volume.live.wanted
    wanted.rules.isReadOnly = true
    try volume.change(to: wanted)
    volume.forget(node, references: 1)
  }

  @Test(
    "A file that loses its name meanwhile is whole for who holds it",
    .enabled(if: Tree.isRoot, "gives files away"),
    arguments: Change.allCases)
  func removed(_ change: Change) throws {
    let (tree, node) = try tree(change)
    let volume = try tree.volume()
    let (box, held) = (SeenBox(), HeldCall(.times))
    let caller = Caller(user: 0, group: 0, thread: getpid())
    let watcher = box.aside("remove", once: held) {
      defer { held.letGo() }
      try FileName.with(Array("f".utf8)) { name throws(Errno) in
        try volume.remove(name, from: Volume.rootNode, for: caller)
      }
    }
    try held.during { try tree.setAttribute("f", change.door.name, change.door.value) }
    while !watcher.isFinished { usleep(1_000) }
    #expect(box.state.withLock { $0.failures } == [])
    let handle = try volume.open(node, .read, for: caller).handle
    var bytes = [UInt8](repeating: 0, count: 100)
    var span = bytes.mutableSpan
    var isSecret = false
    #expect(try volume.read(handle, at: 299_000, into: &span, isSecret: &isSecret) == 100)
    #expect(bytes[...] == Array(text.utf8)[299_000..<299_100])
    volume.release(handle)
    volume.forget(node, references: 1)
    #expect(tree.workshop() == [])
  }

  @Test("A work file is not emptied while somebody reads it") func readingTheCopy() throws {
    let (tree, node) = try tree(.expanded)
    let volume = try tree.volume()
    let copy = "\(tree.path)/copy"
    try text.write(toFile: copy, atomically: false, encoding: .utf8)
    try tree.open("f") { volume, _ in
      let file = try #require(try volume.readers(of: volume.node(node)).first)
      file.leaveFrames(for: SharedDescriptor(try Descriptor.open(path: copy, .readOnly)))
      let held = HeldCall(.read)
      let isEmptied = Atomic(false)
      let read = Mutex<[UInt8]>([])
      let reader = Thread {
        held.during {
          var bytes = [UInt8](repeating: 0, count: 100)
          var span = bytes.mutableSpan
          let count = (try? file.read(at: 0, into: &span)) ?? 0
          read.withLock { $0 = Array(bytes[..<count]) }
        }
      }
      reader.start()
      while !held.isHeld { usleep(200) }
      let emptier = Thread {
        file.becomePlain()
        _ = truncate(copy, 0)
        isEmptied.store(true, ordering: .releasing)
      }
      emptier.start()
      usleep(50_000)
      let isEarly = isEmptied.load(ordering: .acquiring)
      #expect(!isEarly)
      held.letGo()
      for thread in [reader, emptier] { while !thread.isFinished { usleep(200) } }
      #expect(read.withLock { $0 } == Array(text.utf8.prefix(100)))
    }
    volume.forget(node, references: 1)
  }

  @Test(
    "Who came to write when the file was found unused, and is gone when its bytes are copied, is seen",
    .enabled(if: Tree.isRoot, "encrypts"), arguments: [Change.compressed, .encrypted, .decrypted])
  func aWriterInBetween(_ change: Change) throws {
    let (tree, id) = try tree(change)
    let (volume, before) = (try tree.volume(), try tree.stored("f"))
    let (caller, node) = (tree.caller(), try volume.node(id))
    let isHeld = Atomic(false)
    // Another change has the bytes of the file to itself, so that this one waits between its two steps.
    let writer = Thread {
      try? volume.copyUps.alone(id, for: caller) { () throws(Errno) in
        isHeld.store(true, ordering: .releasing)
        for _ in 0..<50_000 {
          if node.existingAttachment?.state.withLock({ $0.file.watchers > 0 }) ?? false { break }
          usleep(200)
        }
        volume.release(try volume.open(id, .write, for: caller).handle)
      }
    }
    writer.start()
    while !isHeld.load(ordering: .acquiring) { usleep(200) }
    #expect(throws: Errno.busy) {
      try tree.setAttribute("f", change.door.name, change.door.value)
    }
    while !writer.isFinished { usleep(200) }
    #expect(try tree.stored("f") == before)
    try tree.setAttribute("f", change.door.name, change.door.value)
  }
}
