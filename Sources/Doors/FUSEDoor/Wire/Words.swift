// The kernel's flag words in the words of the volume, both ways.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles

// MARK: Devices

/// The 32-bit number of a device as `new_encode_dev` packs it: 12 bits of major amid 20 of minor.
func encodeDevice(major: UInt32, minor: UInt32) -> UInt32 {
  (minor & 0xFF) | ((major & 0xFFF) << 8) | ((minor & 0xF_FF00) << 12)
}

/// The inverse of `encodeDevice`.
func decodeDevice(_ word: UInt32) -> DeviceNumber {
  DeviceNumber(major: (word >> 8) & 0xFFF, minor: (word & 0xFF) | ((word >> 12) & 0xF_FF00))
}

// MARK: Opening

extension OpenMode {
  /// From the flags of open(2) and the door's own flags of OPEN and CREATE.
  init(flags: UInt32, openFlags: UInt32) {
    // Inserted one by one: a set literal of another module's members takes an array from the heap.
    self.init(rawValue: 0)
    switch flags & UInt32(O_ACCMODE) {
    case UInt32(O_RDONLY): insert(.read)
    case UInt32(O_WRONLY): insert(.write)
    // O_RDWR; and 3, with which Linux demands both rights and then allows neither.
    default:
      insert(.read)
      insert(.write)
    }
    insert(.append, if: flags, has: UInt32(O_APPEND))
    insert(.truncate, if: flags, has: UInt32(O_TRUNC))
    insert(.exclusive, if: flags, has: UInt32(O_EXCL))
    insert(.execute, if: flags, has: lv_open_execute)
    insert(.noAccessTime, if: flags, has: lv_open_no_access_time)
    insert(.unbuffered, if: flags, has: lv_open_unbuffered)
    // O_SYNC contains the bit of O_DSYNC.
    insert(.synchronous, if: flags, has: UInt32(O_SYNC))
    insert(.dataSynchronous, if: flags, has: UInt32(O_DSYNC))
    insert(.clearsSetID, if: openFlags, has: UInt32(FUSE_OPEN_KILL_SUIDGID))
  }

  private mutating func insert(_ member: OpenMode, if word: UInt32, has bits: UInt32) {
    if word & bits == bits { insert(member) }
  }
}

// MARK: Changing attributes

extension AttributeChange {
  /// From SETATTR; EINVAL for a time that is none.
  init(_ request: fuse_setattr_in) throws(Errno) {
    self.init()
    func names(_ bit: CInt) -> Bool { request.valid & UInt32(bit) != 0 }

    if names(FATTR_MODE) { mode = UInt16(truncatingIfNeeded: request.mode & 0o7777) }
    if names(FATTR_UID) { user = request.uid }
    if names(FATTR_GID) { group = request.gid }
    if names(FATTR_SIZE) { size = request.size }
    access = try timeChange(
      isNamed: names(FATTR_ATIME), isNow: names(FATTR_ATIME_NOW), request.atime, request.atimensec)
    modification = try timeChange(
      isNamed: names(FATTR_MTIME), isNow: names(FATTR_MTIME_NOW), request.mtime, request.mtimensec)
    clearsSetID = names(FATTR_KILL_SUIDGID)
    // FH and LOCKOWNER say how, not what. CTIME comes with the writeback cache only, which is off.
    let anything =
      FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_SIZE | FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW
      | FATTR_MTIME_NOW
    namesNothing = !names(anything)
  }
}

private func timeChange(
  isNamed: Bool, isNow: Bool, _ seconds: UInt64, _ nanoseconds: UInt32
) throws(Errno) -> TimeChange {
  if isNow { return .now }
  guard isNamed else { return .omit }
  guard nanoseconds < 1_000_000_000 else { throw .invalid }
  return .set(Timestamp(seconds: Int64(bitPattern: seconds), nanoseconds: nanoseconds))
}

// MARK: Names

extension RenameStyle {
  /// From the flags of RENAME2; EINVAL for WHITEOUT, which only an overlay in the kernel asks for, and
  /// for flags to come.
  init(flags: UInt32) throws(Errno) {
    // RENAME_NOREPLACE and RENAME_EXCHANGE of <linux/fs.h>.
    switch flags {
    case 0: self = .replace
    case 1: self = .noReplace
    case 2: self = .exchange
    default: throw .invalid
    }
  }
}
