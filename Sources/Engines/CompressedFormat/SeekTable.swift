// The table at the end of a compressed file: where each frame of it begins. The form is zstd's seekable format, so any
// reader of zstd takes the table for a frame to skip. Whatever lies on disk is checked before anything is allocated for it.

/// The numbers of the form.
package enum SeekTableLayout {
  // On disk since format 1. Never renumber.
  /// A skippable frame of zstd.
  package static let skippableMagic: UInt32 = 0x184D_2A5E
  package static let seekableMagic: UInt32 = 0x8F92_EAB1
  /// The magic and the size of the skippable frame.
  package static let headLength = 8
  package static let entryLength = 8
  /// The number of frames, the descriptor and the magic.
  package static let footerLength = 9

  /// What we put into a frame; the last may hold less.
  ///
  /// A read expands a whole frame, so shorter ones make random reads faster, and all others slower and the file longer
  /// (docs/performance.md, "Compressed files").
  package static let frameSize = 32_768
  /// The most that a frame may hold when it is expanded.
  package static let longestFrame = 65_536
  package static let longestFile: UInt64 = 64 << 30
  package static let mostFrames = UInt64(longestFile) / UInt64(frameSize)

  /// The most that zstd makes of so many bytes (ZSTD_compressBound).
  package static func longestStored(raw: UInt32) -> UInt32 {
    let slack = raw < 131_072 ? (131_072 - raw) >> 11 : 0
    return raw + raw >> 8 + slack
  }
}

/// Why a seek table cannot be used.
package enum SeekTableDamage: Error, Hashable, Sendable {
  /// The file is shorter than the table it names, or the bytes are not as many as the table has.
  case length
  case magic
  /// A bit we do not know: what follows may mean something else.
  case descriptor(UInt8)
  case frameCount
  /// A frame that is empty, holds too much, or is longer than zstd makes one.
  case frame(Int)
  /// The frames do not fill the file up to the table.
  case storedSize
  /// The frames hold more or less than the file has.
  case logicalSize
}

/// The last bytes of a compressed file: they say where the table is.
package struct SeekTableFooter: Hashable, Sendable {
  package let frameCount: Int
  /// Where the table begins in the file.
  package let tableOffset: UInt64

  /// The bytes of the whole table, this footer included.
  package var tableLength: Int {
    SeekTableLayout.headLength + frameCount * SeekTableLayout.entryLength + SeekTableLayout.footerLength
  }

  /// Reads the last ``SeekTableLayout/footerLength`` bytes of a file.
  ///
  /// What comes out fits the sizes, so that a table of this length may be read.
  package init(
    _ bytes: Span<UInt8>, storedSize: UInt64, logicalSize: UInt64
  ) throws(SeekTableDamage) {
    guard bytes.count == SeekTableLayout.footerLength else { throw .length }
    guard bytes.word(at: 5) == SeekTableLayout.seekableMagic else { throw .magic }
    guard bytes[4] == 0 else { throw .descriptor(bytes[4]) }
    let count = UInt64(bytes.word(at: 0))
    guard logicalSize <= SeekTableLayout.longestFile else { throw .logicalSize }
    let size = UInt64(SeekTableLayout.longestFrame)
    // As many as the content needs at least; more only if frames were cut short, and none of them is empty.
    let fewest = logicalSize / size + (logicalSize % size == 0 ? 0 : 1)
    guard count >= fewest, count <= logicalSize, count <= SeekTableLayout.mostFrames else {
      throw .frameCount
    }
    frameCount = Int(count)
    let length = UInt64(
      SeekTableLayout.headLength + frameCount * SeekTableLayout.entryLength + SeekTableLayout.footerLength)
    guard storedSize >= length else { throw .length }
    tableOffset = storedSize - length
    // A frame of zstd is never shorter than its magic, its header and one block.
    guard tableOffset / SeekTable.shortestFrame >= count else { throw .storedSize }
  }
}

