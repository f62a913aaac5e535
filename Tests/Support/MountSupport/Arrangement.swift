// Ways to serve a volume that must change nothing but its speed.

/// The one table of arrangements: suites that must hold however a volume is served run through it.
///
/// Every choice of one column meets every choice of every other in some row, which a test holds it to; all of their
/// combinations would take the machine an hour.
package enum Arrangement {
  /// The columns: how many workers answer, who reads and writes plain files, what the kernel remembers,
  /// and what an older kernel would not have offered.
  package static let choices: [(column: String, words: [String])] = [
    ("threads", ["", "threads=1", "threads=8,clone_fd"]),
    ("routes", ["", "passthrough=off"]),
    ("caches", ["", "cache=none", "cache=exclusive"]),
    ("kernel", ["", "no_epoch", "no_statx,no_killpriv_v2", "no_parallel_dirops"]),
  ]

  package static let rows: [[String]] = [
    ["", "", "", ""],
    ["threads=1", "", "cache=none", ""],
    ["threads=8,clone_fd", "passthrough=off", "cache=exclusive", ""],
    ["threads=1", "passthrough=off", "", "no_epoch"],
    ["threads=8,clone_fd", "passthrough=off", "cache=none", "no_epoch"],
    ["", "", "cache=exclusive", "no_epoch"],
    ["threads=8,clone_fd", "", "", "no_statx,no_killpriv_v2"],
    ["", "passthrough=off", "cache=none", "no_statx,no_killpriv_v2"],
    ["threads=1", "passthrough=off", "cache=exclusive", "no_statx,no_killpriv_v2"],
    ["", "passthrough=off", "", "no_parallel_dirops"],
    ["threads=1", "", "cache=none", "no_parallel_dirops"],
    ["threads=8,clone_fd", "", "cache=exclusive", "no_parallel_dirops"],
  ]

  /// The rows as mount options.
  package static let all: [String] = rows.map { $0.filter { !$0.isEmpty }.joined(separator: ",") }
}

/// What stores of user space and of the network do not have, switched off one by one, and all at once.
package enum StoreFallback {
  package static let single = [
    "no_local", "no_tmpfile", "no_noreplace", "no_exchange", "no_unlinked", "no_birthtime", "no_capability",
    "no_trusted",
  ]
  package static let all = single + [together]
  package static let together = single.joined(separator: ",")
}
