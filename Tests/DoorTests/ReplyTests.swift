// Replies byte by byte: where each field stands, and what surrounds them.

import CFUSE
import Glibc
import Testing

@testable import FUSEDoor
@testable import LayeredVolume
@testable import LinuxFiles

/// Every field has a value of its own, so that none can stand in another's place.
let attributes = {
  var shown = Attributes(kind: .regular, mode: 0o4751)
  (shown.inode, shown.size) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718)
  (shown.blocks, shown.blockSize) = (0x2122_2324_2526_2728, 0x3132_3334)
  shown.access = Timestamp(seconds: 0x4142_4344, nanoseconds: 0x0511_2233)
  shown.modification = Timestamp(seconds: 0x5152_5354, nanoseconds: 0x0611_2233)
  shown.change = Timestamp(seconds: 0x6162_6364, nanoseconds: 0x0711_2233)
  shown.birth = Timestamp(seconds: 0x7172_7374, nanoseconds: 0x0811_2233)
  (shown.linkCount, shown.user, shown.group) = (0x8182_8384, 0x9192_9394, 0xA1A2_A3A4)
  return shown
}()

/// The same as bytes.
let attributeBytes = hex(
  "0807060504030201",  // ino
  "1817161514131211",  // size
  "2827262524232221",  // blocks
  "4443424100000000 5453525100000000 6463626100000000",  // access, modification, change
  "33221105 33221106 33221107",  // their nanoseconds
  "e9890000",  // mode: a regular file, 4751
  "84838281 94939291 a4a3a2a1",  // links, user, group
  "00000000 34333231 00000000")  // device, block size, flags

let entry = Entry(
  node: 0xB1B2_B3B4_B5B6_B7B8, attributes: attributes, nameValidity: .seconds(3),
  attributeValidity: .unlimited)

let entryBytes =
  hex(
    "b8b7b6b5b4b3b2b1 0000000000000000",  // node, generation
    "0300000000000000 ffffff7f00000000",  // validity of the name and of the attributes
    "00000000 00000000")  // their nanoseconds
  + attributeBytes

