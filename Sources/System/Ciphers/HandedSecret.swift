import CCrypto
package import LinuxFiles

// A keyfile's secret on its way from the program that read the keyfile to the daemon: through a pipe to one that starts,
// through the control socket to one that runs.

/// The identifier of a keyfile, which is no secret, and its secret.
package struct HandedSecret: ~Copyable, Sendable {
  // What goes through the pipe. Never change: the two programs may be of different versions.
  private static let size = 48
  private static let identifierSize = 16

  package let keyfile: InlineArray<16, UInt8>
  package let secret: Key

  package init(keyfile: InlineArray<16, UInt8>, secret: consuming Key) {
    self.keyfile = keyfile
    self.secret = secret
  }

  /// Reads from a pipe straight into the secure heap: exactly so many bytes, and then the end, within a second.
  package static func read(
    from pipe: borrowing Descriptor, milliseconds: Int32 = 1000
  ) throws(CipherFailure) -> HandedSecret {
    let bytes = try SecretBytes(count: size)
    try check(errorNumber: unsafe lv_read_secret(pipe.rawValue, bytes.start, size, milliseconds))
    return try HandedSecret(bytes)
  }

  /// Takes what `receive` fills memory of the secure heap with, all of it.
  package static func received(
    by receive: (inout MutableSpan<UInt8>) throws(Errno) -> Void
  ) throws(CipherFailure) -> HandedSecret {
    var bytes = try SecretBytes(count: size)
    do throws(Errno) {
      try bytes.withMutableBytes(receive)
    } catch {
      throw .system(error)
    }
    return try HandedSecret(bytes)
  }

  private init(_ bytes: borrowing SecretBytes) throws(CipherFailure) {
    var keyfile = InlineArray<16, UInt8>(repeating: 0)
    bytes.withBytes { bytes in
      for index in 0..<HandedSecret.identifierSize { keyfile[index] = bytes[index] }
    }
    self.init(keyfile: keyfile, secret: try Key(bytes, at: HandedSecret.identifierSize))
  }

  /// Writes to a pipe, which has room for it.
  package borrowing func write(to pipe: borrowing Descriptor) throws(CipherFailure) {
    let bytes = try assembled()
    try check(errorNumber: unsafe lv_write_secret(pipe.rawValue, bytes.start, HandedSecret.size))
  }

  /// Lends what is handed over to `send`, which must not keep it.
  package borrowing func send(by send: (Span<UInt8>) throws(Errno) -> Void) throws(CipherFailure) {
    let bytes = try assembled()
    do throws(Errno) {
      try bytes.withBytes(send)
    } catch {
      throw .system(error)
    }
  }

  private borrowing func assembled() throws(CipherFailure) -> SecretBytes {
    var bytes = try SecretBytes(count: HandedSecret.size)
    bytes.withMutableBytes { bytes in
      for index in 0..<HandedSecret.identifierSize { bytes[index] = keyfile[index] }
    }
    try secret.copy(into: &bytes, at: HandedSecret.identifierSize)
    return bytes
  }
}
