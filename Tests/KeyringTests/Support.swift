import Ciphers
import Foundation
import Glibc
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

func bytes(_ hex: String, paddedTo size: Int = 0) -> [UInt8] {
  let digits = hex.filter { !$0.isWhitespace }.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
  var bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  while bytes.count < size { bytes.append(0) }
  return bytes
}

func bytes16(_ hex: String) -> Bytes16 { Bytes16(bytes(hex).span, at: 0) }

/// The failure of `body`, or nil.
func failure(_ body: () throws -> Void) -> KeyFailure? {
  do { try body() } catch { return error as? KeyFailure }
  return nil
}

/// Bytes of a test in the secure heap.
func secret(_ bytes: [UInt8]) throws -> SecretBytes {
  var secret = try SecretBytes(count: max(bytes.count, 1))
  secret.withMutableBytes { into in
    for index in bytes.indices { into[index] = bytes[index] }
  }
  return secret
}

func exposed(_ secret: borrowing SecretBytes) -> [UInt8] {
  secret.withBytes { bytes in bytes.indices.map { bytes[$0] } }
}

/// What goes through the pipe for a keyfile, in bytes.
func exposed(_ handed: borrowing HandedSecret) throws -> [UInt8] {
  var copy = try SecretBytes(count: 32)
  try handed.secret.copy(into: &copy, at: 0)
  return Bytes16(handed.keyfile).bytes + exposed(copy)
}

func handed(_ keyfile: [UInt8], _ key: [UInt8]) throws -> HandedSecret {
  HandedSecret(keyfile: Bytes16(keyfile.span, at: 0).tag, secret: try Key(try secret(key)))
}

/// One of many keyfiles.
func keyfile(_ number: UInt8) throws -> HandedSecret {
  try handed([UInt8](repeating: number, count: 16), [UInt8](repeating: ~number, count: 32))
}

func identifier(_ number: UInt8) -> Bytes16 {
  Bytes16([UInt8](repeating: number, count: 16).span, at: 0)
}

/// The values that define the format.
enum Golden {
  static let volume = bytes16("000102030405060708090a0b0c0d0e0f")
  static let file = bytes16("404142434445464748494a4b4c4d4e4f")
  static func keyfile() throws -> HandedSecret {
    try handed([UInt8](0x10...0x1F), [UInt8](0xA0...0xBF))
  }
  static let keybag = bytes(
    """
    89454b42310d0a1a0100800001000000000102030405060708090a0b0c0d0e0f
    0100000000000000000000000000000000000000000000000000000000000000
    6735cf7193dec6173582d71987c1539e41479280ce36eb65c8453f9fd76142e9
    06d59dbbb2a4d03ac5e3a88506c4805d070a36933dfa5e06d5ac819c0f33f7a7
    0100000000000000 101112131415161718191a1b1c1d1e1f
    c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7 f0f1f2f3f4f5f6f7f8f9fafb
    cdc96baa52407c36b0a50c37d767979cd1f14ab988500a4d38c9d37db2b441ce4db016ce780b2164e654976c47f18556
    """, paddedTo: 256)
  static let header = bytes(
    """
    89454152310d0a1a01000000010c010000000000000000000000000000000000
    000102030405060708090a0b0c0d0e0f404142434445464748494a4b4c4d4e4f
    0100000001000000000000000000000000000000000000000000000000000000
    0000000000000000 000102030405060708090a0b
    ad070cc7e530f07969a50bf1627f2d888d8b38af3aeb59dde567d8929f313ccf0b6bc46df4af8bb91fbc91f87fdb9000
    """, paddedTo: 512)
  static let sessions = bytes(
    """
    8945534c310d0a1a 0100000001000000 000102030405060708090a0b0c0d0e0f
    0700000000000000 0000000000000000
    0500000000000000 5e50c67fb5c2cceb595c8bb92b8a336b7322b451ad54f882f8182a10c8d7d0bb
    """)
  static let rawKeyfile =
    bytes("89454b46310d0a1a 0000000000000000 101112131415161718191a1b1c1d1e1f", paddedTo: 48)
    + [UInt8](0xA0...0xBF) + bytes("086e7f2d33f759ab5da5ea46a34fb114")
  static let scryptKeyfile = bytes(
    """
    89454b46310d0a1a 010a080100000000 101112131415161718191a1b1c1d1e1f 303132333435363738393a3b3c3d3e3f
    51d0bc80ff4d11b5ea4dbad6ba8dab4215e5c591e4de403da0a1cd30638909869cc8c1be4908196820d548c3e0a86b08
    """)
  static let passphrase = Array("p\u{E4}ssword".utf8)
}

/// A volume of its own, which nobody has mounted, and its keys.
final class Vault {
  let path: String
  let directory: VolumeDirectory
  private(set) var keyring: Keyring

  init(_ files: [String: [UInt8]] = [:]) throws {
    // Nothing here asks whether the disk kept a promise, and a thousand syncs take a minute.
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    var template = [CChar]("\(parent)/keyring-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let root = SharedDescriptor(try Descriptor.directory(atPath: path))
    directory = try VolumeDirectory.open(root: root, readOnly: false)
    keyring = Keyring(of: directory)
    for (name, content) in files { try write(name, content) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// As after the daemon was started again.
  func restart() { keyring = Keyring(of: directory) }

  func read(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(path)/.varve/\(name)").map { [UInt8]($0) }
  }

  func write(_ name: String, _ content: [UInt8]?) throws {
    let file = "\(path)/.varve/\(name)"
    guard let content else {
      try FileManager.default.removeItem(atPath: file)
      return
    }
    try Data(content).write(to: URL(fileURLWithPath: file))
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "\(path)/.varve").sorted() }
  }

  var states: [ClassState] {
    [.complete, .completeUnlessOpen, .untilFirstUnlock].map { keyring.state(of: $0) }
  }

  /// The bytes of a header for new keys.
  func header(
    _ protection: StaticSector.ProtectionClass, for keys: FileKeys? = nil
  ) throws -> [UInt8] {
    let sector = try keyring.header(for: try keys ?? keyring.makeKeys(), protection)
    var bytes = [UInt8](repeating: 0, count: StaticSector.size)
    var span = bytes.mutableSpan
    try sector.encode(into: &span)
    return bytes
  }
}

extension Keyring {
  func keys(from header: [UInt8]) throws -> FileKeys { try keys(from: header.span) }

  /// A tag that only these keys give.
  func mark(_ keys: FileKeys, segment: UInt64? = nil) throws -> [UInt8] {
    var aead = try contexts.borrow()
    if let segment { try keys.use(&aead, forSegment: segment) } else { try keys.useForSeals(&aead) }
    return Bytes16(try aead.seal([1].span, nonce: Aead.Nonce(repeating: 0))).bytes
  }
}

/// Something that one thread tells another.
final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

/// A thread in a list.
final class Running {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
