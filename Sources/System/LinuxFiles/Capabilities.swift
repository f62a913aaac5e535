import Synchronization

// What the running kernel offers. Everything is taken to be there until the kernel says ENOSYS once.

/// Which of the younger system calls are in use; for the whole process.
///
/// The switches turn themselves off when a call is missing. Tests turn them off to walk the older ways,
/// which must give the same answers; nothing else sets them.
package enum Capabilities {
  /// Whether there is `openat2` (Linux 5.6).
  ///
  /// Without it: `openat`, and a look at the result to refuse mount points.
  package static var hasOpenat2: Bool {
    get { openat2.load(ordering: .relaxed) }
    set { openat2.store(newValue, ordering: .relaxed) }
  }

  /// Whether there is `getxattrat` (Linux 6.13).
  ///
  /// Without it: paths in /proc, 3 to 10 times slower.
  package static var hasAttributeAt: Bool {
    get { attributeAt.load(ordering: .relaxed) }
    set { attributeAt.store(newValue, ordering: .relaxed) }
  }

  /// Whether there is `fchmodat2` (Linux 6.6).
  ///
  /// Without it: `chmod` of a path in /proc.
  package static var hasChangeModeAt2: Bool {
    get { changeModeAt2.load(ordering: .relaxed) }
    set { changeModeAt2.store(newValue, ordering: .relaxed) }
  }

  /// Whether `linkat` and `utimensat` are tried with `AT_EMPTY_PATH`, before a path in /proc.
  ///
  /// Never turned off by an answer: ENOENT and EINVAL have other meanings there too, so the second way is
  /// tried each time.
  package static var hasEmptyPath: Bool {
    get { emptyPath.load(ordering: .relaxed) }
    set { emptyPath.store(newValue, ordering: .relaxed) }
  }

  /// Whether no time of birth is believed, as on file systems that keep none.
  package static var hidesBirth: Bool {
    get { birthHidden.load(ordering: .relaxed) }
    set { birthHidden.store(newValue, ordering: .relaxed) }
  }

  /// The device whose file handles are read where there is no time of birth; 0 for none.
  package static var deviceWithHandles: UInt64 {
    get { handles.load(ordering: .relaxed) }
    set { handles.store(newValue, ordering: .relaxed) }
  }

  private static let birthHidden = Atomic(false)
  private static let handles = Atomic<UInt64>(0)
  private static let openat2 = Atomic(true)
  private static let attributeAt = Atomic(true)
  private static let changeModeAt2 = Atomic(true)
  private static let emptyPath = Atomic(true)
}
