import CCrypto
package import LinuxFiles
import Synchronization

// Where keys lie: memory of libcrypto that is locked, between guard pages, in no core file, and wiped when freed.

/// Why something about keys failed.
package enum CipherFailure: Error, Equatable, Sendable {
  /// libcrypto is not installed, or does not have what is needed.
  case libraryMissing
  /// Something else in this process used libcrypto first, so that its memory lies outside the secure heap.
  case libraryInUse
  /// The secure heap cannot be locked: RLIMIT_MEMLOCK, in bytes, is lower than ``SecureHeap/size``.
  case memoryNotLocked(limit: UInt64)
  /// The secure heap is full.
  case noMemory
  /// A tag does not fit: another key, or other bytes.
  case notAuthentic
  /// A public key that gives the same secret to everybody.
  case weakPublicKey
  /// A context without a key, or more bytes than one call takes.
  case unusable
  case system(Errno)
}

/// The memory that keys and all of libcrypto's own lie in.
package enum SecureHeap {
  /// The least there must be; about 230 KiB are in use after the first key.
  package static let size: UInt64 = 2 << 20
  /// What is taken where this process may lock so much: room for a quarter of a million files.
  ///
  /// A page is locked when it is first used, so it costs nothing before.
  private static let largest: UInt64 = 32 << 20
  /// What the keys of files leave to others: to blocks that requests put together, of which each of many threads may have a few.
  static let scratch = 256 << 10

  // Guards the first use of the library. Held while it is loaded, which reads its file.
  private static let isReady = Mutex(false)

  /// Loads libcrypto and locks the heap, once.
  ///
  /// Everything else of this module that touches a key comes after it; a failure may be gone at the next try.
  package static func prepare() throws(CipherFailure) {
    try isReady.withLock { isReady throws(CipherFailure) in
      if isReady { return }
      try check(lv_crypto_prepare(Int(size), Int(largest)))
      isReady = true
    }
  }

  /// How many files can have their keys here at once, about; 0 before the first key.
  package static var fileKeys: Int {
    max(0, lv_secure_size() - scratch - scratch) / (KeyBlock.Position.allCases.count * Key.size)
  }

  /// How many bytes are in use.
  package static var used: Int { lv_secure_used() }
}

/// Throws what a call answered; `refusal` is the word for LV_CRYPTO_REFUSED.
func check(_ result: lv_crypto, refusal: CipherFailure = .unusable) throws(CipherFailure) {
  switch result {
  case LV_CRYPTO_DONE: return
  case LV_CRYPTO_MISSING: throw .libraryMissing
  case LV_CRYPTO_IN_USE: throw .libraryInUse
  case LV_CRYPTO_NOT_LOCKED: throw .memoryNotLocked(limit: lv_lock_limit())
  case LV_CRYPTO_NO_MEMORY: throw .noMemory
  default: throw refusal
  }
}

/// Throws the error number that a call answered negated.
func check(errorNumber result: CInt) throws(CipherFailure) {
  if result < 0 { throw .system(Errno(rawValue: -result)) }
}
