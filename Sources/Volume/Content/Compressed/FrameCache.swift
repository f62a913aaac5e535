// Frames that were expanded lately, of all compressed files of a volume.
//
// What programs read stays in the kernel's pages. This is for reads that want a part of a frame, and soon another part.

import CompressedFormat
import LinuxFiles
import Synchronization
import Zstandard

/// A few frames, and what expands more.
final class FrameCache: Sendable {
  /// A frame of one opening of a file: the next opening has another number.
  struct Key: Hashable, Sendable {
    let file: UInt64
    let index: Int
  }

  private struct Entry {
    let key: Key
    let frame: ExpandedFrame
    var used: UInt64
  }

  private struct State {
    var entries: [Entry] = []
    var clock: UInt64 = 0
  }

  /// Two megabytes, once there are compressed files.
  private static let capacity = 64

  private let state = Mutex(State())
  private let lastFile = Atomic<UInt64>(0)
  private let expanders = FrameExpanders(room: FrameCache.room)

  /// So much of a file is read at a time: frames as long as they can be, or more that are shorter.
  static let room = 4 * Int(SeekTableLayout.longestStored(raw: UInt32(SeekTableLayout.longestFrame)))

  func nextFile() -> UInt64 { lastFile.add(1, ordering: .relaxed).newValue }

  func frame(_ key: Key) -> ExpandedFrame? {
    state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.key == key }) else { return nil }
      state.clock += 1
      state.entries[index].used = state.clock
      return state.entries[index].frame
    }
  }

  /// The frame that was used longest ago gives way.
  func keep(_ frame: ExpandedFrame, _ key: Key) {
    let old: ExpandedFrame? = state.withLock { state in
      state.clock += 1
      let entry = Entry(key: key, frame: frame, used: state.clock)
      guard state.entries.count >= FrameCache.capacity,
        let oldest = state.entries.indices.min(by: { state.entries[$0].used < state.entries[$1].used })
      else {
        state.entries.append(entry)
        return nil
      }
      defer { state.entries[oldest] = entry }
      return state.entries[oldest].frame
    }
    // Freed without the lock.
    _ = old
  }

  /// EOPNOTSUPP where libzstd is missing.
  func takeExpander() throws(Errno) -> FrameExpander {
    guard let expander = expanders.take() else {
      Log.damage("libzstd.so.1 cannot be loaded, or there is no memory: compressed files cannot be read")
      throw .unsupported
    }
    return expander
  }

  func giveBack(_ expander: FrameExpander) { expanders.giveBack(expander) }
}
