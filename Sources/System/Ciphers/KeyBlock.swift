import CCrypto

// The keys of one file in one piece of the secure heap.

/// Four keys that are wiped together.
///
/// A key is derived once and then read by many threads. A position is not written again without a lock that keeps its
/// readers away.
@safe package struct KeyBlock: ~Copyable, @unchecked Sendable {
  package enum Position: Int, Sendable, CaseIterable {
    case first, second, third, fourth
  }

  @unsafe private let memory: UnsafeMutableRawPointer

  package init() throws(CipherFailure) {
    try SecureHeap.prepare()
    let size = Position.allCases.count * Key.size
    guard let memory = unsafe lv_secure_new(size, SecureHeap.scratch) else { throw .noMemory }
    unsafe self.memory = memory
  }

  deinit { unsafe lv_secure_free(memory) }

  @unsafe borrowing func start(_ position: Position) -> UnsafeMutableRawPointer {
    unsafe memory + position.rawValue * Key.size
  }

  package borrowing func randomize(_ position: Position) throws(CipherFailure) {
    try check(errorNumber: unsafe lv_random(start(position), Key.size))
  }

  /// HKDF-Expand of one key of the block into another position.
  package borrowing func expand(
    _ parent: Position, info: Span<UInt8>, into position: Position
  ) throws(CipherFailure) {
    try unsafe Ciphers.expand(lv_bytes(start: start(parent), count: Key.size), info, into: start(position))
  }
}
