// lsattr, chattr and the calls behind them: all tell the same, and what is unknown is no terminal.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Inode flags on a mount", .timeLimit(.minutes(1))) struct InodeFlagDoorTests {
    private enum Request {
      static let flags = 0x8008_6601
      static let setFlags = 0x4008_6602
      static let extended = 0x801C_581F
      static let setExtended = 0x401C_5820
      static let version = 0x8008_7601
    }

    /// An ioctl on words of 32 bits; seven make a `struct fsxattr`.
    private func control(_ path: String, _ request: Int, _ words: inout [UInt32]) throws -> Errno? {
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw TestFailure("open \(path): \(Errno.current)") }
      defer { close(file) }
      return words.withUnsafeMutableBytes { buffer in
        let result = lt_call(
          Int(SYS_ioctl), Int(file), request, Int(bitPattern: buffer.baseAddress), 0, 0, 0)
        return result < 0 ? Errno(rawValue: CInt(-result)) : nil
      }
    }

    @Test("FS_IOC_GETFLAGS and FSGETXATTR tell the same flags, on files and directories") func agree() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let rows: [(flags: String, word: UInt32, extended: UInt32)] = [
        ("", 0, 0), ("schg", 0x10, 0x8), ("sappnd", 0x20, 0x10), ("nodump", 0x40, 0x80),
        // The owner's own flags are in the first word only, or the kernel would not let the owner clear them.
        ("uchg,nodump", 0x50, 0x80), ("uappnd", 0x20, 0), ("hidden,arch,sunlnk,opaque", 0, 0),
        ("schg,uchg,sappnd,uappnd,nodump", 0x70, 0x98),
      ]
      for path in [try volume.file("f", 0, 0, 0o644), try volume.directory("d", 0, 0, 0o755)] {
        for row in rows {
          try #require(Attribute.set(path, Attribute.flags, row.flags) == nil)
          var (word, extended, version) = ([UInt32(0)], [UInt32](repeating: 0, count: 7), [UInt32(0)])
          #expect(try control(path, Request.flags, &word) == nil)
          #expect(try control(path, Request.extended, &extended) == nil)
          #expect(try control(path, Request.version, &version) == nil)
          #expect(word == [row.word] && extended == [row.extended, 0, 0, 0, 0, 0, 0], "\(row.flags)")
        }
        try #require(Attribute.set(path, Attribute.flags, "") == nil)
      }
    }

    @Test("Either call sets what the other shows, and keeps what it has no word for") func setting() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o644, flags: "hidden,arch")
      var extended = [UInt32](repeating: 0, count: 7)
      for (word, flags) in [
        (UInt32(0x88), "arch,schg,nodump,hidden"), (0x80, "arch,nodump,hidden"), (0x10, "sappnd,arch,hidden"),
        (0, "arch,hidden"),
      ] {
        extended[0] = word
        #expect(try control(path, Request.setExtended, &extended) == nil)
        #expect(try Attribute.text(path, Attribute.flags).get() == flags)
      }
      for (word, flags) in [(UInt32(0x50), "arch,schg,nodump,hidden"), (0, "arch,hidden")] {
        var words = [word]
        #expect(try control(path, Request.setFlags, &words) == nil)
        #expect(try Attribute.text(path, Attribute.flags).get() == flags)
      }
      // Access times, synchronous writes, compression, projects: refused, not forgotten.
      for word: UInt32 in [0x80, 0x8, 0x4, 0x800, 0x8000_0000] {
        var words = [word]
        #expect(try control(path, Request.setFlags, &words) == .unsupported, "\(word)")
      }
      extended = [0, 0, 0, 5, 0, 0, 0]
      #expect(try control(path, Request.setExtended, &extended) == .unsupported)
      #expect(try Attribute.text(path, Attribute.flags).get() == "arch,hidden")
    }

    @Test("file_getattr and file_setattr need no open file and say the same as the ioctls") func newCalls()
      throws
    {
      let (getCall, setCall) = (468, 469)
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o600, flags: "schg,nodump,hidden")
      func call(_ number: Int, _ xflags: inout UInt64) -> Errno? {
        var attributes: [UInt64] = [xflags, 0, 0]
        let result = path.withCString { path in
          attributes.withUnsafeMutableBytes { buffer in
            lt_call(
              number, Int(AT_FDCWD), Int(bitPattern: path), Int(bitPattern: buffer.baseAddress), 24, 0, 0)
          }
        }
        xflags = attributes[0]
        return result < 0 ? Errno(rawValue: CInt(-result)) : nil
      }
      var flags: UInt64 = 0
      let first = call(getCall, &flags)
      // Linux 6.17 brought the calls.
      guard first != .notImplemented else { return }
      #expect(first == nil)
      #expect(flags == 0x88)
      flags = 0x10
      #expect(call(setCall, &flags) == nil)
      #expect(try Attribute.text(path, Attribute.flags).get() == "sappnd,hidden")
      flags = 0
      #expect(call(setCall, &flags) == nil)
      #expect(try Attribute.text(path, Attribute.flags).get() == "hidden")
    }

    @Test(
      "lsattr shows generations and projects, chattr cannot set them",
      .enabled(if: Programs.has("lsattr"), "needs e2fsprogs"))
    func programs() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.file("f", 1001, 2001, 0o644, flags: "nodump")
      let fields = try volume.run("lsattr -v -p f").output.split(separator: " ").map(String.init)
      #expect(fields.count == 4 && fields[0] == "0" && UInt32(fields[1]) != nil, "\(fields)")
      #expect(fields.dropFirst(2) == ["------d---------------", "f\n"])
      #expect(try volume.run("lsattr -v -p f").output.split(separator: " ").map(String.init) == fields)
      for words in ["-p 5 f", "-v 7 f", "+A f", "+S f", "+c f"] {
        #expect(try volume.run("chattr \(words)").exit != 0, "\(words)")
      }
      #expect(try volume.letters("f") == "d")
    }

    @Test("Whatever else is asked of a file is ENOTTY, never that there is no such call") func unknown()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for path in [try volume.file("f", 0, 0, 0o644), try volume.directory("d", 0, 0, 0o755)] {
        // A terminal's settings, a set version, the version of another size, a request of nobody's.
        for request in [0x5401, 0x4008_7602, 0x8008_6602, 0x1234_5678, 0x8004_6600] {
          var words = [UInt32](repeating: 0, count: 16)
          #expect(try control(path, request, &words) == .notTerminal, "\(String(request, radix: 16))")
        }
      }
    }
  }
}
