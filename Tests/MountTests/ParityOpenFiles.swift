import CMountSupport
import Glibc

// Files that are open: removed, renamed away, without a name, by path, locked.

extension ParityScenarios {
  static let openFiles: [Scenario] = [
    Scenario("an open file that lost its name") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      side.write(fd, "content")
      side.unlink("file")
      side.fstat(fd)
      side.stat("file")
      side.read(fd, 20, at: 0)
      side.write(fd, "more", at: 7)
      side.ftruncate(fd, 9)
      side.read(fd, 20, at: 0)
      side.fchmod(fd, 0o600)
      side.note("fchown", Side.call(SYS_fchown, fd, 0xFFFF_FFFF, 0xFFFF_FFFF))
      side.utimens(nil, [timespec(tv_sec: 1000, tv_nsec: 7), timespec(tv_sec: 2000, tv_nsec: 9)], at: fd)
      side.stat("", at: fd, withTimes: true)
      side.fallocate(fd, 0, 0, 8192)
      side.seek(fd, 0, 3)
      side.fsync(fd)
      side.fstat(fd)
      side.link(.descriptor(fd), "back", flags: 0x400)
      let name: Path = "user.late"
      side.note(
        "fsetxattr", name.withPointer { Side.call(SYS_fsetxattr, fd, $0, $0, 4, 0) })
      side.note("fgetxattr", name.withPointer { Side.call(SYS_fgetxattr, fd, $0, 0, 0) })
      let again = side.open(.descriptor(fd), O_RDONLY)
      side.read(again, 20)
      side.file("file", "another")
      side.read(fd, 20, at: 0)
      side.stat("file")
      side.close(fd)
      side.read(again, 20, at: 0)
      side.fstat(again)
    },
    Scenario("an open file that was replaced") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      side.write(fd, "old")
      side.file("new", "new content")
      side.rename("new", "file")
      side.fstat(fd)
      side.write(fd, "OLD", at: 0)
      side.read(fd, 10, at: 0)
      side.stat("file")
      side.fchmod(fd, 0o640)
      side.fstat(fd)
      side.file("third", "3")
      side.rename("file", "third", flags: 2)
      side.stat("file")
      side.stat("third")
    },
    Scenario("an open file that has moved") { side in
      side.mkdir("a")
      side.mkdir("b")
      let fd = side.open("a/file", O_CREAT | O_RDWR, 0o644)
      side.rename("a/file", "b/other")
      side.rename("b", "c")
      side.rmdir("a")
      side.write(fd, "after the move")
      side.fchmod(fd, 0o600)
      side.fstat(fd)
      side.stat("c/other")
      side.link("c/other", "c/hard")
      side.unlink("c/other")
      side.fstat(fd)
      side.ftruncate(fd, 5)
      side.unlink("c/hard")
      side.fstat(fd)
      side.ftruncate(fd, 3)
      side.fstat(fd)
    },
    Scenario("a file without a name") { side in
      let fd = side.open(".", lt_o_tmpfile | O_RDWR, 0o640)
      side.fstat(fd)
      side.write(fd, "hidden")
      side.fstat(fd)
      side.fchmod(fd, 0o604)
      side.ftruncate(fd, 4)
      side.read(fd, 10, at: 0)
      side.utimens(nil, [timespec(tv_sec: 5, tv_nsec: 6), timespec(tv_sec: 7, tv_nsec: 8)], at: fd)
      side.stat("", at: fd, withTimes: true)
      side.link(.descriptor(fd), "named", flags: 0x400)
      side.stat("named")
      side.fstat(fd)
      side.write(fd, "more", at: 4)
      side.link(.descriptor(fd), "named", flags: 0x400)
      side.link("named", "second")
      side.unlink("named")
      side.fstat(fd)
      side.close(fd)
      let closed = side.open(".", lt_o_tmpfile | O_WRONLY | O_EXCL, 0o600)
      side.link(.descriptor(closed), "never", flags: 0x400)
      side.open(".", lt_o_tmpfile | O_RDONLY, 0o600)
      side.open("second", lt_o_tmpfile | O_RDWR, 0o600)
      side.open("none", lt_o_tmpfile | O_RDWR, 0o600)
      side.close(closed)
    },
    Scenario("by path only") { side in
      side.file("file", "content")
      side.mkdir("dir")
      side.symlink("file", "link")
      let fd = side.open("file", lt_o_path)
      let dir = side.open("dir", lt_o_path)
      let link = side.open("link", lt_o_path | lt_o_nofollow)
      side.fstat(fd)
      side.fstat(link)
      side.read(fd, 1)
      side.fchmod(fd, 0o600)
      side.mkdir("inner", at: dir)
      side.rename("dir", "moved")
      side.stat("inner", at: dir)
      side.open("inner", O_RDONLY, at: dir)
      let content = side.open(.descriptor(fd), O_RDONLY)
      side.read(content, 20)
      side.close(content)
      side.unlink("file")
      side.fstat(fd)
      side.open(.descriptor(fd), O_RDONLY)
      side.unlink("link")
      side.fstat(link)
      side.chmod(.descriptor(fd), 0o600)
      side.fstat(fd)
    },
    Scenario("a directory that was removed while it was open") { side in
      side.mkdir("dir")
      side.mkdir("dir/inner")
      let dir = side.open("dir", O_RDONLY)
      let inner = side.open("dir/inner", O_RDONLY)
      side.rmdir("dir/inner")
      side.fstat(inner)
      side.rmdir("dir")
      side.fstat(dir)
      side.say("entries \(Side.entries(dir)?.count ?? -1)")
      side.open("new", O_CREAT | O_RDWR, 0o644, at: dir)
      side.stat("..", at: inner)
      side.fchmod(dir, 0o700)
      side.fstat(dir)
    },
    Scenario("locks") { side in
      let one = side.open("file", O_CREAT | O_RDWR, 0o644)
      let two = side.open("file", O_RDWR)
      let reader = side.open("file", O_RDONLY)
      side.write(one, "0123456789")
      func flock(_ fd: Int, _ what: Int) { side.note("flock \(what)", Side.call(SYS_flock, fd, what)) }
      flock(one, 2 | 4)
      flock(two, 2 | 4)
      flock(two, 1 | 4)
      flock(one, 1 | 4)
      flock(two, 1 | 4)
      flock(one, 8)
      flock(reader, 1 | 4)
      flock(two, 2 | 4)
      flock(reader, 8)
      flock(two, 2 | 4)
      func lock(_ fd: Int, _ command: Int, _ kind: Int, _ start: Int, _ length: Int) {
        var lock = Glibc.flock(
          l_type: Int16(kind), l_whence: 0, l_start: start, l_len: length, l_pid: 0)
        let result = withUnsafeMutablePointer(to: &lock) {
          Side.call(SYS_fcntl, fd, command, Int(bitPattern: $0))
        }
        side.note("fcntl \(command) \(kind) \(start) \(length)", result)
        if result == 0 { side.say("  \(lock.l_type) \(lock.l_start) \(lock.l_len)") }
      }
      // 36 asks and 37 sets locks of an open file, 5 and 6 those of a process.
      lock(one, 37, 1, 0, 4)
      lock(two, 37, 1, 2, 4)
      lock(two, 36, 1, 2, 4)
      lock(two, 37, 1, 4, 4)
      lock(two, 37, 0, 20, 0)
      lock(one, 37, 0, 25, 1)
      lock(one, 37, 1, 25, 1)
      lock(one, 6, 1, 100, 10)
      lock(two, 37, 1, 105, 1)
      lock(two, 5, 1, 0, 0)
      lock(reader, 37, 1, 200, 1)
      lock(reader, 37, 0, 200, 1)
      side.close(two)
      lock(one, 37, 1, 0, 0)
    },
    Scenario("the state of open files") { side in
      side.file("file", "x")
      for flags in [O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_APPEND, O_RDWR | O_SYNC, O_RDONLY | lt_o_noatime] {
        let fd = side.open("file", flags)
        side.say("  F_GETFL \(String(Side.call(SYS_fcntl, fd, 3) & 0o7777777, radix: 8))")
        side.note("dup", Side.call(SYS_dup, fd), isDescriptor: true)
        var waiting: Int32 = 0
        withUnsafeMutablePointer(to: &waiting) {
          _ = side.note("FIONREAD", Side.call(SYS_ioctl, fd, 0x541B, Int(bitPattern: $0)))
        }
        side.note("TCGETS", Side.call(SYS_ioctl, fd, 0x5401, 0))
      }
    },
  ]
}
