import CMountSupport
import Glibc

// Names: making, finding, moving, removing, and every refusal that comes with them.

extension ParityScenarios {
  static let names: [Scenario] = [
    Scenario("what is not there") { side in
      side.open("none", O_RDONLY)
      side.open("none/below", O_CREAT | O_WRONLY, 0o644)
      side.stat("none")
      side.unlink("none")
      side.rmdir("none")
      side.rename("none", "other")
      side.link("none", "other")
      side.readlink("none")
      side.chmod("none", 0o600)
      side.chown("none", -1, -1)
      side.truncate("none", 1)
      side.access("none", 0)
      side.utimens("none", nil)
      side.attribute("none", "user.a")
      side.open("", O_RDONLY)
      side.mkdir("")
      side.unlink("")
    },
    Scenario("a file in the place of a directory") { side in
      side.file("file", "text")
      side.open("file/below", O_RDONLY)
      side.open("file/below", O_CREAT | O_WRONLY, 0o644)
      side.open("file/", O_RDONLY)
      side.open("file", O_RDONLY | lt_o_directory)
      side.mkdir("file/below")
      side.rmdir("file")
      side.rename("file", "file/below")
      side.rename("file", "other/")
      side.link("file", "file/below")
      side.symlink("x", "file/below")
      side.mknod("file/below", 0o010644)
      side.readlink("file")
      side.stat("file/")
      side.unlink("file/")
    },
    Scenario("a directory in the place of a file") { side in
      side.mkdir("dir")
      side.open("dir", O_WRONLY)
      side.open("dir", O_RDWR)
      side.open("dir", O_CREAT | O_RDONLY, 0o644)
      side.open("dir", O_RDONLY | O_TRUNC)
      side.open("dir", O_CREAT | O_EXCL, 0o644)
      side.unlink("dir")
      side.truncate("dir", 0)
      side.link("dir", "other")
      side.readlink("dir")
      let fd = side.open("dir", O_RDONLY)
      side.read(fd, 10)
      side.write(fd, "x")
      side.ftruncate(fd, 0)
      side.fallocate(fd, 0, 0, 1)
      side.fsync(fd)
      side.close(fd)
    },
    Scenario("what is there already") { side in
      side.file("file", "old")
      side.mkdir("dir")
      side.symlink("nowhere", "link")
      for name: Path in ["file", "dir", "link"] {
        side.open(name, O_CREAT | O_EXCL | O_WRONLY, 0o644)
        side.mkdir(name)
        side.symlink("x", name)
        side.mknod(name, 0o010644)
        side.link("file", name)
      }
      side.open("link", O_CREAT | O_WRONLY, 0o644)
      side.mkdir("dir/")
      side.mkdir(".")
      side.mkdir("..")
      side.mkdir("/")
    },
    Scenario("directories with something in them") { side in
      side.mkdir("full")
      side.file("full/file")
      side.mkdir("empty")
      side.rmdir("full")
      side.rename("empty", "full")
      side.rename("full", "empty")
      side.rmdir("empty/.")
      side.rmdir("empty/..")
      side.rmdir(".")
      side.rename("empty", "empty/inside")
      side.rename("empty", "empty/inside/deep")
      side.rename("empty/.", "x")
      side.rename("empty", ".")
      side.rename("empty/file", "empty")
      side.rename("empty/file", "empty/file")
      side.unlink("empty/file")
      side.stat("empty")
      side.mkdir("empty/a")
      side.stat("empty")
      side.rmdir("empty/a")
      side.rmdir("empty/")
    },
    Scenario("links that lead round and round, and links that lead on") { side in
      side.symlink("loop", "loop")
      side.symlink("b", "a")
      side.symlink("a", "b")
      side.open("loop", O_RDONLY)
      side.open("a", O_CREAT | O_WRONLY, 0o644)
      side.open("a/below", O_RDONLY)
      side.chmod("a", 0o600)
      side.truncate("a", 0)
      side.access("a", 0)
      side.open("a", O_RDONLY | lt_o_nofollow)
      side.mkdir("dir")
      side.file("dir/file", "content")
      side.symlink("dir", "way")
      side.stat("way/file")
      side.stat("way/")
      side.open("way", O_RDONLY | lt_o_nofollow)
      side.open("way", O_RDONLY | lt_o_directory | lt_o_nofollow)
      side.rmdir("way")
      side.rename("way", "path")
      side.readlink("path")
      side.readlink("path", room: 2)
      side.link("path", "hard")
      side.link("path", "followed", flags: 0x400)
      side.unlink("path")
      for number in 0..<42 { side.symlink("chain\(number)", "chain\(number + 1)") }
      side.file("chain0", "end")
      side.open("chain39", O_RDONLY)
      side.open("chain41", O_RDONLY)
    },
    Scenario("names of every length and of any bytes") { side in
      let longest = Path(bytes: [UInt8](repeating: 0x6E, count: 255))
      let tooLong = Path(bytes: [UInt8](repeating: 0x6E, count: 256))
      side.open(longest, O_CREAT | O_WRONLY, 0o644)
      side.stat(longest)
      side.open(tooLong, O_CREAT | O_WRONLY, 0o644)
      side.open(tooLong, O_RDONLY)
      side.stat(tooLong)
      side.mkdir(tooLong)
      side.mknod(tooLong, 0o010644)
      side.symlink("x", tooLong)
      side.link(longest, tooLong)
      side.rename(longest, tooLong)
      side.unlink(tooLong)
      side.rmdir(tooLong)
      side.symlink(Path(bytes: [UInt8](repeating: 0x74, count: 1023)), "target1023")
      side.readlink("target1023")
      side.symlink(Path(bytes: [UInt8](repeating: 0x74, count: 4000)), "target4000")
      side.readlink("target4000")
      side.symlink(Path(bytes: [UInt8](repeating: 0x74, count: 4096)), "target4096")
      side.symlink("", "empty target")
      for bytes: [UInt8] in [
        [0xFF], [0xC3, 0x28], [0xE2, 0x28, 0xA1], [1, 2, 3], [0x0A], [0x5C, 0x22], [0xC3, 0xA9],
        [0x65, 0xCC, 0x81], Array("-rf".utf8), Array(" ".utf8), Array("...".utf8),
      ] {
        side.file(Path(bytes: bytes), "x")
        side.stat(Path(bytes: bytes))
      }
      side.rename(Path(bytes: [0xFF]), Path(bytes: [0xFE, 0xFF]))
      side.symlink(Path(bytes: [0xFF, 0xFE]), "odd target")
      side.readlink("odd target")
    },
    Scenario("paths as long as paths can be") { side in
      let step = Path(bytes: [UInt8](repeating: 0x64, count: 200))
      var fd = side.root
      for _ in 0..<25 {
        side.mkdir(step, at: fd)
        fd = side.open(step, O_RDONLY, at: fd)
      }
      side.mkdir("bottom", at: fd)
      side.stat("bottom", at: fd)
      let long = Array(repeating: step.bytes, count: 20).joined(separator: [0x2F])
      side.stat(Path(bytes: Array(long)))
      let longer = Array(repeating: step.bytes, count: 21).joined(separator: [0x2F])
      side.stat(Path(bytes: Array(longer)))
      side.stat("../..", at: fd)
    },
    Scenario("hard links") { side in
      side.file("one", "content")
      side.link("one", "two")
      side.link("two", "three")
      side.stat("one")
      side.rename("one", "two")
      side.stat("two")
      side.unlink("two")
      side.stat("three")
      side.truncate("three", 3)
      side.chmod("three", 0o600)
      side.stat("one")
      side.link("one", "one")
      side.mknod("pipe", 0o010600)
      side.link("pipe", "pipe2")
      side.stat("pipe")
      side.unlink("pipe")
      side.mkdir("dir")
      side.link("one", "dir/one")
      side.unlink("one")
      side.unlink("three")
      side.stat("dir/one")
    },
    Scenario("special files, and a umask") { side in
      side.mknod("fifo", 0o010666)
      side.mknod("socket", 0o140666)
      side.mknod("regular", 0o100666)
      side.mknod("plain", 0o666)
      side.mknod("directory", 0o040755)
      side.mknod("wrong", 0o170000)
      side.mknod("null", 0o020666, device: 0x103)
      side.open("socket", O_RDONLY)
      side.open("fifo", O_RDONLY | O_NONBLOCK)
      side.open("fifo", O_WRONLY | O_NONBLOCK)
      side.truncate("fifo", 0)
      side.open("file", O_CREAT | O_WRONLY, 0o7777)
      side.open("second", O_CREAT | O_WRONLY, 0o666)
      side.mkdir("sticky", 0o1777)
      side.mkdir("closed", 0)
      side.open("unreadable", O_CREAT | O_RDWR, 0o000)
      side.open("unreadable", O_RDONLY)
      side.open("badflags", O_CREAT | lt_o_directory, 0o644)
    },
    Scenario("calls with directory descriptors") { side in
      side.mkdir("a")
      side.file("a/file", "x")
      let a = side.open("a", O_RDONLY)
      side.mkdir("b", at: a)
      side.open("c", O_CREAT | O_RDWR, 0o640, at: a)
      side.stat("b", at: a)
      side.rename("a", "moved")
      side.stat("c", at: a)
      side.stat("..", at: a)
      side.mkdir("d", at: a)
      side.link("c", "linked", from: a)
      let file = side.open("file", O_RDONLY, at: a)
      side.open("x", O_RDONLY, at: file)
      side.open("x", O_RDONLY, at: 9999)
      side.rename("moved", "moved2")
      side.unlink("file", at: a)
      side.unlink("c", at: a)
      side.rmdir("moved2/b")
      side.rmdir("moved2/d")
      side.rmdir("moved2")
      side.fstat(a)
      side.mkdir("e", at: a)
      side.open("f", O_CREAT | O_RDWR, 0o644, at: a)
      side.stat(".", at: a)
      side.close(a)
    },
    Scenario("across file systems") { side in
      side.file("file", "x")
      let other = Path("/dev/shm/varve-parity")
      side.rename("file", other)
      side.link("file", other)
      side.rename("/proc/version", "file")
    },
    Scenario("without the right") { side in
      side.mkdir("closed", 0o700)
      side.file("closed/file", "x")
      side.mkdir("unwritable", 0o755)
      side.file("unwritable/file", "x")
      side.mkdir("unsearchable", 0o755)
      side.file("unsearchable/file", "x")
      side.file("readonly", "x", mode: 0o444)
      side.file("writeonly", "x", mode: 0o222)
      side.chmod("closed", 0)
      side.chmod("unwritable", 0o555)
      side.chmod("unsearchable", 0o666)
      side.stat("closed/file")
      side.open("closed", O_RDONLY)
      side.open("unwritable/new", O_CREAT | O_WRONLY, 0o644)
      side.open("unwritable/file", O_CREAT | O_WRONLY, 0o644)
      side.mkdir("unwritable/dir")
      side.unlink("unwritable/file")
      side.rename("unwritable/file", "here")
      side.rename("readonly", "unwritable/there")
      side.link("readonly", "unwritable/there")
      side.stat("unsearchable/file")
      side.open("unsearchable/file", O_RDONLY)
      side.open("unsearchable/new", O_CREAT | O_RDWR, 0o644)
      side.open("readonly", O_WRONLY)
      side.open("readonly", O_RDONLY | O_TRUNC)
      side.open("writeonly", O_RDONLY)
      side.open("writeonly", O_WRONLY)
      side.truncate("readonly", 0)
      for name: Path in ["closed", "unwritable", "unsearchable", "readonly", "writeonly", "closed/file"] {
        for mask in 0...7 { side.access(name, mask) }
      }
      side.chmod("closed", 0o700)
      side.chmod("unsearchable", 0o700)
    },
  ]

  static let renames: [Scenario] = {
    let kinds = ["absent", "file", "empty", "full", "link", "fifo"]
    @Sendable func make(_ kind: String, _ path: Path, on side: Side) {
      switch kind {
      case "file": side.file(path, "file")
      case "empty": side.mkdir(path)
      case "full":
        side.mkdir(path)
        side.file("\(path)/inside", "inside")
      case "link": side.symlink("nowhere", path)
      case "fifo": side.mknod(path, 0o010644)
      default: break
      }
    }
    return [0, 1, 2, 3, 4, 8].flatMap { style in
      kinds.map { from in
        Scenario("rename of \(from), flags \(style)") { side in
          side.mkdir("elsewhere")
          for to in kinds {
            make(from, "\(to)-from", on: side)
            make(to, "\(to)-to", on: side)
            side.rename("\(to)-from", "\(to)-to", flags: style)
            make(from, "\(to)-away", on: side)
            make(to, "elsewhere/\(to)-to", on: side)
            side.rename("\(to)-away", "elsewhere/\(to)-to", flags: style)
            side.stat("\(to)-from")
            side.stat("\(to)-to")
            side.stat("elsewhere/\(to)-to")
          }
        }
      }
    }
  }()
}
