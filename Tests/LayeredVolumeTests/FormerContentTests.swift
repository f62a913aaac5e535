// What is kept of encrypted files that nobody uses any more.

import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Encrypted files that are let go of", .enabled(if: Tree.isRoot, "needs root"))
struct FormerContentTests {
  /// A tree with files in `a` that the kernel knows, as in a test it does until the end.
  private struct Files {
    let tree: Tree
    let volume: Volume
    let nodes: [NodeID]
    let caller: Caller

    init(_ count: Int) throws {
      tree = try Tree.vault()
      let caller = tree.caller()
      let names = (0..<count).map { "file\($0)" }
      for name in names { try tree.make("a/\(name)", "text") }
      // What has just changed may change again without telling it.
      usleep(50_000)
      self.caller = caller
      volume = try tree.volume()
      nodes = try tree.at("a") { volume, directory in
        try names.map { try volume.find($0, in: directory, for: caller) }
      }
    }

    func open(_ file: Int, _ mode: OpenMode = [.read, .write]) throws -> OpenAnswer {
      try volume.open(nodes[file], mode, for: caller)
    }

    func openAndCloseAll() throws {
      for file in nodes.indices { volume.release(try open(file).handle) }
    }

    /// Lets go of all that can be.
    func letGo() {
      volume.sealed.endRest()
      volume.letGoOfIdle(atLeast: 1)
    }

    /// Of how many more than a few bytes are kept.
    var kept: Int { get throws { try nodes.count { try volume.node($0).existingAttachment != nil } } }

    func read(_ file: Int) throws -> String {
      let handle = try open(file, .read).handle
      defer { volume.release(handle) }
      var bytes = [UInt8](repeating: 0, count: 6)
      var span = bytes.mutableSpan
      var isSecret = false
      let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
      return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func write(_ text: String, _ handle: HandleID, at offset: UInt64 = 0) throws {
      var bytes = Array(text.utf8)
      var span = bytes.mutableSpan
      _ = try volume.write(handle, at: offset, &span, appends: false, clearsSetID: false, for: caller)
    }
  }

