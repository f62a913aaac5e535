// Keyfiles, a keybag, a session log and the header of a file, byte by byte: the values that define the format. They fit each other.

package enum StoredKeys {
  package static func bytes(_ hex: String, paddedTo size: Int = 0) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
    var bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    while bytes.count < size { bytes.append(0) }
    return bytes
  }

  package static let keybag = bytes(
    """
    89454b42310d0a1a0100800001000000000102030405060708090a0b0c0d0e0f
    0100000000000000000000000000000000000000000000000000000000000000
    6735cf7193dec6173582d71987c1539e41479280ce36eb65c8453f9fd76142e9
    06d59dbbb2a4d03ac5e3a88506c4805d070a36933dfa5e06d5ac819c0f33f7a7
    0100000000000000 101112131415161718191a1b1c1d1e1f
    c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7 f0f1f2f3f4f5f6f7f8f9fafb
    cdc96baa52407c36b0a50c37d767979cd1f14ab988500a4d38c9d37db2b441ce4db016ce780b2164e654976c47f18556
    """, paddedTo: 256)
  package static let rawKeyfile =
    bytes("89454b46310d0a1a 0000000000000000 101112131415161718191a1b1c1d1e1f", paddedTo: 48)
    + [UInt8](0xA0...0xBF) + bytes("086e7f2d33f759ab5da5ea46a34fb114")
  package static let scryptKeyfile = bytes(
    """
    89454b46310d0a1a 010a080100000000 101112131415161718191a1b1c1d1e1f 303132333435363738393a3b3c3d3e3f
    51d0bc80ff4d11b5ea4dbad6ba8dab4215e5c591e4de403da0a1cd30638909869cc8c1be4908196820d548c3e0a86b08
    """)
  /// The static sector of an encrypted file.
  package static let header = bytes(
    """
    89454152310d0a1a01000000010c010000000000000000000000000000000000
    000102030405060708090a0b0c0d0e0f404142434445464748494a4b4c4d4e4f
    0100000001000000000000000000000000000000000000000000000000000000
    0000000000000000 000102030405060708090a0b
    ad070cc7e530f07969a50bf1627f2d888d8b38af3aeb59dde567d8929f313ccf0b6bc46df4af8bb91fbc91f87fdb9000
    """, paddedTo: 512)
  /// Session 7 was the last one, and 5 did not end.
  package static let sessions = bytes(
    """
    8945534c310d0a1a 0100000001000000 000102030405060708090a0b0c0d0e0f
    0700000000000000 0000000000000000
    0500000000000000 5e50c67fb5c2cceb595c8bb92b8a336b7322b451ad54f882f8182a10c8d7d0bb
    """)
  package static let passphrase = Array("p\u{E4}ssword".utf8)
}
