// Flag words of the kernel in the words of the volume.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Testing

@testable import FUSEDoor

@Suite("Flag words") struct WordTests {
  @Test("Device numbers survive both ways and are packed as the kernel packs them") func devices() {
    #expect(encodeDevice(major: 8, minor: 1) == 0x801)
    #expect(encodeDevice(major: 0xABC, minor: 0x12345) == 0x123A_BC45)
    for major in [UInt32(0), 1, 8, 255, 256, 4095] {
      for minor in [UInt32(0), 1, 255, 256, 0xF_FFFF] {
        let back = decodeDevice(encodeDevice(major: major, minor: minor))
        #expect(back == DeviceNumber(major: major, minor: minor))
      }
    }
  }

  struct Opening: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let flags: CInt
    var openFlags: UInt32 = 0
    let mode: OpenMode
  }

  static let openings = [
    Opening(testDescription: "to read", flags: O_RDONLY, mode: .read),
    Opening(testDescription: "to write", flags: O_WRONLY, mode: .write),
    Opening(testDescription: "for both", flags: O_RDWR, mode: [.read, .write]),
    Opening(testDescription: "access mode 3 asks for both rights", flags: 3, mode: [.read, .write]),
    Opening(testDescription: "to append", flags: O_WRONLY | O_APPEND, mode: [.write, .append]),
    Opening(testDescription: "to truncate", flags: O_RDWR | O_TRUNC, mode: [.read, .write, .truncate]),
    Opening(testDescription: "to run", flags: O_RDONLY | 0x20, mode: [.read, .execute]),
    Opening(
      testDescription: "O_SYNC is more than O_DSYNC", flags: O_SYNC,
      mode: [.read, .synchronous, .dataSynchronous]),
    Opening(testDescription: "O_DSYNC alone", flags: O_DSYNC, mode: [.read, .dataSynchronous]),
    Opening(
      testDescription: "O_NOATIME and O_DIRECT", flags: 0o1040000,
      mode: [.read, .noAccessTime, .unbuffered]),
    Opening(
      testDescription: "clearing set-id", flags: O_WRONLY | O_TRUNC, openFlags: 1,
      mode: [.write, .truncate, .clearsSetID]),
    Opening(testDescription: "exclusively", flags: O_CREAT | O_EXCL | O_WRONLY, mode: [.write, .exclusive]),
    Opening(
      testDescription: "with flags that do not matter", flags: O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW,
      mode: .read),
  ]

  @Test("Flags of open(2)", arguments: openings) func opening(_ row: Opening) {
    #expect(OpenMode(flags: UInt32(bitPattern: row.flags), openFlags: row.openFlags) == row.mode)
  }

  @Test("SETATTR with nothing names nothing, with or without a handle") func nothing() throws {
    for valid in [0, FATTR_FH, FATTR_LOCKOWNER, FATTR_FH | FATTR_KILL_SUIDGID] {
      var request = fuse_setattr_in()
      request.valid = UInt32(valid)
      let change = try AttributeChange(request)
      #expect(change.namesNothing)
      #expect(change.clearsSetID == (valid & FATTR_KILL_SUIDGID != 0))
    }
  }

  @Test("SETATTR takes what is named and nothing else") func everything() throws {
    var request = fuse_setattr_in()
    request.mode = 0o104755
    request.uid = 5
    request.gid = 6
    request.size = 7
    request.atime = UInt64(bitPattern: -8)
    request.atimensec = 999_999_999
    request.mtime = 9
    request.mtimensec = 10

    let none = try AttributeChange(request)
    #expect(none.mode == nil && none.user == nil && none.group == nil && none.size == nil)
    #expect(none.access == .omit && none.modification == .omit)

    request.valid = UInt32(
      FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_SIZE | FATTR_ATIME | FATTR_MTIME | FATTR_KILL_SUIDGID)
    let all = try AttributeChange(request)
    #expect(all.mode == 0o4755 && all.user == 5 && all.group == 6 && all.size == 7)
    #expect(all.access == .set(Timestamp(seconds: -8, nanoseconds: 999_999_999)))
    #expect(all.modification == .set(Timestamp(seconds: 9, nanoseconds: 10)))
    #expect(all.clearsSetID && !all.namesNothing)

    request.valid = UInt32(FATTR_ATIME | FATTR_ATIME_NOW | FATTR_MTIME | FATTR_MTIME_NOW)
    let now = try AttributeChange(request)
    #expect(now.access == .now && now.modification == .now && !now.namesNothing)
  }

  @Test("A time with more than a second of nanoseconds is refused") func impossibleTime() {
    var request = fuse_setattr_in()
    request.valid = UInt32(FATTR_ATIME)
    request.atimensec = 1_000_000_000
    #expect(throws: Errno.invalid) { try AttributeChange(request) }
  }

  @Test("Rename: the two flags alone; whiteouts and the unknown are refused") func renaming() throws {
    #expect(try RenameStyle(flags: 0) == .replace)
    #expect(try RenameStyle(flags: 1) == .noReplace)
    #expect(try RenameStyle(flags: 2) == .exchange)
    for flags in [UInt32(3), 4, 5, 8, .max] {
      #expect(throws: Errno.invalid) { try RenameStyle(flags: flags) }
    }
  }
}
