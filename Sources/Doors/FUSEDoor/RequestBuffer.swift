// The memory a worker receives its requests in.

import CFUSE
import Glibc

/// Room for the longest request, placed so that the data of a WRITE begins on a page boundary.
///
/// The data can then go to the backing file from where it lies, also with O_DIRECT.
@safe struct RequestBuffer: ~Copyable, @unchecked Sendable {
  // Sendable: the memory has this one owner, which cannot be copied and changes it only as `inout`.
  private static let pageSize = 4096
  /// What comes before the data of a WRITE.
  private static let front = MemoryLayout<fuse_in_header>.size + MemoryLayout<fuse_write_in>.size

  private let memory: UnsafeMutableRawBufferPointer
  /// Where requests begin.
  private let start: Int
  private var count = 0
  /// A copy of bytes that a program wrote, which may be secret.
  private let isWipedAtEnd: Bool

  /// Makes room for requests with up to `dataSize` bytes of data.
  ///
  /// The kernel refuses to deliver anything into less than 8 KiB.
  init(dataSize: Int) {
    let size = RequestBuffer.pageSize + max(dataSize, 2 * RequestBuffer.pageSize)
    unsafe memory = .allocate(byteCount: size, alignment: RequestBuffer.pageSize)
    start = RequestBuffer.pageSize - RequestBuffer.front
    isWipedAtEnd = false
  }

  /// Copies the request that `other` holds; of a WRITE so that its data lies as it did.
  init(copying other: borrowing RequestBuffer, isWrite: Bool) {
    start = isWrite ? RequestBuffer.pageSize - RequestBuffer.front : 0
    count = other.count
    isWipedAtEnd = isWrite
    let alignment = isWrite ? RequestBuffer.pageSize : 16
    unsafe memory = .allocate(byteCount: start + count, alignment: alignment)
    unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: other.room[..<count]))
  }

  /// The memory it takes.
  var size: Int { unsafe memory.count }

  deinit {
    if isWipedAtEnd { wipe() }
    unsafe memory.deallocate()
  }

  /// Overwrites the request; nobody reads it any more.
  borrowing func wipe() {
    if let start = unsafe room.baseAddress { unsafe explicit_bzero(start, count) }
  }

  private var room: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start...])
  }

  /// Lets `read` put a request here; answers what it answered.
  @unsafe mutating func fill(_ read: (UnsafeMutableRawPointer, Int) -> Int) -> Int {
    count = 0
    guard let start = unsafe room.baseAddress else { return 0 }
    let result = unsafe read(start, room.count)
    count = unsafe max(0, min(result, room.count))
    return result
  }

  /// Lends the request; nil when too little arrived to be one.
  borrowing func withRequest<R>(_ use: (borrowing Request) -> R) -> R? {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
    guard let request = unsafe Request(borrowing: bytes) else { return nil }
    return use(request)
  }
}
