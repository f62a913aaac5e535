import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

/// Everything that needs a real mount.
///
/// One after another: they share the machine's patience.
@Suite(.serialized, .enabled(if: Machine.canMount, "needs root and /dev/fuse")) struct MountTests {}

extension MountTests {
  @Suite("The life of a mount") struct LifeTests {
    @Test("A file written on the mount is in the upper directory, and the volume can be mounted again")
    func roundTrip() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell("echo hello > greeting && mkdir inner", in: volume.path)
      #expect(try Text.read(volume.upper + "/greeting") == "hello\n")
      try volume.unmount()
      try volume.mount()
      #expect(try Text.read(volume.path + "/greeting") == "hello\n")
      try volume.unmount()
    }

    @Test("A reader with O_NOATIME leaves the access time alone, another moves it") func accessTime() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell(
        "echo text | tee quiet loud > plain; touch -a -d @1000 quiet loud plain", in: volume.path)
      // Two files: what the kernel has in its cache is not asked for again.
      func read(_ name: String, _ flags: CInt, in place: String) throws -> Int64 {
        let file = open("\(place)/\(name)", O_RDONLY | flags)
        try #require(file >= 0)
        var letter: UInt8 = 0
        #expect(pread(file, &letter, 1, 0) == 1)
        close(file)
        return try Descriptor.open(path: "\(volume.upper)/\(name)", .path).status().access.seconds
      }
      #expect(try read("quiet", 0o1000000, in: volume.path) == 1000)
      // The file system below may be mounted so that no time moves.
      let moves = try read("plain", 0, in: volume.upper) > 1000
      #expect(try (read("loud", 0, in: volume.path) > 1000) == moves)
    }

    @Test("What was just made is not taken for what was just gone, though it has its number") func usedAgain()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/d"
      for round in 0..<2_000 {
        let unnamed = open(volume.path, lt_o_tmpfile | O_RDWR, 0o600)
        try #require(unnamed >= 0 && write(unnamed, "gone", 4) == 4)
        close(unnamed)
        if round % 2 == 0 {
          try #require(Glibc.mkdir(path, 0o755) == 0)
          try #require((try? Calls.list(path).get()) == [], "round \(round): \(Errno.current)")
          try #require(rmdir(path) == 0)
        } else {
          try #require(Calls.create(path) == nil)
          try #require((try? Calls.read(path).get()) == "", "round \(round)")
          try #require(unlink(path) == 0)
        }
      }
    }

    @Test("A user is only a user") func users() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = chmod(volume.path, 0o777)
      let path = volume.path + "/bobs"
      let made = TestUser.bob.run(umask: 0o022) { Glibc.mkdir(path, 0o777) }
      #expect(made == 0)
      let status = try Descriptor.open(path: path, .readOnly).status()
      #expect(status.user == 1002)
      #expect(status.group == 0)
      #expect(status.mode == 0o755)
    }
  }
}
