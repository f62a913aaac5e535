// Locks beside requests and disks that hang: only what hangs keeps its key, and nobody writes beside it.

import Ciphers
import Decisions
import Glibc
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Locks beside what hangs", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot, "needs root"))
struct LockHangTests {
  private func object(_ tree: Tree, _ path: String) throws -> SealedObject {
    try tree.at(path) { volume, node in
      try #require(try volume.node(node).existingAttachment?.encrypted as? SealedObject)
    }
  }

  private func put(_ volume: Volume, _ handle: HandleID, _ text: String) throws(Errno) {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    _ = try volume.write(
      handle, at: 0, &span, appends: false, clearsSetID: false, for: Caller(user: 0, group: 0, thread: 0))
  }

  private func read(_ volume: Volume, _ handle: HandleID) throws(Errno) -> String {
    var bytes = [UInt8](repeating: 0, count: 16)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// Opens files one inside the other, writes to each, and hands over their handles.
  private func opening<R>(
    _ names: ArraySlice<String>, in tree: Tree, _ handles: [HandleID] = [],
    _ work: (Volume, [HandleID]) throws -> R
  ) throws -> R {
    guard let name = names.first else { return try work(try tree.volume(), handles) }
    return try tree.open(name, [.read, .write]) { volume, handle in
      try put(volume, handle, "new")
      return try opening(names.dropFirst(), in: tree, handles + [handle], work)
    }
  }

  @Test("Whoever writes after a lock that gave up a request does so when that has ended, and not beside it")
  func aRequestThatHangs() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "first")
    try tree.open("a/file", [.read, .write]) { volume, handle in
      let object = try object(tree, "a/file")
      let (hasBegun, mayEnd) = (Flag(), Flag())
      let request = try PlainThread {
        _ = try? object.using(.bytes) { (file) throws(Errno) in
          hasBegun.set()
          mayEnd.wait()
          withExtendedLifetime(file) {}
        }
      }
      hasBegun.wait()
      let outcome = volume.lock(.locking, isHurried: true, patience: 200_000_000)
      #expect(outcome.kept.count == 1)
      try tree.unlock()
      #expect(throws: Errno.inputOutput) { try put(volume, handle, "second") }
      #expect(throws: Errno.inputOutput) { _ = try read(volume, handle) }
      #expect(throws: Errno.inputOutput) { try tree.cut("a/file", to: 0, by: handle) }
      #expect(throws: Errno.inputOutput) { try tree.open("a/file") }
      mayEnd.set()
      request.join()
      try put(volume, handle, "third")
      #expect(try read(volume, handle) == "third")
    }
    #expect(try tree.read("a/file") == "third")
  }

  @Test("A file whose disk hangs at a lock keeps its own key and no other's, also after the next unlock")
  func aDiskThatHangs() throws {
    let tree = try Tree.vault()
    let names = (0..<16).map { "a/f\($0)" }
    for name in names { try tree.make(name, "old") }
    try opening(names[...], in: tree) { volume, handles in
      let objects = try names.map { try object(tree, $0) }
      let file = try objects[7].using(.bytes) { (file) throws(Errno) in file }
      let (isHeld, mayEnd) = (Flag(), Flag())
      let disk = try PlainThread {
        file.commits.withLock { _ in
          isHeld.set()
          mayEnd.wait()
        }
      }
      isHeld.wait()
      let outcome = volume.lock(.locking, isHurried: true, patience: 1_000_000_000)
      #expect(outcome.kept.count == 1)
      #expect(outcome.kept.allSatisfy { String(decoding: $0, as: UTF8.self).hasSuffix("a/f7") })
      #expect(outcome.unwritten.isEmpty)
      #expect(objects.map { $0.head != nil } == (0..<16).map { $0 == 7 })
      try tree.unlock()
      for (name, handle) in zip(names, handles) where name != names[7] {
        #expect(try read(volume, handle) == "new")
        try put(volume, handle, "two")
      }
      // What the lock began with goes on, and takes no key from those who use the file again.
      let reader = try PlainThread {
        _ = try? objects[7].using(.bytes) { (_) throws(Errno) in mayEnd.set() }
      }
      reader.join()
      disk.join()
      objects[7].ending {}
      #expect(objects[7].head != nil)
      try put(volume, handles[7], "two")
      #expect(objects.allSatisfy { $0.losses == 0 })
      #expect(!volume.sealed.hasUnfinished)
      let again = volume.lock(.locking, isHurried: true)
      #expect(again.kept.isEmpty && again.unwritten.isEmpty)
      #expect(objects.allSatisfy { $0.head == nil })
      try tree.unlock()
    }
    for name in names { #expect(try tree.read(name) == "two") }
  }

  @Test("Nothing is unlocked before a lock has let go of all files") func anUnlockBesideALock() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try put(volume, handle, "TEXT")
      let file = try object(tree, "a/file").using(.bytes) { (file) throws(Errno) in file }
      let outcome = Mutex(LayeredVolume.LockOutcome())
      let thread = try file.commits.withLock { _ in
        let thread = Joined(
          try PlainThread {
            let locked = volume.lock(.locking, isHurried: true)
            outcome.withLock { $0 = locked }
          })
        wait { volume.keyring.state(of: .complete) == .locked }
        #expect { try tree.unlock() } throws: { ($0 as? KeyFailure)?.number == .busy }
        return thread
      }
      thread.join()
      #expect(outcome.withLock { $0.kept.isEmpty && $0.unwritten.isEmpty })
      try tree.unlock()
      #expect(try read(volume, handle) == "TEXT")
    }
  }

  @Test("A write with O_SYNC that is under way when its class is locked is done, and not given up")
  func aSynchronousWrite() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.open("a/file", [.read, .write, .synchronous]) { volume, handle in
      let object = try object(tree, "a/file")
      let file = try object.using(.bytes) { (file) throws(Errno) in file }
      let outcome = Mutex(LayeredVolume.LockOutcome())
      let isWritten = Flag()
      let threads = try file.turn.withLock { _ in
        let writer = try PlainThread {
          guard (try? put(volume, handle, "TEXT")) != nil else { return }
          isWritten.set()
        }
        wait { object.isBusy }
        let lock = try PlainThread {
          let locked = volume.lock(.locking, isHurried: true, patience: 2_000_000_000)
          outcome.withLock { $0 = locked }
        }
        wait { volume.keyring.state(of: .complete) == .locked }
        return [Joined(writer), Joined(lock)]
      }
      for thread in threads { thread.join() }
      #expect(outcome.withLock { !$0.closed.isEmpty && $0.kept.isEmpty && $0.unwritten.isEmpty })
      #expect(isWritten.isSet)
      try tree.unlock()
      #expect(try read(volume, handle) == "TEXT")
    }
  }

  @Test("A file of class complete-unless-open that is opened while a lock looks for closed ones stays open")
  func anOpenBesideALock() throws {
    let tree = try Tree.vault()
    try tree.make("b/file", "text")
    try tree.open("b/file", [.read, .write]) { volume, handle in
      let object = try object(tree, "b/file")
      #expect(try read(volume, handle) == "text")
      #expect(volume.lock(.locking, isHurried: true).kept.isEmpty)
      // As for a lock that found it closed.
      #expect(object.lockDownAtOnce())
      #expect(object.ending { object.lockDown(mayBeLate: true) })
      #expect(try read(volume, handle) == "text")
      try put(volume, handle, "TEXT")
      #expect(object.lockDownAtOnce() && object.losses == 0)
      #expect(try read(volume, handle) == "TEXT")
    }
    try tree.unlock()
    #expect(try tree.read("b/file") == "TEXT")
  }

  @Test("A conversion that does not end is named by the lock that waits for it") func aConversionThatHangs()
    throws
  {
    let tree = try Tree.vault()
    let volume = try tree.volume()
    volume.sealed.beginConversion(of: Array("/a/slow".utf8))
    let outcome = volume.lock(.locking, isHurried: true, patience: 50_000_000)
    #expect(outcome.kept == [Array("/a/slow".utf8)])
    volume.sealed.endConversion(of: Array("/a/slow".utf8))
    try tree.unlock()
    #expect(volume.lock(.locking, isHurried: true).kept.isEmpty)
  }

  @Test("A loss is told by the next sync of each descriptor that was open, and of no other") func whoHears()
    throws
  {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.open("a/file", [.read, .write]) { volume, first in
      try tree.open("a/file", [.read, .write]) { _, second in
        try put(volume, first, "lost")
        try object(tree, "a/file").abandon()
        // Once, also while nobody reads or writes the file.
        #expect(throws: Errno.inputOutput) { try volume.synchronize(first, dataOnly: true) }
        try volume.synchronize(first, dataOnly: true)
        _ = try read(volume, first)
        try tree.open("a/file", [.read, .write]) { _, third in
          try volume.synchronize(third, dataOnly: false)
          #expect(throws: Errno.inputOutput) { try volume.synchronize(second, dataOnly: true) }
          for handle in [first, second] { try volume.synchronize(handle, dataOnly: true) }
        }
      }
    }
  }

  @Test("Keys of files that nobody has open make room for others") func restingKeys() async {
    await #expect(processExitsWith: .success) {
      let tree = try Tree.vault()
      for name in ["rests", "other"] { try tree.make("a/\(name)", "text") }
      try tree.at("a/rests") { volume, node in
        #expect(try tree.read("a/rests") == "text")
        let object = try #require(try volume.node(node).existingAttachment?.encrypted as? SealedObject)
        #expect(object.head != nil)
        var held: [AnyObject] = []
        // The large ones leave the last part to the small ones.
        while SecureHeap.used < (SecureHeap.fileKeys - 4096) * 128 {
          held.append(HeldBytes(try SecretBytes(count: 32 << 10)))
        }
        #expect(throws: CipherFailure.noMemory) {
          while true { held.append(HeldKeys(try KeyBlock())) }
        }
        #expect(try tree.read("a/other") == "text")
        #expect(object.head == nil)
        #expect(held.count > 1)
      }
    }
  }

  @Test("One user has no more than half of the open files of a volume, and none of what is root's")
  func openFiles() throws {
    let table = HandleTable(limit: 10, owner: 3)
    func open(_ user: UInt32) throws -> HandleID {
      try table.requireRoom(for: user)
      return table.add(OpenFile(node: nil, .text([]), mode: .read, route: .direct), for: user)
    }
    var handles: [HandleID] = []
    for _ in 0..<5 { handles.append(try open(1)) }
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireRoom(for: 1) }
    for _ in 0..<4 { _ = try open(2) }
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireRoom(for: 2) }
    // The last one is for root and the owner of the mount.
    _ = try open(3)
    for user: UInt32 in [0, 2, 3] {
      #expect(throws: Errno.fileTableFull) { try table.requireRoom(for: user) }
    }
    _ = table.remove(handles[0])
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireRoom(for: 2) }
    _ = try open(0)
  }

  @Test("One user gets no more than half of the room for keys, and none of what is root's") func shares()
    throws
  {
    let tree = try Tree.vault()
    let volume = try tree.volume()
    let table = HandleTable(limit: 1000, owner: 0)
    let context = SealedContext(volume.sealed, inode: 1, .complete, isMarked: true)
    func open(_ user: UInt32, isEncrypted: Bool = true) -> HandleID {
      let content: Content = isEncrypted ? .sealed(SealedObject(context)) : .text([])
      return table.add(OpenFile(node: nil, content, mode: .read, route: .direct), for: user)
    }
    var handles: [HandleID] = []
    for _ in 0..<5 {
      try table.requireKeyRoom(for: 1, of: 10)
      handles.append(open(1))
      _ = open(1, isEncrypted: false)
    }
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireKeyRoom(for: 1, of: 10) }
    for _ in 0..<4 {
      try table.requireKeyRoom(for: 2, of: 10)
      _ = open(2)
    }
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireKeyRoom(for: 2, of: 10) }
    #expect(throws: Errno.tooManyOpenFiles) { try table.requireKeyRoom(for: 3, of: 10) }
    try table.requireKeyRoom(for: 0, of: 10)
    _ = table.remove(handles[0])
    try table.requireKeyRoom(for: 3, of: 10)
    // Before the first key there is no limit.
    try table.requireKeyRoom(for: 2, of: 0)
  }
}

private final class HeldBytes {
  private let bytes: SecretBytes
  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

private final class HeldKeys {
  private let keys: KeyBlock
  init(_ keys: consuming KeyBlock) { self.keys = keys }
}

/// Something that one thread tells another.
private final class Flag: Sendable {
  private let value = Atomic(false)
  func set() { value.store(true, ordering: .releasing) }
  var isSet: Bool { value.load(ordering: .acquiring) }

  func wait() {
    while !isSet { Clock.pause(milliseconds: 1) }
  }
}

/// Waits until something is true, ten seconds at most.
private func wait(_ isTrue: () -> Bool) {
  let end = Clock.monotonicNanoseconds + 10_000_000_000
  while !isTrue(), Clock.monotonicNanoseconds < end { Clock.pause(milliseconds: 1) }
}

/// A thread that outlives a closure.
private final class Joined {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
