import CMountSupport
import Glibc

// What stat shows and how it changes: modes, owners, times, extended attributes.

extension ParityScenarios {
  /// Only statx(2) tells it, which a kernel before 6.6 does not ask of us.
  static let births: [Scenario] = [
    Scenario("time of birth") { side in
      side.file("file", "x")
      side.mkdir("dir")
      side.say("birth is told \(lt_birth(CInt(side.root), "file") > 1_500_000_000_000_000_000)")
      side.say("birth is told \(lt_birth(CInt(side.root), "dir") > 1_500_000_000_000_000_000)")
    }
  ]

  static let attributes: [Scenario] = [
    Scenario("modes") { side in
      side.file("file", "x")
      side.mkdir("dir")
      side.symlink("file", "link")
      for mode in [0, 0o777, 0o644, 0o4755, 0o2755, 0o6711, 0o1644, 0o7777] {
        side.chmod("file", mode)
        side.stat("file")
        side.chmod("dir", mode & 0o1777 | 0o700)
        side.stat("dir")
      }
      side.chmod("link", 0o600)
      side.stat("link")
      side.stat("file")
      let fd = side.open("file", O_RDWR)
      side.fchmod(fd, 0o4755)
      side.write(fd, "changed")
      side.fstat(fd)
      side.fchmod(fd, 0o6775)
      side.ftruncate(fd, 2)
      side.fstat(fd)
      side.fchmod(fd, 0o6775)
      side.truncate("file", 1)
      side.fstat(fd)
      side.fchmod(fd, 0o6775)
      side.open("file", O_WRONLY | O_TRUNC)
      side.fstat(fd)
      side.fchmod(fd, 0o6755)
      side.fallocate(fd, 0, 0, 100)
      side.fstat(fd)
    },
    Scenario("owners") { side in
      side.file("file", "x")
      side.symlink("file", "link")
      side.chown("file", -1, -1)
      side.chown("file", 1002, -1)
      side.stat("file")
      side.chown("file", -1, 2009)
      side.stat("file")
      side.chown("file", 1001, 2001)
      side.stat("file")
      side.chown("link", 1001, 2001)
      side.stat("link")
      side.stat("file")
      side.chmod("file", 0o6755)
      side.chown("file", 1001, 2001)
      side.stat("file")
      side.chmod("file", 0o600)
    },
    Scenario("times") { side in
      side.file("file", "x")
      side.mkdir("dir")
      side.symlink("file", "link")
      let early = timespec(tv_sec: 1_000_000_000, tv_nsec: 123_456_789)
      let late = timespec(tv_sec: 4_000_000_000, tv_nsec: 999_999_999)
      let now = timespec(tv_sec: 0, tv_nsec: Side.now)
      let omit = timespec(tv_sec: 0, tv_nsec: Side.omit)
      for name: Path in ["file", "dir", "link"] {
        side.utimens(name, [early, late], flags: Side.noFollow)
        side.stat(name, withTimes: true)
        side.utimens(name, [omit, early], flags: Side.noFollow)
        side.stat(name, withTimes: true)
        side.utimens(name, [late, omit], flags: Side.noFollow)
        side.stat(name, withTimes: true)
        side.utimens(name, [omit, omit], flags: Side.noFollow)
        side.stat(name, withTimes: true)
      }
      side.utimens("file", [timespec(tv_sec: -5, tv_nsec: 1), timespec(tv_sec: -1, tv_nsec: 999_999_999)])
      side.stat("file", withTimes: true)
      side.utimens("file", [timespec(tv_sec: 0, tv_nsec: 2_000_000_000), early])
      side.utimens("file", [now, early])
      side.utimens("file", [now, now])
      side.utimens("file", nil)
      side.utimens("link", [early, early])
      side.stat("file", withTimes: true)
      // A write moves the time of modification, and only that.
      let fd = side.open("file", O_RDWR)
      side.write(fd, "y")
      var status = Glibc.stat()
      Glibc.fstat(CInt(fd), &status)
      side.say("modification moved \(status.st_mtim.tv_sec != early.tv_sec), access \(status.st_atim.tv_sec)")
      side.utimens("file", [early, early])
      side.ftruncate(fd, 0)
      Glibc.fstat(CInt(fd), &status)
      side.say("modification moved \(status.st_mtim.tv_sec != early.tv_sec)")
      side.utimens("dir", [early, early])
      side.file("dir/new")
      "dir".withCString { _ = Glibc.fstatat(CInt(side.root), $0, &status, 0) }
      side.say("the directory's modification moved \(status.st_mtim.tv_sec != early.tv_sec)")
    },
    Scenario("extended attributes") { side in
      side.file("file", "x")
      side.mkdir("dir")
      side.symlink("file", "link")
      side.mknod("fifo", 0o010644)
      side.attributes("file")
      side.setAttribute("file", "user.a", "value", flags: 1)
      side.setAttribute("file", "user.a", "other", flags: 1)
      side.setAttribute("file", "user.b", "value", flags: 2)
      side.setAttribute("file", "user.a", "replaced", flags: 2)
      side.setAttribute("file", "user.a", "x", flags: 8)
      side.setAttribute("file", "user.empty", "")
      side.setAttribute("file", "user.long", String(repeating: "v", count: 2000))
      side.attribute("file", "user.a")
      side.attribute("file", "user.a", room: 0)
      side.attribute("file", "user.a", room: 3)
      side.attribute("file", "user.empty")
      side.attribute("file", "user.long")
      side.attribute("file", "user.none")
      side.attributes("file")
      side.attributes("file", room: 0)
      side.attributes("file", room: 5)
      side.removeAttribute("file", "user.a")
      side.removeAttribute("file", "user.a")
      side.setAttribute("file", "user.", "x")
      side.setAttribute("file", "", "x")
      side.setAttribute("file", Path(bytes: Array("user.".utf8) + [UInt8](repeating: 0x61, count: 250)), "x")
      side.setAttribute("file", Path(bytes: Array("user.".utf8) + [UInt8](repeating: 0x61, count: 251)), "x")
      side.setAttribute("file", Path(bytes: Array("user.".utf8) + [0xFF, 0xFE]), "odd")
      side.setAttribute("file", "user.big", String(repeating: "v", count: 5000))
      side.setAttribute("file", "user.huge", String(repeating: "v", count: 65_537))
      side.setAttribute("dir", "user.dir", "value")
      side.setAttribute("link", "user.link", "value")
      side.setAttribute("fifo", "user.fifo", "value")
      side.attribute("link", "user.link")
      side.attribute("fifo", "user.fifo")
      side.setAttribute("file", "trusted.t", "value")
      side.attribute("file", "trusted.t")
      side.attributes("file")
      side.attributes("link")
      side.removeAttribute("link", "user.link")
      side.chmod("file", 0o444)
      side.setAttribute("file", "user.c", "value")
      side.chmod("file", 0o200)
      side.attribute("file", "user.long")
      // Who may not read it may not list them here, if it is done again.
      side.chmod("file", 0o644)
      side.setAttribute("file", "security.test", "value")
      side.attribute("file", "security.test")
      side.setAttribute("none", "user.a", "x")
    },
    Scenario("the file system") { side in
      var status = Glibc.statvfs()
      side.note("fstatvfs", Int(Glibc.fstatvfs(CInt(side.root), &status)))
      side.say(
        "  \(status.f_bsize) \(status.f_blocks) \(status.f_files) \(status.f_namemax) \(status.f_frsize)")
      side.note("fpathconf", Glibc.fpathconf(CInt(side.root), CInt(_PC_NAME_MAX)))
    },
  ]
}
