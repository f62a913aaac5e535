// What is remembered of records that were read.
//
// For items with flags and lists: where nothing has changed, a decision costs one statx and reads no attribute
// (docs/design/remembering.md).

import LinuxFiles
import Synchronization

/// When a record that was read earlier is as good as one read now.
///
/// It is, as long as the object's change time is the same: setting an attribute moves it. But it moves in ticks, so
/// a record is kept only if the object had been left alone for longer than a tick when its status was read. Beyond
/// that nothing is believed longer than anything else of a tree that others may change.
struct RecordMemory: Sendable {
  private let live: LiveOptions
  private let trustsChangeTimes: Bool

  init(_ live: LiveOptions, trustsChangeTimes: Bool) {
    self.live = live
    self.trustsChangeTimes = trustsChangeTimes
  }

  /// For how many nanoseconds; 0 is not at all.
  private var lifetime: UInt64 { trustsChangeTimes ? live.current.cache.lifetime : 0 }

  func recall(_ node: Node?, _ status: FileStatus) -> KnownRecord? {
    let lifetime = lifetime
    guard lifetime > 0, let known = node?.known.withLock({ $0 }), known.change == status.change,
      Clock.monotonicNanoseconds &- known.readAt < lifetime
    else { return nil }
    return known
  }

  /// Whether change times tell everything, and anything may be remembered.
  var believes: Bool { lifetime > 0 }

  /// `status` was read before the record.
  func keep(_ stored: StoredFacts, for node: Node?, _ status: FileStatus, _ heads: SealedHeads) {
    guard lifetime > 0, let node, status.isSettled else { return }
    let known = KnownRecord(
      stored, wasLookedInto: heads.areSought, change: status.change, readAt: Clock.monotonicNanoseconds)
    node.known.withLock { $0 = known }
  }
}

extension CacheUse {
  /// How many nanoseconds what was read is believed.
  var lifetime: UInt64 {
    switch self {
    case .exclusive: .max
    case .shared: 1_000_000_000
    case .none: 0
    }
  }
}

/// The records that were decoded lately, by their bytes.
///
/// A tree whose items inherited one list has one list in memory, not a million.
final class SharedRecords: Sendable {
  /// What was read of a list.
  enum ListBytes: Equatable {
    case none
    case unread
    case bytes([UInt8])

    fileprivate var slot: Int {
      switch self {
      case .none: 0
      case .unread: 7
      case .bytes(let bytes): 31 &* SharedRecords.slot(bytes)
      }
    }
  }

  private struct Entry {
    let core: [UInt8]
    let list: ListBytes
    let stored: StoredRecord
  }

  private static let size = 256
  private let entries: Mutex<[Entry?]> = Mutex(Array(repeating: nil, count: size))

  /// The record of these bytes, decoded by `decode` if nobody had them lately.
  func record(_ core: [UInt8], _ list: ListBytes, decode: () -> StoredRecord) -> StoredRecord {
    let slot = (SharedRecords.slot(core) &+ list.slot) & (SharedRecords.size - 1)
    let known = entries.withLock { entries -> StoredRecord? in
      guard let entry = entries[slot], entry.core == core, entry.list == list else { return nil }
      return entry.stored
    }
    if let known { return known }
    let fresh = decode()
    entries.withLock { $0[slot] = Entry(core: core, list: list, stored: fresh) }
    return fresh
  }

  /// Both forms carry their checksum at offset 8.
  private static func slot(_ bytes: [UInt8]) -> Int { bytes.count > 8 ? Int(bytes[8]) : 0 }
}