/// Where the frames of a compressed file are.
package struct SeekTable: Hashable, Sendable {
  /// Magic, two bytes of header, and a block's three.
  static let shortestFrame: UInt64 = 9

  /// One frame: where it is, and what it holds.
  package struct Frame: Hashable, Sendable {
    package var index: Int
    package var storedOffset: UInt64
    package var storedSize: Int
    package var rawOffset: UInt64
    package var rawSize: Int
  }

  private struct Start: Hashable {
    var stored: UInt64
    var raw: UInt64
  }

  /// The beginning of each frame, and at last the end of all.
  private let starts: [Start]

  package var frameCount: Int { starts.count - 1 }
  package var logicalSize: UInt64 { starts.last?.raw ?? 0 }

  /// Reads a whole table.
  package init(
    _ bytes: Span<UInt8>, _ footer: SeekTableFooter, logicalSize: UInt64
  ) throws(SeekTableDamage) {
    guard bytes.count == footer.tableLength else { throw .length }
    guard bytes.word(at: 0) == SeekTableLayout.skippableMagic else { throw .magic }
    guard Int(bytes.word(at: 4)) == bytes.count - SeekTableLayout.headLength else { throw .length }
    // The table may have changed since the footer was read.
    guard Int(bytes.word(at: bytes.count - 9)) == footer.frameCount,
      bytes.word(at: bytes.count - 4) == SeekTableLayout.seekableMagic
    else { throw .magic }
    guard bytes[bytes.count - 5] == 0 else { throw .descriptor(bytes[bytes.count - 5]) }
    try SeekTable.check(bytes, footer, logicalSize: logicalSize)
    var starts: [Start] = []
    starts.reserveCapacity(footer.frameCount + 1)
    var next = Start(stored: 0, raw: 0)
    for index in 0..<footer.frameCount {
      starts.append(next)
      let (stored, raw) = SeekTable.entry(index, of: bytes)
      next = Start(stored: next.stored + UInt64(stored), raw: next.raw + UInt64(raw))
    }
    starts.append(next)
    self.starts = starts
  }

  private static func entry(_ index: Int, of bytes: Span<UInt8>) -> (stored: UInt32, raw: UInt32) {
    let offset = SeekTableLayout.headLength + index * SeekTableLayout.entryLength
    return (bytes.word(at: offset), bytes.word(at: offset + 4))
  }

  private static func check(
    _ bytes: Span<UInt8>, _ footer: SeekTableFooter, logicalSize: UInt64
  ) throws(SeekTableDamage) {
    var (storedSum, rawSum): (UInt64, UInt64) = (0, 0)
    for index in 0..<footer.frameCount {
      let (stored, raw) = entry(index, of: bytes)
      guard raw > 0, raw <= SeekTableLayout.longestFrame, stored >= shortestFrame,
        stored <= SeekTableLayout.longestStored(raw: raw)
      else { throw .frame(index) }
      storedSum += UInt64(stored)
      rawSum += UInt64(raw)
    }
    guard storedSum == footer.tableOffset else { throw .storedSize }
    guard rawSum == logicalSize else { throw .logicalSize }
  }

  package func frame(_ index: Int) -> Frame? {
    guard index >= 0, index < frameCount else { return nil }
    let (start, end) = (starts[index], starts[index + 1])
    return Frame(
      index: index, storedOffset: start.stored, storedSize: Int(end.stored - start.stored),
      rawOffset: start.raw, rawSize: Int(end.raw - start.raw))
  }

  /// The frame that holds a byte of the content; nil at its end and behind.
  package func frame(holding offset: UInt64) -> Frame? {
    guard offset < logicalSize else { return nil }
    // Where all frames but the last hold the same, as we write them, the first guess is right.
    let guess = Int(offset / starts[1].raw)
    if let frame = frame(guess), offset >= frame.rawOffset, offset - frame.rawOffset < frame.rawSize {
      return frame
    }
    var (low, high) = (0, frameCount)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if starts[middle].raw <= offset { low = middle } else { high = middle }
    }
    return frame(low)
  }
}

/// Makes the table while frames are written one after the other.
package struct SeekTableWriter: Sendable {
  private var entries: [UInt8] = []
  package private(set) var frameCount = 0
  package private(set) var logicalSize: UInt64 = 0
  /// Where the next frame, or the table, begins.
  package private(set) var storedSize: UInt64 = 0

  package init() {}

  /// Notes a frame; false, and nothing noted, if no reader would take it.
  package mutating func add(stored: Int, raw: Int) -> Bool {
    guard raw > 0, raw <= SeekTableLayout.longestFrame, stored >= Int(SeekTable.shortestFrame),
      stored <= Int(SeekTableLayout.longestStored(raw: UInt32(raw))),
      UInt64(frameCount) < SeekTableLayout.mostFrames
    else { return false }
    entries.append(littleEndian: UInt32(stored))
    entries.append(littleEndian: UInt32(raw))
    frameCount += 1
    logicalSize += UInt64(raw)
    storedSize += UInt64(stored)
    return true
  }

  /// What is written behind the last frame.
  package var table: [UInt8] {
    var table: [UInt8] = []
    table.reserveCapacity(
      SeekTableLayout.headLength + entries.count + SeekTableLayout.footerLength)
    table.append(littleEndian: SeekTableLayout.skippableMagic)
    table.append(littleEndian: UInt32(entries.count + SeekTableLayout.footerLength))
    table += entries
    table.append(littleEndian: UInt32(frameCount))
    table.append(0)
    table.append(littleEndian: SeekTableLayout.seekableMagic)
    return table
  }
}

extension Span<UInt8> {
  /// Four bytes; the caller has checked the length.
  fileprivate func word(at offset: Int) -> UInt32 {
    var word: UInt32 = 0
    for index in 0..<4 { word |= UInt32(self[offset + index]) << UInt32(8 * index) }
    return word
  }
}

extension [UInt8] {
  fileprivate mutating func append(littleEndian word: UInt32) {
    for index in 0..<4 { append(UInt8(truncatingIfNeeded: word >> UInt32(8 * index))) }
  }
}
