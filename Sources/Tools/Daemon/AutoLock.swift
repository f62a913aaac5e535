// Locks the volume by itself when nobody has asked for protected content for some time; and what keeps unlocking,
// locking and this apart.

import LayeredVolume
import LinuxFiles
import Synchronization

/// The one place from which the volume is locked and unlocked while it is mounted.
final class AutoLock: Sendable {
  private struct State {
    var armedAt: UInt64 = 0
    var hasThread = false
  }

  /// A year.
  static let longest = 31_536_000

  private let volume: Volume
  /// Held as well by threads that set or read `volume.lockAfter`.
  private let state = Mutex(State())
  /// Rung when `state` has changed.
  private let bell = Bell()
  // A semaphore, because a lock takes seconds, and a mutex would want a closure around secrets that cannot be captured.
  private let turn = Bell(rings: 1)

  init(_ volume: Volume) {
    self.volume = volume
  }

  /// One lock, unlock or change of the time at a time: else the clock could lock what was unlocked a moment ago.
  func takeTurn() { turn.wait() }
  func endTurn() { turn.ring() }

  /// Begins to count, or with nil ends it; with the turn taken.
  ///
  /// The kernel does not tell when it reads from its cache, so what is read again and again need not count.
  func set(_ seconds: Int?) throws(Errno) {
    let needsThread = state.withLock { state in
      volume.lockAfter = seconds.map { UInt64(clamping: $0) }
      state.armedAt = Clock.monotonicNanoseconds
      return seconds != nil && !state.hasThread
    }
    bell.ring()
    guard needsThread else { return }
    do throws(Errno) {
      _ = try PlainThread(name: "varve-autolock") { self.run() }
    } catch {
      state.withLock { _ in volume.lockAfter = nil }
      throw error
    }
    state.withLock { $0.hasThread = true }
  }

  private func run() {
    while true {
      switch millisecondsLeft {
      case nil: bell.wait()
      case .some(0):
        takeTurn()
        // Another thread may have had the turn until now.
        if millisecondsLeft == 0 { lock() }
        endTurn()
      case .some(let left): _ = bell.wait(milliseconds: left)
      }
    }
  }

  private var millisecondsLeft: Int? {
    let (seconds, armedAt) = state.withLock { (volume.lockAfter, $0.armedAt) }
    guard let seconds else { return nil }
    let end = max(armedAt, volume.lastKeyUse) &+ seconds &* 1_000_000_000
    let now = Clock.monotonicNanoseconds
    // An hour at most: the wait is by a clock that may be set.
    return end <= now ? 0 : min(3_600_000, Int((end - now) / 1_000_000) + 1)
  }

  private func lock() {
    let seconds = state.withLock { _ in
      defer { volume.lockAfter = nil }
      return volume.lockAfter ?? 0
    }
    let outcome = volume.lock(.locking, isHurried: false)
    Log.notice(
      "locked: no encrypted file was used for \(seconds) s; \(outcome.purged) dropped from memory"
        + (outcome.isClean ? "" : "; \(outcome.leftovers)"))
  }
}

extension LayeredVolume.LockOutcome {
  /// Whether nothing was lost and nothing was kept.
  var isClean: Bool { unwritten.isEmpty && kept.isEmpty && cached.isEmpty }

  /// What was lost or kept, for the log.
  var leftovers: String {
    "\(unwritten.count) not written, \(kept.count) kept, \(cached.count) perhaps still in the page cache"
  }
}
