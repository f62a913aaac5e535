// What Linux or macOS binds us to, so that nobody has to believe it: docs/SEMANTICS.md tells how to live with it.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Limits that bind us") struct BindingLimitTests {
    @Test("fcntl turns a handle for appending into a writing one, as on macOS; uappnd keeps it appending")
    func appendingHandles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = ["user:1002 allow append,readattr", "user:1002 deny write"]
      let plain = try volume.file("plain", 1001, 2001, 0o644, list: list)
      let locked = try volume.file("locked", 1001, 2001, 0o644, list: list, flags: "uappnd")
      for (path, expected) in [(plain, "Xontent+"), (locked, "content+")] {
        #expect(TestUser.bob.run { Calls.open(path, O_WRONLY) } != nil)
        let refusal: Errno? = TestUser.bob.run {
          let file = open(path, O_WRONLY | O_APPEND)
          guard file >= 0 else { return .badDescriptor }
          defer { close(file) }
          guard write(file, "+", 1) == 1, fcntl(file, F_SETFL, 0) == 0 else { return .badDescriptor }
          return Calls.answer(pwrite(file, "X", 1, 0))
        }
        #expect(refusal == (path == plain ? nil : .notPermitted))
        #expect(try Calls.read(path).get() == expected)
      }
    }

    @Test("AT_STATX_DONT_SYNC shows what the kernel knows, also where a list denies readattr")
    func statusWithoutAsking() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("file", 1001, 2001, 0o640, list: ["user:1002 deny readattr"])
      #expect(Calls.status(path).refusal == nil)
      let refusals: [Errno?] = TestUser.bob.run {
        // AT_STATX_SYNC_AS_STAT and AT_STATX_DONT_SYNC, for the basic fields.
        [0, 0x4000].map { flags in
          var status = [UInt64](repeating: 0, count: 32)
          let result = path.withCString { name in
            status.withUnsafeMutableBytes {
              lt_call(
                Int(SYS_statx), Int(AT_FDCWD), Int(bitPattern: name), flags, 0x7FF,
                Int(bitPattern: $0.baseAddress), 0)
            }
          }
          return result < 0 ? Errno(rawValue: CInt(-result)) : nil
        }
      }
      #expect(refusals == [.accessDenied, nil])
    }

    @Test("The kernel unmounts what is mounted inside a volume when a name on the way there is made stale")
    func mountsInside() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let gate = try volume.directory("gate", 0, 0, 0o755)
      let inner = try volume.directory("gate/inner", 0, 0, 0o755)
      try #require(mount("none", inner, "tmpfs", 0, nil) == 0)
      defer { umount2(inner, CInt(MNT_DETACH)) }
      #expect(Calls.create(inner + "/file") == nil)
      #expect(try Text.read("/proc/self/mounts").contains(inner))
      #expect(chmod(gate, 0o700) == 0)
      _ = Calls.status(inner)
      #expect(try !Text.read("/proc/self/mounts").contains(inner))
    }

    @Test(
      "With passthrough=off, too, what is appended through the mount comes behind what was appended beside it"
    )
    func appendingBehind() throws {
      let volume = try MountedVolume("passthrough=off")
      defer { volume.remove() }
      let (path, native) = (volume.path + "/f", volume.upper + "/f")
      for flags in [O_WRONLY, O_RDWR] {
        _ = unlink(path)
        try #require(Calls.write(path, "12345") == nil)
        let file = open(path, flags | O_APPEND)
        try #require(file >= 0)
        defer { close(file) }
        // The kernel now knows where the end is, and asks for it again after a second.
        #expect(Calls.status(path).refusal == nil)
        let behind = open(native, O_WRONLY | O_APPEND)
        #expect(write(behind, "NATIVE", 6) == 6)
        close(behind)
        #expect(write(file, "x", 1) == 1)
        #expect(try Text.read(native) == "12345NATIVEx")
        #expect(try Text.read(path) == "12345NATIVEx")
      }
    }

    @Test(
      "A default POSIX list behind the mount changes the modes of what is made there",
      .enabled(if: Programs.has("setfacl"), "needs acl"))
    func defaultLists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.directory("d", 0, 0, 0o755)
      try Program.shell("setfacl -d -m u::rwx,g::---,o::--- '\(volume.upper)/d'")
      let path = volume.path + "/d/new"
      #expect(TestUser.root.run { Calls.create(path, mode: 0o666) } == nil)
      #expect(try Shown(of: path).mode == "0600")
    }
  }
}
