import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

// What an operation costs the daemon in system calls, held against a table: a call more is seen here long before a
// clock shows it. `docs/performance.md` shows the same table.

extension MountTests {
  @Suite(
    "System calls of operations", .timeLimit(.minutes(5)),
    .enabled(if: CallTracer.works, "needs strace, and leave to watch other processes"),
    // Kernels that offer less need more calls.
    .enabled(
      if: Machine.passesThrough && Machine.offers("epoch"), "needs a kernel with passthrough and epochs"))
  struct GuardTests {
    /// A line of the table: the most calls of an operation, to be lowered whenever fewer will do.
    struct Row: Sendable {
      let operation: String
      /// What the kernel asks for the operation, and the calls that takes; with `listed` every item has an inherited list.
      var requests = 0.0, plain = 0.0, listed = 0.0
      /// The calls in a directory of the upper alone, over a lower; as many as without lowers where nothing is said.
      var layered: Double?
      /// The same with `passthrough=off`, where it makes a difference.
      var served: (requests: Double, calls: Double)?
      /// The same in a directory of class `complete`, unlocked.
      var encrypted: (requests: Double, calls: Double)?
      /// Of those the reads and writes of the backing file, exactly.
      var reads: Double?, writes: Double?
    }

    static let limits = [
      Row(operation: "stat, first time", requests: 1, plain: 3, listed: 4),
      Row(operation: "stat, a second later", requests: 1, plain: 3, listed: 4),
      Row(operation: "fstat, a second later", requests: 1, plain: 3, listed: 4),
      Row(
        operation: "create, close", requests: 3, plain: 12, listed: 15, served: (3, 10), encrypted: (3, 13)),
      Row(
        operation: "open, read 4 KiB, close", requests: 2, plain: 7, listed: 8, served: (4, 15),
        encrypted: (3, 14)),
      Row(
        operation: "open, read 4 KiB, close, again", requests: 2, plain: 5, listed: 5, served: (2, 8),
        encrypted: (2, 7), reads: 0, writes: 0),
      Row(
        operation: "open, write 4 KiB, close", requests: 3, plain: 13, listed: 14, served: (4, 16),
        encrypted: (4, 24)),
      Row(operation: "chmod", requests: 1, plain: 7, listed: 8),
      Row(operation: "chmod of an open file", requests: 1, plain: 5, listed: 6),
      Row(operation: "rename", requests: 2, plain: 9, listed: 12),
      Row(operation: "unlink", requests: 1, plain: 7, listed: 10),
      Row(operation: "mkdir", requests: 2, plain: 7, listed: 14),
      // Over a lower it is asked whether the directory leads there, unless somebody has looked into it.
      Row(operation: "rmdir", requests: 1, plain: 7, listed: 10, layered: 8),
      Row(operation: "list 100 names, each", requests: 0, plain: 1, listed: 2),
      Row(operation: "stat of a real name in a view", requests: 1, plain: 3, listed: 4),
      Row(operation: "stat of a shown name in a view", requests: 1, plain: 4, listed: 5),
      // The kernel does it, as in the tree.
      Row(operation: "write, read 4 KiB of an open file in a view", requests: 0, plain: 0.1, listed: 0.1),
      // The size is remembered: nothing of the file is read.
      Row(operation: "stat of an encrypted file, first time", encrypted: (1, 4), reads: 0, writes: 0),
      // The header with the bytes, and what says that they are there.
      Row(operation: "create, write 100 bytes, close", encrypted: (5, 29), reads: 0, writes: 2),
      // The file says first whose it is now, and is on the disk with that; a page and its entry follow.
      Row(operation: "first write 4 KiB in place", encrypted: (2, 8)),
      Row(operation: "write 4 KiB in place", encrypted: (1, 5)),
      Row(operation: "fsync", encrypted: (1, 3)),
      // The first in this mount: it is announced, and synced. One page of the index is read.
      Row(operation: "first write 4 KiB to 10 GiB", encrypted: (2, 14)),
    ]

    /// What is served, and how.
    enum Way: Sendable {
      case plain, listed, layered, served, encrypted

