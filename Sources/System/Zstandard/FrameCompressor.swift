import CZstandard

// Making frames of zstd.

/// Makes frames at one level: each stands alone, has its size in its header, and a checksum.
@safe package struct FrameCompressor: ~Copyable {
  /// The levels that are offered; those above take much memory to expand.
  package static let levels = 1...19
  package static let usualLevel = 3

  private let handle: UnsafeMutableRawPointer

  /// Nil if there is no libzstd, no memory, or no such level.
  package init?(level: Int) {
    guard FrameCompressor.levels.contains(level), lv_zstd_prepare() != 0,
      let handle = unsafe lv_zstd_compressor(CInt(level))
    else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lv_zstd_end_compressor(handle) }

  /// Makes one frame at the beginning of `space`; how long it is, or nil if that is not enough room.
  package func compress(_ raw: Span<UInt8>, into space: inout MutableSpan<UInt8>) -> Int? {
    let made = unsafe raw.withUnsafeBytes { raw in
      unsafe space.withUnsafeMutableBytes { space -> Int in
        guard let source = raw.baseAddress, let target = space.baseAddress else { return 0 }
        return unsafe Int(lv_zstd_compress(handle, source, raw.count, target, space.count))
      }
    }
    return made > 0 ? made : nil
  }
}
