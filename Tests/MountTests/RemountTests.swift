import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  /// Other options for a volume that is mounted and in use.
  @Suite("Changing options of a mounted volume", .timeLimit(.minutes(2))) struct RemountTests {
    @discardableResult
    private func remount(
      _ volume: MountedVolume, _ options: String, status: Int32 = 0,
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
      let result = try Program.run(Program.built("varve"), ["remount", "-o", options, volume.path])
      #expect(result.exit == status, "\(result.output)", sourceLocation: sourceLocation)
      return result.output
    }

    @Test("A list counts as soon as acl is back, whatever attributes the kernel remembers") func lists()
      throws
    {
      let volume = try MountedVolume("cache=exclusive")
      defer { volume.remove() }
      let path = try volume.file("file", 1001, 2001, 0o644)
      try #require(Attribute.set(path, Attribute.list, "user:1002 deny readattr,read") == nil)
      for _ in 0..<10 {
        #expect(TestUser.bob.run { Calls.status(path).refusal } == .accessDenied)
        try remount(volume, "noacl")
        #expect(TestUser.bob.run { (Calls.status(path).refusal, Calls.read(path).refusal) } == (nil, nil))
        #expect(Attribute.set(path, Attribute.list, "user:1002 allow read") == .unsupported)
        try remount(volume, "acl")
      }
    }

    @Test("What is mounted inside a volume stays through a remount that forgets no names") func inner() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let inner = volume.path + "/d/inner"
      try Program.shell(
        "mkdir -p d/inner && mount -t tmpfs tmpfs d/inner && touch d/inner/file", in: volume.path)
      defer { umount2(inner, CInt(MNT_DETACH)) }
      let changes = [
        "ro", "rw", "noacl", "acl", "noexec", "exec", "noowners", "owners", "securelevel=1", "suiddir",
        "admin_group=2009", "groups=nss", "cache=exclusive", "ro", "securelevel=2",
      ]
      for change in changes {
        try remount(volume, change)
        #expect(try Calls.list(inner).get() == ["file"], "\(change)")
      }
    }

    @Test("Names that were remembered for ever are forgotten when the cache option says so") func cache()
      throws
    {
      for option in ["shared", "none"] {
        let volume = try MountedVolume("cache=exclusive")
        defer { volume.remove() }
        #expect(Calls.status(volume.path + "/new").refusal == .noSuchFile)
        try Program.shell("touch new", in: volume.upper)
        try remount(volume, "cache=" + option)
        #expect(Calls.status(volume.path + "/new").refusal == nil)
      }
    }

    @Test("Owners are shown and count as soon as owners is back") func owners() throws {
      let volume = try MountedVolume("cache=exclusive")
      defer { volume.remove() }
      let path = try volume.file("file", 1001, 2001, 0o600)
      for _ in 0..<10 {
        try remount(volume, "noowners")
        #expect(TestUser.bob.run { (try? Calls.status(path).get().st_uid) } == 1002)
        #expect(TestUser.bob.run { Calls.read(path).refusal } == nil)
        try remount(volume, "owners")
        #expect(TestUser.bob.run { (try? Calls.status(path).get().st_uid) } == 1001)
        #expect(TestUser.bob.run { Calls.read(path).refusal } == .accessDenied)
      }
      #expect(try remount(volume, "suid", status: 32).contains("cannot change 'suid' while mounted"))
    }

    @Test(
      "With a file open for writing a volume stays writable, and says so", arguments: ["", "passthrough=off"])
    func openFiles(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let path = volume.path + "/file"
      let file = open(path, O_RDWR | O_CREAT, 0o644)
      try #require(file >= 0 && ftruncate(file, 4096) == 0)
      #expect(try remount(volume, "ro", status: 32).contains("open for writing"))
      #expect(write(file, "text", 4) == 4)
      // A mapping is an open file, too.
      let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
      try #require(memory != MAP_FAILED)
      close(file)
      #expect(try remount(volume, "ro", status: 32).contains("open for writing"))
      munmap(memory, 4096)
      let reader = open(path, O_RDONLY)
      defer { close(reader) }
      try remount(volume, "ro")
      let refusals: [Errno?] = [
        Calls.open(path, O_WRONLY), Calls.create(volume.path + "/new"), Calls.answer(unlink(path)),
        Calls.answer(chmod(path, 0o600)), Calls.answer(mkdir(volume.path + "/inner", 0o755)),
        Calls.answer(rename(path, path + "2")), Attribute.set(path, Attribute.list, "user:1002 allow read"),
        Calls.answer(truncate(path, 0)),
      ]
      #expect(refusals.allSatisfy { $0 == .readOnly }, "\(refusals)")
      try remount(volume, "rw")
      #expect(Calls.write(path, "again") == nil)
    }

    @Test("A volume mounted read-only takes its lock when it becomes writable") func becomesWritable() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.file("file", 0, 0, 0o644)
      try #require(Attribute.set(volume.path + "/file", Attribute.list, "user:1002 deny read") == nil)
      try volume.unmount()
      let other = volume.base + "/other"
      try #require(mkdir(other, 0o755) == 0)
      defer { umount2(other, CInt(MNT_DETACH)) }
      let varve = Program.built("varve")
      try #require(try Program.run(varve, ["mount", "-o", "ro", volume.upper, other]).exit == 0)
      // Somebody else has it, writable.
      try volume.mount()
      let refused = try Program.run(varve, ["remount", "-o", "rw", other])
      #expect(refused.exit == 32 && refused.output.contains("mounted already"), "\(refused.output)")
      try volume.unmount()
      #expect(try Program.run(varve, ["remount", "-o", "rw", other]).exit == 0)
      #expect(Calls.create(other + "/new") == nil)
      let path = other + "/file"
      #expect(TestUser.bob.run { Calls.read(path).refusal } == .accessDenied)
      #expect(
        try Program.run(varve, ["mount", volume.upper, volume.path]).output.contains("mounted already"))
      #expect(try Program.run(varve, ["umount", other]).exit == 0)
    }

    /// A second mount point on the volume's upper directory.
    private func other(_ volume: MountedVolume, _ options: String) throws -> String {
      let path = volume.base + "/other"
      mkdir(path, 0o755)
      let result = try Program.run(Program.built("varve"), ["mount", "-o", options, volume.upper, path])
      guard result.exit == 0 else { throw TestFailure(result.output) }
      return path
    }

    @Test("A read-only mount obeys the first list, which somebody sets through another mount")
    func firstRecordElsewhere() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("file", 0, 0, 0o644)
      _ = try volume.directory("dir", 0, 0, 0o755)
      _ = try volume.file("dir/inner", 0, 0, 0o644)
      try volume.unmount()
      let other = try other(volume, "ro")
      defer { umount2(other, CInt(MNT_DETACH)) }
      #expect(TestUser.bob.run { Calls.read(other + "/file").refusal } == nil)
      #expect(TestUser.bob.run { Calls.read(other + "/dir/inner").refusal } == nil)
      try volume.mount()
      try #require(Attribute.set(path, Attribute.list, "user:1002 deny read") == nil)
      try #require(Attribute.set(volume.path + "/dir", Attribute.list, "user:1002 deny search") == nil)
      // What is remembered of a directory is a second old at most.
      usleep(1_200_000)
      #expect(TestUser.bob.run { Calls.read(other + "/file").refusal } == .accessDenied)
      #expect(TestUser.bob.run { Calls.read(other + "/dir/inner").refusal } == .accessDenied)
      #expect(TestUser.carol.run { Calls.read(other + "/dir/inner").refusal } == nil)
    }

    @Test("A mount that becomes writable believes nothing it saw before it had the lock")
    func changedElsewhere() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("dir", 0, 0, 0o755)
      _ = try volume.file("dir/inner", 0, 0, 0o644)
      try volume.unmount()
      let other = try other(volume, "ro,cache=exclusive")
      defer { umount2(other, CInt(MNT_DETACH)) }
      #expect(TestUser.bob.run { Calls.read(other + "/dir/inner").refusal } == nil)
      try volume.mount()
      try #require(Attribute.set(directory, Attribute.list, "user:1002 deny search") == nil)
      try volume.unmount()
      let result = try Program.run(Program.built("varve"), ["remount", "-o", "rw", other])
      #expect(result.exit == 0, "\(result.output)")
      #expect(TestUser.bob.run { Calls.read(other + "/dir/inner").refusal } == .accessDenied)
    }

    @Test("The first list of a volume that became writable is there after the next mount")
    func firstRecordAfterwards() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("file", 0, 0, 0o644)
      try volume.unmount()
      let other = try other(volume, "ro")
      defer { umount2(other, CInt(MNT_DETACH)) }
      let varve = Program.built("varve")
      try #require(try Program.run(varve, ["remount", "-o", "rw", other]).exit == 0)
      try #require(Attribute.set(other + "/file", Attribute.list, "user:1002 deny read") == nil)
      #expect(TestUser.bob.run { Calls.read(other + "/file").refusal } == .accessDenied)
      try #require(try Program.run(varve, ["umount", other]).exit == 0)
      try volume.mount()
      #expect(TestUser.bob.run { Calls.read(path).refusal } == .accessDenied)
    }

    @Test("A directory that never was a volume becomes one when it becomes writable") func becomesVolume()
      throws
    {
      let volume = try MountedVolume("ro")
      defer { volume.remove() }
      #expect(access(volume.upper + "/.varve", F_OK) != 0)
      let identity = try Program.run(Program.built("varve"), ["status", volume.path]).output
        .split(separator: "\n").first { $0.contains("uuid:") }
      try remount(volume, "rw")
      let path = try volume.file("file", 1001, 2001, 0o644)
      #expect(Attribute.set(path, Attribute.list, "user:1002 deny read") == nil)
      try volume.unmount()
      #expect(try Program.run(Program.built("varve"), ["mount", volume.upper, volume.path]).exit == 0)
      #expect(TestUser.bob.run { Calls.read(path).refusal } == .accessDenied)
      let after = try Program.run(Program.built("varve"), ["status", volume.path]).output
        .split(separator: "\n").first { $0.contains("uuid:") }
      #expect(identity != nil && identity == after)
    }

    @Test("The secure level rises and does not fall") func secureLevel() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("file", 0, 0, 0o644)
      func flags(_ word: String) throws -> Int32 {
        try Program.run(Program.built("varve"), ["chflags", word, path]).exit
      }
      #expect(try flags("schg") == 0)
      #expect(try flags("noschg") == 0)
      #expect(try flags("schg") == 0)
      try remount(volume, "securelevel=1")
      #expect(try flags("noschg") == 1)
      #expect(try remount(volume, "securelevel=0", status: 32).contains("may only rise"))
      #expect(try remount(volume, "securelevel=often", status: 1).contains("is a number from"))
      #expect(try flags("noschg") == 1)
    }

    @Test("noexec, suiddir, admin_group and chattr take effect at once") func others() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/true"
      try Program.shell(
        "cp /bin/true true && mkdir -m 4777 drop && chown 1001 drop && chmod 4777 drop", in: volume.path)
      #expect(Calls.execute(path) == nil)
      try remount(volume, "noexec,suiddir,chattr=user")
      #expect(Calls.execute(path) == .accessDenied)
      let dropped = volume.path + "/drop/file"
      #expect(TestUser.bob.run { Calls.create(dropped) } == nil)
      #expect((try? Calls.status(dropped).get().st_uid) == 1001)
      try Program.shell("chattr +i true", in: volume.path)
      #expect(try Program.run(Program.built("varve"), ["ls", "-lO", path]).output.contains("uchg"))
      try Program.shell("chattr -i true", in: volume.path)
      let secret = try volume.file("secret", 0, 0, 0o600)
      #expect(TestUser.bob.run { Calls.read(secret).refusal } == .accessDenied)
      try remount(volume, "exec,nosuiddir,admin_group=2009")
      #expect(Calls.execute(path) == nil)
      #expect(TestUser.bob.run { Calls.read(secret).refusal } == nil)
      try remount(volume, "admin_group=")
      #expect(TestUser.bob.run { Calls.read(secret).refusal } == .accessDenied)
      let status = try Program.run(Program.built("varve"), ["status", "--json", volume.path]).output
      for word in ["\"exec\"", "\"nosuiddir\"", "\"chattr=user\"", "\"noexec\": false"] {
        #expect(status.contains(word), "\(word) in \(status)")
      }
    }

    @Test(
      "What a mount says of its options does not steer the terminal",
      .enabled(if: Programs.has("script"), "needs script(1) for a terminal"))
    func terminal() throws {
      let volume = try MountedVolume("x-note=\u{1B}[31mred\u{9B}1m\nsecond")
      defer { volume.remove() }
      let varve = Program.built("varve")
      for words in ["status \(volume.path)", "remount -v -o noexec \(volume.path)"] {
        // Its own colours steer as well.
        let shown = try Program.run(
          "/usr/bin/script", ["-qec", "\(varve) \(words)", "/dev/null"], environment: ["NO_COLOR": "1"]
        ).output
        #expect(shown.contains("x-note=?[31mred"), "\(shown)")
        #expect(!shown.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{9B}" }, "\(shown)")
        #expect(!shown.contains("\nsecond"), "\(shown)")
      }
    }

    @Test(
      "Only root and the owner of a mount change its options, also over the control socket")
    func strangers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try Attribute.text(volume.path, "system.varve.control").get()
      let lines = [
        "{\"verb\":\"remount\",\"options\":\"noowners\"}",
        "{\"verb\":\"remount\",\"options\":\"noowners\",\"user\":0}",
        "{\"verb\":\"remount\"}", "{}", "[]", "null", "{\"verb\":1}", String(repeating: "[", count: 60_000),
        "{\"verb\":\"remount\",\"options\":\"\",\"optionsBytes\":\"zz\"}", "\u{0}", "{\"verb\":\"\\ud800\"}",
      ]
      for line in lines {
        let answer = TestUser.bob.run { ControlCall.ask(path, line) }
        #expect(answer?.contains("\"ok\": false") == true, "\(line.prefix(60)): \(answer ?? "no answer")")
      }
      let allowed = TestUser.bob.run { ControlCall.ask(path, "{\"verb\":\"status\"}") }
      #expect(allowed?.contains("\"noowners\": false") == true)
      #expect(Attribute.set(volume.path, "system.varve.control", "/tmp/x") == .notPermitted)
      let file = try volume.file("file", 0, 0, 0o644)
      #expect(Attribute.text(file, "system.varve.control").refusal == .noData)
    }
  }
}

/// The control socket without our tools.
enum ControlCall {
  /// The answer to one line; nil if there is none.
  static func ask(_ path: String, _ line: String) -> String? {
    let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    let name = Array(path.dropFirst(directory.count + 1).utf8)
    do {
      let place = try Descriptor.open(path: directory, [.path, .directory])
      let stream = try FileName.with(name) { name throws(Errno) in try LocalStream(to: name, in: place) }
      let deadline = Clock.monotonicNanoseconds + 20_000_000_000
      try stream.send(Array((line + "\n").utf8), deadline: deadline)
      return String(decoding: try stream.receiveLastLine(limit: 1 << 20, deadline: deadline), as: UTF8.self)
    } catch {
      return nil
    }
  }
}
