import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

// Files whose bytes the kernel takes from the backing file by itself: what must be as if it did not.

extension MountTests {
  @Suite("Passthrough", .enabled(if: Machine.passesThrough, "this kernel passes no files through"))
  struct PassthroughTests {
    /// How often a request came, from the volume's status; 0 for one that never came.
    static func requests(_ volume: MountedVolume, _ names: String...) throws -> Int {
      let text = try Text.read(volume.path + "/.varve/status")
      return names.reduce(0) { sum, name in
        guard let start = text.firstRange(of: "\"\(name)\":") else { return sum }
        return sum + (Int(text[start.upperBound...].prefix { $0.isNumber }) ?? 0)
      }
    }

    /// A volume whose files are passed through.
    static func volume(_ options: String = "") throws -> MountedVolume {
      let volume = try MountedVolume(options)
      let status = try Text.read(volume.path + "/.varve/status")
      guard status.contains("\"passthrough\":\"on\"") else {
        volume.remove()
        throw TestFailure("no passthrough with -o '\(options)': \(status)")
      }
      return volume
    }

    @Test(
      "Plain files cause no READ and no WRITE; with passthrough=off they do",
      arguments: ["passthrough=auto", "passthrough=off"])
    func noRequests(option: String) throws {
      let mounted = try MountedVolume(option)
      defer { mounted.remove() }
      let before = try Self.requests(mounted, "read", "write")
      try Program.shell(
        """
        head -c 3000000 /dev/urandom > big; cp big copy; cmp big copy; echo tail >> copy; cat copy | tail -c 5
        dd if=big of=part bs=4k count=10 conv=notrunc; truncate -s 100 part; wc -c < part
        """, in: mounted.path)
      // Reading the status itself takes READs.
      let after = try Self.requests(mounted, "read", "write")
      #expect(option == "passthrough=off" ? after - before > 10 : after - before <= 2, "\(option)")
    }

    @Test("Two who append, one who maps, one who writes natively: all see one file")
    func coherence() throws {
      let volume = try Self.volume()
      defer { volume.remove() }
      let path = volume.path + "/f"
      let first = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o644)
      let second = open(path, O_WRONLY | O_APPEND)
      let mapped = open(path, O_RDWR)
      let native = open(volume.upper + "/f", O_RDWR)
      defer { for file in [first, second, mapped, native] { close(file) } }
      try #require(first >= 0 && second >= 0 && mapped >= 0 && native >= 0)
      for _ in 0..<100 {
        #expect(write(first, "a", 1) == 1 && write(second, "b", 1) == 1)
        #expect(pwrite(native, "n", 1, lseek(native, 0, SEEK_END)) == 1)
      }
      #expect(try Text.read(path) == String(repeating: "abn", count: 100))
      var status = stat()
      #expect(fstat(first, &status) == 0 && status.st_size == 300)

      let page = try #require(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0))
      try #require(page != MAP_FAILED)
      defer { munmap(page, 4096) }
      page.storeBytes(of: UInt8(ascii: "M"), as: UInt8.self)
      var letter: UInt8 = 0
      #expect(pread(native, &letter, 1, 0) == 1 && letter == UInt8(ascii: "M"))
      #expect(pwrite(native, "N", 1, 1) == 1)
      #expect(page.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "N"))
      // Cut by name while all of them have it open.
      #expect(truncate(path, 2) == 0)
      #expect(fstat(first, &status) == 0 && status.st_size == 2)
      #expect(write(first, "z", 1) == 1)
      #expect(try Text.read(path) == "MNz")
      #expect(lseek(mapped, 0, SEEK_END) == 3)
    }

