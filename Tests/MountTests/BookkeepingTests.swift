// The hidden directory of a volume when it is gone, or another's.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Bookkeeping that is gone or exchanged", .timeLimit(.minutes(3))) struct BookkeepingTests {
    private func status(_ volume: MountedVolume) throws -> String {
      try Text.read(volume.path + "/.varve/status")
    }

    private func believesRecords(_ volume: MountedVolume) throws -> Bool {
      try status(volume).contains("\"recordsExist\":true")
    }

    /// What a check answers: its exit status and what it says, with a blank between.
    private func check(
      _ volume: MountedVolume, _ words: [String] = ["--repair", "-y"], path: String? = nil
    ) throws -> String {
      let result = try Program.run(Program.built("varve"), ["check"] + words + [path ?? volume.upper])
      return "\(result.exit) \(result.output)"
    }

    @Test("Flags and lists count also where the bookkeeping was moved away or did not come back")
    func gone() throws {
      for way in ["mv .varve moved", "rm -r .varve"] {
        let volume = try MountedVolume()
        defer { volume.remove() }
        let locked = try volume.file("locked", 1001, 2001, 0o666, flags: "uchg")
        let closed = try volume.directory("closed", 1001, 2001, 0o777, list: ["user:1002 deny search,list"])
        let inner = try volume.file("closed/f", 1001, 2001, 0o666)
        try volume.unmount()
        try Program.shell(way, in: volume.upper)
        try volume.mount()
        #expect(try Shown(of: locked).flags == "uchg", "\(way)")
        for user in [TestUser.bob, .root] {
          #expect(user.run { Calls.open(locked, O_WRONLY) } == .notPermitted, "\(way)")
        }
        #expect(TestUser.bob.run { Calls.list(closed).refusal } == .accessDenied, "\(way)")
        #expect(TestUser.bob.run { Calls.status(inner).refusal } == .accessDenied, "\(way)")
        try volume.unmount()
      }
    }

    @Test(
      "Only an empty directory begins without records; a check that has looked at everything says so later")
    func beginning() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      #expect(try !believesRecords(volume))
      #expect(Calls.write(volume.path + "/plain", "text") == nil)
      try volume.unmount()
      #expect(try check(volume).hasPrefix("0 "))
      try Program.shell("rm -r .varve && mkdir -p d/e && touch d/e/f", in: volume.upper)
      try volume.mount()
      #expect(try believesRecords(volume))
      try volume.unmount()
      // Neither a look, nor a part, nor a tree with something mounted in it is everything.
      #expect(try check(volume, []) == "0 ")
      #expect(try check(volume, path: volume.upper + "/d") == "0 ")
      try #require(mount("tmpfs", volume.upper + "/d/e", "tmpfs", 0, "") == 0)
      #expect(try check(volume) == "0 ")
      umount2(volume.upper + "/d/e", CInt(MNT_DETACH))
      try #require(mount(volume.upper + "/d", volume.upper + "/d/e", nil, UInt(MS_BIND), nil) == 0)
      #expect(try check(volume) == "0 ")
      umount2(volume.upper + "/d/e", CInt(MNT_DETACH))
      try volume.mount()
      #expect(try believesRecords(volume))
      try volume.unmount()
      let cleared = try check(volume)
      #expect(cleared.hasPrefix("0 ") && cleared.contains("none has one"), "\(cleared)")
      try volume.mount()
      #expect(try !believesRecords(volume))
      // The first record is announced as ever.
      #expect(Attribute.set(volume.path + "/plain", Attribute.flags, "hidden") == nil)
      #expect(try believesRecords(volume))
      try volume.unmount()
      #expect(try check(volume) == "0 ")
      try volume.mount()
      #expect(try Shown(of: volume.path + "/plain").flags == "hidden")
      try volume.unmount()
    }

    @Test("A mount takes its own bookkeeping or none, while the owner of the upper directory exchanges it")
    func exchanged() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let own = try #require(try status(volume).firstMatch(of: /"uuid":"([^"]*)"/)).1
      let uuid = String(own)
      try volume.unmount()
      let upper = volume.upper
      try Program.shell(
        """
        chown 1002:1002 . && install -d -m 700 -o 1002 -g 1002 theirs
        printf 'varve-volume 1\\nuuid = theirs\\ncreated = 1\\nxattr = user\\n' > theirs/volume
        touch theirs/lock && chmod 600 theirs/* && chown 1002:1002 theirs/*
        """, in: upper)
      let end = Signal()
      let racer = ThreadBox(
        try PlainThread {
          TestUser.bob.run {
            while !end.isGiven {
              _ = lt_renameat2(AT_FDCWD, upper + "/.varve", AT_FDCWD, upper + "/theirs", 2)
            }
          }
        })
      defer { racer.join() }
      defer { end.give() }
      var mounted = 0
      for _ in 0..<60 {
        let result = try Program.run(Program.built("varve"), ["mount", upper, volume.path])
        guard result.exit == 0 else {
          #expect(result.output.contains("'.varve'"), "\(result.output)")
          continue
        }
        mounted += 1
        #expect(try status(volume).contains("\"uuid\":\"\(uuid)\""))
        try volume.unmount()
      }
      #expect(mounted > 0, "the race was not run")
    }
  }
}
