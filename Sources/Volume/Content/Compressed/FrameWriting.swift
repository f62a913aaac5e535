// Making the stored form of a compressed file, and the plain form again.

import CompressedFormat
package import LinuxFiles
import Zstandard

package enum FrameWriting {
  /// What a frame holds when it is expanded; the last may hold less.
  package static let frameSize = SeekTableLayout.frameSize
  /// Frames that are made before they are written.
  private static let framesAtOnce = 32
  /// Less is not worth it: so many bytes, and so many in a hundred.
  private static let leastGain: UInt64 = 4096
  private static let leastGainPercent: UInt64 = 12

  /// The most that the compressed form may take of the disk; nil where nothing could be gained.
  package static func mostWorthwhile(_ status: FileStatus) -> UInt64? {
    let block = FrameWriting.leastGain
    // What holes do not take cannot be saved, nor what is reserved behind the end.
    let used = min(min(status.blocks, .max / 512) * 512, (status.size + block - 1) / block * block)
    guard used > block else { return nil }
    let most = min(used - block, used / 100 * (100 - leastGainPercent)) / block * block
    return most > 0 ? most : nil
  }

  /// Writes frames and their table; how many bytes that is.
  ///
  /// ECANCELED where too little would be gained, EFBIG for a file that is longer than the form allows.
  static func compress(
    _ source: borrowing Descriptor, _ size: UInt64, level: Int, to work: borrowing Descriptor,
    _ watch: ReplacementWatch
  ) throws(Errno) -> UInt64 {
    guard size > 0 else { throw .canceled }
    guard size <= SeekTableLayout.longestFile else { throw .fileTooBig }
    guard let most = mostWorthwhile(try source.status()) else { throw .canceled }
    guard let compressor = FrameCompressor(level: level) else {
      Log.damage("libzstd.so.1 cannot be loaded, or there is no memory: nothing can be compressed")
      throw .unsupported
    }
    let frame = frameSize
    let longest = Int(SeekTableLayout.longestStored(raw: UInt32(frame)))
    var raw = [UInt8](repeating: 0, count: Int(min(size, UInt64(framesAtOnce * frame))))
    var made = [UInt8](repeating: 0, count: framesAtOnce * longest)
    var table = SeekTableWriter()
    var written = WriteBack()
    while table.logicalSize < size {
      try watch.report(table.logicalSize, of: size)
      let count = Int(min(UInt64(raw.count), size - table.logicalSize))
      var space = raw.mutableSpan
      var part = space._mutatingExtracting(0..<count)
      // Who changes it meanwhile is told apart by its change time, or here.
      guard try source.readFully(into: &part, at: try Int64(checking: table.logicalSize)) == count else {
        throw .busy
      }
      let start = table.storedSize
      var filled = 0
      for first in stride(from: 0, to: count, by: frame) {
        let piece = raw.span.extracting(first..<min(first + frame, count))
        var whole = made.mutableSpan
        var room = whole._mutatingExtracting(filled..<filled + longest)
        guard let stored = compressor.compress(piece, into: &room),
          table.add(stored: stored, raw: piece.count)
        else { throw .inputOutput }
        filled += stored
      }
      guard table.storedSize <= most else { throw .canceled }
      try work.writeAll(made.span.extracting(0..<filled), at: try Int64(checking: start))
      try written.add(filled, of: work)
    }
    let bytes = table.table
    guard table.storedSize + UInt64(bytes.count) <= most else { throw .canceled }
    try work.writeAll(bytes, at: try Int64(checking: table.storedSize))
    try watch.report(size, of: size)
    return table.storedSize + UInt64(bytes.count)
  }

  /// Writes the content as it is.
  static func expand(
    _ file: borrowing Descriptor, _ frames: FrameFile, to work: borrowing Descriptor,
    _ watch: ReplacementWatch
  ) throws(Errno) {
    let size = frames.table.logicalSize
    var buffer = [UInt8](
      repeating: 0, count: Int(min(size, UInt64(framesAtOnce * frameSize))))
    var position: UInt64 = 0
    var written = WriteBack()
    while position < size {
      try watch.report(position, of: size)
      var bytes = buffer.mutableSpan
      let count = try frames.read(file, at: position, into: &bytes)
      guard count > 0 else { throw .inputOutput }
      try work.writeAll(buffer.span.extracting(0..<count), at: try Int64(checking: position))
      position += UInt64(count)
      try written.add(count, of: work)
    }
    try watch.report(size, of: size)
  }
}
