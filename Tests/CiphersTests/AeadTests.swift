// What encryption refuses, what it leaves behind, and what it costs.

import CAllocationCounter
import Randomness
import Testing

@testable import Ciphers

@Suite("AES-256-GCM") struct AeadTests {
  private let zeroNonce = nonce("000000000000000000000000")

  @Test("Any bit that is changed is noticed, and nothing of the content stays") func tampering() throws {
    var aead = try AeadPool().borrow()
    try aead.use(try Key.random())
    let plain = [UInt8](1...67)
    let (data, more) = ([UInt8](0...15), [UInt8](16...39))
    let made = try aead.encrypted(plain, zeroNonce, data, more)
    let zeros = [UInt8](repeating: 0, count: plain.count)
    func isRefused(
      _ bytes: [UInt8], _ tag: Ciphers.Tag, _ nonce: Aead.Nonce, _ data: [UInt8], _ more: [UInt8]
    ) -> Bool {
      let read = aead.decrypted(bytes, tag, nonce, data, more)
      return read.bytes == zeros && read.failure == .notAuthentic
    }
    for bit in 0..<8 {
      let mask = UInt8(1) << UInt8(bit)
      for index in plain.indices {
        var changed = made.bytes
        changed[index] ^= mask
        if !isRefused(changed, made.tag, zeroNonce, data, more) { Issue.record("byte \(index), bit \(bit)") }
      }
      for index in 0..<16 {
        var changed = made.tag
        changed[index] ^= mask
        if !isRefused(made.bytes, changed, zeroNonce, data, more) { Issue.record("tag \(index), \(bit)") }
      }
      for index in 0..<12 {
        var changed = zeroNonce
        changed[index] ^= mask
        if !isRefused(made.bytes, made.tag, changed, data, more) { Issue.record("nonce \(index), \(bit)") }
      }
      for index in data.indices {
        var changed = data
        changed[index] ^= mask
        if !isRefused(made.bytes, made.tag, zeroNonce, changed, more) {
          Issue.record("data \(index), \(bit)")
        }
      }
      for index in more.indices {
        var changed = more
        changed[index] ^= mask
        if !isRefused(made.bytes, made.tag, zeroNonce, data, changed) {
          Issue.record("more \(index), \(bit)")
        }
      }
    }
    let read = aead.decrypted(made.bytes, made.tag, zeroNonce, data, more)
    #expect(read.bytes == plain && read.failure == nil)
  }

