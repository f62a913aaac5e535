// The vectors of Project Wycheproof, where they are at hand: they are made for the mistakes of implementations.
//
// VARVE_WYCHEPROOF names the directory with its files (`testvectors_v1` of github.com/C2SP/wycheproof). They are no part
// of this repository; the kinds of cases that are in them are, in `EdgeTests`.

import Ciphers
import Foundation
import Testing

private let wycheproof = ProcessInfo.processInfo.environment["VARVE_WYCHEPROOF"]

@Suite("Vectors of Wycheproof", .enabled(if: wycheproof != nil, "VARVE_WYCHEPROOF=DIRECTORY"))
struct WycheproofTests {
  private struct Vectors: Decodable {
    let testGroups: [Group]
  }

  private struct Group: Decodable {
    /// In bits, as all sizes of a group.
    let keySize, ivSize, tagSize: Int?
    let tests: [Vector]
  }

  private struct Vector: Decodable {
    let tcId: Int
    let result, comment: String
    let key, iv, aad, msg, ct, tag: String?
    let ikm, salt, info, okm: String?
    let `public`, `private`, shared: String?
    let size: Int?

    var isValid: Bool { result == "valid" }
  }

  /// Asks `holds` of each vector; nil: one of what this program cannot be asked for.
  private func check(_ name: String, _ holds: (Group, Vector) throws -> Bool?) throws {
    let directory = try #require(wycheproof)
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)_test.json"))
    var (held, skipped) = (0, 0)
    for group in try JSONDecoder().decode(Vectors.self, from: data).testGroups {
      for vector in group.tests {
        switch try holds(group, vector) {
        case true?: held += 1
        case false?: Issue.record("\(name), \(vector.tcId) (\(vector.result)): \(vector.comment)")
        case nil: skipped += 1
        }
      }
    }
    print("\(name): \(held) hold, \(skipped) are of other sizes")
    #expect(held > 0)
  }

  @Test("AES-256-GCM with nonces of 12 bytes") func gcm() throws {
    var aead = try AeadPool().borrow()
    try check("aes_gcm") { group, vector in
      guard group.keySize == 256, group.ivSize == 96, group.tagSize == 128 else { return nil }
      try aead.use(try key(vector.key ?? ""))
      let (plain, data) = (bytes(vector.msg ?? ""), bytes(vector.aad ?? ""))
      let (iv, mark) = (nonce(vector.iv ?? ""), tag(vector.tag ?? ""))
      let read = aead.decrypted(bytes(vector.ct ?? ""), mark, iv, data)
      guard vector.isValid else {
        return read.failure == .notAuthentic && read.bytes.allSatisfy { $0 == 0 }
      }
      let made = try aead.encrypted(plain, iv, data)
      return read.failure == nil && read.bytes == plain && hex(made.bytes) == vector.ct
        && hex(made.tag) == vector.tag
    }
  }

  @Test("HKDF-SHA256: the first 32 bytes") func hkdf() throws {
    try check("hkdf_sha256") { _, vector in
      // Of which there is one length only.
      guard vector.isValid, let okm = vector.okm else { return nil }
      let (material, salt, info) = (
        bytes(vector.ikm ?? ""), bytes(vector.salt ?? ""), bytes(vector.info ?? "")
      )
      let made = hex(try key(hex(try SHA256.code(of: material, key: salt))).expanded(info: info))
      if material.count == Key.size {
        let whole = try Key(extractingFrom: try key(material), salt: salt, info: info)
        guard try exposed(whole) == made else { return false }
      }
      return okm.prefix(made.count) == made.prefix(okm.count)
    }
  }

  @Test("HMAC-SHA256, also of shortened codes") func hmac() throws {
    try check("hmac_sha256") { _, vector in
      let mark = try #require(vector.tag)
      let made = hex(try SHA256.code(of: bytes(vector.msg ?? ""), key: bytes(vector.key ?? "")))
      return (made.prefix(mark.count) == mark) == vector.isValid
    }
  }

  @Test("X25519; what gives zeros is refused") func x25519() throws {
    try check("x25519") { _, vector in
      let scalar = try key(vector.private ?? "")
      let point = bytes(vector.public ?? "")
      let shared = try #require(vector.shared)
      guard shared.contains(where: { $0 != "0" }) else {
        return failure { _ = try Key(agreeingOn: scalar, with: point) } == .weakPublicKey
      }
      return try exposed(try Key(agreeingOn: scalar, with: point)) == shared
    }
  }
}
