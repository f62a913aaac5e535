// The rows of the table: every kind of work that is measured, and what is asked of it.

/// What Varve has to reach in a row.
package enum Target: Equatable, Sendable {
  /// Measured because people ask, without a promise.
  case none
  /// A part of the speed of the directory itself.
  case native(Double)
  /// A part of the speed of the best of the peers.
  case bestPeer(Double)
}

/// What encrypted files have to reach in a row.
package struct EncryptedTarget: Equatable, Sendable {
  /// A part of the speed of gocryptfs.
  package let gocryptfs: Double
  /// A part of the speed of plain files that go through the daemon, too.
  package let plain: Double
}

/// How the number of a row is told to people.
package enum Measure: Equatable, Sendable {
  case operation
  case bytes
  case run
}

/// One kind of work.
package struct Row: Equatable, Sendable {
  /// As `--only` and the JSON have it.
  package let id: String
  package let title: String
  package let measure: Measure
  package let target: Target
  /// Whether it is part of the geometric mean against the best peer.
  package let isInMean: Bool
  /// Whether it is measured with access lists on every item, too.
  package let tellsPrice: Bool
  /// What encrypted files are held to, if they are measured.
  package var encrypted: EncryptedTarget? { Row.encryptedTargets[id] }

  package init(
    _ id: String, _ title: String, _ measure: Measure, _ target: Target = .none,
    inMean isInMean: Bool = false, tellsPrice: Bool = false
  ) {
    self.id = id
    self.title = title
    self.measure = measure
    self.target = target
    self.isInMean = isInMean
    self.tellsPrice = tellsPrice
  }
}

extension Row {
  /// The client counts of the storms.
  package static let clientCounts = [1, 2, 4]

  /// The passes of a storm, as the load names them.
  private static let passes: [(id: String, title: String)] = [
    ("create", "create"), ("small-write", "open, write 100 bytes, close"),
    ("open-read-close", "open, read, close"), ("chmod", "chmod"), ("stat-hot", "stat, cached"),
    ("stat-cold", "stat, cold"), ("rename", "rename"), ("unlink", "unlink"),
  ]

  /// The name of a pass with so many clients.
  package static func storm(_ pass: String, clients: Int) -> String {
    clients == 1 ? pass : "\(pass)-\(clients)"
  }

  private static func storms(clients: Int) -> [Row] {
    passes.map { pass in
      let isCached = pass.id == "stat-hot"
      let crowd = clients == 1 ? "" : ", \(clients) clients"
      return Row(
        storm(pass.id, clients: clients), pass.title + crowd, .operation, .bestPeer(isCached ? 0.95 : 1),
        inMean: !isCached, tellsPrice: clients == 1)
    }
  }

  private static func tree(_ id: String, _ title: String) -> Row {
    Row(id, title, .run, .bestPeer(1), inMean: true, tellsPrice: true)
  }

  /// All of them, in the order of the table.
  package static let all: [Row] =
    [
      Row("sequential-write", "sequential write, 1 MiB", .bytes, .native(0.95)),
      Row("sequential-read", "sequential read, 1 MiB", .bytes, .native(0.95)),
      Row("random-read", "random read, 4 KiB", .operation, .native(0.80)),
      Row("random-write", "random write, 4 KiB", .operation, .native(0.80)),
      Row("random-mixed", "random read and write in turns, 4 KiB", .operation),
      Row("fsync", "write 4 KiB and fsync", .operation),
    ] + clientCounts.flatMap(storms) + [
      Row("deep-hot", "stat, 16 levels deep, cached", .operation, .bestPeer(0.95)),
      Row("deep-cold", "stat, 16 levels deep, cold", .operation, .bestPeer(1), inMean: true),
      Row("readdir", "readdir, 100,000 entries", .operation, .bestPeer(1), inMean: true),
      tree("untar", "untar"),
      tree("ls", "ls -lR"),
      tree("ls-cold", "ls -lR, cold"),
      tree("grep", "grep -r"),
      tree("cp", "cp -a"),
      tree("rm", "rm -rf"),
      Row("git-status", "git status", .run, tellsPrice: true),
      Row("compile", "compile (make)", .run),
    ]

  private static let encryptedTargets: [String: EncryptedTarget] = [
    "sequential-write": EncryptedTarget(gocryptfs: 1.5, plain: 0.85),
    "sequential-read": EncryptedTarget(gocryptfs: 1.2, plain: 0.85),
    "random-read": EncryptedTarget(gocryptfs: 1.3, plain: 0.85),
    "random-write": EncryptedTarget(gocryptfs: 1.5, plain: 0.8),
    "random-mixed": EncryptedTarget(gocryptfs: 2, plain: 0.85),
    "fsync": EncryptedTarget(gocryptfs: 1.1, plain: 0.8),
    "create": EncryptedTarget(gocryptfs: 2, plain: 0.7),
    "small-write": EncryptedTarget(gocryptfs: 1.5, plain: 0.85),
    "open-read-close": EncryptedTarget(gocryptfs: 1.5, plain: 0.85),
    "stat-cold": EncryptedTarget(gocryptfs: 1.3, plain: 0.85),
    "unlink": EncryptedTarget(gocryptfs: 1.3, plain: 0.85),
    "untar": EncryptedTarget(gocryptfs: 1, plain: 0.85), "ls": EncryptedTarget(gocryptfs: 1, plain: 0.85),
    "grep": EncryptedTarget(gocryptfs: 1, plain: 0.85), "cp": EncryptedTarget(gocryptfs: 1, plain: 0.85),
    "rm": EncryptedTarget(gocryptfs: 1, plain: 0.85),
  ]

  package static func named(_ id: String) -> Row? {
    all.first { $0.id == id }
  }
}
