// Sessions of writing, and the log that tells which of them ended.

import Ciphers
import LinuxFiles
import Randomness
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Sessions") struct SessionTests {
  private let now = Timestamp(seconds: 1_700_000_000, nanoseconds: 5_000_000)
  private let first: UInt64 = 1_700_000_000_005

  private func opened() throws -> Vault {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    return vault
  }

  private func restarted(_ vault: Vault) throws -> Keyring.Unlocking {
    vault.restart()
    return try vault.keyring.unlock(with: try keyfile(1))
  }

  @Test("A session that ended has ended, one that did not has not") func ending() throws {
    let vault = try opened()
    #expect(try vault.keyring.sessions.begin(now: now) == first)
    #expect(try vault.keyring.sessions.begin(now: now) == first)
    #expect(vault.keyring.sessions.current == first)
    // To itself.
    #expect(vault.keyring.sessions.hasEnded(first))
    #expect(try restarted(vault) == Keyring.Unlocking())
    #expect(!vault.keyring.sessions.hasEnded(first))
    // A clock that goes back gives no number twice.
    #expect(try vault.keyring.sessions.begin(now: Timestamp(seconds: 5, nanoseconds: 0)) == first + 1)
    try vault.keyring.sessions.end()
    try vault.keyring.sessions.end()
    #expect(vault.keyring.sessions.current == nil)
    _ = try restarted(vault)
    #expect(!vault.keyring.sessions.hasEnded(first))
    #expect(vault.keyring.sessions.hasEnded(first + 1))
    #expect(!vault.keyring.sessions.hasEnded(first + 2))
  }

  @Test("Sessions begin and end while the volume is locked, once it was unlocked") func whileLocked() throws {
    let vault = try opened()
    vault.restart()
    #expect(failure { _ = try vault.keyring.sessions.begin() } == .locked)
    #expect(!vault.keyring.sessions.hasEnded(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    vault.keyring.finishLocking(vault.keyring.beginLocking(.all))
    let session = try vault.keyring.sessions.begin(now: now)
    try vault.keyring.sessions.end()
    let next = try vault.keyring.sessions.begin(now: now)
    #expect(next == session + 1)
    _ = try restarted(vault)
    #expect(vault.keyring.sessions.hasEnded(session) && !vault.keyring.sessions.hasEnded(next))
  }

  @Test("A session that is retired ends alone, and whoever writes meanwhile has another one") func retiring()
    throws
  {
    let vault = try opened()
    let sessions = vault.keyring.sessions
    #expect(sessions.retire() == [])
    let session = try sessions.begin(now: now)
    #expect(!sessions.isPending(session))
    #expect(sessions.retire() == [session])
    #expect(sessions.current == nil && sessions.isPending(session) && sessions.hasEnded(session))
    let next = try sessions.begin(now: now)
    #expect(next == session + 1 && sessions.listed == 2 && !sessions.isPending(next))
    try sessions.end([session])
    #expect(sessions.current == next && sessions.running == [next] && sessions.listed == 1)
    #expect(!sessions.isPending(session) && sessions.hasEnded(session))
    _ = try restarted(vault)
    #expect(vault.keyring.sessions.hasEnded(session) && !vault.keyring.sessions.hasEnded(next))
  }

  @Test("What was retired for nothing goes on, and the log does not grow") func goingOn() throws {
    let vault = try opened()
    let sessions = vault.keyring.sessions
    sessions.goOn()
    #expect(sessions.current == nil)
    let session = try sessions.begin(now: now)
    for _ in 0..<3 {
      _ = sessions.retire()
      sessions.goOn()
      #expect(try sessions.begin(now: now) == session)
    }
    #expect(sessions.listed == 1 && !sessions.isPending(session))
    // Unless another one has begun.
    _ = sessions.retire()
    let next = try sessions.begin(now: now)
    sessions.goOn()
    #expect(sessions.current == next && sessions.isPending(session) && sessions.running == [session, next])
    // The end of the mount ends both.
    try sessions.end()
    #expect(sessions.running == [] && sessions.listed == 0)
    _ = try restarted(vault)
    #expect(vault.keyring.sessions.hasEnded(session) && vault.keyring.sessions.hasEnded(next))
  }

  @Test("A session is old after a day") func age() throws {
    let vault = try opened()
    #expect(!vault.keyring.sessions.isOld(now: now))
    _ = try vault.keyring.sessions.begin(now: now)
    for (seconds, isOld) in [(-5, false), (0, false), (86_399, false), (86_401, true)] as [(Int64, Bool)] {
      let then = Timestamp(seconds: now.seconds + seconds, nanoseconds: now.nanoseconds)
      #expect(vault.keyring.sessions.isOld(now: then) == isOld)
    }
  }

  @Test("One that is left behind stays in the log") func abandoning() throws {
    let vault = try opened()
    let session = try vault.keyring.sessions.begin(now: now)
    vault.keyring.sessions.abandon()
    let next = try vault.keyring.sessions.begin(now: now)
    try vault.keyring.sessions.end()
    #expect(vault.keyring.sessions.hasEnded(session))
    _ = try restarted(vault)
    #expect(!vault.keyring.sessions.hasEnded(session) && vault.keyring.sessions.hasEnded(next))
  }

  @Test("Without its log, or with another one, no session has ended until a new one begins")
  func lost() throws {
    let other = try opened()
    _ = try other.keyring.sessions.begin(now: now)
    let foreign = try #require(other.read("sessions"))
    for damage in [nil, [], [0], Golden.sessions, foreign] as [[UInt8]?] {
      let vault = try opened()
      let session = try vault.keyring.sessions.begin(now: now)
      try vault.keyring.sessions.end()
      try vault.write("sessions", damage)
      #expect(try restarted(vault).lostSessions)
      #expect(!vault.keyring.sessions.hasEnded(session))
      let later = Timestamp(seconds: now.seconds + 60, nanoseconds: 0)
      let next = try vault.keyring.sessions.begin(now: later)
      try vault.keyring.sessions.end()
      #expect(try !restarted(vault).lostSessions)
      #expect(!vault.keyring.sessions.hasEnded(session) && vault.keyring.sessions.hasEnded(next))
      #expect(!vault.keyring.sessions.hasEnded(next - 1))
    }
  }

  @Test("That its log was lost is told once, and what was written before stays in doubt") func lostOnce()
    throws
  {
    let vault = try opened()
    let session = try vault.keyring.sessions.begin(now: now)
    try vault.keyring.sessions.end()
    try vault.write("sessions", nil)
    #expect(try restarted(vault) == Keyring.Unlocking(lostSessions: true))
    #expect(try restarted(vault) == Keyring.Unlocking())
    #expect(!vault.keyring.sessions.hasEnded(session) && vault.keyring.sessions.listed == 0)
    let next = try vault.keyring.sessions.begin()
    try vault.keyring.sessions.end()
    #expect(try restarted(vault) == Keyring.Unlocking())
    #expect(!vault.keyring.sessions.hasEnded(session) && vault.keyring.sessions.hasEnded(next))
    // As a repair does when it has looked at every file.
    try vault.keyring.sessions.endAll()
    #expect(vault.keyring.sessions.hasEnded(session))
  }

  @Test("No bit of a log can be changed") func everyBit() throws {
    let vault = try opened()
    for _ in 0..<3 {
      _ = try vault.keyring.sessions.begin(now: now)
      vault.keyring.sessions.abandon()
    }
    let log = try #require(vault.read("sessions"))
    for offset in log.indices {
      var changed = log
      changed[offset] ^= 1 << UInt8(offset & 7)
      try vault.write("sessions", changed)
      if try !restarted(vault).lostSessions { Issue.record("byte \(offset)") }
    }
    for length in 0..<log.count {
      try vault.write("sessions", Array(log.prefix(length)))
      if try !restarted(vault).lostSessions { Issue.record("\(length) bytes") }
    }
    try vault.write("sessions", log)
    #expect(try !restarted(vault).lostSessions)
  }

  @Test("The log stays small when sessions never end") func thousand() throws {
    let vault = try opened()
    var last: UInt64 = 0
    for _ in 0..<1001 {
      last = try vault.keyring.sessions.begin(now: now)
      vault.keyring.sessions.abandon()
    }
    #expect(try !restarted(vault).lostSessions)
    // The 1001st session puts the others behind the bar.
    #expect(vault.read("sessions")?.count == 48 + 8 + 32)
    #expect(!vault.keyring.sessions.hasEnded(last) && !vault.keyring.sessions.hasEnded(last - 1))
    #expect(!vault.keyring.sessions.hasEnded(first))
    let next = try vault.keyring.sessions.begin(now: now)
    try vault.keyring.sessions.end()
    _ = try restarted(vault)
    #expect(vault.keyring.sessions.hasEnded(next) && !vault.keyring.sessions.hasEnded(last))
  }

  @Test("Threads that begin at once get one session") func threads() throws {
    let vault = try opened()
    let sessions = vault.keyring.sessions
    let bad = Flag()
    var threads: [Running] = []
    for _ in 0..<8 {
      threads.append(
        Running(
          try PlainThread {
            guard let session = try? sessions.begin(), sessions.hasEnded(session) else { return bad.set() }
            if sessions.current != session { bad.set() }
          }))
    }
    for thread in threads { thread.join() }
    #expect(!bad.isSet)
    #expect(vault.read("sessions")?.count == 48 + 8 + 32)
  }

  @Test(
    "The log is the daemon's own, also where a thread begins a session that acts as the owner of a file",
    .enabled(if: CurrentProcess.isRoot, "needs root"))
  func owner() throws {
    let vault = try opened()
    let sessions = vault.keyring.sessions
    let file = SharedDescriptor(try Descriptor.directory(atPath: "\(vault.path)/.varve"))
    let made = Mutex<[UInt32]>([])
    let thread = try PlainThread {
      do {
        try ThreadIdentity.keepCapabilities()
        try ThreadIdentity.become(user: 1001, group: 1002)
        _ = try sessions.begin()
        let log = try file.descriptor.status(of: try FileName("sessions"))
        // The thread goes on as who it was.
        let next = try file.descriptor.createFile(try FileName("next"), mode: 0o600).status()
        made.withLock { $0 = [log.user, log.group, next.user, next.group] }
      } catch {
        Issue.record(error)
      }
    }
    thread.join()
    #expect(made.withLock { $0 } == [0, 0, 1001, 1002])
  }
}
