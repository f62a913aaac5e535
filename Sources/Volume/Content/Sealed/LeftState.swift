// What is remembered of a file that was changed and let go of: enough to change it again without a sync. It holds no key.
//
// It says which slot and which versions are on the disk, as the state of an open file does. So it counts only in the
// session it is from, for a file nobody else has changed, until the file is synced, and for five seconds: what the kernel
// has written back by itself, or for a sync(2) of which nobody tells the daemon, would be written over. A file that has
// rested for longer is synced first, which costs little where it is on the disk already.

import LinuxFiles
import SealedFormat
import Synchronization

/// The writer's knowledge of a file that is not in memory; a class, as most files in memory have none.
final class LeftState: Sendable {
  let file: Bytes16
  let commit: CommitState

  init(file: Bytes16, commit: CommitState) { (self.file, self.commit) = (file, commit) }

  /// Whether it still tells of a file as that was found.
  func fits(_ view: FileView, of file: Bytes16, in session: UInt64, pages: UInt64) -> Bool {
    self.file == file && commit.session == session && commit.pages == pages && commit.wroteLast(view.slot)
  }
}

extension SealedFile {
  /// What to remember of it; nil where there is nothing, or too much, to remember.
  var leftState: LeftState? {
    state.withLock { state in
      // A session that only read it has changed nothing of that.
      if state.commit == nil { return state.left }
      guard let commit = state.commit, let identity = state.identity, state.pages > 0, !state.isBroken,
        !commit.owesAfterFailure, !commit.needsSlot, commit.frozen == nil, commit.floor == .none,
        commit.waitingPages <= 64
      else { return nil }
      return LeftState(file: identity.keys.file, commit: commit)
    }
  }
}

/// The same of many files, by inode.
final class LeftStates: Sendable {
  private struct Entry {
    let state: LeftState
    /// The change time of the backing file when it was let go of.
    let seen: Timestamp
    /// When it was changed here last, by the clock that never goes back.
    let changed: UInt64
  }

  /// About 10 MiB.
  private static let most = 16_384
  /// As often as the kernel looks for pages to write back; also of a file at rest, whose state is whole.
  static let lifetime: UInt64 = 5_000_000_000

  private let entries: Mutex<[UInt64: Entry]> = Mutex([:])

  func keep(_ state: LeftState, of inode: UInt64, seen: Timestamp, changed: UInt64) {
    entries.withLock { entries in
      // Any will do: a walk that comes back to it finds the others.
      if entries.count >= LeftStates.most, let other = entries.keys.first { entries[other] = nil }
      entries[inode] = Entry(state: state, seen: seen, changed: changed)
    }
  }

  /// Once: from then on the file knows better.
  func take(
    _ inode: UInt64, seen: Timestamp?, now: UInt64 = Clock.monotonicNanoseconds
  ) -> LeftState? {
    entries.withLock { entries in
      guard let entry = entries.removeValue(forKey: inode), entry.seen == seen,
        now < entry.changed &+ LeftStates.lifetime
      else { return nil }
      return entry.state
    }
  }
}