  @Test("Of files that nobody uses their change time is kept: they are opened as if nothing had gone")
  func opened() throws {
    let files = try Files(70)
    try files.openAndCloseAll()
    #expect(try files.kept == 70)
    files.letGo()
    #expect(try files.kept == 0)
    let dropped = Mutex<[NodeID]>([])
    files.volume.attach(KernelLink.dropping { node in dropped.withLock { $0.append(node) } })
    // The kernel's pages of one that nobody has changed are right.
    #expect(try files.open(0).route == .cached(keepsPages: true))
    #expect(dropped.withLock { $0 } == [])
    #expect(utimensat(AT_FDCWD, files.tree.path + "/a/file1", nil, 0) == 0)
    #expect(try files.open(1).route == .cached(keepsPages: true))
    #expect(dropped.withLock { $0 } == [files.nodes[1]])
    for file in files.nodes.indices { #expect(try files.read(file) == "text") }
  }

  @Test("Files that rested longest ago are let go of by those that are closed")
  func byTheWay() throws {
    let files = try Files(4_300)
    try files.openAndCloseAll()
    let kept = try files.kept
    // As many as may rest, and so many at most that are waited for.
    #expect(kept >= 4_096 && kept <= 4_096 + 64, "\(kept)")
    try files.openAndCloseAll()
    #expect(try files.kept <= 4_096 + 64)
  }

  @Test("Files that could not be opened while they were locked are let go of, too") func refused() throws {
    let files = try Files(70)
    try files.tree.lock()
    for file in files.nodes.indices { #expect(throws: Errno.noKey) { try files.open(file) } }
    #expect(try files.kept <= 64)
  }

  @Test("A lock has the kernel drop the pages of files that were let go of, and forgets none of them")
  func locked() throws {
    let files = try Files(70)
    try files.openAndCloseAll()
    files.letGo()
    #expect(try files.tree.lock().purged == 70)
    try files.tree.unlock()
    #expect(try files.tree.lock().purged == 70)
    try files.tree.unlock()
    #expect(try files.open(0).route == .cached(keepsPages: true))
  }

  @Test("What is open, owes something, was lost or has no name any more is not let go of") func kept() throws
  {
    let files = try Files(8)
    try files.openAndCloseAll()
    let handle = try files.open(0).handle
    func content(_ file: Int) throws -> SealedObject {
      try #require(try files.volume.node(files.nodes[file]).existingAttachment?.encrypted as? SealedObject)
    }
    try content(1).abandon()
    try files.tree.remove("a/file2")
    files.letGo()
    #expect(try files.kept == 3)
    #expect(try files.tree.lock().unwritten.count == 1)
    try files.tree.unlock()
    try files.write("more", handle)
    files.volume.release(handle)
    #expect(try files.read(0) == "more")
  }

  @Test("A file of which somebody waits for who comes is not let go of") func watched() throws {
    let files = try Files(1)
    try files.openAndCloseAll()
    let node = try files.volume.node(files.nodes[0])
    var unused: UnusedFile? = UnusedFile(node)
    files.letGo()
    #expect(try files.kept == 1)
    files.volume.release(try files.open(0, .read).handle)
    #expect(unused?.isUsed == false)
    files.volume.release(try files.open(0, .write).handle)
    #expect(unused?.isUsed == true)
    unused = nil
    try files.openAndCloseAll()
    files.letGo()
    #expect(try files.kept == 0)
  }

  @Test("A file that a request is about is not let go of, and not waited for") func inARequest() throws {
    let files = try Files(8)
    try files.openAndCloseAll()
    let node = try files.volume.node(files.nodes[3])
    try files.volume.locks.holding(.shared(node.stripe)) { () throws(Errno) in files.letGo() }
    #expect(node.existingAttachment != nil)
    #expect(try files.kept < 8)
  }

  @Test("Of a file that the kernel has forgotten nothing is kept") func forgotten() throws {
    let files = try Files(8)
    try files.openAndCloseAll()
    files.letGo()
    #expect(files.volume.sealed.registered(in: .all).count == 8)
    for node in files.nodes { files.volume.forget(node, references: 1) }
    #expect(files.volume.sealed.registered(in: .all).isEmpty)
  }

  @Test(
    "Files that are let go of beside those who open, write and close them, and beside locks, lose nothing",
    .timeLimit(.minutes(2)))
  func besideOthers() throws {
    let files = try Files(4)
    let others = Others(files.volume, files.nodes, files.caller)
    var threads: [Joined] = []
    for file in files.nodes.indices { threads.append(Joined(try PlainThread { others.append(to: file) })) }
    threads.append(Joined(try PlainThread { others.letGo() }))
    for _ in 0..<20 {
      let before = others.written
      let end = Clock.monotonicNanoseconds + 5_000_000_000
      while others.written < before + 40, Clock.monotonicNanoseconds < end { Clock.pause(milliseconds: 1) }
      #expect(others.written > before)
      let outcome = files.volume.lock(.locking, isHurried: false)
      #expect(outcome.unwritten.isEmpty && outcome.kept.isEmpty)
      try files.tree.unlock()
    }
    others.end()
    for thread in threads { thread.join() }
    #expect(others.times > 0)
    for file in files.nodes.indices {
      #expect(try files.tree.attributes("a/file\(file)").size == UInt64(4 + others.count(file) * 6))
      let text = try files.tree.read("a/file\(file)")
      #expect(text == "text" + String(repeating: "piece ", count: others.count(file)))
    }
    files.tree.unmount()
    #expect(try files.tree.sessionsListed() == 0)
  }
}

/// Who appends to files, and who lets go of them meanwhile.
private final class Others: Sendable {
  private let volume: Volume
  private let nodes: [NodeID]
  private let caller: Caller
  private let isOver = Atomic(false)
  private let counts: Mutex<[Int]>
  private let letGoCount = Atomic(0)

  init(_ volume: Volume, _ nodes: [NodeID], _ caller: Caller) {
    (self.volume, self.nodes, self.caller) = (volume, nodes, caller)
    counts = Mutex(nodes.map { _ in 0 })
  }

  func end() { isOver.store(true, ordering: .releasing) }
  func count(_ file: Int) -> Int { counts.withLock { $0[file] } }
  var written: Int { counts.withLock { $0.reduce(0, +) } }
  /// How often a file was let go of.
  var times: Int { letGoCount.load(ordering: .relaxed) }

  func append(to file: Int) {
    while !isOver.load(ordering: .acquiring) {
      guard let handle = try? volume.open(nodes[file], [.read, .write], for: caller).handle else { continue }
      var bytes = Array("piece ".utf8)
      var span = bytes.mutableSpan
      // Where the kernel, which knows the end, would write.
      let end = UInt64(4 + count(file) * 6)
      let isWritten =
        (try? volume.write(handle, at: end, &span, appends: false, clearsSetID: false, for: caller)) != nil
      if isWritten { counts.withLock { $0[file] += 1 } }
      volume.release(handle)
      // So that it is at rest now and then.
      Clock.pause(milliseconds: 1)
    }
  }

  func letGo() {
    while !isOver.load(ordering: .acquiring) {
      volume.sealed.endRest()
      volume.letGoOfIdle(atLeast: 1)
      let gone = nodes.count { (try? volume.node($0))?.existingAttachment == nil }
      letGoCount.add(gone, ordering: .relaxed)
    }
  }
}

/// A thread that outlives a closure.
private final class Joined {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