  @Test("A seal holds for its bytes, its nonce and its key only") func seals() throws {
    var aead = try AeadPool().borrow()
    try aead.use(try Key.random())
    let (label, sector) = ([UInt8](0...31), [UInt8](repeating: 7, count: 480))
    let seal = try aead.seal(label, sector, nonce: zeroNonce)
    try aead.verify(seal, of: label, sector, nonce: zeroNonce)
    var changed = sector
    changed[479] = 6
    #expect(
      failure { try aead.verify(seal, of: label, changed, nonce: zeroNonce) } == .notAuthentic)
    #expect(
      failure { try aead.verify(seal, of: label, sector, nonce: nonce("000000000000000000000001")) }
        == .notAuthentic)
    try aead.use(try Key.random())
    #expect(failure { try aead.verify(seal, of: label, sector, nonce: zeroNonce) } == .notAuthentic)
  }

  @Test("A context works again after a failure, and both ways in turn") func reuse() throws {
    var aead = try AeadPool().borrow()
    try aead.use(try Key.random())
    for round in 0..<50 {
      let plain = [UInt8](repeating: UInt8(round), count: 4096)
      let made = try aead.encrypted(plain, zeroNonce, [UInt8(round)])
      #expect(aead.decrypted(made.bytes, made.tag, zeroNonce, []).failure == .notAuthentic)
      let read = aead.decrypted(made.bytes, made.tag, zeroNonce, [UInt8(round)])
      #expect(read.bytes == plain)
    }
  }

  @Test("A context without a key encrypts nothing") func noKey() throws {
    var aead = try AeadPool().borrow()
    var block = [UInt8](repeating: 9, count: 64)
    #expect(
      failure {
        var span = block.mutableSpan
        _ = try aead.encrypt(&span, nonce: nonce("000000000000000000000000"), authenticating: [])
      } == .unusable)
    #expect(block == [UInt8](repeating: 0, count: 64))
  }

  @Test("A wrapped key opens with its key and its label only") func wrapping() throws {
    var aead = try AeadPool().borrow()
    let outer = try Key.random()
    let inner = try Key.random()
    try aead.use(outer)
    let label = Array("for a test".utf8)
    let made = try aead.wrap(inner, nonce: zeroNonce, authenticating: label)
    let read = try aead.unwrap(made, nonce: zeroNonce, authenticating: label)
    #expect(try exposed(read) == exposed(inner))
    #expect(
      failure { _ = try aead.unwrap(made, nonce: zeroNonce, authenticating: Array(label.prefix(4))) }
        == .notAuthentic)
    var changed = made
    changed.ciphertext[31] ^= 1
    #expect(
      failure { _ = try aead.unwrap(changed, nonce: zeroNonce, authenticating: label) } == .notAuthentic)
    try aead.use(inner)
    #expect(
      failure { _ = try aead.unwrap(made, nonce: zeroNonce, authenticating: label) } == .notAuthentic)
  }

  @Test("What is encrypted with one key of a block opens with no other of it") func positions() throws {
    let block = try KeyBlock()
    for position in KeyBlock.Position.allCases { try block.randomize(position) }
    var aead = try AeadPool().borrow()
    for position in KeyBlock.Position.allCases {
      try aead.use(block, position)
      let seal = try aead.seal([1], nonce: zeroNonce)
      for other in KeyBlock.Position.allCases {
        try aead.use(block, other)
        let refusal = failure { try aead.verify(seal, of: [1], nonce: zeroNonce) }
        #expect(refusal == (other == position ? nil : .notAuthentic))
      }
    }
  }

  /// A request borrows a context, gives it a key, and encrypts or decrypts its blocks.
  @Test("A request allocates nothing") func allocations() throws {
    let pool = AeadPool()
    let block = try KeyBlock()
    try block.randomize(.first)
    var page = [UInt8](repeating: 5, count: 4096)
    let data = [UInt8](repeating: 1, count: 40)
    let nonce = zeroNonce
    func request() throws {
      var aead = try pool.borrow()
      try aead.use(block, .first)
      for _ in 0..<8 {
        var span = page.mutableSpan
        let tag = try aead.encrypt(&span, nonce: nonce, authenticating: data)
        try aead.decrypt(&span, tag: tag, nonce: nonce, authenticating: data)
        let seal = try aead.seal(data, page, nonce: nonce)
        try aead.verify(seal, of: data, page, nonce: nonce)
      }
    }
    try request()
    let (before, used) = (lv_allocation_count(), SecureHeap.used)
    for _ in 0..<10 { try request() }
    let allocations = lv_allocation_count() - before
    #expect(allocations == 0)
    #expect(SecureHeap.used == used)
  }

  @Test("Draining frees idle contexts at once, and those in use when they come back") func draining() throws {
    _ = try AeadPool().borrow()
    let used = SecureHeap.used
    let pool = AeadPool()
    do {
      let one = try pool.borrow()
      _ = try pool.borrow()
      _ = consume one
    }
    let idle = SecureHeap.used
    #expect(idle > used)
    var three = try pool.borrow()
    try three.use(try Key.random())
    #expect(SecureHeap.used == idle)
    pool.drain()
    #expect(SecureHeap.used < idle && SecureHeap.used > used)
    _ = try three.seal([1], nonce: zeroNonce)
    _ = consume three
    #expect(SecureHeap.used == used)
    // And the pool is as good as new.
    do { _ = try pool.borrow() }
    #expect(SecureHeap.used > used)
  }

  @Test("Keys that are let go leave nothing in use") func freeing() throws {
    var used = 0
    // What the library looks up when it is first asked stays.
    for round in 0..<100 {
      if round == 1 { used = SecureHeap.used }
      let scalar = try Key.random()
      let point = try scalar.publicKey()
      let agreed = try Key(agreeingOn: try Key.random(), with: point)
      _ = try Key(extractingFrom: agreed, salt: [1], info: [2])
      let block = try KeyBlock()
      try block.expand(.first, info: [3].span, into: .second)
      _ = try agreed.code(of: [4])
    }
    #expect(SecureHeap.used == used)
  }

  @Test("A secret knows its bounds") func bounds() throws {
    var secret = try SecretBytes(count: 40)
    #expect(failure { _ = try Key(secret, at: 9) } == .unusable)
    #expect(failure { _ = try Key(secret, at: -1) } == .unusable)
    let key = try Key.random()
    #expect(failure { try key.copy(into: &secret, at: 9) } == .unusable)
    #expect(failure { _ = try SecretBytes(count: 0) } == .noMemory)
    #expect(failure { _ = try Key(agreeingOn: key, with: [UInt8](repeating: 9, count: 31)) } == .unusable)
  }

  @Test("Wiping overwrites") func wiping() {
    var bytes = [UInt8](1...200)
    var span = bytes.mutableSpan
    Wiping.wipe(&span)
    #expect(bytes == [UInt8](repeating: 0, count: 200))
  }

  @Test("Codes are compared to the last byte") func comparing() {
    let code = [UInt8](0...31)
    let isItself = SHA256.areEqual(code.span, code.span)
    let isPart = SHA256.areEqual(code.span, code.span.extracting(first: 31))
    #expect(isItself && !isPart)
    for index in code.indices {
      var other = code
      other[index] ^= 0x80
      let isEqual = SHA256.areEqual(code.span, other.span)
      #expect(!isEqual)
    }
  }

  @Test("Random numbers are not the same") func randomness() throws {
    var seen: Set<UInt64> = []
    for _ in 0..<1000 { seen.insert(try SystemRandom.number()) }
    #expect(seen.count == 1000)
    var nothing: [UInt8] = []
    var span = nothing.mutableSpan
    try SystemRandom.fill(&span)
  }

  @Test("A cost that is refused makes no key") func scryptBounds() throws {
    let passphrase = try secret(Array("text".utf8))
    let salt = [UInt8](repeating: 1, count: 16)
    func refusal(
      _ count: Int = 4, logN: UInt8 = 10, factor: UInt8 = 8, memory: Int = 2 << 20
    ) -> CipherFailure? {
      failure {
        _ = try Key(
          passphrase: passphrase, count: count, salt: salt.span, logN: logN, blockFactor: factor,
          parallelism: 1,
          memory: memory)
      }
    }
    #expect(refusal() == nil)
    #expect(refusal(memory: 1 << 20) == .unusable)
    #expect(refusal(logN: 64) == .unusable)
    #expect(refusal(factor: 0) == .unusable)
    #expect(refusal(0) == .unusable)
    #expect(refusal(5) == .unusable)
  }
}
