import CMountSupport
import Glibc

// Rename: each kind of object onto each, in the same directory and into another, in all styles; and what
// belongs to somebody else.

extension ParityScenarios {
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
    return [0, 1, 2, 3, 8].flatMap { style in
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

  static let strangers: [Scenario] = [
    Scenario("another user's files in that user's directory", setup: alicesThings) { side in
      for name: Path in ["file", "group", "private", "dir", "shared", "link", "fifo"] {
        side.stat(name)
        side.chmod(name, 0o777)
        side.chown(name, 1002, -1)
        side.chown(name, -1, 2077)
        side.chown(name, -1, -1)
        side.utimens(name, [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 2, tv_nsec: 0)])
        side.utimens(name, nil)
        side.setAttribute(name, "user.mine", "x")
        side.attribute(name, "user.theirs")
        side.removeAttribute(name, "user.theirs")
        for mask in 0...7 { side.access(name, mask) }
        side.truncate(name, 1)
        side.rename(name, "dir/\(name)")
      }
      for name: Path in ["file", "group", "private", "link", "fifo"] { side.unlink(name) }
      side.rmdir("dir")
      side.rmdir("shared")
      side.open("private", O_RDONLY)
      side.open("private", O_WRONLY | O_TRUNC)
      side.open("group", O_RDWR)
      side.open("file", O_WRONLY)
      side.open("new", O_CREAT | O_WRONLY, 0o644)
    },
    Scenario("another's files where everybody may write", setup: alicesThings) { side in
      side.file("shared/mine", "x")
      side.mkdir("shared/my dir")
      side.rename("shared/file", "shared/renamed")
      side.rename("shared/mine", "shared/private")
      side.unlink("shared/renamed")
      side.rmdir("shared/empty")
      side.rmdir("shared/full")
      side.unlink("shared/full/file")
      side.rename("shared/full", "shared/moved")
      side.link("shared/private", "shared/again")
    },
    Scenario("the caller's files in a sticky directory", setup: alicesThings) { side in
      side.file("sticky/mine", "x")
      side.mkdir("sticky/dir")
      side.rename("sticky/mine", "sticky/renamed")
      side.rename("sticky/renamed", "shared/away")
      side.rename("shared/away", "sticky/back")
      side.unlink("sticky/back")
      side.rmdir("sticky/dir")
      side.stat("sticky")
    },
    Scenario("what a group may", setup: alicesThings) { side in
      side.open("of2077/file", O_RDWR)
      side.rename("of2077/file", "of2077/renamed")
      side.open("of2077/file", O_RDONLY)
      side.rename("of2077/renamed", "of2077/file")
      side.unlink("of2077/file")
      side.access("of2077", 7)
      side.open("group", O_RDWR)
    },
    Scenario("set-id bits and a stranger's bytes", setup: alicesThings) { side in
      let fd = side.open("setid", O_RDWR)
      side.write(fd, "x")
      side.fstat(fd)
      side.open("setid2", O_WRONLY | O_TRUNC)
      side.stat("setid2")
      side.truncate("setid3", 1)
      side.stat("setid3")
    },
  ]

  @Sendable private static func alicesThings(_ side: Side) {
    for (name, mode) in [("file", 0o644), ("group", 0o660), ("private", 0o600)] {
      side.file("\(name)", "content", mode: mode)
      side.setAttribute("\(name)", "user.theirs", "x")
    }
    for name in ["setid", "setid2", "setid3"] { side.file("\(name)", "content") }
    side.mkdir("dir")
    side.mkdir("shared")
    side.mkdir("shared/empty")
    side.mkdir("shared/full")
    side.file("shared/full/file")
    side.file("shared/file", "x")
    side.file("shared/private", "x", mode: 0o600)
    side.mkdir("sticky")
    side.mkdir("of2077")
    side.file("of2077/file", "x", mode: 0o660)
    side.symlink("file", "link")
    side.mknod("fifo", 0o010644)
    for name: Path in [
      "file", "group", "private", "setid", "setid2", "setid3", "dir", "shared", "shared/empty", "shared/full",
      "shared/full/file", "shared/file", "shared/private", "link", "fifo", "sticky",
    ] { side.chown(name, 1001, 2001) }
    side.chown("of2077", 1001, 2077)
    side.chown("of2077/file", 1001, 2077)
    side.chmod("of2077", 0o770)
    side.chmod("group", 0o660)
    side.chmod("shared", 0o777)
    side.chmod("shared/file", 0o666)
    side.chmod("sticky", 0o1777)
    for name: Path in ["setid", "setid2", "setid3"] { side.chmod(name, 0o6777) }
    side.chown(".", 1001, 2001)
  }
}
