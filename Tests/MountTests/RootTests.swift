import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Root and its capabilities", .timeLimit(.minutes(2))) struct RootTests {
    // Numbers of capabilities(7).
    private static let chown: UInt64 = 1 << 0
    private static let override: UInt64 = 1 << 1
    private static let readSearch: UInt64 = 1 << 2
    private static let owner: UInt64 = 1 << 3
    private static let setID: UInt64 = 1 << 4
    private static let immutable: UInt64 = 1 << 9
    private static let node: UInt64 = 1 << 27
    private static let everything = chown | override | readSearch | owner | setID | immutable | node

    /// What root may do to things of others, and the capabilities of which each is enough.
    struct Privilege: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let enough: [UInt64]
      let refusal: Errno
      let perform: @Sendable (String) -> Errno?

      init(
        _ name: String, _ enough: [UInt64], _ refusal: Errno = .notPermitted,
        _ perform: @escaping @Sendable (String) -> Errno?
      ) {
        (testDescription, self.enough, self.refusal, self.perform) = (name, enough, refusal, perform)
      }
    }

    static let privileges = [
      Privilege("read a file", [override, readSearch], .accessDenied) { Calls.open($0 + "/file", O_RDONLY) },
      Privilege("write to a file", [override], .accessDenied) { Calls.open($0 + "/file", O_WRONLY) },
      Privilege("read and write", [override], .accessDenied) { Calls.open($0 + "/file", O_RDWR) },
      Privilege("cut a file", [override], .accessDenied) { Calls.answer(truncate($0 + "/file", 0)) },
      Privilege("list", [override, readSearch], .accessDenied) { Calls.list($0 + "/closed").refusal },
      Privilege("search", [override, readSearch], .accessDenied) { Calls.status($0 + "/closed/in").refusal },
      Privilege("create", [override], .accessDenied) { Calls.create($0 + "/closed/new") },
      Privilege("remove", [override], .accessDenied) { Calls.answer(unlink($0 + "/closed/in")) },
      Privilege("remove where it is sticky", [owner], .accessDenied) {
        Calls.answer(unlink($0 + "/sticky/in"))
      },
      Privilege("run what others run", [override], .accessDenied) { Calls.execute($0 + "/program") },
      Privilege("read attributes that are denied", [override, readSearch], .accessDenied) {
        Calls.status($0 + "/hidden").refusal
      },
      Privilege("set an attribute", [override], .accessDenied) { Attribute.set($0 + "/file", "user.a", "x") },
      Privilege("chmod", [owner]) { Calls.answer(chmod($0 + "/file", 0o666)) },
      Privilege("set a list", [owner]) { Attribute.set($0 + "/file", Attribute.list, "user:0 allow read") },
      Privilege("set flags", [owner]) { Attribute.set($0 + "/file", Attribute.flags, "uchg") },
      Privilege("set times", [owner]) { Calls.setTimes($0 + "/file") },
      Privilege("set times to now", [owner, override], .accessDenied) {
        Calls.setTimes($0 + "/file", access: Calls.now, modification: Calls.now)
      },
      Privilege("take a file", [chown]) { Calls.answer(Glibc.chown($0 + "/file", 0, gid_t.max)) },
      Privilege("give a file away", [chown]) { Calls.answer(Glibc.chown($0 + "/own", 1001, gid_t.max)) },
      Privilege("hand a file to a group", [chown]) {
        Calls.answer(Glibc.chown($0 + "/own", uid_t.max, 2001))
      },
      Privilege("lock its own file for all", [immutable]) {
        Attribute.set($0 + "/own", Attribute.flags, "schg")
      },
      Privilege("unlock", [immutable]) { Attribute.set($0 + "/locked", Attribute.flags, "") },
      Privilege("make a device", [node]) { Calls.answer(mknod($0 + "/device", S_IFCHR | 0o600, 0x103)) },
      Privilege("link to a file it cannot read", [owner, override]) {
        Calls.answer(link($0 + "/file", $0 + "/further"))
      },
    ]

    /// A directory with things of user 1001 in it, and a few of root.
    private static func furnish(_ path: String) throws {
      try Program.shell(
        """
        mkdir closed sticky; for name in file closed/in sticky/in hidden; do echo text > $name; done
        printf '#!/bin/sh\n' > program; chmod 0600 file; chmod 0700 closed program; chmod 1777 sticky
        chown -R 1001:2001 *; echo text > own; echo text > locked; chmod 0600 own locked
        setfattr -n system.varve.flags -v schg locked
        setfattr -n system.varve.acl -v 'everyone deny readattr' hidden
        """, in: path)
    }

    /// What user 0 is answered with no capabilities but these; every attempt finds everything as it was.
    private static func attempt(
      _ privilege: Privilege, _ held: UInt64, _ volume: MountedVolume, _ number: Int
    ) throws -> Errno? {
      let path = "\(volume.path)/\(number)"
      try #require(mkdir(path, 0o755) == 0)
      try furnish(path)
      return TestUser.root.run {
        guard lt_keep_capabilities(held) == 0 else { return .invalid }
        return privilege.perform(path)
      }
    }

    @Test(
      "User 0 may do to things of others what its capabilities are for, and nothing else",
      arguments: privileges)
    func capabilities(privilege: Privilege) throws {
      let volume = try MountedVolume("dev")
      defer { volume.remove() }
      #expect(try RootTests.attempt(privilege, 0, volume, 0) == privilege.refusal)
      let others = privilege.enough.reduce(RootTests.everything) { $0 & ~$1 }
      // A program of another user is started by a shell, which searches and reads.
      #expect(try RootTests.attempt(privilege, others, volume, 1) == privilege.refusal)
      for (index, enough) in privilege.enough.enumerated() {
        #expect(try RootTests.attempt(privilege, enough, volume, 2 + index) == nil, "\(enough)")
      }
      #expect(try RootTests.attempt(privilege, RootTests.everything, volume, 9) == nil)
      // It is the volume's rule, not this test's: a file of its own is root's without any.
      let path = volume.path + "/0/own"
      let own = TestUser.root.run { lt_keep_capabilities(0) == 0 ? Calls.open(path, O_RDWR) : .invalid }
      #expect(own == nil)
    }

    @Test("Capabilities in another user namespace count for nothing on the volume")
    func ownUsers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try RootTests.furnish(volume.path)
      func cat(_ name: String, _ words: [String]) throws -> Int32 {
        let bare = ["--bounding-set=-all", "--inh-caps=-all"] + words + ["cat", name]
        return try Program.run("/usr/bin/setpriv", bare, in: volume.path).exit
      }
      #expect(try cat("own", ["unshare", "--user"]) == 0)
      #expect(try cat("file", ["unshare", "--user"]) == 1)
      #expect(try cat("file", []) == 1)
      #expect(try Program.run("/usr/bin/unshare", ["--user", "cat", "file"], in: volume.path).exit == 1)
    }

    @Test("Without CAP_FSETID a change of content takes set-id bits away, as from any other user")
    func setIDs() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/program"
      let changes: [(String, @Sendable (String) -> Bool)] = [
        ("write", { Calls.write($0, "x", 0) == nil }), ("append", { Calls.write($0, "x", O_APPEND) == nil }),
        ("open emptied", { Calls.open($0, O_WRONLY | O_TRUNC) == nil }), ("cut", { truncate($0, 1) == 0 }),
        (
          "allocate",
          { path in
            let file = open(path, O_WRONLY | O_CLOEXEC)
            defer { close(file) }
            return posix_fallocate(file, 0, 4096) == 0
          }
        ),
      ]
      for (name, change) in changes {
        for (held, mode) in [(RootTests.override, UInt32(0o755)), (RootTests.everything, 0o6755)] {
          try Program.shell("rm -f program; echo text > program; chmod 6755 program", in: volume.path)
          let isDone = TestUser.root.run { lt_keep_capabilities(held) == 0 && change(path) }
          #expect(isDone, "\(name)")
          #expect(try Calls.status(path).get().st_mode & 0o7777 == mode, "\(name) with \(held)")
        }
      }
      // A chmod asks for it, too, unless root is in the file's group.
      try Program.shell("chown 0:2001 program", in: volume.path)
      for (held, mode) in [(RootTests.owner, UInt32(0o755)), (RootTests.setID, 0o2755)] {
        let isDone = TestUser.root.run { lt_keep_capabilities(held) == 0 && chmod(path, 0o2755) == 0 }
        #expect(isDone)
        #expect(try Calls.status(path).get().st_mode & 0o7777 == mode)
      }
    }

    @Test("why and the list of denials say which capability is missing, and --as root assumes all")
    func told() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try RootTests.furnish(volume.path)
      let varve = Program.built("varve")
      func asked(_ words: String, bare: Bool) throws -> ProgramResult {
        let caps = bare ? "setpriv --bounding-set=-all --inh-caps=-all " : ""
        return try Program.run("/bin/sh", ["-c", "\(caps)\(varve) \(words)"], in: volume.path)
      }
      let missing = "user 0 is not root here without CAP_DAC_OVERRIDE"
      let why = try asked("why write file", bare: true)
      #expect(why.exit == 1 && why.output.contains(missing), "\(why.output)")
      #expect(try asked("why write file", bare: false).exit == 0)
      #expect(try asked("why --as root write file", bare: false).exit == 0)
      let refused = TestUser.root.run { [path = volume.path] in
        lt_keep_capabilities(0) == 0 ? Calls.open(path + "/file", O_WRONLY) : nil
      }
      #expect(refused == .accessDenied)
      let last = try asked("why --last", bare: false)
      #expect(last.output.contains(missing), "\(last.output)")
      // Refusals of others are told to a root that reads everything anyway.
      let path = volume.path + "/own"
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      #expect(try asked("why --last", bare: false).output.contains("own"))
      #expect(try !asked("why --last 9", bare: true).output.contains("own"))
    }

    @Test("Without CAP_SYS_ADMIN user 0 changes no option") func remount() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let varve = Program.built("varve")
      func remount(_ before: String) throws -> ProgramResult {
        try Program.run("/bin/sh", ["-c", "\(before) \(varve) remount -o chattr=user \(volume.path)"])
      }
      let refused = try remount("setpriv --bounding-set=-all --inh-caps=-all")
      #expect(refused.exit != 0 && refused.output.contains("CAP_SYS_ADMIN"), "\(refused.output)")
      #expect(try !Text.read(volume.path + "/.varve/status").contains("chattr=user"))
      #expect(try remount("").exit == 0)
      #expect(try Text.read(volume.path + "/.varve/status").contains("chattr=user"))
    }

    @Test("A worker of an io_uring has no group that its program has given up")
    func ringWorkers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/secret"
      try Program.shell("echo text > secret; chown 1001:2002 secret; chmod 0640 secret", in: volume.path)
      var (first, second) = (0, 0)
      let failure = lt_open_by_ring(path, 1002, 2009, 2002, &first, &second)
      // Where no program may have an io_uring there is nothing to find out.
      if failure == -Int(ENOSYS) || failure == -Int(EPERM) { return }
      try #require(failure >= 0, "\(Errno(rawValue: CInt(-failure)))")
      #expect(first == 0)
      #expect(second == -Int(EACCES))
    }
  }
}