/// Bytes from hexadecimal text; blanks part pieces.
func hex(_ pieces: String...) -> [UInt8] {
  let digits = pieces.joined().utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// The body that `make` makes.
func body(capacity: Int = 4096, _ make: (inout ReplyBuffer) throws -> Void) rethrows -> [UInt8] {
  var buffer = ReplyBuffer(capacity: capacity)
  try make(&buffer)
  return buffer.withFramed(unique: 1, failure: 0) { framed in
    unsafe framed.withUnsafeBytes { unsafe Array($0.dropFirst(16)) }
  }
}

@Suite("Errors in replies") struct ErrorTests {
  @Test("A reply never says that the mount is not connected, nor a number that the kernel does not take")
  func numbers() {
    for error in [ENOTCONN, ESHUTDOWN, ECONNABORTED, 0, -1, 512, CInt.max] {
      #expect(Errno(rawValue: error).forKernel == EIO)
    }
    for error in [EPERM, ENOENT, EROFS, ENODEV, ETIMEDOUT, ESTALE, 511] {
      #expect(Errno(rawValue: error).forKernel == error)
    }
  }
}

@Suite("Replies") struct ReplyTests {
  @Test("The frame: length, negated error, the request's number") func frame() throws {
    var buffer = ReplyBuffer(capacity: 64)
    try buffer.append(UInt32(0x0403_0201))
    let framed = buffer.withFramed(unique: 0x1817_1615_1413_1211, failure: 13) { bytes in
      unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
    }
    #expect(framed == hex("14000000 f3ffffff 1112131415161718 01020304"))
  }

  @Test("An entry") func found() throws {
    #expect(try body { try $0.append(entry) } == entryBytes)
  }

  @Test("A missing name is an entry without a node, with a validity") func missing() throws {
    let expected =
      hex("0000000000000000 0000000000000000 0500000000000000") + [UInt8](repeating: 0, count: 104)
    #expect(try body { try $0.appendMissing(.seconds(5)) } == expected)
  }

  @Test("Attributes") func stat() throws {
    let answer = AttributeAnswer(attributes: attributes, validity: .seconds(1))
    #expect(
      try body { try $0.append(answer) }
        == hex("0100000000000000 00000000 00000000") + attributeBytes)
  }

  @Test("statx with the time of birth") func extendedStatus() throws {
    let answer = AttributeAnswer(attributes: attributes, validity: .none)
    let expected =
      hex(
        "0000000000000000 00000000 00000000 0000000000000000 0000000000000000",  // validity, flags, spare
        "ff0f0000 34333231 0000000000000000",  // mask with birth, block size, attributes
        "84838281 94939291 a4a3a2a1 e989 0000",  // links, user, group, mode
        "0807060504030201 1817161514131211 2827262524232221",  // ino, size, blocks
        "0000000000000000",  // attributes mask
        "4443424100000000 33221105 00000000",  // access
        "7473727100000000 33221108 00000000",  // birth
        "6463626100000000 33221107 00000000",  // change
        "5453525100000000 33221106 00000000",  // modification
        "00000000 00000000 00000000 00000000")  // devices
      + [UInt8](repeating: 0, count: 112)
    #expect(try body { try $0.appendExtended(answer) } == expected)
  }

  @Test("statx without a time of birth does not claim one") func noBirth() throws {
    var plain = attributes
    plain.birth = nil
    let answer = AttributeAnswer(attributes: plain, validity: .none)
    let sent = try body { try $0.appendExtended(answer) }
    #expect(Array(sent[32..<36]) == hex("ff070000"))
  }

  @Test("A time before 1970 keeps its sign") func negativeTime() throws {
    var old = attributes
    old.access = Timestamp(seconds: -2, nanoseconds: 5)
    let sent = try body { try $0.append(AttributeAnswer(attributes: old, validity: .none)) }
    #expect(Array(sent[40..<48]) == hex("feffffffffffffff"))
  }

  @Test(
    "Open flags: no FLUSH, and the route to the bytes",
    arguments: [
      (Route.cached(keepsPages: true), UInt32(0x22), "00000000"),
      (.cached(keepsPages: false), 0x20, "00000000"),
      (.direct, 0x21, "00000000"), (.backing(7), 0xA0, "07000000"),
      (.mapped(8), 0xA1, "08000000"),
    ])
  func open(_ route: Route, _ flags: UInt32, _ backing: String) throws {
    let sent = try body { try $0.appendOpenFile(OpenAnswer(handle: 0x0102, route: route)) }
    #expect(sent == hex("0201000000000000") + bytes(of: flags) + hex(backing))
  }

  @Test("An open directory has no flags") func openDirectory() throws {
    let sent = try body { try $0.appendOpenDirectory(9, .asked) }
    #expect(sent == hex("0900000000000000 00000000 00000000"))
  }

  @Test("How full the file system is") func space() throws {
    let status = FileSystemStatus(
      blockSize: 4096, fragmentSize: 512, blocks: 1, freeBlocks: 2, availableBlocks: 3, files: 4,
      freeFiles: 5,
      nameMax: 255, isReadOnly: false, magic: 0)
    let expected =
      hex(
        "0100000000000000 0200000000000000 0300000000000000 0400000000000000 0500000000000000",
        "00100000 ff000000 00020000 00000000")  // block size, name length, fragment size, padding
      + [UInt8](repeating: 0, count: 24)
    #expect(try body { try $0.append(status) } == expected)
  }

  @Test("Small ones: written, needed, an ioctl with 4 bytes") func small() throws {
    #expect(try body { try $0.appendWritten(0x0102) } == hex("02010000 00000000"))
    #expect(try body { try $0.appendWritten(1 << 40) } == hex("ffffffff 00000000"))
    #expect(try body { try $0.appendNeeded(3) } == hex("03000000 00000000"))
    #expect(
      try body { try $0.appendControl(UInt32(0x30)) }
        == [UInt8](repeating: 0, count: 16) + hex("30000000"))
  }

  @Test("A reply that does not fit is an error, not a trap") func full() {
    var buffer = ReplyBuffer(capacity: 100)
    #expect(throws: Errno.inputOutput) { try buffer.append(entry) }
    #expect(buffer.count == 0)
    #expect(throws: Errno.inputOutput) { try buffer.appendZeros(101) }
    #expect(throws: Errno.inputOutput) { try buffer.append([UInt8](repeating: 1, count: 101).span) }
  }

  @Test("Filling stays within the limit, whatever the filler claims") func fill() throws {
    for (claim, expected) in [(4, 4), (1000, 8), (-3, 0)] {
      var buffer = ReplyBuffer(capacity: 100)
      try buffer.fill(upTo: 8) { bytes throws(Errno) in
        #expect(bytes.count == 8)
        return claim
      }
      #expect(buffer.count == expected)
    }
    var small = ReplyBuffer(capacity: 4)
    try small.fill(upTo: .max) { bytes throws(Errno) in bytes.count }
    #expect(small.count == 4)
  }

  @Test("Error numbers that the kernel would refuse become EIO") func refusedNumbers() {
    #expect(Errno.noSuchFile.forKernel == 2)
    #expect(Errno(rawValue: 511).forKernel == 511)
    for number in [CInt(0), -5, 512, 514, .max, .min] {
      #expect(Errno(rawValue: number).forKernel == Errno.inputOutput.rawValue)
    }
  }
}
