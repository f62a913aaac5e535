// What stores of user space and of the network do not have, switched off on a file system of this machine: every call
// does the same.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Without what some stores do not have", .timeLimit(.minutes(3))) struct StoreFallbackTests {
    static let without = [
      "no_local", "no_tmpfile", "no_noreplace", "no_unlinked", "no_birthtime", "no_capability", "no_trusted",
      "no_local,no_tmpfile,no_noreplace,no_unlinked,no_birthtime,no_capability,no_trusted",
    ]

    @Test("Names are those of a plain directory", arguments: without)
    func names(options: String) throws { try compare(ParityScenarios.names, options: options) }

    /// They take long: with what concerns them, and with everything switched off.
    @Test("Renames are those of a plain directory", arguments: ["no_noreplace", without[without.count - 1]])
    func renames(options: String) throws {
      try compare(ParityScenarios.renames, users: [.alice], options: options)
    }

    @Test("Attributes are those of a plain directory", arguments: without)
    func attributes(options: String) throws { try compare(ParityScenarios.attributes, options: options) }

    @Test(
      "Open files are those of a plain directory",
      arguments: ["no_local", "no_unlinked", "no_local,no_unlinked,no_birthtime"])
    func openFiles(options: String) throws { try compare(ParityScenarios.openFiles, options: options) }

    @Test("The status says what is missing", arguments: without) func status(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let status = try Text.read(volume.path + "/.varve/status")
      for word in options.split(separator: ",") {
        #expect(status.contains("\"\(word.dropFirst(3))\":\"off: switched off"), "\(status)")
      }
      #expect(status.contains("\"lock\":\"held\"") == options.contains("no_local"))
      if options.contains("no_local") {
        #expect(!status.contains("\"passthrough\":\"on\""))
      }
      try volume.unmount()
    }

    @Test(
      "Whatever is made belongs to whom it should before anybody sees it, and leaves nothing in the workshop",
      arguments: without)
    func made(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      for (number, (mode, lists)) in [
        (0o777 as mode_t, []), (0o2777, []), (0o777, ["user:1003 allow read,file_inherit,directory_inherit"]),
      ].enumerated() {
        let path = try volume.directory("d\(number)", 1001, 2055, mode, list: lists)
        let failed = TestUser.bob.run(umask: 0o027) { () -> [String] in
          var failed: [String] = []
          func check(_ name: String, _ result: CInt) { if result != 0 { failed.append("\(name): \(errno)") } }
          let file = open(path + "/file", O_RDWR | O_CREAT | O_EXCL, 0o666)
          check("file", file < 0 ? -1 : close(file))
          check("directory", mkdir(path + "/directory", 0o777))
          check("link", symlink("file", path + "/link"))
          check("pipe", mkfifo(path + "/pipe", 0o666))
          check("hard link", Glibc.link(path + "/file", path + "/second"))
          check("rename", rename(path + "/second", path + "/third"))
          for name in ["file", "directory", "link", "pipe"] {
            errno = 0
            if mkdir(path + "/" + name, 0o700) == 0 || errno != EEXIST {
              failed.append("\(name) is taken: \(errno)")
            }
          }
          return failed
        }
        #expect(failed == [])
        for name in ["file", "directory", "link", "pipe", "third"] {
          let status = try Calls.status(path + "/" + name).get()
          #expect(status.st_uid == 1002 && status.st_gid == 2055, "\(name) in \(path)")
        }
      }
      #expect(try Calls.list(volume.upper + "/.varve/work").get() == [])
      try volume.unmount()
    }

    @Test(
      "Records in attributes user.* are those of files and directories, and the rest is refused with the reason"
    )
    func userRecords() throws {
      let volume = try MountedVolume("no_trusted")
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 0, 0o777, flags: "restricted")
      let file = try volume.file("f", 1002, 1002, 0o600, list: ["user:1003 allow read"], flags: "uchg")
      #expect(TestUser.carol.run { Calls.open(file, O_RDONLY) } == nil)
      #expect(Calls.write(file, "x") == .notPermitted)
      #expect(try Attribute.names(volume.upper + "/f").get() == ["user.varve.acl", "user.varve.m"])
      // What the directory would pass on they cannot have.
      #expect([symlink("x", path + "/link"), mkfifo(path + "/pipe", 0o600)] == [0, 0])
      #expect(try Shown(of: path + "/pipe").flags == "")
      for name in ["link", "pipe"] {
        #expect(Attribute.set("\(path)/\(name)", Attribute.flags, "hidden") == .unsupported, "\(name)")
        #expect(
          Attribute.set("\(path)/\(name)", Attribute.list, "user:1003 deny read") == .unsupported, "\(name)")
      }
      let why = try Program.run(Program.built("varve"), ["why", "chflags", path + "/pipe"])
      #expect(
        why.output.contains("here only files and directories have them, in attributes user.*"),
        "\(why.output)")
      let status = try Text.read(volume.path + "/.varve/status")
      #expect(status.contains("\"records\":\"user\""))
      #expect(status.contains("links and special files have none"), "\(status)")
      try volume.unmount()
      // The volume says where its records are: it needs no switch any more.
      let again = try MountedVolume(base: volume.base)
      #expect(try Shown(of: again.path + "/f").list == ["user:1003 allow read"])
      try again.unmount()
    }

    @Test("Root makes no volume of items whose records anybody may have set beforehand") func planted() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell("rm -r .varve; echo > f; setfattr -n user.varve.acl -v x f", in: volume.upper)
      for words in [["-o", "no_trusted"], ["-f", "-o", "no_trusted"], ["-o", "ro,no_trusted"]] {
        let result = try Program.run(Program.built("varve"), ["mount"] + words + [volume.upper, volume.path])
        #expect(
          result.exit == 32
            && result.output
              == "varve mount: \(volume.upper): its store has no attributes trusted.*, and it holds items, whose attributes "
              + "user.varve.* whoever may write them can have set; mount an empty directory, and copy the items into the "
              + "mount\n",
          "\(words): \(result.output)")
        #expect(try Calls.list(volume.upper).get() == ["f"], "\(words)")
      }
    }

    @Test("A volume whose records cannot be read where it lies is refused, in one line")
    func unreadable() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.file("f", 0, 0, 0o644, flags: "hidden")
      try volume.unmount()
      for words in [["-o", "no_trusted"], ["-f", "-o", "no_trusted"], ["-o", "ro,no_trusted"]] {
        let result = try Program.run(Program.built("varve"), ["mount"] + words + [volume.upper, volume.path])
        #expect(
          result.exit == 32
            && result.output.hasPrefix(
              "varve mount: \(volume.upper): its records are in attributes trusted.*, which ")
            && result.output.hasSuffix(" does not have\n") && !result.output.dropLast().contains("\n"),
          "\(words): \(result.output)")
      }
    }

    @Test("A store without extended attributes is refused, in one line, and nothing is left in it")
    func withoutAttributes() throws {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base, CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try #require(Glibc.mount("ramfs", base, "ramfs", 0, nil) == 0, "\(Errno.current)")
      for name in ["upper", "mount"] { try #require(mkdir("\(base)/\(name)", 0o755) == 0) }
      for words in [[], ["-f"], ["-o", "ro"], ["-o", "no_trusted"]] {
        let result = try Program.run(
          Program.built("varve"), ["mount"] + words + [base + "/upper", base + "/mount"])
        #expect(result.exit == 32, "\(words)")
        #expect(
          result.output
            == "varve mount: \(base)/upper: on a file system (ramfs), which has no extended attributes; flags and lists "
            + "cannot be kept there\n", "\(words)")
        #expect(try Calls.list(base + "/upper").get() == [], "\(words)")
      }
    }

    @Test(
      "What the kernel's NFS server goes by leads to an item until the kernel forgets it, and is ESTALE then")
    func serverHandles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o644)
      var handle = [UInt8](repeating: 0, count: 136)
      func opened() -> Int {
        let mount = open(volume.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(mount) }
        let file = lt_open_handle(mount, &handle, O_RDONLY)
        if file >= 0 { close(CInt(file)) }
        return min(file, 0)
      }
      try #require(lt_handle(path, &handle) == 0)
      let held = open(path, O_RDONLY | O_CLOEXEC)
      #expect(opened() == 0)
      close(held)
      try volume.unmount()
      try volume.mount()
      #expect(opened() == -Int(ESTALE))
      #expect(Calls.read(path).refusal == nil)
      try volume.unmount()
    }

    @Test("Without times of birth the file handle tells a number that was given out again")
    func handles() throws {
      let base = try TemporaryDirectory.make()
      // Its inodes have no room for a time of birth.
      try Program.shell(
        """
        truncate -s 16M \(base).image
        mkfs.ext4 -q -b 4096 -I 128 -m 0 \(base).image
        mount -o loop \(base).image \(base)
        """)
      defer {
        umount2(base, CInt(MNT_DETACH))
        unlink(base + ".image")
        TemporaryDirectory.remove(base)
      }
      let volume = try MountedVolume("cache=none,passthrough=off", base: base)
      defer { umount2(volume.path, CInt(MNT_DETACH)) }
      let status = try Text.read(volume.path + "/.varve/status")
      #expect(status.contains("does not have it; file handles tell items apart"), "\(status)")
      let path = try volume.file("f", 1001, 1001, 0o600, flags: "hidden")
      let held = open(path, lt_o_path | O_CLOEXEC)
      defer { close(held) }
      var before = stat()
      var found = stat()
      try #require(fstat(held, &before) == 0)
      // Another file with the same number under the same name, made behind the mount.
      let below = volume.upper + "/f"
      try #require(unlink(below) == 0)
      for number in 0..<64 {
        let other = "\(volume.upper)/other\(number)"
        try #require(Calls.create(other) == nil)
        if try Calls.status(other).get().st_ino == before.st_ino {
          try #require(rename(other, below) == 0)
          break
        }
      }
      try #require(Calls.status(below).get().st_ino == before.st_ino)
      #expect(fstat(held, &found) == -1 && errno == ESTALE)
      #expect(Calls.status(path).refusal == nil)
      close(held)
      try volume.unmount()
    }
  }
}
