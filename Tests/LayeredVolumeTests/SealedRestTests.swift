// When an encrypted file that nobody uses may be let go of.

import Glibc
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Encrypted files at rest", .enabled(if: Tree.isRoot, "needs root")) struct SealedRestTests {
  private static let other = Timestamp(seconds: 1, nanoseconds: 1)

  /// A file whose blocks reach beyond the first index page, so that writing them leaves the last slot to be written.
  private func long(_ tree: Tree) throws {
    try tree.make("a/file", "")
    try tree.open("a/file", .write) { volume, handle in
      for block in 0..<40 { try put(volume, handle, "first", at: UInt64(block) * 4096) }
      try volume.synchronize(handle, dataOnly: false)
    }
  }

  private func put(_ volume: Volume, _ handle: HandleID, _ text: String, at offset: UInt64) throws {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    _ = try volume.write(
      handle, at: offset, &span, appends: false, clearsSetID: false, for: Caller(user: 0, group: 0, thread: 0)
    )
  }

  private func object(_ tree: Tree) throws -> SealedObject {
    try tree.at("a/file") { volume, node in
      try #require(try volume.node(node).existingAttachment?.encrypted as? SealedObject)
    }
  }

  private func read(_ volume: Volume, _ handle: HandleID, at offset: UInt64) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 6)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: offset, into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  @Test("Who opens it before the last close has written its slot finds what is in memory")
  func anOpenOvertakesTheLastClose() throws {
    let tree = try Tree.vault()
    try long(tree)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      let object = try object(tree)
      let way = try #require(object.way)
      try put(volume, handle, "second", at: 30 * 4096)
      try volume.synchronize(handle, dataOnly: false)
      try put(volume, handle, "third!", at: 30 * 4096)
      #expect(object.owesFinish)
      // The last user is gone, and its close has not come to the lock yet.
      #expect(object.leave())
      object.rest()
      #expect(object.way != nil, "the close needs it")
      #expect(!object.forgetUnused())
      #expect(object.join(way, changed: Self.other), "the change was its own")
      try put(volume, handle, "fourth", at: 30 * 4096)
      #expect(try read(volume, handle, at: 30 * 4096) == "fourth")
    }
    tree.unmount()
    try tree.unlock()
    let text = try tree.open("a/file") { volume, handle in try read(volume, handle, at: 30 * 4096) }
    #expect(text == "fourth")
  }

  @Test("Files that are used in turns stay in memory, as many as may: those that rested longest ago go")
  func theLastUsedStay() throws {
    let tree = try Tree.vault()
    let (volume, caller) = (try tree.volume(), tree.caller())
    let names = (0..<3_000).map { "file\($0)" }
    for name in names { try tree.make("a/\(name)", "text") }
    let objects = try tree.at("a") { _, directory in
      // The kernel knows all of them, and opens them in turns.
      let nodes = try names.map { try volume.find($0, in: directory, for: caller) }
      for _ in 0..<2 {
        for node in nodes {
          let handle = try volume.open(node, [.read, .write], for: caller).handle
          volume.release(handle)
        }
      }
      return try nodes.map { node in
        try #require(try volume.node(node).existingAttachment?.encrypted as? SealedObject)
      }
    }
    #expect(objects.count { $0.head == nil } == 0)
  }

  @Test("What rested for five seconds since its last change is synced before the next", arguments: [4, 6])
  func restIsForFiveSeconds(seconds: UInt64) throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    let caller = tree.caller()
    try tree.at("a/file") { volume, node in
      volume.release(try volume.open(node, [.read, .write], for: caller).handle)
      let handle = try volume.open(node, [.read, .write], for: caller).handle
      try put(volume, handle, "more", at: 0)
      let object = try object(tree)
      let way = try #require(object.way)
      volume.release(handle)
      #expect(object.isChanged)
      let seen = try way.descriptor.status().change
      let now = Clock.monotonicNanoseconds + seconds * 1_000_000_000
      #expect(object.join(way, changed: seen, now: now), "its pages are right")
      #expect(object.isChanged == (seconds < 5))
      #expect(object.leave())
      object.rest()
    }
  }

  @Test("Of a file at rest its size is remembered, for when its state has gone from memory")
  func theSizeStaysKnown() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    // What has just changed may change again without telling it.
    usleep(50_000)
    let volume = try tree.volume()
    try tree.at("a/file") { _, node in
      let handle = try volume.open(node, [.read, .write], for: tree.caller()).handle
      let way = try #require(try object(tree).way)
      let status = try way.descriptor.status()
      volume.store.heads.remembered.forgetAll()
      _ = try tree.attributes("a/file")
      #expect(volume.store.heads.remembered.recall(status) == nil, "it is in use, and may change")
      volume.release(handle)
      _ = try tree.attributes("a/file")
      #expect(volume.store.heads.remembered.recall(status)??.size == 4)
    }
  }

  @Test("What somebody else changed is read anew once its own changes are noted")
  func aForeignChangeIsSeen() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.open("a/file") { _, _ in
      let object = try object(tree)
      let way = try #require(object.way)
      #expect(object.leave())
      object.noteSeen()
      #expect(!object.join(way, changed: Self.other))
      #expect(object.join(way, changed: Timestamp(seconds: 2, nanoseconds: 2)), "it is in use")
      #expect(!object.leave())
    }
  }

  @Test("Nobody writes by the way of a reader who has gone") func theWayOfAReader() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    let caller = tree.caller()
    try tree.at("a/file") { volume, node in
      let reader = try volume.open(node, [.read], for: caller).handle
      let object = try object(tree)
      // So far gets a writer who has asked for the way before the reader's close has come to its end.
      let way = try #require(object.way)
      volume.release(reader)
      #expect(object.way == nil)
      _ = object.join(way, changed: try way.descriptor.status().change)
      try object.truncate(to: 2)
      #expect(object.head?.size == 2)
      volume.leave(object, of: try volume.node(node))
    }
  }

  @Test("A last close beside a lock takes nothing from it that it needs") func aCloseBesideALock() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    let caller = tree.caller()
    try tree.at("a/file") { volume, node in
      for round in 0..<10 {
        let handle = try volume.open(node, [.read, .write], for: caller).handle
        try put(volume, handle, "\(round)", at: 0)
        let object = try object(tree)
        let file = try object.using(.bytes) { (file) throws(Errno) in file }
        let outcome = Locked()
        var threads: [Joined] = []
        try file.commits.withLock { _ in
          threads.append(
            Joined(
              try PlainThread {
                outcome.beginInThisThread()
                outcome.value.withLock { $0 = volume.lock(.locking, isHurried: false) }
              }))
          wait(seconds: 10) { volume.keyring.state(of: .complete) == .locked }
          // Until it waits to sync the file, which holds it up for longer than anything else. A close that takes the way away makes that sync fail.
          var asleep = 0
          wait(seconds: 10) {
            asleep = outcome.isAsleep ? asleep + 1 : 0
            return asleep > 10
          }
          threads.append(Joined(try PlainThread { volume.release(handle) }))
          wait(seconds: 0.1) { object.way == nil }
        }
        for thread in threads { thread.join() }
        #expect(outcome.value.withLock { $0.unwritten }.isEmpty)
        #expect(try !volume.sealedIsUnfinished)
        #expect(try tree.sessionsListed() == 0)
        try tree.unlock()
        #expect(try tree.read("a/file") == "\(round)ext")
      }
    }
  }

  @Test(
    "Locks beside many who open, write and close lose nothing, and report nothing lost",
    .timeLimit(.minutes(2)))
  func locksBesideCloses() throws {
    let tree = try Tree.vault()
    let volume = try tree.volume()
    let writers = (0..<4).map { Writer("f\($0)") }
    for writer in writers { try tree.make("a/\(writer.name)", "") }
    let threads = try writers.map { writer in
      Joined(try PlainThread { while !writer.isDone { try? writer.append(in: volume) } })
    }
    for _ in 0..<30 {
      let outcome = volume.lock(.locking, isHurried: false)
      #expect(outcome.unwritten.isEmpty && outcome.kept.isEmpty)
      #expect(try !volume.sealedIsUnfinished)
      try tree.unlock()
      let before = writers.reduce(0) { $0 + $1.count }
      wait(seconds: 5) { writers.reduce(0) { $0 + $1.count } > before + 12 }
    }
    for writer in writers { writer.stop() }
    for thread in threads { thread.join() }
    for writer in writers {
      #expect(writer.count > 0)
      #expect(try tree.attributes("a/\(writer.name)").size == UInt64(writer.count * Writer.piece))
    }
    tree.unmount()
    #expect(try tree.sessionsListed() == 0)
  }

  @Test("A file that is forgotten before its last close has ended keeps no session") func forgottenFirst()
    throws
  {
    let tree = try Tree.vault()
    try long(tree)
    let caller = tree.caller()
    let (volume, handle) = try tree.at("a/file") { volume, node in
      let handle = try volume.open(node, [.read, .write], for: caller).handle
      try put(volume, handle, "second", at: 30 * 4096)
      return (volume, handle)
    }
    // The kernel has forgotten the file, and its close comes now.
    #expect(volume.sealed.isOwed)
    #expect(!volume.endSession())
    volume.release(handle)
    #expect(!volume.sealed.isOwed)
    #expect(try !volume.sealedIsUnfinished)
    #expect(volume.endSession())
    #expect(try tree.sessionsListed() == 0)
    #expect(try tree.open("a/file") { volume, handle in try read(volume, handle, at: 30 * 4096) } == "second")
  }

  @Test("A lock names a file of which something was lost also if the kernel has forgotten it")
  func aForgottenLossIsReported() throws {
    let tree = try Tree.vault()
    try long(tree)
    let caller = tree.caller()
    let (volume, handle, forgotten) = try tree.at("a/file") { volume, node in
      let handle = try volume.open(node, [.read, .write], for: caller).handle
      try put(volume, handle, "second", at: 30 * 4096)
      return (volume, handle, try object(tree))
    }
    #expect(volume.sealed.isOwed)
    forgotten.abandon()
    let names = try tree.lock().unwritten.map { String(decoding: $0, as: UTF8.self) }
    #expect(names == ["inode \(forgotten.context.inode)"])
    volume.release(handle)
    try tree.unlock()
    #expect(try tree.lock().unwritten.isEmpty)
  }

  @Test("A loss is reported by one lock, and no other") func aLossIsReportedOnce() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.at("a/file") { volume, _ in
      try tree.open("a/file", [.read, .write]) { volume, handle in
        try put(volume, handle, "lost", at: 0)
        try object(tree).abandon()
      }
      #expect(try tree.lock().unwritten.count == 1)
      try tree.unlock()
      #expect(try tree.lock().unwritten.isEmpty)
      try tree.unlock()
      #expect(volume.sealed.hasUnfinished)
    }
  }

  @Test("A file that was let go of with its last slot unwritten is in doubt to this mount, too")
  func whatWasForgottenIsInDoubt() throws {
    let tree = try Tree.vault()
    try long(tree)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      let object = try object(tree)
      try put(volume, handle, "second", at: 30 * 4096)
      try volume.synchronize(handle, dataOnly: false)
      try put(volume, handle, "third!", at: 30 * 4096)
      object.abandon()
      #expect(try volume.sealedIsUnfinished)
      try put(volume, handle, "fourth", at: 30 * 4096)
      #expect(try read(volume, handle, at: 30 * 4096) == "fourth")
      #expect(try read(volume, handle, at: 31 * 4096) == "first\0")
    }
    #expect(try tree.volume().sealedIsUnfinished)
  }
}

