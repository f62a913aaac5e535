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
      #expect(below.output.contains("inside the upper directory"))
      let above = try mount(base + "/upper/inner", base + "/upper")
      #expect(above.exit == 1)
      #expect(above.output.contains("inside the mount point"))
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
