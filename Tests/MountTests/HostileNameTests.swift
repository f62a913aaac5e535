// Names and attributes that nobody would choose in good faith.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Names and attributes of ill will on a mount", .timeLimit(.minutes(1))) struct HostileNameTests {
    private static let names: [[UInt8]] = [
      [0x01], [0x0A], [0x7F, 0x08, 0x1B, 0x5B, 0x32, 0x4A], [0xFF, 0xFE], [0xC0, 0x80], [0xED, 0xA0, 0x80],
      Array("e\u{301}".utf8), Array("\u{202E}gpj.exe".utf8), Array(" ".utf8), Array("-rf".utf8),
      Array("...".utf8), Array(".varvex".utf8), Array("%s%n".utf8), [UInt8](repeating: 0xF0, count: 255),
      [UInt8](repeating: 0x41, count: 255),
    ]

    private func with(_ directory: String, _ name: [UInt8], _ body: (UnsafePointer<CChar>) -> CInt) -> Errno?
    {
      let path = Array(directory.utf8) + [0x2F] + name + [0]
      return path.withUnsafeBufferPointer { bytes in
        bytes.withMemoryRebound(to: CChar.self) { Calls.answer($0.baseAddress.map(body) ?? -1) }
      }
    }

    /// The names in a directory as bytes.
    private func names(_ path: String) throws -> Set<[UInt8]> {
      let stream = try #require(opendir(path))
      defer { closedir(stream) }
      var found: Set<[UInt8]> = []
      while let entry = readdir(stream) {
        found.insert(withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) })
      }
      return found.subtracting([[0x2E], [0x2E, 0x2E], Array(".varve".utf8)])
    }

    @Test("Every name Linux takes is kept byte for byte, and longer ones are refused")
    func bytes() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for name in HostileNameTests.names {
        #expect(with(volume.path, name) { mkdir($0, 0o755) } == nil, "\(name)")
        #expect(with(volume.path, name) { rmdir($0) } == nil, "\(name)")
        #expect(with(volume.path, name) { open($0, O_CREAT | O_EXCL | O_CLOEXEC, 0o644) } == nil, "\(name)")
        #expect(with(volume.path, name) { chmod($0, 0o600) } == nil, "\(name)")
      }
      #expect(try names(volume.path) == Set(HostileNameTests.names))
      #expect(try names(volume.upper) == Set(HostileNameTests.names))
      #expect(try Program.run(Program.built("varve"), ["ls", "-leO@R", volume.path]).exit == 0)
      let tooLong = [UInt8](repeating: 0x41, count: 256)
      #expect(with(volume.path, tooLong) { mkdir($0, 0o755) } == .nameTooLong)
      for name in HostileNameTests.names { #expect(with(volume.path, name) { unlink($0) } == nil, "\(name)") }
      #expect(try names(volume.upper) == [])
    }

    @Test("The reserved name cannot be made, moved or removed")
    func reserved() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let name = volume.path + "/.varve"
      let file = try volume.file("f", 0, 0, 0o644)
      let refusals = [
        Calls.answer(rename(name, volume.path + "/x")), Calls.answer(rename(file, name)),
        Calls.answer(rmdir(name)), Calls.answer(chmod(name, 0o777)), Calls.answer(chown(name, 1, 1)),
        Attribute.set(name, Attribute.flags, "hidden"), Attribute.set(name, "user.x", "y"),
      ]
      #expect(refusals.allSatisfy { $0 != nil }, "\(refusals)")
      #expect(Calls.create(name + "/new") != nil)
      #expect(Calls.write(name + "/status", "x") != nil)
      #expect(try Calls.list(volume.path).get() == ["f"])
      // What the kernel answers by itself, as for any name that is there: it asks for the name, not what for.
      let directory = try volume.directory("moved", 0, 0, 0o755)
      let present: [(String, Errno?, Errno)] = [
        ("mkdir", Calls.answer(mkdir(name, 0o755)), .exists),
        ("symlink", Calls.answer(symlink("f", name)), .exists),
        ("mknod", Calls.answer(mknod(name, S_IFREG | 0o644, 0)), .exists),
        ("link", Calls.answer(link(file, name)), .exists),
        ("exclusive", Calls.open(name, O_CREAT | O_EXCL | O_WRONLY), .exists),
        ("create", Calls.open(name, O_CREAT | O_WRONLY), .isDirectory),
        ("unlink", Calls.answer(unlink(name)), .isDirectory),
        ("file onto it", Calls.answer(rename(file, name)), .isDirectory),
        ("NOREPLACE", Calls.answer(lt_renameat2(AT_FDCWD, directory, AT_FDCWD, name, 1)), .exists),
        // And what it asks for.
        ("directory onto it", Calls.answer(rename(directory, name)), .notPermitted),
        ("EXCHANGE", Calls.answer(lt_renameat2(AT_FDCWD, directory, AT_FDCWD, name, 2)), .notPermitted),
        ("away", Calls.answer(rename(name, volume.path + "/x")), .notPermitted),
        ("rmdir", Calls.answer(rmdir(name)), .notPermitted),
        ("mkdir inside", Calls.answer(mkdir(name + "/x", 0o755)), .notPermitted),
        ("create inside", Calls.create(name + "/x"), .notPermitted),
        ("unlink inside", Calls.answer(unlink(name + "/status")), .notPermitted),
        ("into it", Calls.answer(rename(file, name + "/f")), .notPermitted),
        ("link into it", Calls.answer(link(file, name + "/f")), .notPermitted),
      ]
      for (call, refusal, expected) in present { #expect(refusal == expected, "\(call)") }
      // Below the root it is a name like any other.
      let inner = try volume.directory("d", 0, 0, 0o755) + "/.varve"
      #expect(Calls.answer(mkdir(inner, 0o755)) == nil)
      #expect(Calls.create(inner + "/volume") == nil)
    }

    @Test("With nomagic the reserved name is not there, and every way to make it is EPERM") func hidden()
      throws
    {
      let volume = try MountedVolume("nomagic")
      defer { volume.remove() }
      let name = volume.path + "/.varve"
      let file = try volume.file("f", 0, 0, 0o644)
      let directory = try volume.directory("d", 0, 0, 0o755)
      let refusals: [(String, Errno?, Errno)] = [
        ("stat", Calls.status(name).refusal, .noSuchFile),
        ("mkdir", Calls.answer(mkdir(name, 0o755)), .notPermitted),
        ("symlink", Calls.answer(symlink("f", name)), .notPermitted),
        ("mknod", Calls.answer(mknod(name, S_IFREG | 0o644, 0)), .notPermitted),
        ("link", Calls.answer(link(file, name)), .notPermitted),
        ("create", Calls.open(name, O_CREAT | O_WRONLY), .notPermitted),
        ("exclusive", Calls.open(name, O_CREAT | O_EXCL | O_WRONLY), .notPermitted),
        ("file onto it", Calls.answer(rename(file, name)), .notPermitted),
        ("directory onto it", Calls.answer(rename(directory, name)), .notPermitted),
        ("NOREPLACE", Calls.answer(lt_renameat2(AT_FDCWD, file, AT_FDCWD, name, 1)), .notPermitted),
        ("rmdir", Calls.answer(rmdir(name)), .noSuchFile),
        ("away", Calls.answer(rename(name, file)), .noSuchFile),
      ]
      for (call, refusal, expected) in refusals { #expect(refusal == expected, "\(call)") }
      #expect(try Calls.list(volume.path).get() == ["d", "f"])
    }

    @Test("Attributes of the largest size and in the largest number come back or are refused")
    func attributeBombs() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      // Where attributes may be large: on tmpfs.
      try Program.shell("mount -t tmpfs -o size=64m,mode=755 tmpfs \(base)")
      defer { umount2(base, CInt(MNT_DETACH)) }
      let volume = try MountedVolume(base: base)
      defer { umount2(volume.path, CInt(MNT_DETACH)) }
      let path = try volume.file("f", 1001, 2001, 0o644, list: ["user:1002 allow write"], flags: "hidden")
      let large = [UInt8](repeating: 0x55, count: 65_536)
      #expect(Attribute.set(path, "user.large", large) == nil)
      #expect(try Attribute.get(path, "user.large").get() == large)
      #expect(Attribute.set(path, "user.larger", large + [0]) == .tooBig)
      let longest = "user." + String(repeating: "n", count: 250)
      #expect(Attribute.set(path, longest, "x") == nil)
      #expect(Attribute.set(path, longest + "n", "x") == .range)
      let many = (0..<400).map { "user.attribute.number.\($0)" }
      for name in many { #expect(Attribute.set(path, name, [UInt8](repeating: 1, count: 500)) == nil) }
      #expect(
        try Attribute.names(path).get()
          == (many + ["user.large", longest, "system.nfs4_acl", "user.com.apple.FinderInfo"]).sorted())
      #expect(try Shown(of: path).list == ["user:1002 allow write"])
      #expect(Attribute.remove(path, "user.large") == nil)
      // More names than a list may hold: an error, and not a daemon that is gone.
      for number in 0..<400 { _ = Attribute.set(path, longest.dropLast(4) + "\(1000 + number)", "x") }
      #expect(Attribute.names(path).refusal == .tooBig)
      #expect(try Shown(of: path).flags == "hidden")
    }
  }
}
