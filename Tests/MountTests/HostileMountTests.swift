// Mounts that must be refused, with a sentence that helps.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Mounts that are refused", .timeLimit(.minutes(1))) struct HostileMountTests {
    private func mount(_ source: String, _ place: String, _ options: String = "rw") throws -> ProgramResult {
      try Program.run(Program.built("varve"), ["mount", "-o", options, source, place])
    }

    @Test("A source or a mount point that is none is named, and nothing is left behind")
    func badPlaces() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      try Program.shell("mkdir upper mount && echo x > file && ln -s nowhere dangling", in: base)
      let rows: [(source: String, place: String, words: String)] = [
        ("missing", "mount", "missing"), ("file", "mount", "file"), ("dangling", "mount", "dangling"),
        ("upper", "absent", "absent"), ("upper", "file", "is not a directory"),
        ("", "mount", "the source has no name"),
      ]
      for row in rows {
        let result = try mount(row.source.isEmpty ? "" : "\(base)/\(row.source)", "\(base)/\(row.place)")
        #expect(result.exit != 0, "\(row)")
        #expect(result.output.contains(row.words), "\(row): \(result.output)")
        #expect(!result.output.contains("Fatal error"), "\(row): \(result.output)")
      }
      let mounts = try Text.read("/proc/self/mounts")
      #expect(!mounts.contains(base))
    }

    @Test("A volume is mounted once, and the second attempt is told by which process")
    func twice() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let other = volume.base + "/other"
      try #require(mkdir(other, 0o755) == 0)
      let daemon = try #require(volume.daemon)
      let result = try mount(volume.upper, other)
      #expect(result.exit == 32, "\(result.output)")
      #expect(result.output.contains("process \(daemon)"), "\(result.output)")
      // The first one goes on.
      #expect(Calls.write(volume.path + "/file", "x") == nil)
      try volume.unmount()
      let second = try mount(volume.upper, other)
      defer { umount2(other, CInt(MNT_DETACH)) }
      #expect(second.exit == 0, "\(second.output)")
      #expect(try Calls.read(other + "/file").get() == "x")
    }

    @Test("What is not a file or directory as a mount makes it, in .varve, is named, and nothing is mounted")
    func forgedEntries() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      let kinds = [
        ("mkfifo", "a FIFO"), ("mkdir", "a directory"), ("ln -s ../outside", "a symbolic link"),
        ("mknod -m 600", "a device"),
      ]
      try Program.shell("echo text > outside", in: volume.upper)
      for name in ["lock", "volume", "keybag", "keybag.copy", "sessions", "work"] {
        for (command, words) in kinds where name != "work" || command != "mkdir" {
          let device = words == "a device" ? " c 1 3" : ""
          try Program.shell(
            "mkdir saved; for f in \(name); do if [ -e $f ]; then mv $f saved; fi; done; \(command) \(name)\(device)",
            in: volume.upper + "/.varve")
          for options in ["rw", "ro"] {
            let result = try mount(volume.upper, volume.path, options)
            #expect(result.exit == 32, "\(name), \(words)")
            let type = name == "work" ? "a directory" : "a regular file"
            #expect(
              result.output.contains("'.varve/\(name)' is \(words), not \(type); put back what was there"),
              "\(result.output)")
          }
          try Program.shell(
            "rm -d \(name); for f in \(name); do if [ -e saved/$f ]; then mv saved/$f .; fi; done; rmdir saved",
            in: volume.upper + "/.varve")
        }
      }
      #expect(try Text.read(volume.upper + "/outside") == "text\n")
      // The volume is as it was.
      try volume.mount()
      #expect(Calls.write(volume.path + "/file", "x") == nil)
    }

    @Test("A file that is open goes on when something is mounted over its name behind the mount")
    func covered() throws {
      let volume = try MountedVolume("cache=none")
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      let file = open(path, O_RDWR)
      try #require(file >= 0)
      defer { close(file) }
      let below = volume.upper + "/f"
      try #require(Glibc.mount("/proc/version", below, nil, UInt(MS_BIND), nil) == 0)
      defer { umount2(below, CInt(MNT_DETACH)) }
      #expect(Calls.answer(fchmod(file, 0o600)) == nil)
      #expect(Calls.status(path).refusal == .crossDevice)
      umount2(below, CInt(MNT_DETACH))
      #expect(try Calls.status(path).get().st_mode & 0o777 == 0o600)
    }

    @Test("Bookkeeping that is damaged or of a later version is not mounted, or only for reading")
    func headers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      let header = volume.upper + "/.varve/volume"
      let whole = try Text.read(header)
      // What an earlier version wrote.
      let text = whole.replacing(/crc = .*\n/, with: "")
      let rows: [(text: String, writing: Bool, reading: Bool)] = [
        (text.replacing("incompat = 0", with: "incompat = 1"), false, false),
        (text.replacing("ro_compat = 0", with: "ro_compat = 4"), false, true),
        (whole.replacing("ro_compat = 0", with: "ro_compat = 4"), false, false),
        (text + "later = something\n", true, true),
        (text.replacing("varve-volume 1", with: "varve-volume 2"), false, false),
        (text.replacing("xattr = trusted", with: "xattr = system"), false, false),
        (String(text.prefix(20)), false, false), ("", false, false),
        (String(repeating: "x = y\n", count: 20_000), false, false), (text, true, true),
        (whole, true, true),
      ]
      for row in rows {
        try #require(Calls.write(header, row.text) == nil)
        for (options, expected) in [("rw", row.writing), ("ro", row.reading)] {
          let result = try mount(volume.upper, volume.path, options)
          #expect((result.exit == 0) == expected, "\(options), \(row.text.prefix(80)): \(result.output)")
          if result.exit == 0 { try volume.unmount() }
        }
        // What is not understood stays as it was.
        if !row.writing { #expect(try Text.read(header) == row.text) }
      }
    }

    @Test("Bookkeeping that is a link or a file is not followed")
    func strangeBookkeeping() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      try Program.shell("mkdir upper mount outside && ln -s ../outside upper/.varve", in: base)
      #expect(try mount(base + "/upper", base + "/mount").exit == 32)
      #expect(try Calls.list(base + "/outside").get() == [])
      try Program.shell("rm upper/.varve && echo x > upper/.varve", in: base)
      #expect(try mount(base + "/upper", base + "/mount").exit == 32)
      #expect(try Calls.read(base + "/upper/.varve").get() == "x\n")
    }
  }
}
