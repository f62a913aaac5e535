// Records that were damaged behind the volume: nothing is believed, nothing is changed.

import AccessControl
import CMountSupport
import FlagRules
import Glibc
import LinuxFiles
import MountSupport
import RecordFormat
import Testing

extension MountTests {
  @Suite("Damaged records on a mount", .timeLimit(.minutes(2))) struct HostileRecordTests {
    private static let core = "trusted.varve.m"
    private static let list = "trusted.varve.acl"

    /// Everything that changes an object or shows its content, with the call's name.
    private static func changes(_ path: String) -> [String: Errno?] {
      [
        "open": Calls.open(path, O_RDONLY), "write": Calls.open(path, O_WRONLY),
        "append": Calls.open(path, O_WRONLY | O_APPEND), "truncate": Calls.answer(truncate(path, 1)),
        "chmod": Calls.answer(chmod(path, 0o600)), "chown": Calls.answer(chown(path, 1001, 2001)),
        "times": Calls.setTimes(path),
        "touch": Calls.setTimes(path, access: Calls.now, modification: Calls.now),
        "flags": Attribute.set(path, Attribute.flags, "hidden"),
        "no flags": Attribute.set(path, Attribute.flags, ""),
        "list": Attribute.set(path, Attribute.list, "user:1 allow read"),
        "xattr": Attribute.set(path, "user.x", "y"), "rename": Calls.answer(rename(path, path + "2")),
        "link": Calls.answer(link(path, path + "3")), "unlink": Calls.answer(unlink(path)),
        "read flags": Attribute.get(path, Attribute.flags).refusal,
        "read list": Attribute.get(path, Attribute.list).refusal,
      ]
    }

    @Test("Whichever byte of a record is wrong: it can be looked at, and nothing else")
    func everyByte() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file(
        "f", 1001, 2001, 0o666, list: ["group:everyone allow write"], flags: "uchg,hidden")
      let below = volume.upper + "/f"
      let good = try Attribute.get(below, HostileRecordTests.core).get()
      #expect(good.count == 16)
      let early = open(path, O_RDONLY)
      try #require(early >= 0)
      defer { close(early) }
      var bad = good.indices.flatMap { index in
        [UInt8(0x01), 0x80, 0xFF].map { mask in
          var bytes = good
          bytes[index] ^= mask
          return bytes
        }
      }
      bad += (0..<good.count).map { Array(good.prefix($0)) }
      bad += [good + [0], good + good, Array(repeating: 0, count: 16), Array(repeating: 0xA7, count: 300)]
      for bytes in bad {
        try #require(Attribute.set(below, HostileRecordTests.core, bytes) == nil)
        // Others may be denied readattr by a list that nobody knows of now.
        #expect(TestUser.alice.run { Calls.status(path).refusal } == .inputOutput, "\(bytes)")
        #expect(Calls.status(path).refusal == nil, "\(bytes)")
        for user in [TestUser.alice, .root] {
          let seen = user.run { HostileRecordTests.changes(path) }
          let wrong = seen.filter { $0.value != .inputOutput }
          #expect(wrong == [:], "\(user): \(bytes)")
        }
        var word: UInt32 = 0
        #expect(lt_inode_flags(early, &word) == -Int(EIO), "\(bytes)")
        #expect(lt_set_inode_flags(early, 0) == -Int(EIO), "\(bytes)")
        #expect(
          try Attribute.get(below, HostileRecordTests.core).get() == bytes, "nothing repairs by the way")
      }
      #expect(try Calls.list(volume.path).get() == ["f"])
      try #require(Attribute.set(below, HostileRecordTests.core, good) == nil)
      #expect(try Shown(of: path).flags == "uchg,hidden")
      #expect(try Calls.read(path).get() == "content")
    }

    @Test(
      "Nothing is reached below a directory whose record is damaged, or has a bit that nobody knows",
      arguments: [[0xA7, 9, 9], CoreRecord.bytes(withBit: 5)] as [[UInt8]])
    func directories(record: [UInt8]) throws {
      let volume = try MountedVolume("cache=none")
      defer { volume.remove() }
      let path = try volume.directory("d", 1001, 2001, 0o777, flags: "hidden")
      _ = try volume.file("d/f", 1001, 2001, 0o666)
      try #require(Attribute.set(volume.upper + "/d", HostileRecordTests.core, record) == nil)
      for user in [TestUser.alice, .root] {
        let seen = user.run {
          [
            Calls.list(path).refusal, Calls.status(path + "/f").refusal, Calls.open(path + "/f", O_RDONLY),
            Calls.status(path + "/none").refusal, Calls.answer(chmod(path + "/f", 0o600)),
            Calls.create(path + "/new"), Calls.answer(mkdir(path + "/sub", 0o755)),
            Calls.answer(unlink(path + "/f")), Calls.answer(rename(path + "/f", path + "/g")),
            Calls.answer(symlink("x", path + "/l")), Calls.answer(chmod(path, 0o755)),
          ]
        }
        #expect(seen == Array(repeating: Errno.inputOutput, count: 11), "\(user)")
      }
      #expect(Calls.status(path).refusal == nil)
      #expect(try Calls.list(volume.upper + "/d").get() == ["f"])
    }

    @Test(
      "A list that is announced and missing, or damaged, refuses everybody but root; its owner can set another"
    )
    func lists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666, list: ["user:1003 deny read"])
      let below = volume.upper + "/f"
      let good = try Attribute.get(below, HostileRecordTests.list).get()
      var bad: [[UInt8]?] = good.indices.map { index in
        var bytes = good
        bytes[index] ^= 0x40
        return bytes
      }
      bad += (0..<good.count).map { Array(good.prefix($0)) } + [good + good, nil]
      for bytes in bad {
        if let bytes {
          try #require(Attribute.set(below, HostileRecordTests.list, bytes) == nil)
        } else {
          try #require(Attribute.remove(below, HostileRecordTests.list) == nil)
        }
        for user in [TestUser.alice, .bob] {
          let seen = user.run {
            [
              Calls.open(path, O_RDONLY), Calls.open(path, O_WRONLY), Attribute.set(path, "user.x", "y"),
              Attribute.get(path, Attribute.list).refusal,
            ]
          }
          #expect(seen == Array(repeating: Errno.inputOutput, count: 4), "\(user): \(bytes ?? [])")
        }
        #expect(Calls.open(path, O_RDWR) == nil)
      }
      let own = "user:1002 deny write"
      #expect(TestUser.bob.run { Attribute.set(path, Attribute.list, own) } == .inputOutput)
      #expect(TestUser.alice.run { Attribute.set(path, Attribute.list, own) } == nil)
      #expect(TestUser.bob.run { Calls.open(path, O_WRONLY) } == .accessDenied)
      #expect(TestUser.alice.run { Calls.open(path, O_WRONLY) } == nil)
      try #require(Attribute.set(below, HostileRecordTests.list, good.dropLast()) == nil)
      #expect(Attribute.remove(path, Attribute.list) == nil, "root can always take it away")
      #expect(TestUser.carol.run { Calls.open(path, O_RDONLY) } == nil)
    }

    @Test("A list nobody announced is residue, and counts for nothing")
    func residue() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, flags: "hidden")
      let list = AccessList([AccessEntry(.deny, .everyone, .genericAll)])
      try #require(
        Attribute.set(volume.upper + "/f", HostileRecordTests.list, try AccessListBytes.encode(list)) == nil)
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == nil)
      #expect(Attribute.get(path, Attribute.list).refusal == .noData)
    }

    @Test("Records in the namespace that is not the volume's are nobody's records")
    func forgery() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.file("marked", 0, 0, 0o644, flags: "hidden")
      let path = try volume.file("f", 1001, 2001, 0o644)
      var record = CoreRecord()
      record.flags = [.userImmutable]
      try #require(Attribute.set(volume.upper + "/f", "user.varve.m", record.encoded()) == nil)
      #expect(try Shown(of: path).flags == "")
      #expect(TestUser.alice.run { Calls.write(path, "x") } == nil)
    }
  }
}

extension CoreRecord {
  /// A record in which one more presence bit is set.
  static func bytes(withBit bit: Int) -> [UInt8] {
    var record = CoreRecord()
    record.flags = .noDump
    var bytes = record.encoded()
    bytes[2 + bit / 8] |= 1 << UInt8(bit % 8)
    let sum = CRC32C.of(bytes.span, withoutField: 8)
    for index in 0..<4 { bytes[8 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
    return bytes
  }
}
