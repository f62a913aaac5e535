// What stores of user space and of the network do not have, switched off on a file system of this machine: every call
// does the same.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Without what some stores do not have", .timeLimit(.minutes(3))) struct StoreFallbackTests {
    /// `LONG=1` runs what takes longest with everything, not only with what concerns it.
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    @Test("Names are those of a plain directory", arguments: StoreFallback.all)
    func names(options: String) throws { try compare(ParityScenarios.names, options: options) }

    /// They take long: of everything with all of it, and of files and full directories in the style that is concerned.
    @Test("Renames are those of a plain directory", arguments: StoreFallback.all)
    func renames(options: String) throws {
      let style = options == "no_noreplace" ? "flags 1" : options == "no_exchange" ? "flags 2" : "flags 0"
      let scenarios = ParityScenarios.renames.filter {
        let isShort = $0.name.hasSuffix(style) && ($0.name.contains("file,") || $0.name.contains("full,"))
        return isShort || Self.isLong || options == StoreFallback.together
      }
      try compare(scenarios, users: [.alice], options: options)
    }

    /// Bytes go the same ways whatever is missing, but for how files are made, and who writes.
    @Test("Bytes are those of a plain directory", arguments: StoreFallback.all)
    func bytes(options: String) throws {
      let short = [
        "reading and writing", "appending", "sizes", "a mapping outlives its name and its descriptor",
      ]
      let scenarios = ParityScenarios.bytes.filter {
        short.contains($0.name) || Self.isLong || options == StoreFallback.together
      }
      try compare(scenarios, users: [.alice], options: options)
    }

    @Test("Attributes are those of a plain directory", arguments: StoreFallback.all)
    func attributes(options: String) throws { try compare(ParityScenarios.attributes, options: options) }

    @Test("Open files are those of a plain directory", arguments: StoreFallback.all)
    func openFiles(options: String) throws {
      // Without O_TMPFILE below it gets no name later, which another test tells.
      let scenarios = ParityScenarios.openFiles.filter {
        !options.contains("no_tmpfile") || $0.name != "a file without a name"
      }
      try compare(scenarios, options: options)
    }

    @Test("What belongs to somebody else is as in a plain directory", arguments: StoreFallback.all)
    func strangers(options: String) throws {
      let users = Self.isLong ? ParityTests.strangers : Array(ParityTests.strangers.prefix(1))
      try compare(ParityScenarios.strangers, users: users, options: options)
    }

    @Test("The status says what is missing", arguments: StoreFallback.all) func status(options: String) throws
    {
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
      arguments: StoreFallback.all)
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
              + "user.varve.* every user who may write them can have set; mount an empty directory, and copy the items into the "
              + "mount\n",
          "\(words): \(result.output)")
        #expect(try Calls.list(volume.upper).get() == ["f"], "\(words)")
      }
    }

    @Test("Where the volume file is gone, records in attributes that would not count refuse the mount")
    func lostFile() throws {
      let volume = try MountedVolume("no_trusted")
      defer { volume.remove() }
      _ = try volume.directory("d", 0, 0, 0o755)
      _ = try volume.file("d/f", 1001, 1001, 0o600, flags: "uchg")
      try volume.unmount()
      try #require(unlink(volume.upper + "/.varve/volume") == 0)
      let sentence =
        ": '.varve/volume' is missing, and 'd/f' has a record in attributes user.*, which would not count; put that file back, "
        + "which says where the records are, or remove the attributes user.varve.*\n"
      let lower = "lower=\(volume.upper)"
      for words in [["mount"], ["mount", "-f"], ["mount", "-o", "ro"], ["mount", "-o", lower]] {
        // As a lower it is refused as well.
        let isLower = words.last == lower
        let upper = isLower ? volume.base + "/other" : volume.upper
        if isLower { try #require(mkdir(upper, 0o755) == 0) }
        let result = try Program.run(Program.built("varve"), words + [upper, volume.path])
        #expect(
          result.exit == 32 && result.output.hasSuffix(volume.upper + sentence),
          "\(words): \(result.output)")
      }
      for words in [["check"], ["check", "--repair", "-y"]] {
        let result = try Program.run(Program.built("varve"), words + [volume.upper])
        #expect(result.exit == 2 && result.output.hasSuffix(sentence), "\(words): \(result.output)")
      }
      #expect(try !Calls.list(volume.upper + "/.varve").get().contains("volume"))
      // A record in trusted.* only root can have written: those are the volume's.
      try Program.shell("setfattr -n trusted.varve.m -v x .", in: volume.upper)
      let result = try Program.run(Program.built("varve"), ["mount", "-f", volume.upper, volume.path])
      #expect(result.exit == 0, "\(result.output)")
    }

    @Test("Where the bookkeeping is gone, records that do not count are told") func unheeded() throws {
      let volume = try MountedVolume("no_trusted")
      defer { volume.remove() }
      _ = try volume.file("f", 1001, 1001, 0o600, flags: "uchg")
      try volume.unmount()
      try Program.shell("rm -r .varve", in: volume.upper)
      for options in ["ro", ""] {
        let again = try MountedVolume(options, base: volume.base)
        #expect(
          try Text.read(again.path + "/.varve/status").contains(
            "'f' has a record in attributes user.*, and there was no '.varve'"), "\(options)")
        try again.unmount()
      }
    }

    @Test("Layers are refused where records are in attributes user.*, by a look as by the mount")
    func layers() throws {
      let volume = try MountedVolume("no_trusted")
      defer { volume.remove() }
      try volume.unmount()
      let lower = volume.base + "/lower"
      try #require(mkdir(lower, 0o755) == 0)
      for words in [["mount", "-f"], ["mount"], ["mount", "-f", "-o", "ro"], ["mount", "-o", "ro"]] {
        let result = try Program.run(
          Program.built("varve"), words + ["-o", "lower=\(lower)", volume.upper, volume.path])
        #expect(
          result.exit == 32
            && result.output
              == "varve mount: \(volume.upper): its records are in attributes user.*, and root's layers need those in attributes trusted.*; let the user mount it whose volume it is, or take an upper directory on a file system that has trusted.*\n",
          "\(words): \(result.output)")
      }
    }

    @Test(
      "A compressed file without a name is expanded for who opens it to write",
      arguments: ["", "no_unlinked"])
    func expansion(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let text = String(repeating: "some text that repeats itself\n", count: 20_000)
      func form(of file: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = "system.varve.compression".withCString { name in
          bytes.withUnsafeMutableBytes {
            lt_call(
              Int(SYS_fgetxattr), Int(file), Int(bitPattern: name), Int(bitPattern: $0.baseAddress), $0.count,
              0, 0)
          }
        }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      }
      for flags in [O_RDWR, O_RDWR | O_TRUNC] {
        let path = volume.path + "/f"
        try #require(Calls.write(path, text) == nil)
        let made = try Program.run(Program.built("varve"), ["compress", path])
        try #require(made.exit == 0, "\(made.output)")
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let name = "/proc/self/fd/\(file)"
        try #require(unlink(path) == 0)
        #expect(form(of: file).hasPrefix("zstd"))
        for step in 0..<2 {
          let writer = open(name, step == 0 ? flags : O_RDWR)
          #expect(writer >= 0, "\(flags), \(step): \(Errno.current)")
          #expect(pwrite(writer, "SOME", 4, 0) == 4, "\(flags), \(step)")
          close(writer)
        }
        #expect(form(of: file) == "none")
        let wanted = flags & O_TRUNC == 0 ? "SOME" + text.dropFirst(4) : "SOME"
        #expect(try Text.read(name) == wanted, "\(flags)")
      }
      try volume.unmount()
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
