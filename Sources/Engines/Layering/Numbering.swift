// The number of an item: what programs see as its inode number, and what its lock goes by. It is the same before and after
// a copy-up, a rename and a remount.

package import RecordFormat

/// Where an object lies, as far as its number depends on it.
package enum Residence: Hashable, Sendable {
  /// On the device of the upper, in whatever layer.
  case upperDevice
  /// On the device of a lower; the position of the device among those of the lowers, from 1.
  case lowerDevice(UInt8)
  /// On a device that is not its layer's: a subvolume, or an object of a union below.
  case foreign(device: UInt64)

  /// There are no more lowers.
  package static let mostDevices: UInt8 = 64
}

/// Makes numbers of items.
package enum Numbering {
  private static let inodeBits: UInt64 = 56

  /// The number of an object without an origin that counts; of one that has it, of that.
  package static func number(inode: UInt64, at residence: Residence) -> UInt64 {
    switch residence {
    case .upperDevice where inode >> inodeBits == 0: inode
    case .lowerDevice(let position)
    where inode >> inodeBits == 0 && position > 0 && position <= Residence.mostDevices:
      UInt64(position) << inodeBits | inode
    case .upperDevice: folded(inode, with: 0)
    case .lowerDevice(let position): folded(inode, with: UInt64(position))
    // Above the positions, so that it is none of them.
    case .foreign(let device): folded(inode, with: device &+ 1 << 8)
    }
  }

  /// With the highest bit set no folded number is a plain one.
  private static func folded(_ inode: UInt64, with word: UInt64) -> UInt64 {
    mixed(mixed(word ^ 0x9E37_79B9_7F4A_7C15) ^ inode) | 1 << 63
  }

  private static func mixed(_ number: UInt64) -> UInt64 {
    var hash = number
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }

  /// Tells a reused inode number apart: one status knows it, nothing has to be opened.
  ///
  /// 0 where the file system does not tell when an inode was made.
  package static func generation(of birth: CoreRecord.BirthTime?) -> UInt32 {
    guard let birth else { return 0 }
    var sum = CRC32C()
    let seconds = UInt64(bitPattern: birth.seconds)
    for index in 0..<8 { sum.add(UInt8(truncatingIfNeeded: seconds >> UInt64(8 * index))) }
    for index in 0..<4 { sum.add(UInt8(truncatingIfNeeded: birth.nanoseconds >> UInt32(8 * index))) }
    return sum.value
  }
}

extension CoreRecord.Origin {
  /// Whether it speaks of the item that carries it.
  ///
  /// A copy of the item, and one that came back from a backup, has another inode. Whether the tag is that of a file
  /// system that is mounted, only the volume knows.
  package func isOf(inode: UInt64, generation: UInt32) -> Bool {
    ownInode == inode && ownGeneration == generation
  }
}
