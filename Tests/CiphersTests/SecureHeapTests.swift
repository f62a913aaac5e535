// Where keys are in memory, looked at from outside: each test is a process of its own.

import Glibc
import LinuxFiles
import Testing

@testable import Ciphers

/// All of a file of /proc, which says that it is empty.
private func text(of path: String) throws -> String {
  String(decoding: try Descriptor.open(path: path, .readOnly).read(upTo: 8 << 20), as: UTF8.self)
}

/// A part of this process's memory, as /proc tells.
private struct Mapping {
  let range: Range<UInt>
  let flags: String

  static func all() throws -> [Mapping] {
    var mappings: [Mapping] = []
    var range: Range<UInt> = 0..<0
    for line in try text(of: "/proc/self/smaps").split(separator: "\n") {
      let first = line.prefix { $0 != " " }
      let ends = first.split(separator: "-").compactMap { UInt($0, radix: 16) }
      if ends.count == 2 {
        range = ends[0]..<ends[1]
      } else if first == "VmFlags:" {
        mappings.append(Mapping(range: range, flags: String(line.dropFirst(first.count))))
      }
    }
    return mappings
  }
}

/// Where in the memory of this process the 32 bytes at `needle` are found.
///
/// The bytes are compared where they are: no copy of them is made but the one that is read to be searched, which is not
/// looked at.
private func places(of needle: UnsafeRawPointer, size: Int = 32) throws -> [UInt] {
  let chunk = 1 << 20
  let space = try #require(
    mmap(nil, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
  defer { munmap(space, chunk) }
  let own = UInt(bitPattern: space)..<UInt(bitPattern: space) + UInt(chunk)
  let memory = Glibc.open("/proc/self/mem", O_RDONLY)
  defer { close(memory) }
  var found: [UInt] = []
  for mapping in try Mapping.all() where !mapping.range.overlaps(own) {
    var start = mapping.range.lowerBound
    while start < mapping.range.upperBound {
      let count = min(chunk, Int(mapping.range.upperBound - start))
      // Guard pages cannot be read.
      let taken = pread(memory, space, count, off_t(Int(bitPattern: start)))
      if taken >= size {
        var from = 0
        let first = CInt(needle.load(as: UInt8.self))
        while from + size <= taken, let hit = memchr(space + from, first, taken - from - size + 1) {
          let offset = UnsafeRawPointer(hit) - UnsafeRawPointer(space)
          if memcmp(hit, needle, size) == 0 { found.append(start + UInt(offset)) }
          from = offset + 1
        }
      }
      explicit_bzero(space, chunk)
      start += UInt(max(count - size, 1))
      if count < chunk { break }
    }
  }
  return Array(Set(found)).sorted()
}

private func heap(holding address: UInt) throws -> Mapping? {
  try Mapping.all().first { $0.range.contains(address) }
}

@Suite("The secure heap") struct SecureHeapTests {
  @Test("The bytes of a key in use are in locked memory that no core file has, and nowhere else")
  func nowhereElse() async {
    await #expect(processExitsWith: .success) {
      let pool = AeadPool()
      let key = try Key.random()
      // For finding what is left when the key is gone: its bytes turned around, which are not its bytes.
      let inverse = (0..<32).map { ~key.start.load(fromByteOffset: $0, as: UInt8.self) }
      var aead = try pool.borrow()
      try aead.use(key)
      var page = [UInt8](repeating: 1, count: 4096)
      for _ in 0..<3 {
        var span = page.mutableSpan
        let nonce = nonce("000000000000000000000000")
        let tag = try aead.encrypt(&span, nonce: nonce, authenticating: [])
        try aead.decrypt(&span, tag: tag, nonce: nonce, authenticating: [])
      }
      let derived = try Key(expanding: key, info: [1])
      let agreed = try Key(agreeingOn: key, with: try derived.publicKey())
      _ = try Key(extractingFrom: key, salt: [2], info: [3])
      _ = try aead.wrap(key, nonce: nonce("000000000000000000000001"), authenticating: [])

      let home = try #require(try heap(holding: UInt(bitPattern: key.start)))
      #expect(home.flags.contains(" lo") && home.flags.contains(" dd"))
      for pointer in [key.start, derived.start, agreed.start] {
        let found = try places(of: pointer)
        #expect(found.contains(UInt(bitPattern: pointer)))
        #expect(found.filter { !home.range.contains($0) } == [])
      }

      // All of it let go.
      _ = consume aead
      _ = consume key
      _ = consume derived
      _ = consume agreed
      pool.drain()
      let needle = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 16)
      for index in 0..<32 { needle.storeBytes(of: ~inverse[index], toByteOffset: index, as: UInt8.self) }
      #expect(try places(of: needle) == [UInt(bitPattern: needle)])
    }
  }

  @Test("A limit that is too low is told, and a try after it is raised succeeds") func limit() async {
    await #expect(processExitsWith: .success) {
      let isRoot = geteuid() == 0
      var limit = rlimit()
      getrlimit(CInt(__RLIMIT_MEMLOCK.rawValue), &limit)
      if isRoot { limit.rlim_max = max(limit.rlim_max, 8 << 20) }
      try #require(limit.rlim_max >= SecureHeap.size)
      limit.rlim_cur = 64 << 10
      try #require(setrlimit(CInt(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
      // Root may lock what it likes.
      if isRoot { try #require(setuid(65_534) == 0) }
      #expect(failure { try SecureHeap.prepare() } == .memoryNotLocked(limit: 64 << 10))
      #expect(failure { _ = try Key.random() } == .memoryNotLocked(limit: 64 << 10))
      #expect(SecureHeap.used == 0)
      #expect(SecureHeap.fileKeys == 0)
      limit.rlim_cur = 5 << 20
      limit.rlim_max = max(limit.rlim_max, limit.rlim_cur)
      try #require(setrlimit(CInt(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
      _ = try Key.random()
      // 4 MiB of it, as the heap is a power of two.
      #expect((24_000..<32_768).contains(SecureHeap.fileKeys), "\(SecureHeap.fileKeys)")
    }
  }

  @Test("With a full heap everything that needs room says so, and works again later") func exhaustion() async
  {
    await #expect(processExitsWith: .success) {
      let pool = AeadPool()
      var aead = try pool.borrow()
      let scalar = try Key.random()
      let point = try scalar.publicKey()
      try aead.use(scalar)
      let held = Held()
      for size in [4096, 128, 32] {
        do {
          while true { held.secrets.append(Holder(try SecretBytes(count: size))) }
        } catch {
          #expect(error as? CipherFailure == .noMemory)
        }
      }
      // Keys leave libcrypto something to work with.
      #expect(failure { _ = try Key.random() } == .noMemory)
      #expect(failure { _ = try KeyBlock() } == .noMemory)
      _ = try scalar.code(of: [1])
      // Then nothing is left even for that.
      let allocate = try Library.function("CRYPTO_secure_malloc", as: Library.Allocate.self)
      let free = try Library.function("CRYPTO_secure_free", as: Library.Free.self)
      var pieces: [UnsafeMutableRawPointer] = []
      for size in [65536, 4096, 1024, 128, 32] {
        while let piece = allocate(size, nil, 0) { pieces.append(piece) }
      }
      for _ in 0..<3 {
        #expect(failure { _ = try scalar.publicKey() } == .noMemory)
        #expect(failure { _ = try scalar.code(of: [1]) } == .noMemory)
        #expect(failure { _ = try SHA256.hash([1]) } == .noMemory)
        #expect(failure { _ = try scalar.expanded(info: point) } == .noMemory)
      }
      // What has its context goes on.
      _ = try aead.seal([1], nonce: nonce("000000000000000000000000"))
      #expect(failure { _ = try pool.borrow() } == .noMemory)
      for piece in pieces { free(piece, nil, 0) }
      held.secrets = []
      _ = try Key(agreeingOn: try Key.random(), with: point)
    }
  }

  @Test("Keys of files leave room for the blocks that requests put together") func scratch() async {
    await #expect(processExitsWith: .success) {
      let held = Held()
      while SecureHeap.used < (SecureHeap.fileKeys - 4096) * 128 {
        held.secrets.append(Holder(try SecretBytes(count: 32 << 10)))
      }
      var keys: [FileKeyHolder] = []
      #expect(failure { while true { keys.append(FileKeyHolder(try KeyBlock())) } } == .noMemory)
      #expect(keys.count > 1000)
      for _ in 0..<32 { held.secrets.append(Holder(try SecretBytes(count: 4096))) }
      _ = try Key.random()
      #expect(failure { _ = try KeyBlock() } == .noMemory)
    }
  }

  @Test("Without a key nothing is loaded") func nothingLoaded() async {
    await #expect(processExitsWith: .success) {
      func isLoaded() throws -> Bool {
        try text(of: "/proc/self/maps").contains("libcrypto")
      }
      #expect(try !isLoaded())
      #expect(SecureHeap.used == 0)
      var number: UInt64 = 0
      number ^= try SystemRandom.number()
      #expect(try !isLoaded())
      _ = try Key.random()
      #expect(try isLoaded())
    }
  }

  @Test("Threads use it beside each other") func threads() async {
    await #expect(processExitsWith: .success) {
      let pool = AeadPool()
      var running: [Joined] = []
      for _ in 0..<8 {
        running.append(
          Joined(
            try PlainThread {
              do {
                for round in 0..<300 {
                  let key = try Key.random()
                  let derived = try Key(expanding: key, info: [UInt8(round & 255)])
                  var aead = try pool.borrow()
                  try aead.use(derived)
                  let plain = [UInt8](repeating: UInt8(round & 255), count: 512)
                  let made = try aead.encrypted(plain, nonce("000000000000000000000000"), [1])
                  if round % 16 == 0 { pool.drain() }
                  let read = aead.decrypted(made.bytes, made.tag, nonce("000000000000000000000000"), [1])
                  if read.bytes != plain { exit(3) }
                }
              } catch {
                exit(4)
              }
            }))
      }
      for thread in running { thread.join() }
    }
  }
}

private final class Holder {
  let secret: SecretBytes
  init(_ secret: consuming SecretBytes) { self.secret = secret }
}

private final class Held {
  var secrets: [Holder] = []
}

/// libcrypto itself, which this module has loaded.
private final class FileKeyHolder {
  private let keys: KeyBlock
  init(_ keys: consuming KeyBlock) { self.keys = keys }
}

private enum Library {
  typealias Allocate = @convention(c) (Int, UnsafePointer<CChar>?, CInt) -> UnsafeMutableRawPointer?
  typealias Free = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, CInt) -> Void

  static func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
    let library = try #require(dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD))
    return unsafeBitCast(try #require(dlsym(library, name)), to: type)
  }
}

private final class Joined {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
