// What kind of object a name leads to, in the two spellings Linux has for it.

/// The kind of a file-system object.
///
/// The raw values are the `DT_*` numbers of directory entries; shifted left by 12 they are the
/// `S_IFMT` bits of a mode.
package enum FileKind: UInt8, Sendable, Hashable, CaseIterable {
  case fifo = 1
  case characterDevice = 2
  case directory = 4
  case blockDevice = 6
  case regular = 8
  case symbolicLink = 10
  case socket = 12

  /// From the `d_type` of a directory entry; nil for `DT_UNKNOWN` and for whiteouts.
  package init?(directoryType: UInt8) {
    self.init(rawValue: directoryType)
  }

  /// From a mode with its `S_IFMT` bits; nil for objects that are not files (`anon_inode`).
  package init?(modeBits: UInt32) {
    self.init(rawValue: UInt8(truncatingIfNeeded: (modeBits >> 12) & 0xF))
  }

  /// The `S_IFMT` bits.
  package var modeBits: UInt32 { UInt32(rawValue) << 12 }

  /// The `d_type` of a directory entry.
  package var directoryType: UInt8 { rawValue }

  /// As a sentence names it, with its article.
  package var words: String {
    switch self {
    case .fifo: "a FIFO"
    case .characterDevice, .blockDevice: "a device"
    case .directory: "a directory"
    case .regular: "a regular file"
    case .symbolicLink: "a symbolic link"
    case .socket: "a socket"
    }
  }
}

/// The number of a device.
package struct DeviceNumber: Sendable, Hashable {
  package var major: UInt32
  package var minor: UInt32

  package init(major: UInt32, minor: UInt32) {
    self.major = major
    self.minor = minor
  }

  package init(packed: UInt64) {
    self.init(
      major: UInt32(truncatingIfNeeded: packed >> 32), minor: UInt32(truncatingIfNeeded: packed))
  }

  /// Both parts in one number: major in the upper half.
  package var packed: UInt64 { UInt64(major) << 32 | UInt64(minor) }

  package static let none = DeviceNumber(major: 0, minor: 0)
}
