import CZstandard
import Synchronization

// Expanding frames of zstd.

/// Expands frames; with room for frames as they are stored.
///
/// A thread that has taken one from ``FrameExpanders`` uses it alone until it is given back, which is why it may go from thread to
/// thread.
@safe package final class FrameExpander: @unchecked Sendable {
  private let handle: UnsafeMutableRawPointer
  /// What was read and is to be expanded.
  private var stored: [UInt8]

  fileprivate init?(room: Int) {
    guard lv_zstd_prepare() != 0, let handle = unsafe lv_zstd_expander() else { return nil }
    unsafe self.handle = handle
    stored = [UInt8](repeating: 0, count: room)
  }

  deinit { unsafe lv_zstd_end_expander(handle) }

  /// How much fits in before it is expanded.
  package var room: Int { stored.count }

  /// Lets frames be brought in as they are stored.
  package func load<Failure>(
    _ count: Int, _ fill: (inout MutableSpan<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    try unsafe stored.withUnsafeMutableBufferPointer { buffer throws(Failure) in
      var space = unsafe buffer.extracting(0..<count).mutableSpan
      try fill(&space)
    }
  }

  /// Expands the frame that a part of what was brought in has to be; whether it is one that fills `raw`, and undamaged.
  package func expand(_ part: Range<Int>, into raw: inout MutableSpan<UInt8>) -> Bool {
    unsafe raw.withUnsafeMutableBytes { raw in unsafe expand(part, to: raw) }
  }

  /// The same into memory of its own, which is not cleared before.
  package func expanded(_ part: Range<Int>, count: Int) -> ExpandedFrame? {
    var isSound = false
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { raw, filled in
      isSound = unsafe expand(part, to: UnsafeMutableRawBufferPointer(raw.extracting(0..<count)))
      filled = isSound ? count : 0
    }
    return isSound ? ExpandedFrame(bytes) : nil
  }

  @unsafe private func expand(_ part: Range<Int>, to raw: UnsafeMutableRawBufferPointer) -> Bool {
    unsafe stored.withUnsafeBytes { stored in
      let source = unsafe UnsafeRawBufferPointer(rebasing: stored[part])
      guard let from = source.baseAddress, let to = raw.baseAddress else { return false }
      return unsafe lv_zstd_expand(handle, from, source.count, to, raw.count) != 0
    }
  }
}

/// The bytes of one frame, expanded.
package final class ExpandedFrame: Sendable {
  private let bytes: [UInt8]

  fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Copies bytes from `start` on to where they are wanted; `target` is no longer than what is left.
  package func copy(from start: Int, to target: inout MutableSpan<UInt8>) {
    let range = start..<start + target.count
    unsafe bytes.withUnsafeBytes { bytes in
      let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
      unsafe target.withUnsafeMutableBytes { target in unsafe target.copyMemory(from: source) }
    }
  }
}

/// Expanders that are not in use, for any thread.
package final class FrameExpanders: Sendable {
  /// More than threads are at work with.
  private static let mostIdle = 8

  private let room: Int
  private let idle: Mutex<[FrameExpander]> = Mutex([])

  /// `room`: how much an expander has for frames as they are stored.
  package init(room: Int) { self.room = room }

  /// Nil if there is no libzstd, or no memory.
  package func take() -> FrameExpander? {
    idle.withLock { $0.popLast() } ?? FrameExpander(room: room)
  }

  package func giveBack(_ expander: FrameExpander) {
    idle.withLock { idle in
      if idle.count < FrameExpanders.mostIdle { idle.append(expander) }
    }
  }
}
