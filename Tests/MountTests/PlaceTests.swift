import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Where a volume may be mounted") struct PlaceTests {
    private func mount(_ upper: String, _ point: String) throws -> ProgramResult {
      try Program.run(Program.built("varve"), ["mount", upper, point])
    }

    @Test("A volume can be mounted over its own upper directory") func overItself() throws {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base, CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try Program.shell("echo text > file", in: base)
      #expect(try mount(base, base).exit == 0)
      try Program.shell("echo more >> file; mkdir inner; ls -la . > /dev/null", in: base)
      #expect(try Text.read(base + "/file") == "text\nmore\n")
      #expect(try Program.run(Program.built("varve"), ["umount", base]).exit == 0)
      #expect(try Text.read(base + "/file") == "text\nmore\n")
    }

    @Test("A mount inside the upper directory, and an upper directory inside the mount, are refused")
    func inside() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      try Program.shell("mkdir -p upper/inner", in: base)
      let below = try mount(base + "/upper", base + "/upper/inner")
      #expect(below.exit == 1)
      #expect(
        below.output.contains(
          "\(base)/upper/inner: the mount point is inside the upper directory \(base)/upper\n"))
      let above = try mount(base + "/upper/inner", base + "/upper")
      #expect(above.exit == 1)
      #expect(
        above.output.contains(
          "\(base)/upper/inner: the upper directory is inside the mount point \(base)/upper\n"))
    }

    @Test("A volume that was taken away lazily and is still in use is said to be") func lingering() throws {
      let volume = try MountedVolume("ro,rw,securelevel=0,securelevel=-1")
      defer { volume.remove() }
      let status = try Program.run(Program.built("varve"), ["status", volume.path]).output
      #expect(status.contains(" rw, securelevel=-1\n"), "\(status)")
      let file = open(volume.path, O_RDONLY | O_DIRECTORY)
      try #require(file >= 0)
      defer { close(file) }
      try #require(mkdir(volume.base + "/other", 0o755) == 0)
      let seen = try mount(volume.upper, volume.base + "/other")
      #expect(seen.exit == 32 && !seen.output.contains("umount -l"), "\(seen.output)")
      #expect(try Program.run(Program.built("varve"), ["umount", "-l", volume.path]).exit == 0)
      let again = try mount(volume.upper, volume.path)
      #expect(again.exit == 32)
      #expect(again.output.contains("after 'umount -l' its daemon goes on"), "\(again.output)")
    }

    @Test("The refusal names the user who owns the bookkeeping") func strangers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try #require(chown(volume.upper + "/.varve", 1002, 1002) == 0)
      let refused = try mount(volume.upper, volume.path)
      #expect(refused.exit == 32)
      #expect(refused.output.contains("belongs to user 1002, who alone can"), "\(refused.output)")
    }

    @Test("A mount point that shows a volume already is refused, and that volume stays") func taken() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let other = volume.base + "/other"
      #expect(Glibc.mkdir(other, 0o755) == 0)
      let refused = try mount(other, volume.path)
      #expect(refused.exit == 32)
      #expect(refused.output.contains("unmount that one first"))
      try Program.shell("echo text > file", in: volume.path)
      #expect(try Text.read(volume.upper + "/file") == "text\n")
    }

    @Test("A directory on a Varve volume cannot be an upper directory") func onItself() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell("mkdir upper point", in: volume.path)
      let point = volume.base + "/point"
      #expect(Glibc.mkdir(point, 0o755) == 0)
      let refused = try mount(volume.path + "/upper", point)
      #expect(refused.exit == 32)
      #expect(refused.output.contains("/upper: on a Varve volume already"))
    }
  }
}
