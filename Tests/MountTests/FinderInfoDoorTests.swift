// FinderInfo and the flag `hidden`: one truth under three names.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Finder information on a mount", .timeLimit(.minutes(1))) struct FinderInfoDoorTests {
    private static let spellings = ["com.apple.FinderInfo", "user.com.apple.FinderInfo"]

    private static func info(type: String = "", invisible: Bool = false) -> [UInt8] {
      var bytes = Array(type.utf8) + [UInt8](repeating: 0, count: 32 - type.utf8.count)
      if invisible { bytes[8] = 0x40 }
      return bytes
    }

    @Test("The invisible bit is the flag hidden, whichever way either is changed") func invisible() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let paths = [
        try volume.file("f", 1001, 2001, 0o644), try volume.directory("d", 1001, 2001, 0o755),
      ]
      for path in paths {
        for name in Self.spellings {
          let other = Self.spellings.first { $0 != name } ?? ""
          #expect(Attribute.get(path, name).refusal == .noData)
          #expect(try Attribute.names(path).get() == [])
          #expect(
            TestUser.alice.run { Attribute.set(path, name, Self.info(type: "TEXT", invisible: true)) } == nil)
          #expect(try Attribute.text(path, Attribute.flags).get() == "hidden")
          #expect(try Attribute.get(path, other).get() == Self.info(type: "TEXT", invisible: true))
          #expect(try Attribute.names(path).get() == ["user.com.apple.FinderInfo"])

          try #require(Attribute.set(path, Attribute.flags, "nodump") == nil)
          #expect(try Attribute.get(path, name).get() == Self.info(type: "TEXT"))
          #expect(Attribute.set(path, other, Self.info(invisible: true)) == nil)
          #expect(try Attribute.text(path, Attribute.flags).get() == "nodump,hidden")
          // Only the flag is left to keep.
          let below = volume.upper + path.dropFirst(volume.path.count)
          #expect(Attribute.get(below, "user.com.apple.FinderInfo").refusal == .noData)
          #expect(try Attribute.names(path).get() == ["user.com.apple.FinderInfo"])

          // Nothing but zeros is the same as no attribute.
          #expect(Attribute.set(path, name, Self.info()) == nil)
          #expect(try Attribute.text(path, Attribute.flags).get() == "nodump")
          #expect(Attribute.get(path, name).refusal == .noData)
          #expect(Attribute.remove(path, name) == .noData)
          try #require(Attribute.set(path, Attribute.flags, "hidden") == nil)
          #expect(try Attribute.get(path, name).get() == Self.info(invisible: true))
          #expect(Attribute.remove(path, other) == nil)
          #expect(try Attribute.text(path, Attribute.flags).get() == "")
        }
      }
    }

    @Test("It is created, replaced and refused like any attribute; another length is EINVAL")
    func settings() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      for name in Self.spellings {
        for count in [0, 1, 31, 33, 402] {
          #expect(Attribute.set(path, name, [UInt8](repeating: 1, count: count)) == .invalid)
        }
        #expect(Attribute.set(path, name, Self.info(type: "APPL"), flags: 2) == .noData)
        #expect(Attribute.set(path, name, Self.info(type: "APPL"), flags: 1) == nil)
        #expect(Attribute.set(path, name, Self.info(type: "TEXT"), flags: 1) == .exists)
        #expect(Attribute.set(path, name, Self.info(), flags: 2) == nil)
        // A hidden item has one.
        try #require(Attribute.set(path, Attribute.flags, "hidden") == nil)
        #expect(Attribute.set(path, name, Self.info(type: "TEXT"), flags: 1) == .exists)
        #expect(Attribute.set(path, name, Self.info(), flags: 2) == nil)
      }
      // What lies behind the mount with another length, or with the bit, does not count.
      try #require(Attribute.set(volume.upper + "/f", "user.com.apple.FinderInfo", "short") == nil)
      #expect(Attribute.get(path, Self.spellings[0]).refusal == .noData)
      try #require(
        Attribute.set(volume.upper + "/f", "user.com.apple.FinderInfo", Self.info(type: "A", invisible: true))
          == nil)
      #expect(try Attribute.get(path, Self.spellings[0]).get() == Self.info(type: "A"))
    }

    @Test("The rest takes the right to attributes, the bit takes that of chflags; refused, nothing changes")
    func rights() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, list: ["user:1002 allow writeextattr"])
      for name in Self.spellings {
        #expect(TestUser.carol.run { Attribute.set(path, name, Self.info(type: "A")) } == .accessDenied)
        #expect(TestUser.bob.run { Attribute.set(path, name, Self.info(type: "A")) } == nil)
        #expect(
          TestUser.bob.run { Attribute.set(path, name, Self.info(type: "B", invisible: true)) }
            == .notPermitted)
        #expect(try Attribute.get(path, name).get() == Self.info(type: "A"))
        #expect(
          TestUser.alice.run { Attribute.set(path, name, Self.info(type: "B", invisible: true)) } == nil)
        #expect(TestUser.bob.run { Attribute.remove(path, name) } == .notPermitted)
        #expect(try Attribute.get(path, name).get() == Self.info(type: "B", invisible: true))
        try #require(Attribute.set(path, Attribute.flags, "uchg,hidden") == nil)
        for user in [TestUser.alice, .root] {
          #expect(user.run { Attribute.set(path, name, Self.info()) } == .notPermitted)
        }
        try #require(Attribute.set(path, Attribute.flags, "") == nil)
        #expect(TestUser.bob.run { Attribute.remove(path, name) } == nil)
      }
    }

    @Test("Whoever may not read the flags does not find out here that an item is hidden") func secrecy()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let paths = [
        try volume.file("f", 1001, 2001, 0o644, list: ["user:1002 deny readattr"], flags: "hidden"),
        try volume.directory("d", 1001, 2001, 0o755, list: ["user:1002 deny readattr"], flags: "hidden"),
      ]
      for path in paths {
        for name in Self.spellings {
          #expect(TestUser.bob.run { Attribute.get(path, Attribute.flags).refusal } == .accessDenied)
          #expect(TestUser.bob.run { Attribute.get(path, name).refusal } == .noData)
          #expect(try TestUser.carol.run { Attribute.get(path, name) }.get() == Self.info(invisible: true))
        }
        #expect(try TestUser.bob.run { Attribute.names(path) }.get() == [])
        // What is stored beside the flag is an attribute like any other.
        try #require(
          Attribute.set(path, Self.spellings[0], Self.info(type: "TEXT", invisible: true)) == nil)
        #expect(
          try TestUser.bob.run { Attribute.get(path, Self.spellings[0]) }.get() == Self.info(type: "TEXT"))
        #expect(try TestUser.bob.run { Attribute.names(path) }.get() == ["user.com.apple.FinderInfo"])
      }
    }

    @Test("Copies of hidden items are hidden, and links keep the bit but nothing else") func copies() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, flags: "hidden")
      try Program.shell(
        "cp -a f g; rsync -aX f r; tar --xattrs -cf t f; mkdir x; tar --xattrs -xf t -C x", in: volume.path)
      for copy in ["g", "r", "x/f"] {
        #expect(try Attribute.text("\(volume.path)/\(copy)", Attribute.flags).get() == "hidden", "\(copy)")
      }
      #expect(Attribute.remove(path, Self.spellings[0]) == nil)
      let link = volume.path + "/link"
      try #require(symlink("f", link) == 0)
      #expect(Attribute.set(link, Self.spellings[0], Self.info(invisible: true)) == nil)
      #expect(try Attribute.text(link, Attribute.flags).get() == "hidden")
      #expect(Attribute.set(link, Self.spellings[0], Self.info(type: "A")) == .notPermitted)
      #expect(try Attribute.get(link, Self.spellings[0]).get() == Self.info(invisible: true))
      // Linux lets nobody read what would be listed there.
      #expect(try Attribute.names(link).get() == [])
    }
  }
}
