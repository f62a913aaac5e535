// What a sealed file is stored in. There are two: the backing file, and what the crash tests write to.

import LinuxFiles

/// The bytes of one backing file.
protocol SealedStore: Sendable {
  /// Fewer bytes than there is room for only at the end.
  func read(into bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Int
  /// Writes all three one behind the other, in as few calls as it takes; on an error some may be there, and the file still
  /// is a number of whole pages, unless it was empty.
  func write(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: UInt64
  ) throws(Errno)
  func size() throws(Errno) -> UInt64
  func synchronize(dataOnly: Bool) throws(Errno)
  func cut(to size: UInt64) throws(Errno)
  /// Frees what the range takes on the disk; it reads as zeros, and the size stays.
  func punch(_ range: Range<UInt64>) throws(Errno)
  /// So that the first writes to the range cannot meet a full disk.
  func reserve(_ range: Range<UInt64>) throws(Errno)
  /// Where there is something at or behind an offset, nil for nowhere: all before it reads as zeros.
  func nextData(from offset: UInt64) throws(Errno) -> UInt64?
}

extension SealedStore {
  /// A store that does not know its holes.
  func nextData(from offset: UInt64) throws(Errno) -> UInt64? { offset }

  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(Errno) {
    try write(bytes, Span(), Span(), at: offset)
  }
}

extension Errno {
  /// There is no room, for anybody or for the owner of the file.
  var isFullDisk: Bool { self == .noSpace || self == .quotaExceeded }
}

extension Span<UInt8> {
  func copied() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for index in indices { bytes.append(self[index]) }
    return bytes
  }
}
