// The memory a worker receives its requests in.

import CFUSE
import Glibc

/// Room for the longest request, placed so that the data of a WRITE begins on a page boundary.
///
/// The data can then go to the backing file from where it lies, also with O_DIRECT.
@safe struct RequestBuffer: ~Copyable {
  private static let pageSize = 4096
  /// What comes before the data of a WRITE.
  private static let front = MemoryLayout<fuse_in_header>.size + MemoryLayout<fuse_write_in>.size

  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  /// Makes room for requests with up to `dataSize` bytes of data.
  ///
  /// The kernel refuses to deliver anything into less than 8 KiB.
  init(dataSize: Int) {
    let size = RequestBuffer.pageSize + max(dataSize, 2 * RequestBuffer.pageSize)
    unsafe memory = .allocate(byteCount: size, alignment: RequestBuffer.pageSize)
  }

  deinit {
    unsafe memory.deallocate()
  }

  private var room: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(
      rebasing: memory[(RequestBuffer.pageSize - RequestBuffer.front)...])
  }

  /// Lets `read` put a request here; answers what it answered.
  @unsafe mutating func fill(_ read: (UnsafeMutableRawPointer, Int) -> Int) -> Int {
    count = 0
    guard let start = unsafe room.baseAddress else { return 0 }
    let result = unsafe read(start, room.count)
    count = unsafe max(0, min(result, room.count))
    return result
  }

  /// Lends the request; does nothing when too little arrived to be one.
  borrowing func withRequest(_ use: (borrowing Request) -> Void) {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
    guard let request = unsafe Request(borrowing: bytes) else { return }
    use(request)
  }
}