/// Waits until something is true, so long at most.
private func wait(seconds: Double, _ isTrue: () -> Bool) {
  let end = Clock.monotonicNanoseconds + UInt64(seconds * 1e9)
  while !isTrue(), Clock.monotonicNanoseconds < end { Clock.pause(milliseconds: 1) }
}

/// What a lock answered in another thread.
private final class Locked: Sendable {
  let value = Mutex(LayeredVolume.LockOutcome())
  private let thread = Mutex("")

  func beginInThisThread() {
    var name = [CChar](repeating: 0, count: 64)
    guard readlink("/proc/thread-self", &name, name.count - 1) > 0 else { return }
    let task = text(name)
    thread.withLock { $0 = "/proc/\(task)/stat" }
  }

  private func text(_ bytes: [CChar]) -> String {
    String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Whether the thread has begun, and waits for something.
  var isAsleep: Bool {
    guard let file = fopen(thread.withLock { $0 }, "r") else { return false }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 512)
    guard fgets(&line, CInt(line.count), file) != nil else { return false }
    return text(line).split(separator: ")").last?.split(separator: " ").first == "S"
  }
}

/// Appends to one file, and counts what was taken.
private final class Writer: Sendable {
  static let piece = 9000
  let name: String
  private let written = Atomic(0)
  private let done = Atomic(false)

  init(_ name: String) { self.name = name }

  var count: Int { written.load(ordering: .acquiring) }
  var isDone: Bool { done.load(ordering: .acquiring) }
  func stop() { done.store(true, ordering: .releasing) }

  func append(in volume: Volume) throws {
    let caller = Caller(user: geteuid(), group: getegid(), thread: getpid())
    let folder = try volume.find("a", in: Volume.rootNode, for: caller)
    defer { volume.forget(folder, references: 1) }
    let node = try volume.find(name, in: folder, for: caller)
    defer { volume.forget(node, references: 1) }
    let handle = try volume.open(node, [.write, .append], for: caller).handle
    defer { volume.release(handle) }
    var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: Writer.piece)
    var span = bytes.mutableSpan
    // The kernel, which knows the end of an encrypted file, says where that is.
    let end = UInt64(count * Writer.piece)
    _ = try volume.write(handle, at: end, &span, appends: true, clearsSetID: false, for: caller)
    written.add(1, ordering: .acquiringAndReleasing)
  }
}

/// A thread that outlives a closure.
private final class Joined {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}

extension Volume {
  fileprivate var sealedIsUnfinished: Bool { get throws { sealed.hasUnfinished } }
}
