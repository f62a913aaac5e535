// Random inputs, compared with Python's `cryptography`, which calls libcrypto by another way and has code of its own
// for HKDF.

import Ciphers
import Foundation
import MountSupport
import Randomness
import Testing

private let script = """
  import sys
  from cryptography.hazmat.primitives import hashes, hmac
  from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
  from cryptography.hazmat.primitives.ciphers.aead import AESGCM
  from cryptography.hazmat.primitives.kdf.hkdf import HKDF
  from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

  def code(key, data):
      made = hmac.HMAC(key, hashes.SHA256())
      made.update(data)
      return made.finalize()

  def point(scalar):
      return X25519PrivateKey.from_private_bytes(scalar).public_key().public_bytes_raw() \\
          if hasattr(X25519PublicKey, "public_bytes_raw") else raw(scalar)

  def raw(scalar):
      from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
      return X25519PrivateKey.from_private_bytes(scalar).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

  does = {
      "gcm": lambda key, nonce, data, plain: AESGCM(key).encrypt(nonce, plain, data),
      "hmac": code,
      "hkdf": lambda ikm, salt, info: HKDF(hashes.SHA256(), 32, salt, info).derive(ikm),
      "point": point,
      "x25519": lambda scalar, peer: X25519PrivateKey.from_private_bytes(scalar).exchange(
          X25519PublicKey.from_public_bytes(peer)),
      "scrypt": lambda text, salt: Scrypt(salt, 32, 64, 3, 2).derive(text),
  }
  count = 0
  for line in open(sys.argv[1]):
      name, answer, *inputs = line.rstrip("\\n").split(",")
      if does[name](*[bytes.fromhex(i) for i in inputs]).hex() != answer:
          print("different:", line)
      count += 1
  print(count, "compared")
  """

@Suite("Beside another program") struct ComparisonTests {
  private static let hasPython =
    (try? Program.run("/usr/bin/python3", ["-c", "import cryptography"]))?.exit == 0

  @Test(
    "Random inputs give the same", .enabled(if: hasPython, "needs python3-cryptography"))
  func sameAnswers() throws {
    var dice = Dice(for: "ciphers beside another program")
    func some(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) } }
    var lines: [String] = []
    let pool = AeadPool()
    for round in 0..<200 {
      let (keyBytes, random, data, plain) = (
        some(32), some(12), some(dice.below(700)), some(dice.below(9000))
      )
      var aead = try pool.borrow()
      try aead.use(try key(keyBytes))
      let made = try aead.encrypted(plain, inline(random, as: Aead.Nonce.self), data)
      lines.append(line("gcm", hex(made.bytes) + hex(made.tag), keyBytes, random, data, plain))

      let codeKey = some(dice.below(200) + 1)
      lines.append(line("hmac", hex(try SHA256.code(of: data.span, key: codeKey.span)), codeKey, data))

      let salt = some(dice.below(100) + 1)
      let derived = try Key(extractingFrom: try key(keyBytes), salt: salt.span, info: data.span)
      lines.append(line("hkdf", try exposed(derived), keyBytes, salt, data))

      let scalar = try key(keyBytes)
      let peer = try Key.random().publicKey()
      let own = try scalar.publicKey()
      lines.append(line("point", hex(own), keyBytes))
      lines.append(
        line(
          "x25519", try exposed(try Key(agreeingOn: scalar, with: peer.span)), keyBytes,
          peer.indices.map { peer[$0] }))
      if round % 20 == 0 {
        let made = try Key(
          passphrase: try secret(codeKey), count: codeKey.count, salt: salt.span, logN: 6, blockFactor: 3,
          parallelism: 2, memory: 4 << 20)
        lines.append(line("scrypt", try exposed(made), codeKey, salt))
      }
    }
    try compare(lines)
  }

  /// Inputs of lengths at which something begins or ends: a block, a field, nothing at all.
  @Test(
    "Inputs at the edges of blocks give the same", .enabled(if: hasPython, "needs python3-cryptography"))
  func edges() throws {
    var dice = Dice(for: "edges of blocks beside another program")
    func some(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) } }
    var lines: [String] = []
    var aead = try AeadPool().borrow()
    let lengths = [0, 1, 15, 16, 17, 31, 32, 33, 55, 56, 63, 64, 65, 119, 120, 128, 4095, 4096, 4097]
    for first in lengths {
      for second in lengths where min(first, second) < 200 {
        let (keyBytes, random, data, plain) = (some(32), some(12), some(first), some(second))
        try aead.use(try key(keyBytes))
        let made = try aead.encrypted(plain, inline(random, as: Aead.Nonce.self), data)
        lines.append(line("gcm", hex(made.bytes) + hex(made.tag), keyBytes, random, data, plain))
        lines.append(line("hmac", hex(try SHA256.code(of: plain, key: data)), data, plain))
        let derived = try Key(extractingFrom: try key(keyBytes), salt: data, info: plain)
        lines.append(line("hkdf", try exposed(derived), keyBytes, data, plain))
      }
    }
    let long = some(70_000)
    try aead.use(try key([UInt8](1...32)))
    let made = try aead.encrypted([], nonce(String(repeating: "0", count: 24)), long)
    lines.append(line("gcm", hex(made.tag), [UInt8](1...32), [UInt8](repeating: 0, count: 12), long, []))
    // Any 32 bytes are a public key; half of them lie on the twist of the curve.
    for _ in 0..<200 {
      let (scalar, peer) = (some(32), some(32))
      lines.append(
        line("x25519", try exposed(try Key(agreeingOn: try key(scalar), with: peer)), scalar, peer))
    }
    try compare(lines)
  }

  private func line(_ name: String, _ answer: String, _ inputs: [UInt8]...) -> String {
    ([name, answer] + inputs.map { hex($0) }).joined(separator: ",")
  }

  private func compare(_ lines: [String]) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("cases")
    try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    let result = try Program.run("/usr/bin/python3", ["-c", script, file.path])
    #expect(result.output == "\(lines.count) compared\n")
  }
}
