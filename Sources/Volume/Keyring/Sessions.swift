// Which sessions of writing ended in order. A file that names another one is doubtful, except to the mount that wrote it.

import Ciphers
package import LinuxFiles
import SealedFormat
import Synchronization

/// The sessions of a volume, as one mount sees them.
package final class Sessions: Sendable {
  private struct State {
    var log: SessionLog?
    /// Every session of this mount.
    var own: [UInt64] = []
    var current: UInt64?
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

  /// The session that writes now.
  package var current: UInt64? { state.withLock { $0.current } }

  /// Keeps the key until the mount ends, for sessions that begin and end while the volume is locked, and reads the log.
  ///
  /// - Returns: whether the log is missing or cannot be believed.
  func use(_ key: consuming Key, of volume: Bytes16) throws(KeyFailure) -> Bool {
    // From its first session on this mount knows better than the disk.
    guard state.withLock({ $0.own.isEmpty }) else { return false }
    let found = try file.read(of: volume, with: key)
    let log = found ?? SessionLog(lostIn: volume)
    state.withLock { $0.log = log }
    var fresh = Secret(key: consume key)
    secret.withLock { swap(&$0, &fresh) }
    return found == nil
  }

  /// Begins a session, or goes on with the one that runs; when this returns, the disk has its number.
  ///
  /// `.locked` before the first unlock.
  package func begin(now: Timestamp = Clock.realtime) throws(KeyFailure) -> UInt64 {
    try secret.withLock { secret throws(KeyFailure) in
      let (known, own, current) = state.withLock { ($0.log, $0.own, $0.current) }
      if let current { return current }
      switch secret.key {
      case .none: throw .locked
      case .some(let key):
        guard var log = known else { throw .locked }
        // A mount that was read-only until now did not keep others from writing.
        if own.isEmpty { log = try file.read(of: log.volume, with: key) ?? SessionLog(lostIn: log.volume) }
        // A number whose log could not be written is not given out again.
        let time = Sessions.milliseconds(now)
        guard let session = log.begin(now: time) else { throw .system(.overflow) }
        try file.write(log, with: key)
        let begun = log
        state.withLock { state in
          state.log = begun
          state.own.append(session)
          state.current = session
        }
        return session
      }
    }
  }

  /// Ends the session that runs, if one does.
  ///
  /// Only after every file that was changed has its last slot and the file system was synced. On failure the session runs
  /// on, and may be ended again.
  package func end() throws(KeyFailure) {
    try secret.withLock { secret throws(KeyFailure) in
      let (known, current) = state.withLock { ($0.log, $0.current) }
      guard let current, var log = known else { return }
      switch secret.key {
      case .none: throw .locked
      case .some(let key):
        log.end(current)
        try file.write(log, with: key)
        let ended = log
        state.withLock { state in
          state.log = ended
          state.current = nil
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
