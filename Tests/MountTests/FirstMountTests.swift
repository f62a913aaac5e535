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
