import CCrypto

// The key of a passphrase.

extension Key {
  /// scrypt of RFC 7914.
  ///
  /// The passphrase is `count` bytes of `passphrase`, from the first. `memory` is what may be used: libcrypto's own limit
  /// of 32 MiB is less than a usual cost needs. `.unusable` for numbers that libcrypto refuses.
  package init(
    passphrase: borrowing SecretBytes, count: Int, salt: Span<UInt8>, logN: UInt8, blockFactor: UInt8,
    parallelism: UInt8, memory: Int
  ) throws(CipherFailure) {
    guard count > 0, count <= passphrase.count else { throw .unusable }
    let made = try Key()
    let passphrase = unsafe lv_bytes(start: passphrase.start, count: count)
    try unsafe lend(salt) { salt throws(CipherFailure) in
      try check(
        unsafe lv_scrypt(
          passphrase, salt, 1 << UInt64(logN), UInt32(blockFactor), UInt32(parallelism),
          UInt64(clamping: memory), made.start))
    }
    self = made
  }
}