      var options: String {
        switch self {
        case .plain, .listed, .layered, .encrypted: "threads=1"
        case .served: "threads=1,passthrough=off"
        }
      }

      /// The most requests and calls; nothing where an operation is not measured.
      func limit(_ row: Row) -> (requests: Double, calls: Double)? {
        switch self {
        case .plain: row.plain > 0 ? (row.requests, row.plain) : nil
        case .listed: row.listed > 0 ? (row.requests, row.listed) : nil
        case .layered: row.plain > 0 ? (row.requests, row.layered ?? row.plain) : nil
        case .served: row.served
        case .encrypted: row.encrypted
        }
      }
    }

    private static let readCalls = ["pread64", "preadv", "preadv2"]
    private static let writeCalls = ["pwrite64", "pwritev", "pwritev2"]

    /// Less than one call: now and then the allocator grows, or a remembered fact is too old.
    static let tolerance = 0.5

    /// Those of a line are counted side by side: most of the time is waiting.
    static let ways: [[Way]] = [[.plain, .layered], [.listed, .served], [.encrypted]]

    @Test("No operation makes more system calls than it did", arguments: ways)
    func calls(ways: [Way]) async throws {
      try await withThrowingTaskGroup { group in
        for way in ways { group.addTask { try check(way) } }
        try await group.waitForAll()
      }
    }

    private func check(_ way: Way) throws {
      var best: [String: CallCount] = [:]
      // On a machine that is busy or slow, names grow old in the middle of a pass and are asked for again.
      for round in 0..<5 where round == 0 || GuardTests.exceeds(best, way) {
        best.merge(try measure(way, few: round > 0)) { $0.calls < $1.calls ? $0 : $1 }
      }
      for row in GuardTests.limits {
        guard let limit = way.limit(row) else { continue }
        let count = try #require(best[row.operation], "\(row.operation) was not measured")
        let label = "\(row.operation), \(way)"
        print("\(label): \(count.summary) (at most \(limit.calls))")
        #expect(count.each(count.requests) <= limit.requests + GuardTests.tolerance, "\(label): requests")
        #expect(count.each(count.calls) <= limit.calls + GuardTests.tolerance, "\(label): \(count.summary)")
        guard way == .encrypted else { continue }
        for (exact, names) in [(row.reads, GuardTests.readCalls), (row.writes, GuardTests.writeCalls)] {
          guard let exact else { continue }
          let found = count.each(names.reduce(0) { $0 + (count.others[$1] ?? 0) })
          #expect(abs(found - exact) < 0.1, "\(label): \(count.summary)")
        }
      }
    }

    private static func exceeds(_ found: [String: CallCount], _ way: Way) -> Bool {
      limits.contains { row in
        guard let limit = way.limit(row) else { return false }
        guard let count = found[row.operation] else { return true }
        return count.each(count.calls) > limit.calls + tolerance
      }
    }

    /// Counts every operation on a new volume, in the memory of the machine where that can be.
    private func measure(_ way: Way, few: Bool) throws -> [String: CallCount] {
      let base = try TemporaryDirectory.makeInMemory()
      var options = way.options
      if way == .layered {
        options += ",lower=\(base)/lower"
        mkdir(base + "/lower", 0o755)
        try #require(Calls.write(base + "/lower/below", "below") == nil)
      }
      let volume = try MountedVolume(options, base: base)
      defer { volume.remove() }
      let lists =
        way == .listed ? ["group:2001 allow list,search,readattr,file_inherit,directory_inherit"] : []
      _ = try volume.directory("d", TestUser.bob.user, TestUser.bob.group, 0o755, list: lists)
      if way == .encrypted {
        try volume.addKeys()
        try volume.protect("/d")
      }
      try GuardWork.prepare(volume.path + "/d")
      if way == .encrypted { try GuardWork.prepareLarge(volume.path + "/d") }
      // The kernel knows nothing of what is there.
      try volume.unmount()
      try volume.mount(more: way == .encrypted ? volume.keyOption : "")
      let daemon = try #require(volume.daemon)
      let tracer = try CallTracer(daemon, of: volume.path, logsIn: base)
      defer { tracer.end() }
      return try GuardWork(volume.path + "/d", few: few).count(with: tracer, way)
    }
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
