import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Set-id bits and who may lend an identity") struct SetIDTests {
    private static func mode(_ path: String) -> UInt32? {
      (try? Calls.status(path).get()).map { $0.st_mode & 0o7777 }
    }

    @Test("What a group owns, or every caller, gets no set-id bits, also from root")
    func sharedOwners() throws {
      let volume = try MountedVolume("suid")
      defer { volume.remove() }
      try Program.shell(
        """
        for name in group unknown; do echo text > $name; chmod 0755 $name; done; mkdir place
        setfattr -n system.varve.owner -v group:2002 group; setfattr -n system.varve.owner -v group:2002 place
        chown 99:99 unknown
        """, in: volume.path)
      let member = TestUser(1002, group: 2009, groups: [2002])
      for name in ["group", "unknown", "place"] {
        let path = "\(volume.path)/\(name)"
        for user in [member, .root] {
          #expect(user.run { Calls.answer(chmod(path, 0o4755)) } == .notPermitted, "\(name) by \(user)")
          #expect(user.run { Calls.answer(chmod(path, 0o750)) } == nil, "\(name) by \(user)")
        }
        #expect(SetIDTests.mode(path) == 0o750)
      }
      // setgid is dropped, not refused, as for those who are not in the file's group.
      for name in ["group", "unknown"] {
        let path = "\(volume.path)/\(name)"
        #expect(TestUser.root.run { Calls.answer(chmod(path, 0o2755)) } == nil)
        #expect(SetIDTests.mode(path) == 0o755)
      }
      // Nor is it made with them by whoever has that number.
      let path = volume.path + "/made"
      try Program.shell("chmod 0777 .", in: volume.path)
      #expect(TestUser(99, group: 99).run { Calls.create(path, mode: 0o6755) } == nil)
      #expect(SetIDTests.mode(path) == 0o755)
    }

    @Test(
      "Set-id bits from behind the mount are not shown where the owner is shared, and do not outlive a write")
    func fromBehind() throws {
      let volume = try MountedVolume("suid")
      defer { volume.remove() }
      let path = volume.path + "/program"
      try Program.shell("echo text > program; chown 99:99 program; chmod 6755 program", in: volume.upper)
      #expect(SetIDTests.mode(path) == 0o755)
      #expect(TestUser.bob.run { Calls.answer(chmod(path, 0o4755)) } == .notPermitted)
      #expect(TestUser.bob.run { Calls.write(path, "other", 0) } == nil)
      // As soon as it is somebody's own again it would run as that user.
      #expect(SetIDTests.mode(volume.upper + "/program") == 0o755)
    }

    @Test(
      "Administrators by group lend no identity but their own, and what they change loses its set-id bits")
    func administrators() throws {
      let volume = try MountedVolume("suid,admin_group=2003")
      defer { volume.remove() }
      try Program.shell(
        "echo text > program; chmod 0755 program; cp program other; chmod 6755 other; chmod 0777 .",
        in: volume.path)
      let admin = TestUser(1002, group: 2009, groups: [2003])
      let (program, other, own) = (volume.path + "/program", volume.path + "/other", volume.path + "/own")
      #expect(admin.run { Calls.write(program, "#!/bin/sh\n", 0) } == nil)
      #expect(admin.run { Calls.answer(chmod(program, 0o4755)) } == .notPermitted)
      #expect(admin.run { Calls.answer(chmod(program, 0o2755)) } == nil)
      #expect(SetIDTests.mode(program) == 0o755)
      #expect(admin.run { Calls.write(other, "x", 0) } == nil)
      #expect(SetIDTests.mode(other) == 0o755)
      try Program.shell("chmod 6755 other", in: volume.path)
      #expect(admin.run { Calls.answer(chmod(other, 0o711)) } == nil)
      #expect(SetIDTests.mode(other) == 0o711)
      // What is theirs they may set, and lose when they give it away.
      #expect(admin.run { Calls.create(own, mode: 0o700) ?? Calls.answer(chmod(own, 0o4755)) } == nil)
      #expect(SetIDTests.mode(own) == 0o4755)
      #expect(admin.run { Calls.answer(chown(own, 0, gid_t.max)) } == nil)
      #expect(SetIDTests.mode(own) == 0o755)
    }

    @Test(
      "Whoever opens another's file so that they could write by a mapping takes its set-id bits away",
      arguments: ["suid,admin_group=2003", "suid,admin_group=2003,passthrough=off"])
    func mappings(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let path = volume.path + "/tool"
      let admin = TestUser(1002, group: 2009, groups: [2003])
      /// Maps the file and writes one byte, so that no system call says so.
      @Sendable func map() -> Errno? {
        let file = open(path, O_RDWR)
        guard file >= 0 else { return .current }
        defer { close(file) }
        guard let bytes = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), bytes != MAP_FAILED
        else { return .current }
        bytes.storeBytes(of: 0x58, as: UInt8.self)
        msync(bytes, 4096, MS_SYNC)
        return Calls.answer(munmap(bytes, 4096))
      }
      for (owner, mode, user) in [
        (0, UInt32(0o4755), admin), (1001, 0o4777, .bob), (1001, 0o6777, .bob),
      ] {
        try Program.shell(
          "rm -f tool; head -c 8192 /dev/zero > tool; chown \(owner) tool", in: volume.path)
        try #require(chmod(path, mode) == 0)
        #expect(user.run { Calls.open(path, O_RDONLY) } == nil)
        #expect(SetIDTests.mode(path) == mode, "to read takes nothing away")
        #expect(user.run { map() } == nil)
        #expect(SetIDTests.mode(path) == mode & 0o777, "\(owner) \(mode)")
        #expect(SetIDTests.mode(volume.upper + "/tool") == mode & 0o777)
      }
      // Also where bits were set behind the mount, after somebody had looked.
      let kept = admin.run { open(path, O_RDWR | O_CLOEXEC) }
      defer { close(kept) }
      try #require(kept >= 0 && chmod(volume.upper + "/tool", 0o4777) == 0)
      #expect(admin.run { map() } == nil)
      #expect(SetIDTests.mode(volume.upper + "/tool") == 0o777)
      // As natively, owners may map their own programs, and root those of others.
      try Program.shell("chmod 4755 tool", in: volume.path)
      #expect(TestUser.alice.run { map() } == nil)
      #expect(TestUser.root.run { map() } == nil)
      #expect(SetIDTests.mode(path) == 0o4755)
    }

    @Test("chown(-1, -1) of a set-id file is for whoever may change its mode, too")
    func ownersCall() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/program"
      for (mode, after) in [(UInt32(0o6555), UInt32(0o555)), (0o4111, 0o111)] {
        try Program.shell("rm -f program; echo text > program; chown 1001:2001 program", in: volume.path)
        try #require(chmod(path, mode) == 0)
        #expect(TestUser.bob.run { Calls.answer(chown(path, uid_t.max, gid_t.max)) } == .notPermitted)
        #expect(SetIDTests.mode(path) == mode)
        #expect(TestUser.alice.run { Calls.answer(chown(path, uid_t.max, gid_t.max)) } == nil)
        #expect(SetIDTests.mode(path) == after)
      }
    }
  }

  @Suite("Names and who may make them") struct NameRuleTests {
    @Test("A file without a name takes the rights of a file with one: to search and to add")
    func unnamed() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let place = volume.path + "/place"
      func attempt(_ list: String) throws -> Errno? {
        try Program.shell("rm -rf place; mkdir -m 0711 place", in: volume.path)
        #expect(Attribute.set(place, Attribute.list, list) == nil)
        return TestUser.bob.run { Calls.open(place, lt_o_tmpfile | O_RDWR) }
      }
      #expect(try attempt("user:1002 allow list") == .accessDenied)
      #expect(try attempt("user:1002 allow add_file") == nil)
      #expect(try attempt("user:1002 deny search\nuser:1002 allow add_file") == .accessDenied)
    }

    @Test("A swap inside one directory asks for both kinds at once")
    func swap() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let place = volume.path + "/place"
      // A deny counts against anything of one request, also behind an entry that grants all that is left.
      let split = "user:1002 allow add_file,delete_child,search\nuser:1002 deny add_subdirectory"
      let late = "user:1002 allow add_file,add_subdirectory,delete_child,search"
      for (list, refusal) in [(split, Errno.accessDenied), (late, nil)] as [(String, Errno?)] {
        try Program.shell("rm -rf place; mkdir -m 0755 place place/b; echo text > place/a", in: volume.path)
        #expect(Attribute.set(place, Attribute.list, list) == nil)
        let seen = TestUser.bob.run {
          let answer = lt_renameat2(-100, place + "/a", -100, place + "/b", 2)
          return answer < 0 ? Errno(rawValue: CInt(-answer)) : nil
        }
        #expect(seen == refusal, "\(list)")
      }
    }

    @Test(
      "A further name for another's file takes the right to read and write it, as fs.protected_hardlinks says",
      .enabled(
        if: (try? Text.read("/proc/sys/fs/protected_hardlinks")) == "1\n", "needs fs.protected_hardlinks"))
    func links() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell(
        "mkdir -m 1777 open; for mode in 600 604 602 606; do echo > f$mode; chown 1001 f$mode; chmod $mode f$mode; done",
        in: volume.path)
      #expect(Attribute.set(volume.path + "/f604", Attribute.list, "user:1003 allow write") == nil)
      let path = volume.path
      func attempt(_ mode: String, _ user: TestUser) -> Errno? {
        user.run {
          defer { unlink("\(path)/open/\(mode)") }
          return Calls.answer(link("\(path)/f\(mode)", "\(path)/open/\(mode)"))
        }
      }
      for mode in ["600", "604", "602"] { #expect(attempt(mode, .bob) == .notPermitted, "\(mode)") }
      #expect(attempt("606", .bob) == nil)
      #expect(attempt("604", .carol) == nil)
      for user in [TestUser.alice, .root] { #expect(attempt("600", user) == nil) }
      let why = TestUser.bob.run {
        Calls.run([Program.built("varve"), "why", "link", path + "/f600", path + "/open/f600"])
      }
      #expect(why == 1)
    }

    @Test("The owner of a FIFO always finds it, and so does whoever may change its mode or list, and root")
    func pipes() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/place/pipe"
      try Program.shell("mkdir place; mkfifo place/pipe", in: volume.path)
      #expect(
        Attribute.set(path, Attribute.list, "user:1003 allow writesecurity\nuser:1001 deny read,write") == nil
      )
      try Program.shell("chown 1001 place place/pipe; chmod 0 place/pipe", in: volume.path)
      func find(_ user: TestUser) -> Errno? { user.run { Calls.status(path).refusal } }
      #expect(find(.alice) == nil)
      #expect(find(.carol) == nil)
      #expect(find(.bob) == .accessDenied)
      #expect(find(.root) == nil)
      let bare = TestUser.root.run { lt_keep_capabilities(0) == 0 ? Calls.status(path).refusal : nil }
      #expect(bare == .accessDenied)
    }
  }
}
