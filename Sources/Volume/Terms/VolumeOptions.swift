// How a volume is mounted: the mount options that the volume itself obeys.

/// How far changes behind the mount are reckoned with.
package enum CacheUse: String, CaseIterable, Hashable, Sendable {
  /// Others may change the tree behind the mount: what is remembered is believed for a second.
  case shared
  /// The tree changes through the mount alone.
  case exclusive
  /// Nothing is remembered.
  case none
}

/// Where supplementary groups come from.
package enum GroupSource: String, CaseIterable, Hashable, Sendable {
  /// The calling thread's own list.
  case process
  /// The user database, by uid.
  case nss
}

/// Which flags root's `chattr +i` and `+a` set.
package enum ChattrDomain: String, CaseIterable, Hashable, Sendable {
  case system
  case user
}

/// How long the steps of a lease take, in milliseconds.
package struct LeaseTimes: Equatable, Sendable {
  /// Between two confirmations.
  package var renewal = 5_000
  /// Nothing is changed any more when the last confirmation was begun so long ago.
  package var validity = 10_000
  /// How long the next holder waits where the last one may not know yet that it has lost the lock: half as long again,
  /// for what was decided in time and is done late.
  package var waiting = 15_000

  package init() {}

  /// As the lock file says it.
  var seconds: Int { max(1, validity / 1_000) }
}

package struct VolumeOptions: Sendable {
  /// Those that can change later.
  package var live = LiveSettings()
  /// Whether the reserved directory at the root answers at all.
  package var showsReservedDirectory = true
  /// Whether flags and lists are shown as attributes that copying programs carry along.
  package var showsTwins = false
  package var threads = 2
  /// Whether `lower=` was said, with layers or with none.
  package var saysLowers = false
  package var names = NameSettings()
  /// Features switched off by `no_FEATURE`, so that their fallbacks can be tested.
  package var disabledFeatures: Set<String> = []
  /// Where the lock for writing has to be confirmed again and again; only tests have others.
  package var leaseTimes = LeaseTimes()
  /// The words of `-o` as they were given, for `status`.
  package var words: [[UInt8]] = []
  /// What the settings say that could not be used, for `status`.
  package var warnings: [String] = []

  package init() {}
}
