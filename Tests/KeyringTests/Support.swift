import Ciphers
import Foundation
import Glibc
import KeyFixture
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

func bytes(_ hex: String, paddedTo size: Int = 0) -> [UInt8] {
  StoredKeys.bytes(hex, paddedTo: size)
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
  static let keybag = StoredKeys.keybag
  static let header = StoredKeys.header
  static let sessions = StoredKeys.sessions
  static let rawKeyfile = StoredKeys.rawKeyfile
  static let scryptKeyfile = StoredKeys.scryptKeyfile
  static let passphrase = StoredKeys.passphrase
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
