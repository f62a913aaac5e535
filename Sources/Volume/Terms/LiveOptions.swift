// The options that can change while the volume is mounted, kept in one word. `ChangeOptions.swift` changes it.

package import Decisions
import LinuxFiles
import Synchronization

/// The options in force at one moment.
package struct LiveSettings: Hashable, Sendable {
  package var rules = VolumeRules()
  package var cache = CacheUse.shared
  package var groups = GroupSource.process
  package var chattr = ChattrDomain.system
  package var debug = false

  package init() {}

  package var isReadOnly: Bool { rules.isReadOnly }
}

/// Holds the settings in one word, so that every request gets all of one moment by one load.
final class LiveOptions: Sendable {
  // Written with every stripe held exclusively, so a request that holds one sees the same word until it lets go of it.
  private let word: Atomic<UInt64>
  /// When the writer's lease ends, by the clock that goes on while the machine sleeps; without a lease it does not count.
  private let leaseEnd = Atomic<UInt64>(0)

  private static let leased: UInt64 = 1 << 46

  init(_ settings: LiveSettings) {
    word = Atomic(settings.word)
  }

  /// What is in force at this moment.
  var current: LiveSettings {
    let word = word.load(ordering: .acquiring)
    var settings = LiveSettings(word: word)
    if word & LiveOptions.leased != 0, !settings.isReadOnly, isLeaseOver {
      (settings.rules.isReadOnly, settings.rules.lacksLock) = (true, true)
    }
    return settings
  }

  /// What was asked for, whatever has become of the lease.
  var wanted: LiveSettings { LiveSettings(word: word.load(ordering: .acquiring)) }

  /// Whether nothing may be changed at this moment, also through what is open.
  var forbidsChanges: Bool {
    let word = word.load(ordering: .acquiring)
    return LiveSettings.isReadOnly(word) || (word & LiveOptions.leased != 0 && isLeaseOver)
  }

  func set(_ settings: LiveSettings) {
    word.store(settings.word | word.load(ordering: .relaxed) & LiveOptions.leased, ordering: .releasing)
  }

  // MARK: The writer's lease

  /// Only where there is a lease the clock is asked, and only by those who look at the word anyway.
  var isLeaseOver: Bool { Clock.nanosecondsSinceBoot >= leaseEnd.load(ordering: .acquiring) }

  /// The lock for writing may get lost: without a lease that has begun nothing is changed.
  func requireLease() {
    word.bitwiseOr(LiveOptions.leased, ordering: .acquiringAndReleasing)
  }

  /// Whether the lock for writing has to be confirmed, and is not.
  var lacksLock: Bool { word.load(ordering: .acquiring) & LiveOptions.leased != 0 && isLeaseOver }

  /// Before anybody writes by these settings.
  func beginLease(until end: UInt64) {
    leaseEnd.store(end, ordering: .releasing)
    word.bitwiseOr(LiveOptions.leased, ordering: .acquiringAndReleasing)
  }

  /// Moves the end; 0 has passed.
  func extendLease(until end: UInt64) {
    leaseEnd.store(end, ordering: .releasing)
  }
}

extension LiveSettings {
  /// All settings in 64 bits; the group takes the lower half.
  var word: UInt64 {
    var bits = UInt64(rules.adminGroup ?? 0)
    func set(_ isOn: Bool, _ place: UInt64) { if isOn { bits |= 1 << place } }
    set(rules.adminGroup != nil, 32)
    set(rules.isReadOnly, 33)
    set(rules.forbidsExecution, 34)
    set(rules.ignoresOwnership, 35)
    set(rules.usesLists, 36)
    set(rules.handsOverOwnership, 37)
    set(groups == .nss, 38)
    set(chattr == .user, 39)
    set(debug, 40)
    set(cache == .exclusive, 41)
    set(cache == .none, 42)
    // From -1 to 3.
    bits |= UInt64(min(max(rules.secureLevel, -1), 3) + 1) << 43
    return bits
  }

  static func isReadOnly(_ word: UInt64) -> Bool { word >> 33 & 1 == 1 }

  init(word: UInt64) {
    func isSet(_ place: UInt64) -> Bool { word >> place & 1 == 1 }
    rules.adminGroup = isSet(32) ? UInt32(truncatingIfNeeded: word) : nil
    rules.isReadOnly = LiveSettings.isReadOnly(word)
    rules.forbidsExecution = isSet(34)
    rules.ignoresOwnership = isSet(35)
    rules.usesLists = isSet(36)
    rules.handsOverOwnership = isSet(37)
    groups = isSet(38) ? .nss : .process
    chattr = isSet(39) ? .user : .system
    debug = isSet(40)
    cache = isSet(41) ? .exclusive : isSet(42) ? .none : .shared
    rules.secureLevel = Int(word >> 43 & 7) - 1
  }
}
