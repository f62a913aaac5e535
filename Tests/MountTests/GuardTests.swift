import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

// What an operation costs the daemon in system calls, held against a table: a call more is seen here long before a
// clock shows it. `docs/performance.md` shows the same table.

extension MountTests {
  @Suite("System calls of operations", .timeLimit(.minutes(2))) struct GuardTests {
    /// The most calls of each operation, and the requests the kernel makes of it; to be lowered whenever fewer will do.
    ///
    /// `listed`: where every item has an inherited list.
    static let limits: [(operation: String, requests: Double, plain: Double, listed: Double)] = [
      ("stat, first time", 1, 3, 4),
      ("stat, a second later", 1, 3, 4),
      ("fstat, a second later", 1, 3, 4),
      ("create, close", 3, 12, 15),
      ("open, read 4 KiB, close", 2, 9, 10),
      ("open, read 4 KiB, close, again", 2, 5, 5),
      ("open, write 4 KiB, close", 3, 14, 15),
      ("chmod", 1, 7, 8),
      ("rename", 2, 11, 14),
      ("unlink", 1, 8, 11),
      ("mkdir", 2, 7, 14),
      ("rmdir", 1, 8, 11),
      ("list 100 names, each", 0, 1, 2),
    ]

    /// Less than one call: now and then the allocator grows, or a remembered fact is too old.
    static let tolerance = 0.5

    @Test("No operation makes more system calls than it did", arguments: [false, true])
    func calls(list: Bool) throws {
      guard access(CallTracer.strace, X_OK) == 0 else {
        return print("system calls are not counted: \(CallTracer.strace) is missing")
      }
      var best: [String: CallCount] = [:]
      // On a machine that is busy, names grow old in the middle of a pass and are asked for again.
      for round in 0..<3 where round == 0 || GuardTests.exceeds(best, list) {
        let found: [String: CallCount]?
        do { found = try measure(list: list) } catch let refusal as TestFailure where !canTrace {
          return print("system calls are not counted: \(refusal)")
        }
        guard let found else { return }
        best.merge(found) { $0.calls < $1.calls ? $0 : $1 }
      }
      for (operation, requests, plain, listed) in GuardTests.limits {
        let count = try #require(best[operation], "\(operation) was not measured")
        let limit = list ? listed : plain
        let label = "\(operation)\(list ? ", with a list" : "")"
        print("\(label): \(count.summary) (at most \(limit))")
        #expect(count.each(count.requests) <= requests + GuardTests.tolerance, "\(label): requests")
        #expect(count.each(count.calls) <= limit + GuardTests.tolerance, "\(label): \(count.summary)")
      }
    }

    /// Whether this process may watch another one at all.
    private var canTrace: Bool {
      (try? Program.run(CallTracer.strace, ["-qq", "-o", "/dev/null", "/bin/true"]).exit) == 0
    }

    private static func exceeds(_ found: [String: CallCount], _ list: Bool) -> Bool {
      limits.contains { row in
        guard let count = found[row.operation] else { return true }
        return count.each(count.calls) > (list ? row.listed : row.plain) + tolerance
      }
    }

    /// Counts every operation on a new volume, in the memory of the machine where that can be.
    private func measure(list: Bool) throws -> [String: CallCount]? {
      var template = Array((access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp").utf8CString.dropLast())
      template += Array("/varve-test-XXXXXX".utf8CString)
      try #require(mkdtemp(&template) != nil)
      let base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let volume = try MountedVolume("threads=1,transport=dev", base: base)
      defer { volume.remove() }
      let status = try Text.read(volume.path + "/.varve/status")
      guard GuardTests.needed.allSatisfy(status.contains) else {
        print("system calls are not held against limits: this kernel offers less: \(status)")
        return nil
      }
      let lists = list ? ["group:2001 allow list,search,readattr,file_inherit,directory_inherit"] : []
      _ = try volume.directory("d", TestUser.bob.user, TestUser.bob.group, 0o755, list: lists)
      try GuardWork.prepare(volume.path + "/d")
      // The kernel knows nothing of what is there.
      try volume.unmount()
      try volume.mount()
      let daemon = try #require(volume.daemon)
      let tracer = try CallTracer(daemon, of: volume.path, logsIn: base)
      defer { tracer.end() }
      return try GuardWork(volume.path + "/d").count(with: tracer)
    }

    /// What the kernel must offer for the limits to hold; others need more calls.
    private static let needed = [#""passthrough":"on""#, #""epoch":"on""#]
  }
}

extension CallCount {
  /// Of one of the operations that were counted.
  func each(_ number: Int) -> Double { Double(number) / Double(GuardWork.count) }

  /// As in "2.0 requests, 6.0 calls: 1 statx, 1 close".
  var summary: String {
    func number(_ count: Int) -> String { "\(Double(Int(each(count) * 100 + 0.5)) / 100)" }
    let parts = others.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
      "\(number($0.value)) \($0.key)"
    }
    return "\(number(requests)) requests, \(number(calls)) calls: \(parts.joined(separator: ", "))"
  }
}
