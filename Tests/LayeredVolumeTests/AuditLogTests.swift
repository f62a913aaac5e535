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
    let added = AuditLog.room * 2
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
