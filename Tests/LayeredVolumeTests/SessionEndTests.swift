// When the session of writing ends, and what a kill of the daemon leaves in doubt.

import Faults
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct SessionEndTests {
  /// Whether a file is in doubt: then its first change settles it.
  private func isDoubtful(_ path: String, in tree: Tree) throws -> Bool {
    let before = try tree.volume().sealed.counted.recoveredFiles
    try tree.write(path, "+", at: 100)
    return try tree.volume().sealed.counted.recoveredFiles > before
  }

  private func restart(_ tree: Tree) throws {
    tree.close()
    try tree.unlock()
  }

  private func write(_ volume: Volume, _ handle: HandleID, _ text: String, at offset: UInt64 = 0) throws {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    let caller = Caller(user: geteuid(), group: getegid(), thread: getpid())
    _ = try volume.write(handle, at: offset, &span, appends: false, clearsSetID: false, for: caller)
  }

  /// Waits until something is true, ten seconds at most.
  private func wait(_ isTrue: () throws -> Bool) throws {
    for _ in 0..<10_000 where try !isTrue() { Clock.pause(milliseconds: 1) }
    try #require(try isTrue())
  }

  @Test("Without a lock, a kill leaves in doubt what was written") func withoutALock() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    #expect(try tree.sessionsListed() == 1)
    try restart(tree)
    #expect(try isDoubtful("a/file", in: tree))
    #expect(try tree.read("a/file").hasPrefix("text"))
  }

  @Test("A lock ends the session, and a kill after it leaves nothing in doubt") func aLockEndsTheSession()
    throws
  {
    let tree = try Tree.vault()
    for name in ["a/file", "b/file", "c/file"] { try tree.make(name, "text") }
    try tree.lock()
    #expect(try tree.sessionsListed() == 0)
    #expect(try tree.volume().keyring.sessions.current == nil)
    try restart(tree)
    for name in ["a/file", "b/file", "c/file"] {
      #expect(try !isDoubtful(name, in: tree))
      #expect(try tree.read(name).hasPrefix("text"))
    }
  }

  @Test("What is open when it is locked, and of a class that is closed, does not keep the session")
  func aClosedHandleDoesNotKeepIt() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try write(volume, handle, "TE")
      try tree.lock()
      #expect(try tree.sessionsListed() == 0)
    }
    try restart(tree)
    #expect(try !isDoubtful("a/file", in: tree))
    #expect(try tree.read("a/file").hasPrefix("TExt"))
  }

  @Test(
    "A file of a class that stays open keeps the session while it is being written", arguments: ["b", "c"])
  func aWriterKeepsIt(_ name: String) throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    try tree.make("\(name)/open", "text")
    try tree.open("\(name)/open", [.read, .write]) { volume, handle in
      try write(volume, handle, "TE")
      let session = volume.keyring.sessions.current
      for _ in 0..<3 {
        try tree.lock(.locking)
        try tree.unlock()
      }
      // And nobody begins another one.
      #expect(volume.keyring.sessions.current == session)
      #expect(try tree.sessionsListed() == 1)
      try write(volume, handle, "XT", at: 2)
    }
    // With its last close it ends at the next lock.
    try tree.lock()
    #expect(try tree.sessionsListed() == 0)
    try restart(tree)
    #expect(try !isDoubtful("\(name)/open", in: tree))
    #expect(try tree.read("\(name)/open").hasPrefix("TEXT"))
  }

  @Test("A file that is only read keeps no session") func aReaderDoesNotKeepIt() throws {
    let tree = try Tree.vault()
    try tree.make("c/read", "text")
    try restart(tree)
    try tree.make("a/file", "text")
    try tree.open("c/read") { _, _ in
      try tree.lock()
      #expect(try tree.sessionsListed() == 1, "that of the mount that was killed")
    }
  }

  @Test("A file that was changed before a lock is announced anew after it, and nothing of it is lost")
  func anotherSessionFollows() throws {
    let tree = try Tree.vault()
    try tree.make("c/file", "one")
    let first = try tree.volume().keyring.sessions.current
    try tree.lock()
    try tree.write("c/file", "two", at: 3)
    let second = try tree.volume().keyring.sessions.current
    #expect(first != second && second != nil)
    #expect(try tree.volume().sealed.counted.recoveredFiles == 0)
    try restart(tree)
    #expect(try tree.read("c/file") == "onetwo")
    #expect(try isDoubtful("c/file", in: tree))
    #expect(try tree.volume().sealed.counted.lostBlocks == 0)
  }

  @Test("A file that the kernel still knows, and nobody uses, is let go of with the session that changed it")
  func aFileAtRest() throws {
    let tree = try Tree.vault()
    try tree.make("c/file", "one")
    try tree.at("c/file") { volume, id in
      try tree.write("c/file", "two", at: 3)
      let object = try #require(try volume.node(id).existingAttachment?.encrypted as? SealedObject)
      let session = try #require(volume.keyring.sessions.current)
      #expect(object.writes(in: [session]))
      try tree.lock()
      #expect(!object.writes(in: [session]) && volume.keyring.sessions.current == nil)
      try tree.write("c/file", "six", at: 6)
      let next = try #require(volume.keyring.sessions.current)
      #expect(object.writes(in: [next]) && next != session)
    }
    try restart(tree)
    #expect(try tree.read("c/file") == "onetwosix")
    #expect(try isDoubtful("c/file", in: tree))
  }

  @Test("Whoever writes while a session is being ended has one of their own")
  func aWriterInBetween() throws {
    let tree = try Tree.vault()
    for name in ["busy", "changed", "between"] { try tree.make("c/\(name)", name) }
    tree.unmount()
    try tree.unlock()
    try tree.write("c/changed", "CHANGED")
    let session = try #require(tree.volume().keyring.sessions.current)
    try tree.open("c/busy") { _, _ in
      try tree.at("c/busy") { volume, id in
        let object = try #require(try volume.node(id).existingAttachment?.encrypted as? SealedObject)
        let thread = try object.using(.bytes) { (_) throws(Errno) in
          // It waits for the request that this is.
          let thread = Ending(try PlainThread { volume.endSession() })
          do {
            try wait { volume.keyring.sessions.current == nil }
            try tree.write("c/between", "BETWEEN")
          } catch {
            Issue.record(error)
          }
          #expect(volume.keyring.sessions.isPending(session))
          return thread
        }
        thread.join()
        #expect(!volume.keyring.sessions.isPending(session))
      }
    }
    #expect(try tree.sessionsListed() == 1)
    try restart(tree)
    #expect(try !isDoubtful("c/changed", in: tree))
    #expect(try tree.read("c/between") == "BETWEEN")
    #expect(try isDoubtful("c/between", in: tree))
    #expect(try tree.read("c/changed").hasPrefix("CHANGED"))
    #expect(try tree.volume().sealed.counted.lostBlocks == 0)
  }

  @Test("If the disk fails, no session of this mount ends any more") func aSyncThatFails() throws {
    let tree = try Tree.vault()
    try tree.make("c/file", "text")
    let session = try tree.volume().keyring.sessions.current
    let (result, hits) = Fault(.sync, .inputOutput).during { try tree.volume().endSession() }
    #expect(try !result.get() && hits == 1)
    #expect(try tree.volume().keyring.sessions.current == session)
    // It goes on all the same.
    try tree.write("c/file", "TEXT")
    try tree.lock()
    #expect(try tree.sessionsListed() == 1)
    tree.unmount()
    #expect(try tree.sessionsListed() == 1)
    try tree.unlock()
    #expect(try tree.read("c/file") == "TEXT")
    #expect(try isDoubtful("c/file", in: tree))
  }

  @Test("If the log cannot be written, the session ends later") func aLogThatFails() throws {
    let tree = try Tree.vault()
    try tree.make("c/file", "text")
    let volume = try tree.volume()
    let (result, hits) = Fault(.name, .inputOutput).during { volume.endSession() }
    #expect(try !result.get() && hits == 1)
    #expect(try tree.sessionsListed() == 1)
    #expect(volume.endSession())
    #expect(try tree.sessionsListed() == 0)
    #expect(!volume.endSession())
  }

  @Test("A session that is more than a day old ends at a last close") func anOldSession() throws {
    let tree = try Tree.vault()
    tree.close()
    try tree.storeSessionLog()
    try tree.unlock()
    let ago = Timestamp(seconds: Clock.realtime.seconds - 90_000, nanoseconds: 0)
    let session = try tree.volume().keyring.sessions.begin(now: ago)
    try tree.make("c/file", "text")
    try wait { try tree.volume().keyring.sessions.current != session }
    try wait { try tree.sessionsListed() == 1 }
    try restart(tree)
    #expect(try !isDoubtful("c/file", in: tree))
  }

  @Test("Sessions end while many write, and nothing is lost", .timeLimit(.minutes(1))) func underLoad() throws
  {
    let tree = try Tree.vault()
    let names = (0..<4).map { "c/\($0)" }
    for name in names { try tree.make(name, "start") }
    // The kernel knows them all the time.
    let ended = try holding(names[...], in: tree) { try writeWhileSessionsEnd(names, in: tree) }
    let expected = try names.map { try tree.read($0) }
    // Each of them has been ended, but the last.
    #expect(ended.count > 10, "\(ended.count) sessions")
    try restart(tree)
    #expect(try tree.sessionsListed() <= 2)
    for (name, text) in zip(names, expected) {
      #expect(try tree.read(name) == text)
      _ = try isDoubtful(name, in: tree)
      #expect(try tree.read(name).hasPrefix(text))
    }
    #expect(try tree.volume().sealed.counted.lostBlocks == 0)
    #expect(try tree.volume().sealed.counted.damagedBlocks == 0)
  }
}

/// Does something while files are known to the kernel.
private func holding<R>(
  _ names: ArraySlice<String>, in tree: Tree, _ work: () throws -> R
) throws -> R {
  guard let name = names.first else { return try work() }
  return try tree.at(name) { _, _ throws in try holding(names.dropFirst(), in: tree, work) }
}

/// Writes to files in turn, while another thread ends one session after the other; the sessions that were seen.
private func writeWhileSessionsEnd(_ names: [String], in tree: Tree) throws -> Set<UInt64> {
  let volume = try tree.volume()
  let isDone = Flag()
  let ending = Ending(
    try PlainThread {
      while !isDone.isSet { volume.endSession() }
    })
  defer {
    isDone.set()
    ending.join()
  }
  var (seen, round) = (Set<UInt64>(), 0)
  // A machine that is quick or busy ends fewer of them beside as many writes.
  while round < 600 || seen.count <= 10 && round < 200_000 {
    try tree.write(names[round % names.count], "\(round % 10)", at: UInt64(round % 5))
    if let session = volume.keyring.sessions.current { seen.insert(session) }
    round += 1
  }
  return seen
}

/// Something that one thread tells another.
private final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

/// A thread that outlives a closure.
private final class Ending {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
