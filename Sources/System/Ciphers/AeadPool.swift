import CCrypto
import Synchronization

// The contexts of AES-256-GCM. To make one costs half as much as a block takes, and each keeps the key it was given
// last: so a few are used in turn, and none outlives a lock.

/// Contexts to be borrowed.
package final class AeadPool: Sendable {
  /// What is kept for the next: more threads than this encrypt at once seldom enough.
  private static let capacity = 32

  /// A context of libcrypto, which one thread uses at a time.
  @safe struct Context: @unchecked Sendable {
    @unsafe let start: UnsafeMutableRawPointer
  }

  private struct State {
    var idle: [Context] = []
    var generation: UInt64 = 0
  }

  // Never held while something is encrypted.
  private let state: Mutex<State>

  package init() {
    var state = State()
    state.idle.reserveCapacity(AeadPool.capacity)
    self.state = Mutex(state)
  }

  deinit { drain() }

  /// A context without a key.
  package func borrow() throws(CipherFailure) -> Aead {
    let (idle, generation) = state.withLock { ($0.idle.popLast(), $0.generation) }
    if let idle { return Aead(idle, of: self, generation) }
    try SecureHeap.prepare()
    guard let made = unsafe lv_gcm_new() else { throw .noMemory }
    return Aead(unsafe Context(start: made), of: self, generation)
  }

  /// Frees all contexts with the keys in them: the idle ones at once, those in use when they come back.
  package func drain() {
    while let context = takeOut() { unsafe lv_gcm_free(context.start) }
  }

  private func takeOut() -> Context? {
    state.withLock { state in
      state.generation += 1
      return state.idle.popLast()
    }
  }

  func giveBack(_ context: Context, _ generation: UInt64) {
    let isKept = state.withLock { state in
      guard state.generation == generation, state.idle.count < AeadPool.capacity else { return false }
      state.idle.append(context)
      return true
    }
    if !isKept { unsafe lv_gcm_free(context.start) }
  }
}
