// Which sessions of writing ended in order. A file that names another one is doubtful, except to the mount that wrote it.

import Ciphers
package import LinuxFiles
import SealedFormat
import Synchronization

/// The sessions of a volume, as one mount sees them.
package final class Sessions: Sendable {
  private struct State {
    var log: SessionLog?
    /// Whether a session of this mount ever began.
    var hasBegun = false
    /// The sessions of this mount that did not end.
    var own: Set<UInt64> = []
    var current: UInt64?
    /// Nobody begins to write under these any more; they end when all that was written under them is on the disk.
    var retired: Set<UInt64> = []

    /// What an end would have to end.
    var running: Set<UInt64> { current.map { retired.union([$0]) } ?? retired }
  }

  private struct Secret: ~Copyable, Sendable {
    var key: Key?
  }

  private let file: SessionLogFile
  // One session begins or ends at a time. Held while the log is written, about once a day. Taken before `state`.
  private let secret = Mutex(Secret())
  // Never held across a system call.
  private let state = Mutex(State())

  init(of directory: VolumeDirectory) {
    file = SessionLogFile(directory)
  }

  /// Whether all that this session wrote is there; false for every one before the first unlock.
  ///
  /// What this mount wrote itself it finds again, ended or not.
  package func hasEnded(_ session: UInt64) -> Bool {
    state.withLock { state in
      state.own.contains(session) || state.log?.hasEnded(session) ?? false
    }
  }

  /// The same to those who do not have what this mount has in memory.
  func hasEndedForOthers(_ session: UInt64) -> Bool { state.withLock { $0.log?.hasEnded(session) ?? false } }

  /// Whether a session of this mount wrote it that has not ended and is not the one that writes now: the page cache has
  /// all of it, and the disk perhaps not.
  package func isPending(_ session: UInt64) -> Bool {
    state.withLock { $0.own.contains(session) && $0.current != session }
  }

  /// The session that writes now.
  package var current: UInt64? { state.withLock { $0.current } }

  /// The sessions of this mount that are to end: the one that writes now, and those that were retired.
  package var running: Set<UInt64> { state.withLock { $0.running } }

  /// How many sessions the log lists, those of other mounts included; nil before the first unlock.
  package var listed: Int? { state.withLock { $0.log?.listed.count } }

  /// How many of them are not of this mount.
  package var listedBefore: Int? {
    state.withLock { state in state.log?.listed.count { !state.own.contains($0) } }
  }

  /// Whether the session that writes now is more than a day old.
  package func isOld(now: Timestamp = Clock.realtime) -> Bool {
    guard let current else { return false }
    let now = Sessions.milliseconds(now)
    return now > current && now - current > 86_400_000
  }

  /// Keeps the key until the mount ends, for sessions that begin and end while the volume is locked, and reads the log.
  ///
  /// In the place of one that is lost a mount for writing puts another, by which no session before has ended: so the loss is
  /// told once, and every file that is there stays in doubt until a repair has looked at it.
  ///
  /// - Returns: whether the log is missing or cannot be believed.
  func use(
    _ key: consuming Key, of volume: Bytes16, now: Timestamp = Clock.realtime
  ) throws(KeyFailure) -> Bool {
    // From its first session on this mount knows better than the disk.
    guard state.withLock({ !$0.hasBegun }) else { return false }
    let found = try file.read(of: volume, with: key)
    let log = found ?? SessionLog(lostIn: volume, before: Sessions.milliseconds(now))
    // Where it cannot be written the next unlock tells of the loss again.
    if found == nil { try? file.write(log, with: key) }
    state.withLock { $0.log = log }
    var fresh = Secret(key: consume key)
    secret.withLock { swap(&$0, &fresh) }
    return found == nil
  }

  /// Begins a session, or continues the one that runs; when this returns, the disk has its number.
  ///
  /// `.locked` before the first unlock.
  package func begin(now: Timestamp = Clock.realtime) throws(KeyFailure) -> UInt64 {
    try secret.withLock { secret throws(KeyFailure) in
      let (known, hasBegun, current) = state.withLock { ($0.log, $0.hasBegun, $0.current) }
      if let current { return current }
      switch secret.key {
      case .none: throw .locked
      case .some(let key):
        guard var log = known else { throw .locked }
        // A mount that was read-only until now did not keep others from writing.
        if !hasBegun { log = try file.read(of: log.volume, with: key) ?? SessionLog(lostIn: log.volume) }
        // A number whose log could not be written is not given out again.
        let time = Sessions.milliseconds(now)
        guard let session = log.begin(now: time) else { throw .system(.overflow) }
        try file.write(log, with: key)
        let begun = log
        state.withLock { state in
          state.log = begun
          state.hasBegun = true
          state.own.insert(session)
          // One may have gone on meanwhile.
          if let current = state.current { state.retired.insert(current) }
          state.current = session
        }
        return session
      }
    }
  }

  /// Takes the number of the session away from files that are written from now on: they begin another one.
  ///
  /// Answers what may end when all that was written under it is on the disk.
  package func retire() -> Set<UInt64> {
    state.withLock { state in
      state.retired = state.running
      state.current = nil
      return state.retired
    }
  }

  /// What was retired does not end yet: the last of it goes on, unless another session has begun meanwhile.
  ///
  /// So a lock that cannot end the session does not make the log longer.
  package func goOn() {
    state.withLock { state in
      guard state.current == nil, let last = state.retired.max() else { return }
      state.retired.remove(last)
      state.current = last
    }
  }

  /// Ends the session that runs, if one does, and those that were retired.
  ///
  /// Only after every file that was changed has its last slot and the file system was synced. On failure the session runs
  /// on, and may be ended again.
  package func end() throws(KeyFailure) { try end(running) }

  /// Ends sessions that were retired.
  package func end(_ sessions: Set<UInt64>) throws(KeyFailure) {
    try end(sessions) { log in for session in sessions { log.end(session) } }
  }

  /// Ends every session there ever was: each file was looked at, and those in doubt were recovered in this one.
  package func endAll() throws(KeyFailure) {
    _ = try begin()
    try end(running) { $0.endAll() }
  }

  private func end(
    _ sessions: Set<UInt64>, _ change: (inout SessionLog) -> Void
  ) throws(KeyFailure) {
    try secret.withLock { secret throws(KeyFailure) in
      guard !sessions.isEmpty, var log = state.withLock({ $0.log }) else { return }
      switch secret.key {
      case .none: throw .locked
      case .some(let key):
        change(&log)
        try file.write(log, with: key)
        let ended = log
        state.withLock { state in
          state.log = ended
          state.own.subtract(sessions)
          state.retired.subtract(sessions)
          if let current = state.current, sessions.contains(current) { state.current = nil }
        }
      }
    }
  }

  /// Leaves the session that runs in the log, where it did not end, and lets another one begin.
  package func abandon() {
    state.withLock { $0.current = nil }
  }

  private static func milliseconds(_ time: Timestamp) -> UInt64 {
    UInt64(clamping: time.seconds) &* 1000 &+ UInt64(time.nanoseconds / 1_000_000)
  }
}
