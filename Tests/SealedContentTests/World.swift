// A store in memory, and surroundings that a test decides about.

import LinuxFiles
import SealedFormat
import Synchronization

@testable import Ciphers
@testable import LayeredVolume

/// A backing file in memory; every call can be made to fail.
final class MemoryStore: SealedStore {
  struct State {
    var bytes: [UInt8] = []
    var calls: [String] = []
    /// The calls until one fails, and with what; then all of them, or no other.
    var failsAfter: Int?
    var error = Errno.inputOutput
    var failsOnce = false
    /// How many bytes of a write that fails are there all the same.
    var part = 0
    /// What happens before the next write, or the next sync; once.
    var beforeWrite: (@Sendable () -> Void)?
    var beforeSync: (@Sendable () -> Void)?

    fileprivate mutating func takeHook(_ name: String) -> (@Sendable () -> Void)? {
      var hook: (@Sendable () -> Void)?
      switch name {
      case "write": swap(&hook, &beforeWrite)
      case "sync": swap(&hook, &beforeSync)
      default: break
      }
      return hook
    }
  }

  let state = Mutex(State())

  var bytes: [UInt8] {
    get { state.withLock { $0.bytes } }
    set { state.withLock { $0.bytes = newValue } }
  }

  private func call(_ name: String) throws(Errno) {
    state.withLock { $0.takeHook(name) }?()
    try state.withLock { state throws(Errno) in
      state.calls.append(name)
      guard let left = state.failsAfter else { return }
      guard left > 0 else {
        if state.failsOnce { state.failsAfter = nil }
        throw state.error
      }
      state.failsAfter = left - 1
    }
  }

  /// The calls since the last time.
  func takeCalls() -> [String] {
    state.withLock { state in
      defer { state.calls = [] }
      return state.calls
    }
  }

  func read(into bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Int {
    try call("read")
    let found = state.withLock { state in
      Array(
        state.bytes[min(Int(offset), state.bytes.count)..<min(Int(offset) + bytes.count, state.bytes.count)])
    }
    for index in found.indices { bytes[index] = found[index] }
    return found.count
  }

  func write(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: UInt64
  ) throws(Errno) {
    let all = head.copied() + body.copied() + tail.copied()
    do throws(Errno) { try call("write") } catch {
      put(all.prefix(state.withLock { $0.part }), at: Int(offset))
      throw error
    }
    put(all[...], at: Int(offset))
  }

  /// The file is whole pages, whatever it was given.
  private func put(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    guard !bytes.isEmpty else { return }
    state.withLock { state in
      let pages = (offset + bytes.count + 4095) / 4096 * 4096
      if state.bytes.count < pages {
        state.bytes.append(contentsOf: repeatElement(0, count: pages - state.bytes.count))
      }
      state.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  func size() throws(Errno) -> UInt64 {
    try call("size")
    return UInt64(bytes.count)
  }

  func synchronize(dataOnly: Bool) throws(Errno) { try call("sync") }

  func cut(to size: UInt64) throws(Errno) {
    try call("cut")
    state.withLock { state in
      if state.bytes.count > Int(size) { state.bytes.removeLast(state.bytes.count - Int(size)) }
    }
  }

  func punch(_ range: Range<UInt64>) throws(Errno) {
    try call("punch")
    state.withLock { state in
      for index in Int(range.lowerBound)..<min(Int(range.upperBound), state.bytes.count) {
        state.bytes[index] = 0
      }
    }
  }

  func reserve(_ range: Range<UInt64>) throws(Errno) { try call("reserve") }
}

/// Keys and sessions without a volume.
final class TestSurroundings: SealedSurroundings {
  struct State {
    var session: UInt64 = 7
    var ended: Set<UInt64> = []
    /// Sessions of this mount that gave way to another one, and did not end.
    var pending: Set<UInt64> = []
    var known: [Bytes16: FileKeys] = [:]
    var events: [SealedEvent] = []
    var nextFile: UInt64 = 1
  }

  let contexts = AeadPool()
  let pagesWorthCutting: UInt64 = 1
  let state = Mutex(State())

  func session() throws(Errno) -> UInt64 { state.withLock { $0.session } }

  func hasEnded(_ session: UInt64) -> Bool {
    state.withLock { $0.ended.contains(session) || $0.session == session || $0.pending.contains(session) }
  }

  func isPending(_ session: UInt64) -> Bool { state.withLock { $0.pending.contains(session) } }

  /// The mount ends in order, or is killed; another begins.
  func remount(killed: Bool) {
    retire()
    if killed { state.withLock { $0.pending = [] } } else { endRetired() }
  }

  /// Whoever begins to write does so in another session.
  func retire() {
    state.withLock { state in
      state.pending.insert(state.session)
      state.session += 1
    }
  }

  func endRetired() {
    state.withLock { state in
      state.ended.formUnion(state.pending)
      state.pending = []
    }
  }

  func newKeys() throws(Errno) -> (StaticSector, FileKeys) {
    do {
      return try state.withLock { state in
        let file = Bytes16(low: state.nextFile, high: 77)
        state.nextFile += 1
        let keys = try FileKeys.random(for: file)
        state.known[file] = keys
        return (TestSurroundings.sector(.complete, of: file, random: 1), keys)
      }
    } catch {
      throw .inputOutput
    }
  }

  func keys(from bytes: Span<UInt8>) throws(Errno) -> FileKeys {
    guard let sector = try? StaticSector(decoding: bytes),
      let keys = state.withLock({ $0.known[sector.file] }),
      sector
        == TestSurroundings.sector(
          sector.protectionClass, of: sector.file, random: sector.wrapped.nonce.random)
    else { throw .inputOutput }
    return keys
  }

  /// A sector that is what it should be as a whole, or not at all: one of another class differs in many places.
  static func sector(
    _ protection: StaticSector.ProtectionClass, of file: Bytes16, random: UInt64
  ) -> StaticSector {
    let tag = (random &+ UInt64(protection.rawValue) &+ file.low) &* 0x9E37_79B9_7F4A_7C15
    let wrapped = WrappedKey(
      nonce: Nonce(random: random, counter: 1), ciphertext: .zero, tag: Bytes16(low: tag, high: ~tag))
    return StaticSector(protection, volume: .zero, file: file, wrapped: wrapped)
  }

  func report(_ event: SealedEvent) { state.withLock { $0.events.append(event) } }

  var events: [SealedEvent] { state.withLock { $0.events } }
}

typealias TestFile = SealedFile<MemoryStore>

extension SealedFile {
  func put(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    var copy = bytes
    var span = copy.mutableSpan
    _ = try write(&span, at: .offset(offset))
  }

  func get(_ range: Range<Int>) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: range.count)
    var span = bytes.mutableSpan
    let count = try read(at: UInt64(range.lowerBound), into: &span)
    return Array(bytes[..<count])
  }
}