    @Test("Every two ways of opening one file go together, whoever comes first") func everyPair() throws {
      let volume = try Self.volume()
      defer { volume.remove() }
      let path = volume.path + "/f"
      let ways: [CInt] = [
        O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_APPEND, O_RDONLY | lt_o_direct,
        O_RDWR | lt_o_direct, O_WRONLY | O_TRUNC, O_RDONLY | O_TRUNC, O_RDWR | O_DSYNC,
      ]
      for flag in ["", "uappnd"] {
        for first in ways {
          for second in ways {
            _ = unlink(path)
            try #require(Calls.write(path, "text") == nil)
            if flag == "uappnd" { try #require(Attribute.set(path, Attribute.flags, flag) == nil) }
            defer { if flag == "uappnd" { _ = Attribute.set(path, Attribute.flags, "") } }
            let one = open(path, first)
            let refusal = errno
            let other = open(path, second)
            let otherRefusal = errno
            defer { for file in [one, other] where file >= 0 { close(file) } }
            // A file that may only grow refuses some; nothing may be refused by the kernel for the mixture.
            if flag == "" { #expect(one >= 0 && other >= 0, "\(first) \(second): \(Errno.current)") }
            if one < 0 { #expect(refusal == EPERM, "\(first)") }
            if other < 0 { #expect(otherRefusal == EPERM, "\(first) \(second)") }
          }
        }
      }
    }

    @Test(
      "Times move when a mapping is written, whatever was remembered",
      arguments: ["cache=shared", "cache=exclusive"])
    func timesOfMappings(cache: String) throws {
      let volume = try Self.volume(cache)
      defer { volume.remove() }
      let path = volume.path + "/f"
      try #require(Calls.write(path, String(repeating: "x", count: 4096)) == nil)
      try #require(Calls.setTimes(path) == nil)
      #expect(try Calls.status(path).get().st_mtim.tv_sec == 1_000_000)
      let file = open(path, O_RDWR)
      try #require(file >= 0)
      #expect(try Calls.status(path).get().st_mtim.tv_sec == 1_000_000)
      let page = try #require(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
      try #require(page != MAP_FAILED)
      // The mapping outlives the handle, and what is asked for after its end is not remembered either.
      close(file)
      usleep(20_000)
      for _ in 0..<3 {
        try #require(Calls.setTimes(path) == nil)
        #expect(try Calls.status(path).get().st_mtim.tv_sec == 1_000_000)
        // A clean page, so that the store is noticed by the file system below.
        #expect(msync(page, 4096, MS_SYNC) == 0)
        page.storeBytes(of: 1, as: UInt8.self)
        #expect(msync(page, 4096, MS_SYNC) == 0)
        #expect(try Calls.status(path).get().st_mtim.tv_sec > 1_000_000)
      }
      munmap(page, 4096)
    }

    @Test(
      "A stranger's write takes set-id bits and a capability away before its first byte, and from who runs it",
      arguments: [O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_APPEND])
    func setID(flags: CInt) throws {
      let volume = try Self.volume("suid,cache=exclusive")
      defer { volume.remove() }
      try Program.shell("cp /bin/cat program && touch secret && chmod 600 secret", in: volume.path)
      let (path, secret) = (volume.path + "/program", volume.path + "/secret")
      // cap_net_raw+ep, as setcap writes it.
      let capability: [UInt8] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      try #require(lt_set_attribute(path, "security.capability", capability, 20, 0) == 0)
      try #require(chmod(path, 0o6777) == 0)
      #expect(TestUser.carol.run { Calls.run([path, secret]) } == 0, "set-user-id root")
      let refusal: Errno? = TestUser.bob.run {
        let file = open(path, flags)
        guard file >= 0 else { return .current }
        defer { close(file) }
        return Calls.answer(pwrite(file, "\u{7F}", 1, 0))
      }
      #expect(refusal == nil)
      #expect(TestUser.carol.run { Calls.run([path, secret]) } == 1)
      #expect(try Calls.status(path).get().st_mode & 0o7777 == 0o777)
      #expect(lt_attribute(volume.upper + "/program", "security.capability", nil, 0) == -Int(ENODATA))
    }

    @Test("copy_file_range, fallocate, SEEK_HOLE, a program that runs, a file without a name")
    func otherCalls() throws {
      let volume = try Self.volume()
      defer { volume.remove() }
      try Program.shell(
        "cp /bin/true program && ./program && head -c 100000 /dev/urandom > a", in: volume.path)
      let (from, to) = (open(volume.path + "/a", O_RDWR), open(volume.path + "/b", O_CREAT | O_RDWR, 0o644))
      defer { for file in [from, to] { close(file) } }
      try #require(from >= 0 && to >= 0)
      #expect(pwrite(from, "fresh", 5, 0) == 5)
      #expect(lt_call(Int(SYS_copy_file_range), Int(from), 0, Int(to), 0, 100_000, 0) == 100_000)
      var bytes = [UInt8](repeating: 0, count: 5)
      #expect(pread(to, &bytes, 5, 0) == 5 && bytes == Array("fresh".utf8))
      #expect(posix_fallocate(to, 200_000, 1) == 0)
      var status = stat()
      #expect(fstat(to, &status) == 0 && status.st_size == 200_001)
      #expect(lseek(from, 0, 4) == 100_000, "SEEK_HOLE")
      let unnamed = open(volume.path, lt_o_tmpfile | O_RDWR, 0o600)
      try #require(unnamed >= 0)
      defer { close(unnamed) }
      #expect(write(unnamed, "text", 4) == 4 && fstat(unnamed, &status) == 0 && status.st_size == 4)
    }
  }
}

extension MountTests {
  @Suite("Leases below the mount") struct LeaseTests {
    @Test("Whoever may not open a file does not disturb a lease on it, and does not wait for it")
    func refused()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o600)
      let native = open(volume.upper + "/f", O_RDWR)
      try #require(native >= 0)
      defer { close(native) }
      // F_SETLEASE with F_WRLCK; F_GETLEASE.
      try #require(fcntl(native, 1024, CInt(F_WRLCK)) == 0, "\(Errno.current)")
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      #expect(TestUser.bob.run { Calls.open(path, O_RDWR | O_TRUNC) } == .accessDenied)
      #expect(fcntl(native, 1025, 0) == CInt(F_WRLCK))
      _ = fcntl(native, 1024, CInt(F_UNLCK))
    }
  }
}

extension MountTests {
  @Suite("The page cache without passthrough") struct KeptPagesTests {
    @Test("A file that is opened again unchanged is read from memory, a changed one from below")
    func kept() throws {
      let volume = try MountedVolume("passthrough=off")
      defer { volume.remove() }
      let path = volume.path + "/f"
      try #require(Calls.write(volume.upper + "/f", "first") == nil)
      usleep(30_000)
      #expect(try Calls.read(path).get() == "first")
      let before = try PassthroughTests.requests(volume, "read")
      for _ in 0..<20 { #expect(try Calls.read(path).get() == "first") }
      // Reading the status is a read or two.
      #expect(try PassthroughTests.requests(volume, "read") - before <= 3)
      try #require(Calls.write(volume.upper + "/f", "second") == nil)
      #expect(try Calls.read(path).get() == "second")
    }
  }
}
