// The session log: which sessions of writing ended in order. Files that name another one are doubtful.

/// The sessions of a volume.
package struct SessionLog: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  private static let magic: UInt64 = 0x1A0A_0D31_4C53_4589
  private static let version: UInt32 = 1
  private static let headerSize = 48
  package static let codeSize = 32
  package static let limit = 1000

  /// The longest log.
  package static let longest = headerSize + 8 * limit + codeSize

  package let volume: Bytes16
  package private(set) var last: UInt64
  /// No session up to this one counts as ended.
  package private(set) var bar: UInt64
  /// Sessions that run, or did not end.
  package private(set) var listed: [UInt64]

  /// A missing or invalid log: no session has ended.
  package init(lostIn volume: Bytes16) {
    self.volume = volume
    last = 0
    bar = 0
    listed = []
  }

  /// The log that takes the place of one that is lost, in milliseconds since 1970: what is there by then stays in doubt.
  package init(lostIn volume: Bytes16, before now: UInt64) {
    self.init(lostIn: volume)
    (last, bar) = (now, now)
  }

  package func hasEnded(_ session: UInt64) -> Bool {
    session > bar && session <= last && !listed.contains(session)
  }

  /// A session begins; its number is on the disk before it changes a file.
  ///
  /// `now` is in milliseconds since 1970. Nil: there are no more numbers.
  package mutating func begin(now: UInt64) -> UInt64? {
    guard last < .max else { return nil }
    let session = max(now, last + 1)
    if last == 0 && listed.isEmpty { bar = session - 1 }
    if listed.count >= SessionLog.limit {
      bar = max(bar, listed.max() ?? bar)
      listed = []
    }
    last = session
    listed.append(session)
    return session
  }

  /// A session ends: all it wrote is durable, and each of its files has its last slot.
  package mutating func end(_ session: UInt64) {
    listed.removeAll { $0 == session }
  }

  /// `fsck` recovered every file.
  package mutating func endAll() {
    listed = []
    bar = 0
  }

  /// The bytes that the code at the end of a log covers.
  package static func covered(_ count: Int) -> Range<Int> { 0..<max(0, count - codeSize) }

  /// The log in `bytes`, whose code is not looked at.
  package init(decoding bytes: Span<UInt8>) throws(FormatDamage) {
    guard bytes.count >= SessionLog.headerSize + SessionLog.codeSize else { throw .length }
    guard bytes.word(UInt64.self, at: 0) == SessionLog.magic else { throw .magic }
    let version = bytes.word(UInt32.self, at: 8)
    guard version == SessionLog.version else {
      throw .unknown(.version(UInt16(truncatingIfNeeded: version)))
    }
    let count = Int(bytes.word(UInt32.self, at: 12))
    guard count <= SessionLog.limit else { throw .field(.count) }
    guard bytes.count == SessionLog.headerSize + 8 * count + SessionLog.codeSize else { throw .length }
    volume = Bytes16(bytes, at: 16)
    last = bytes.word(UInt64.self, at: 32)
    bar = bytes.word(UInt64.self, at: 40)
    listed = (0..<count).map { _ in 0 }
    for index in 0..<count { listed[index] = bytes.word(UInt64.self, at: SessionLog.headerSize + 8 * index) }
    guard bar <= last, listed.allSatisfy({ $0 > bar && $0 <= last }) else { throw .field(.order) }
  }

  /// The log as it is stored, with zeros for its code.
  package func encoded() -> [UInt8] {
    var bytes = [UInt8](
      repeating: 0, count: SessionLog.headerSize + 8 * listed.count + SessionLog.codeSize)
    var span = bytes.mutableSpan
    span.store(SessionLog.magic, at: 0)
    span.store(SessionLog.version, at: 8)
    span.store(UInt32(listed.count), at: 12)
    volume.store(in: &span, at: 16)
    span.store(last, at: 32)
    span.store(bar, at: 40)
    for (index, session) in listed.enumerated() { span.store(session, at: SessionLog.headerSize + 8 * index) }
    return bytes
  }
}
