import AccessControl
import Decisions
import DirectoryModes
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("The audit log's queue") struct AuditLogTests {
  private func event(_ number: UInt32) -> AuditEvent {
    let item = Item(kind: .file, user: 0, group: 0, mode: .init(0o600))
    var other = item
    other.user = number + 1
    return .change(
      PolicyChange(Caller(user: number, group: 0, thread: 1), Array("file".utf8), from: item, to: other))
  }

  /// Lines as they arrive at a target that can be held up.
  private final class Target: Sendable {
    let lines = Mutex<[String]>([])
    let gate = Mutex(())
    let isRefusing = Mutex(false)

    func write(_ text: String) -> Bool {
      gate.withLock { _ in }
      guard !isRefusing.withLock({ $0 }) else { return false }
      lines.withLock { $0 += text.split(separator: "\n").map { String($0) } }
      return true
    }
  }

  @Test("A target that hangs holds up nobody; what did not fit is counted") func hangs() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    let added = AuditQueue.room * 2
    let started = Clock.monotonicNanoseconds
    target.gate.withLock { _ in
      for number in 0..<added { log.add(event(UInt32(number))) }
      // As long as the target hangs nobody waits for it, at the end neither.
      log.finish(milliseconds: 20)
    }
    #expect(Clock.monotonicNanoseconds &- started < 5_000_000_000)
    log.finish()
    log.add(event(0))
    log.finish()
    let lines = target.lines.withLock { $0 }
    let dropped = lines.filter { $0.contains("\"event\":\"dropped\"") }
    let counted = dropped.compactMap { line in
      line.split(separator: "\"count\":").last.flatMap { Int($0.dropLast()) }
    }.reduce(0, +)
    #expect(counted > 0)
    #expect(lines.count - dropped.count + counted == added + 1)
  }

  @Test("What a failing target lost is counted when it works again") func fails() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    target.isRefusing.withLock { $0 = true }
    for number in 0..<3 { log.add(event(UInt32(number))) }
    log.finish()
    target.isRefusing.withLock { $0 = false }
    log.add(event(9))
    log.finish()
    let lines = target.lines.withLock { $0 }
    #expect(lines.count == 2)
    #expect(lines.last?.contains("\"count\":3") == true)
  }

  @Test(
    "After a line that a full disk cut off, the next one stands alone",
    .enabled(if: geteuid() == 0, "needs root for a small disk"))
  func torn() throws {
    var template = Array("/tmp/varve-audit-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(mount("tmpfs", base, "tmpfs", 0, "size=8k,mode=700") == 0)
    defer {
      umount2(base, CInt(MNT_DETACH))
      rmdir(base)
    }
    var file = try AuditFile(Array("\(base)/log".utf8))
    func lines() throws -> [String] {
      let bytes = try Descriptor.open(path: "\(base)/log", .readOnly).read(upTo: 1 << 16)
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        .map { String($0) }
    }
    try file.append("first\n")
    #expect(throws: Errno.self) { try file.append(String(repeating: "x", count: 10_000) + "\n") }
    // Nothing arrives at all: still one line end is owed, not two.
    #expect(throws: Errno.self) { try file.append("lost\n") }
    #expect(mount("tmpfs", base, "tmpfs", UInt(MS_REMOUNT), "size=64k") == 0)
    try file.append("second\n")
    try file.append("third\n")
    let found = try lines()
    #expect(found.count == 5)
    #expect(found.first == "first" && found[1].allSatisfy { $0 == "x" } && !found[1].isEmpty)
    #expect(found.suffix(3) == ["second", "third", ""])
  }

  private func denial(of user: UInt32, _ name: String) -> AuditEvent {
    var denial = Denial(
      time: Clock.realtime, caller: Caller(user: user, group: 0, thread: 1),
      verdict: .refused(.accessDenied, .modeBits(.other, asked: .read)),
      item: Item(kind: .file, user: 0, group: 0, mode: .init(0o600)), mayReadRules: true)
    denial.request.deed = "read"
    denial.request.name = Array(name.utf8)
    return .denial(denial)
  }

  private func number(_ key: String, in line: String) -> Int? {
    guard let range = line.firstRange(of: "\"\(key)\":") else { return nil }
    return Int(line[range.upperBound...].prefix { $0.isNumber })
  }

  @Test("No flood of refusals keeps a change out of the log") func floods() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    let (changes, denials) = (UInt32(20), AuditQueue.room * 3)
    target.gate.withLock { _ in
      for number in 0..<denials {
        log.add(denial(of: 1002, "n\(number)"))
        if number % (denials / Int(changes)) == 0 { log.add(event(UInt32(number))) }
      }
    }
    log.finish(milliseconds: 20_000)
    let lines = target.lines.withLock { $0 }
    #expect(lines.count { $0.contains("\"event\":\"changed\"") } >= Int(changes))
    let told = lines.count { $0.contains("\"event\":\"denied\"") }
    let dropped = lines.filter { $0.contains("\"event\":\"dropped\"") }
    #expect(dropped.allSatisfy { $0.contains("\"what\":\"denied\"") } && !dropped.isEmpty)
    #expect(told + dropped.compactMap { number("count", in: $0) }.reduce(0, +) == denials)
  }

  @Test("What comes again and again is one line, and later one that says how often") func repeats() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    for _ in 0..<10_000 { log.add(denial(of: 1002, "same")) }
    log.add(denial(of: 1003, "same"))
    log.add(denial(of: 1002, "other"))
    log.finish()
    log.add(denial(of: 1002, "same"))
    log.finish()
    let lines = target.lines.withLock { $0 }
    #expect(lines.count < 20, "\(lines.count) lines")
    let same = lines.filter { $0.contains("\"path\":\"same\"") && $0.contains("\"user\":1002") }
    #expect(same.reduce(0) { $0 + (number("repeated", in: $1) ?? 1) } == 10_001)
    #expect(number("repeated", in: same.first ?? "") == nil, "the first is told at once")
    #expect(lines.count { $0.contains("\"user\":1003") } == 1)
    #expect(lines.count { $0.contains("\"path\":\"other\"") } == 1)
    #expect(!lines.contains { $0.contains("\"event\":\"dropped\"") })
  }

  @Test("Repetitions are told of by themselves, a second after the first") func windows() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    for _ in 0..<5 { log.add(denial(of: 1002, "same")) }
    let deadline = Clock.monotonicNanoseconds + 20_000_000_000
    func told() -> Int { target.lines.withLock { $0 }.reduce(0) { $0 + (number("repeated", in: $1) ?? 1) } }
    while told() < 5, Clock.monotonicNanoseconds < deadline { Clock.pause(milliseconds: 10) }
    #expect(told() == 5)
  }

  @Test("Lost changes and lost refusals are counted apart") func losses() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    target.isRefusing.withLock { $0 = true }
    for number in 0..<3 { log.add(event(UInt32(number))) }
    for _ in 0..<4 { log.add(denial(of: 1002, "same")) }
    log.finish()
    target.isRefusing.withLock { $0 = false }
    log.add(event(9))
    log.finish()
    let dropped = target.lines.withLock { $0 }.filter { $0.contains("\"event\":\"dropped\"") }
    func count(_ what: String) -> Int? {
      dropped.first { $0.contains("\"what\":\"\(what)\"") }.flatMap { number("count", in: $0) }
    }
    #expect(count("changed") == 3 && count("denied") == 4, "\(dropped)")
  }

  @Test("A change that changes nothing is no event") func nothing() throws {
    let target = Target()
    let log = AuditLog(names: .numeric)
    try log.start { target.write($0) }
    let item = Item(kind: .file, user: 0, group: 0, mode: .init(0o600))
    log.add(.change(PolicyChange(Caller(user: 0, group: 0, thread: 1), [], from: item, to: item)))
    log.finish()
    #expect(target.lines.withLock { $0 }.isEmpty)
  }

  @Test("The time of an event is a date of universal time") func dates() {
    let rows: [(Int64, UInt32, String)] = [
      (0, 0, "1970-01-01T00:00:00.000Z"), (951_827_696, 123_000_000, "2000-02-29T12:34:56.123Z"),
      (1_795_287_919, 42_999_999, "2026-11-21T19:05:19.042Z"), (-1, 999_999_999, "1969-12-31T23:59:59.999Z"),
      (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"), (1_709_251_199, 0, "2024-02-29T23:59:59.000Z"),
    ]
    for (seconds, nanoseconds, text) in rows {
      #expect(Timestamp(seconds: seconds, nanoseconds: nanoseconds).text == text)
    }
  }
}
