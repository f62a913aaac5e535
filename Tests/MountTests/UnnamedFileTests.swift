// A file system below without O_TMPFILE: what is made has the same promises.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Without O_TMPFILE below", .timeLimit(.minutes(2))) struct UnnamedFileTests {
    @Test(
      "Files inherit lists and flags, are made once, and leave nothing in the workshop",
      arguments: ["", ",passthrough=off"])
    func inheriting(options: String) throws {
      let volume = try MountedVolume("no_tmpfile" + options)
      defer { volume.remove() }
      let status = try Text.read(volume.path + "/.varve/status")
      #expect(status.contains("\"tmpfile\":\"off: switched off\""))
      let path = try volume.directory(
        "d", 1001, 2055, 0o777,
        list: ["user:1003 allow read,file_inherit", "user:1002 deny delete,file_inherit"],
        flags: "restricted")
      let made = TestUser.bob.run(umask: 0o027) {
        let file = open(path + "/f", O_RDWR | O_CREAT | O_EXCL, 0o666)
        guard file >= 0 else { return Errno.current }
        defer { close(file) }
        guard write(file, "text", 4) == 4 else { return Errno.current }
        return Errno(rawValue: 0)
      }
      #expect(made == Errno(rawValue: 0))
      let shown = try Shown(of: path + "/f")
      #expect(
        shown.description
          == "1002:2055 0640 {restricted} [\"user:1003 inherited allow read\", \"user:1002 inherited deny delete\"]"
      )
      #expect(TestUser.bob.run { Calls.create(path + "/f") } == .exists)
      #expect(TestUser.bob.run { Calls.open(path + "/f", O_RDWR | O_CREAT) } == nil)
      #expect(try Calls.read(volume.upper + "/d/f").get() == "text")
      #expect(try Calls.status(path + "/f").get().st_nlink == 1)
      #expect(try Calls.list(volume.upper + "/.varve/work").get() == [])
      try volume.unmount()
    }

    @Test("A file without a name can be used, and gets none") func unnamed() throws {
      let volume = try MountedVolume("no_tmpfile")
      defer { volume.remove() }
      let path = try volume.directory("d", 1001, 2055, 0o777, list: ["user:1003 allow read,file_inherit"])
      for directory in [path, try volume.directory("plain", 1001, 2055, 0o777)] {
        let answer = TestUser.bob.run { () -> [Int] in
          let file = open(directory, lt_o_tmpfile | O_RDWR, 0o600)
          guard file >= 0 else { return [-Int(errno)] }
          defer { close(file) }
          var byte: UInt8 = 0
          var status = stat()
          let used = [write(file, "text", 4), pread(file, &byte, 1, 3), Int(fstat(file, &status))]
          let linked = linkat(
            AT_FDCWD, "/proc/self/fd/\(file)", AT_FDCWD, directory + "/new", AT_SYMLINK_FOLLOW)
          return used + [Int(byte), Int(status.st_nlink), Int(status.st_uid), linked == 0 ? 0 : -Int(errno)]
        }
        #expect(answer == [4, 1, 0, Int(UInt8(ascii: "t")), 0, 1002, -Int(ENOENT)], "\(directory)")
        #expect(try Calls.list(volume.upper + "/.varve/work").get() == [])
      }
      try volume.unmount()
    }

    @Test("Where O_TMPFILE is, it is used, and status says so") func there() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      #expect(try Text.read(volume.path + "/.varve/status").contains("\"tmpfile\":\"on\""))
    }
  }
}
