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
