import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

// Where the mount answers otherwise than a plain directory, each with the reason. What is not in this table
// is a fault.

private struct Difference: Sendable {
  let reason: String
  let user: TestUser
  let setup: @Sendable (Side) -> Void
  let call: @Sendable (Side) -> Void
  let mount: [String]
  let plain: [String]

  init(
    _ reason: String, as user: TestUser = .alice, setup: @escaping @Sendable (Side) -> Void = { _ in },
    _ call: @escaping @Sendable (Side) -> Void, mount: [String], plain: [String]
  ) {
    self.reason = reason
    self.user = user
    self.setup = setup
    self.call = call
    self.mount = mount
    self.plain = plain
  }
}

private let differences: [Difference] = [
  Difference(
    "the group comes from the directory, always: what is shared stays shared",
    setup: { $0.chown(".", 1001, 2077) },
    { side in
      side.mkdir("dir")
      side.stat("dir")
    }, mount: ["mkdir dir 755 = 0", "stat dir = 0", "  40755 2 1001:2077"],
    plain: ["mkdir dir 755 = 0", "stat dir = 0", "  40755 2 1001:2001"]),
  Difference(
    "the group comes from the directory, so setgid means nothing there and is not copied",
    setup: { $0.chmod(".", 0o2777) },
    { side in
      side.mkdir("dir")
      side.stat("dir")
    }, mount: ["mkdir dir 755 = 0", "stat dir = 0", "  40755 2 1001:2001"],
    plain: ["mkdir dir 755 = 0", "stat dir = 0", "  42755 2 1001:2001"]),
  Difference(
    "the names of attributes are for those who may read them, as on macOS; Linux asks for no right",
    setup: { side in
      side.file("file")
      side.setAttribute("file", "user.a", "x")
      side.chown("file", 1001, 2001)
      side.chmod("file", 0o200)
    },
    { $0.attributes("file") },
    mount: ["llistxattr file into 8192 = Permission denied (EACCES)"],
    plain: ["llistxattr file into 8192 = 7", #"  ["user.a"]"#]),
  Difference(
    "a change of owner clears the set-id bits of directories too", as: .root,
    setup: { side in
      side.mkdir("dir")
      side.chmod("dir", 0o6755)
    },
    { side in
      side.chown("dir", 0, 0)
      side.stat("dir")
    }, mount: ["chown dir 0 0 = 0", "stat dir = 0", "  40755 2 0:0"],
    plain: ["chown dir 0 0 = 0", "stat dir = 0", "  46755 2 0:0"]),
  Difference(
    "a change of owner clears setgid whether the group may execute or not", as: .root,
    setup: { side in
      side.file("file")
      side.chmod("file", 0o2644)
    },
    { side in
      side.chown("file", 0, 0)
      side.stat("file")
    }, mount: ["chown file 0 0 = 0", "stat file = 0", "  100644 1 0:0 0 rdev 0 blksize 4096"],
    plain: ["chown file 0 0 = 0", "stat file = 0", "  102644 1 0:0 0 rdev 0 blksize 4096"]),
  Difference(
    "stickiness withholds a right, which is EACCES; EPERM is for flags and owners' rules", as: .bob,
    setup: { side in
      side.file("file")
      side.file("other")
      side.chown(".", 0, 0)
      side.chmod(".", 0o1777)
    },
    { side in
      side.unlink("file")
      side.rename("file", "elsewhere")
    },
    mount: [
      "unlink file = Permission denied (EACCES)", "rename file elsewhere 0 = Permission denied (EACCES)",
    ],
    plain: [
      "unlink file = Operation not permitted (EPERM)",
      "rename file elsewhere 0 = Operation not permitted (EPERM)",
    ]),
  Difference(
    "the kernel sees that it is a directory before it asks who may remove it", as: .bob,
    setup: { side in
      side.mkdir("dir")
      side.file("file")
      side.chown(".", 0, 0)
    },
    { side in
      side.unlink("dir")
      side.rmdir("file")
    }, mount: ["unlink dir = Is a directory (EISDIR)", "rmdir file = Not a directory (ENOTDIR)"],
    plain: ["unlink dir = Permission denied (EACCES)", "rmdir file = Permission denied (EACCES)"]),
  Difference(
    "device 0:0 is the mark of a hidden name below, which nobody may forge", as: .root,
    { $0.mknod("white", 0o020000) },
    mount: ["mknod white 20000 0 = Operation not permitted (EPERM)"],
    plain: ["mknod white 20000 0 = 0"]),
  Difference(
    "the kernel passes three kinds of fallocate on to FUSE, and these two are not among them",
    setup: { side in
      side.file("file", String(repeating: "x", count: 16_384), mode: 0o666)
      side.chmod("file", 0o666)
    },
    { side in
      let fd = side.open("file", O_RDWR)
      side.fallocate(fd, 8, 4096, 4096)
      side.fallocate(fd, 32, 4096, 4096)
    },
    mount: [
      "open file 2 0 = opened", "fallocate 8 4096 4096 = Operation not supported (EOPNOTSUPP)",
      "fallocate 32 4096 4096 = Operation not supported (EOPNOTSUPP)",
    ],
    plain: ["open file 2 0 = opened", "fallocate 8 4096 4096 = 0", "fallocate 32 4096 4096 = 0"]),
  Difference(
    "the kernel does not pass RENAME_WHITEOUT on to FUSE", as: .root, setup: { $0.file("file") },
    { $0.rename("file", "other", flags: 4) },
    mount: ["rename file other 4 = Invalid argument (EINVAL)"], plain: ["rename file other 4 = 0"]),
  Difference(
    "to create only and to replace only contradict each other; ext4 does not notice",
    setup: { side in
      side.file("file")
      side.setAttribute("file", "user.a", "x")
      side.chown("file", 1001, 2001)
    },
    { $0.setAttribute("file", "user.a", "x", flags: 3) },
    mount: ["lsetxattr file user.a 1 3 = Invalid argument (EINVAL)"],
    plain: ["lsetxattr file user.a 1 3 = File exists (EEXIST)"]),
  Difference(
    "the right writeextattr decides about attributes, also those of a sticky directory",
    setup: { side in
      side.mkdir("sticky")
      side.chmod("sticky", 0o1777)
    },
    { $0.setAttribute("sticky", "user.a", "x") },
    mount: ["lsetxattr sticky user.a 1 0 = 0"],
    plain: ["lsetxattr sticky user.a 1 0 = Operation not permitted (EPERM)"]),
]

/// A line of stat with the links of a directory as they are told over lowers.
private func withoutLinks(_ line: String) -> String {
  line.hasPrefix("  4") ? line.replacing(" 2 ", with: " 1 ") : line
}

extension MountTests.ParityTests {
  @Test(
    "Where the mount differs on purpose, it differs just so, and no otherwise over a lower",
    arguments: [false, true])
  func differencesOnPurpose(isInLower: Bool) throws {
    let plain = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(plain) }
    chmod(plain, 0o755)
    var volume = try MountedVolume()
    defer { volume.remove() }
    for (number, difference) in differences.enumerated() {
      for side in [volume.path, plain] {
        let area = "\(side)/\(number)"
        let user = difference.user
        try #require(Glibc.mkdir(area, 0o755) == 0 && Glibc.chown(area, user.user, user.group) == 0)
        _ = Side.transcript(of: difference.setup, as: .root, in: area)
      }
    }
    if isInLower { volume = try volume.lowered() }
    let manner = Side.Manner(countsNoDirectories: isInLower)
    for (number, difference) in differences.enumerated() {
      for (side, wanted) in [(volume.path, difference.mount), (plain, difference.plain)] {
        // What is said of a directory's links where they are not counted.
        let wanted = isInLower ? wanted.map(withoutLinks) : wanted
        let lines = Side.transcript(of: difference.call, as: difference.user, in: "\(side)/\(number)", manner)
        #expect(Array(lines.prefix(wanted.count)) == wanted, "\(difference.reason), in \(side)/\(number)")
      }
    }
  }

  @Test("Two thousand open files without a name all stay reachable") func manyWithoutName() throws {
    let volume = try MountedVolume()
    defer { volume.remove() }
    let path = volume.path
    let complaints = SharedList<String>()
    var fds: [CInt] = []
    defer { for fd in fds { Glibc.close(fd) } }
    for number in 0..<2000 {
      let isUnnamed = number % 2 == 0
      let fd =
        isUnnamed
        ? Glibc.open(path, lt_o_tmpfile | O_RDWR, 0o600)
        : Glibc.open("\(path)/f\(number)", O_CREAT | O_RDWR, 0o600)
      try #require(fd >= 0, "\(number): \(Errno.current)")
      fds.append(fd)
      if !isUnnamed { Glibc.unlink("\(path)/f\(number)") }
    }
    for (number, fd) in fds.enumerated() {
      if Glibc.fchmod(fd, 0o640) != 0 || Glibc.ftruncate(fd, number) != 0 {
        complaints.add("\(number): \(Errno.current)")
      }
      var status = Glibc.stat()
      if Glibc.fstat(fd, &status) != 0 || status.st_nlink != 0 || Int(status.st_size) != number {
        complaints.add("\(number): \(status.st_nlink) names, \(status.st_size) bytes")
      }
    }
    #expect(complaints.all == [])
  }
}
