// What makes an object the same object, and the number that programs know it by.
//
// A node is found by the identity of its backing object and locked by its number. With one layer the number is that of
// the backing object; an object that is copied up to another layer changes its backing object and keeps its number
// (`Records/ItemNumbers.swift`).

import LinuxFiles

/// The number of an item: what programs see as its inode number.
struct ItemNumber: Hashable, Sendable {
  let value: UInt64

  /// Where there is one layer, and in the upper of an item that was made there.
  init(_ status: FileStatus) {
    value = status.inode
  }

  init(_ value: UInt64) {
    self.value = value
  }

  /// The lock of the item.
  var stripe: Int { Int(truncatingIfNeeded: KeyedHash.of(value) & UInt64(StripedLocks.count - 1)) }
}

/// What makes an object the same object: a name that leads to another identity leads to something else.
package struct ObjectIdentity: Hashable, Sendable {
  private let inode: UInt64
  /// Nanoseconds since 1970; where the file system does not tell, what the file handle says, or 0.
  ///
  /// Tells a reused inode number apart.
  private let birth: Int64
  private let device: UInt64
  /// Objects are born faster than some clocks tick: a number may come back within one, as something else.
  let kind: FileKind

  init(_ status: FileStatus) {
    inode = status.inode
    kind = status.kind
    device = status.device
    if let birth = status.birth {
      self.birth = birth.seconds &* 1_000_000_000 &+ Int64(birth.nanoseconds)
    } else {
      birth = Int64(bitPattern: status.handleMark)
    }
  }

  /// The number of an item that is its own backing object.
  var number: ItemNumber { ItemNumber(inode) }

  /// For tables.
  var hash: UInt64 { KeyedHash.of(word) }

  /// The same on every mount, for programs to see; it tells nothing of the key.
  var generation: UInt32 { UInt32(truncatingIfNeeded: KeyedHash.of(word, key: 0)) }

  private var word: UInt64 { inode &+ UInt64(bitPattern: birth) &* 0x9E37_79B9_7F4A_7C15 }
}

/// Which object of which layer is behind a node.
struct BackingSlot: Hashable, Sendable {
  var identity: ObjectIdentity
  /// 0 is the upper.
  var layer: UInt8

  init(_ identity: ObjectIdentity, in layer: UInt8 = 0) {
    self.identity = identity
    self.layer = layer
  }
}

/// Spreads a number over all 64 bits; neighbours in a directory have neighbouring inode numbers.
///
/// By a random key: without it one cannot choose a file that shares a lock, or a slot in a table, with another.
private enum KeyedHash {
  /// A process serves one mount.
  private static let key = UInt64.random(in: .min ... .max)

  static func of(_ number: UInt64, key: UInt64 = KeyedHash.key) -> UInt64 {
    var hash = key ^ number
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }
}
