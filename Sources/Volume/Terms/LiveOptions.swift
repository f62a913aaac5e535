// The options that can change while the volume is mounted, kept in one word. `ChangeOptions.swift` changes it.
//
// `LiveSettings.walk` is the one list of them: from it come the word, the settings made of the word, and the status.

package import Decisions
import JSONForm
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

  // Above all the options.
  private static let leased: UInt64 = 1 << 63

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
  /// Hands each option to `walk`, with its name in `.varve/status`; the word has them in this order, from the lowest bit.
  ///
  /// Inlined, because each request takes a word apart, and must not allocate for that (`AllocationTests`).
  @inline(__always)
  mutating func walk(_ walk: inout some LiveOptionWalk) {
    // The first one: `isReadOnly(_:)`.
    walk.option("readOnly", &rules.isReadOnly)
    walk.option("acl", &rules.usesLists)
    walk.option("noowners", &rules.ignoresOwnership)
    walk.option("securelevel", &rules.secureLevel)
    walk.option("suiddir", &rules.handsOverOwnership)
    walk.option("noexec", &rules.forbidsExecution)
    walk.option("adminGroup", &rules.adminGroup)
    walk.option("cache", &cache)
    walk.option("groups", &groups)
    walk.option("chattr", &chattr)
    walk.option("debug", &debug)
  }

  /// All settings in 64 bits.
  var word: UInt64 {
    var (copy, packing) = (self, PackingWalk())
    copy.walk(&packing)
    return packing.word
  }

  static func isReadOnly(_ word: UInt64) -> Bool { word & 1 == 1 }

  init(word: UInt64) {
    var unpacking = UnpackingWalk(rest: word)
    walk(&unpacking)
  }
}

/// What is done with each of the options in turn.
protocol LiveOptionWalk {
  mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value)
}

private struct PackingWalk: LiveOptionWalk {
  private(set) var word: UInt64 = 0
  private var position: UInt64 = 0

  @inline(__always)
  mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value) {
    word |= value.bits << position
    position += Value.width
  }
}

private struct UnpackingWalk: LiveOptionWalk {
  var rest: UInt64

  @inline(__always)
  mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value) {
    value = Value(bits: rest & (1 << Value.width - 1))
    rest >>= Value.width
  }
}

/// A value of an option, as it is packed and shown.
protocol LiveValue: Equatable {
  /// How many bits of the word it takes.
  static var width: UInt64 { get }
  var bits: UInt64 { get }
  /// Any bits make a value.
  init(bits: UInt64)
  /// As `.varve/status` has it; nil where there is nothing to say.
  var shown: JSON? { get }
}

extension Bool: LiveValue {
  static var width: UInt64 { 1 }
  var bits: UInt64 { self ? 1 : 0 }
  init(bits: UInt64) { self = bits == 1 }
  var shown: JSON? { .bool(self) }
}

/// The secure level: from -1 to 3.
extension Int: LiveValue {
  static var width: UInt64 { 3 }
  var bits: UInt64 { UInt64(Swift.min(Swift.max(self, -1), 3) + 1) }
  init(bits: UInt64) { self = Int(truncatingIfNeeded: Swift.min(bits, 4)) - 1 }
  var shown: JSON? { .number(self) }
}

/// A group, or none.
extension UInt32?: LiveValue {
  static var width: UInt64 { 33 }
  var bits: UInt64 { map { UInt64($0) << 1 | 1 } ?? 0 }
  init(bits: UInt64) { self = bits & 1 == 1 ? UInt32(truncatingIfNeeded: bits >> 1) : nil }
  var shown: JSON? { map { .number(Int($0)) } }
}

/// One of up to four words.
extension LiveValue where Self: CaseIterable & RawRepresentable<String>, AllCases == [Self] {
  static var width: UInt64 { 2 }
  var bits: UInt64 { UInt64(Self.allCases.firstIndex(of: self) ?? 0) }
  init(bits: UInt64) { self = Self.allCases[min(Int(truncatingIfNeeded: bits), Self.allCases.count - 1)] }
  var shown: JSON? { .string(rawValue) }
}

extension CacheUse: LiveValue {}
extension GroupSource: LiveValue {}
extension ChattrDomain: LiveValue {}
