// The attributes that are doors: flags and lists as text, and what stays hidden behind them.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Attribute doors on a mount", .timeLimit(.minutes(1))) struct DoorTests {
    /// One object of each kind, as root; answers their names.
    private func objects(_ volume: MountedVolume) throws -> [String] {
      _ = try volume.file("file", 1001, 2001, 0o644)
      _ = try volume.directory("directory", 1001, 2001, 0o755)
      try #require(mkfifo(volume.path + "/pipe", 0o644) == 0)
      try #require(symlink("file", volume.path + "/link") == 0)
      try #require(mknod(volume.path + "/device", S_IFCHR | 0o600, 0x103) == 0)
      return ["file", "directory", "pipe", "link", "device"].map { "\(volume.path)/\($0)" }
    }

    @Test("Flags are set whole, by words or by numbers, on every kind of object")
    func flags() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let rows: [(written: String, read: String)] = [
        ("uchg", "uchg"), ("hidden,uchg", "uchg,hidden"), ("", ""), ("simmutable uappend", "schg,uappnd"),
        ("0100002", "uchg,hidden"), ("0x8001", "nodump,hidden"), ("nodump", "nodump"), ("dump", ""),
        ("noschg,arch", "arch"), ("0", ""), ("sappnd,arch,schg,sunlnk", "sappnd,arch,schg,sunlnk"),
        ("opaque", "opaque"), ("0x0", ""),
      ]
      for path in try objects(volume) {
        for row in rows {
          #expect(Attribute.set(path, Attribute.flags, row.written) == nil, "\(path): \(row.written)")
          #expect(try Attribute.text(path, Attribute.flags).get() == row.read, "\(path): \(row.written)")
        }
        try #require(Attribute.set(path, Attribute.flags, "hidden") == nil)
        #expect(Attribute.remove(path, Attribute.flags) == nil)
        #expect(try Attribute.text(path, Attribute.flags).get() == "")
        let below = volume.upper + path.dropFirst(volume.path.count)
        #expect(Attribute.get(below, "trusted.varve.m").refusal == .noData, "\(path): a void record")
      }
    }

    @Test("A list that is read and written back is the same list, on every kind of object but links")
    func lists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let lists: [[String]] = [
        ["user:1002 allow read"],
        ["group:everyone deny delete", "owner@ allow write", "group@ allow read", "nobody@ deny read"],
        ["user:1002 inherited allow read,write,execute,delete,append,readattr,writeattr,readextattr"],
        ["group:2009 allow generic_all", "group:everyone audit read,audit_success", "user:4007 alarm write"],
        ["user:1002 allow read,delete_child,file_inherit,directory_inherit,limit_inherit,only_inherit"],
        (0..<128).map { "user:\(4_000_000_000 + $0) allow read,write,delete" },
        ["!#acl 1 no_inherit", "user:1002 allow read"],
      ]
      for path in try objects(volume) where !path.hasSuffix("link") {
        for list in lists {
          let text = list.joined(separator: "\n")
          #expect(Attribute.set(path, Attribute.list, text) == nil, "\(path): \(text)")
          let read = try Attribute.text(path, Attribute.list).get()
          // A directory prints the same bits with its own words.
          if !path.hasSuffix("directory") { #expect(read == text + "\n", "\(path)") }
          #expect(Attribute.set(path, Attribute.list, read) == nil)
          #expect(try Attribute.text(path, Attribute.list).get() == read)
        }
        #expect(Attribute.remove(path, Attribute.list) == nil)
        #expect(Attribute.get(path, Attribute.list).refusal == .noData)
        #expect(Attribute.remove(path, Attribute.list) == nil, "there was none: nothing changes")
      }
    }

    @Test("What cannot be understood is EINVAL and changes nothing")
    func nonsense() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o644, list: ["user:1002 allow read"], flags: "hidden")
      for text in ["uchgg", "uchg;hidden", "08", "0x", "0x1ffffffff", "nono", "uchg\0", "1 2"] {
        #expect(Attribute.set(path, Attribute.flags, text) == .invalid, "\(text)")
      }
      for text in [
        "user:1002", "user:1002 allow", "user:1002 allow reed", "user:nobodyknows allow read",
        "user:1002 allow read\n\0", "user:5000000000 allow read", "!#acl 9\nuser:1 allow read", ":::",
      ] {
        #expect(Attribute.set(path, Attribute.list, text) == .invalid, "\(text)")
      }
      for name in [Attribute.flags, Attribute.list] {
        #expect(Attribute.set(path, name, [0xFF, 0xFE, 0x00]) == .invalid)
        #expect(Attribute.set(path, name, Array(repeating: 0x41, count: 65_536)) == .invalid)
      }
      #expect(try Shown(of: path) == Shown("0:0", "0644", flags: "hidden", list: ["user:1002 allow read"]))
    }

    @Test("The doors ask for the rights of chflags and chmod +a, and reading asks for those of stat")
    func rights() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      let tries: @Sendable () -> [Errno?] = {
        [
          Attribute.set(path, Attribute.flags, "hidden"), Attribute.set(path, Attribute.flags, ""),
          Attribute.set(path, Attribute.list, "user:1 allow read"), Attribute.remove(path, Attribute.list),
        ]
      }
      #expect(TestUser.bob.run(tries) == [.notPermitted, nil, .notPermitted, nil])
      #expect(TestUser.alice.run(tries) == [nil, nil, nil, nil])
      try volume.dress(path, 1001, 2001, 0o666, list: ["user:1002 allow writesecurity"])
      #expect(TestUser.bob.run { Attribute.set(path, Attribute.flags, "uchg") } == nil)
      #expect(TestUser.bob.run { Attribute.set(path, Attribute.list, "") } == .notPermitted)
      #expect(TestUser.bob.run { Attribute.set(path, Attribute.flags, "schg") } == .notPermitted)
      #expect(TestUser.alice.run { Attribute.set(path, Attribute.flags, "0") } == nil)
      // The owner's right to the list cannot be taken away, the right to look can.
      try volume.dress(path, 1001, 2001, 0o666, list: ["group:everyone deny writesecurity,readsecurity"])
      for name in [Attribute.flags, Attribute.list] {
        #expect(TestUser.alice.run { Attribute.get(path, name).refusal } == .accessDenied)
        #expect(Attribute.get(path, name).refusal == nil)
      }
      #expect(TestUser.alice.run { Attribute.remove(path, Attribute.list) } == nil)
    }

    @Test("Stored records and doors are in no list, and the records are out of reach for root too")
    func hidden() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666, list: ["user:1002 allow read"], flags: "hidden")
      let below = volume.upper + "/f"
      for name in [
        "user.varve.planted", "trusted.varve.planted", "user.plain", "trusted.other", "user.varvex",
      ] {
        try #require(Attribute.set(below, name, "x") == nil)
      }
      #expect(
        try Attribute.names(below).get().filter { $0.contains("varve.") }
          == ["trusted.varve.acl", "trusted.varve.m", "trusted.varve.planted", "user.varve.planted"])
      // Two doors are listed where something is behind them: the list for NFSv4 tools, and the flag hidden.
      let doors = ["system.nfs4_acl", "user.com.apple.FinderInfo"]
      #expect(
        try Attribute.names(path).get() == [doors[0], "trusted.other", doors[1], "user.plain", "user.varvex"])
      #expect(
        try TestUser.bob.run { Attribute.names(path) }.get()
          == [doors[0], doors[1], "user.plain", "user.varvex"])
      for name in ["trusted.varve.m", "trusted.varve.acl", "trusted.varve.planted", "user.varve.planted"] {
        #expect(Attribute.get(path, name).refusal == .noData, "\(name)")
        #expect(Attribute.set(path, name, "y") == .notPermitted, "\(name)")
        #expect(Attribute.remove(path, name) == .notPermitted, "\(name)")
      }
      for user in [TestUser.alice, .root] {
        #expect(user.run { Attribute.set(path, "user.varve.new", "y") } == .notPermitted)
        #expect(user.run { Attribute.set(path, "system.varve.new", "y") } == .unsupported)
      }
    }

    @Test("An attribute of macOS is one attribute under two spellings")
    func spellings() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      #expect(Attribute.set(path, "com.apple.quarantine", "q") == nil)
      #expect(try Attribute.text(path, "user.com.apple.quarantine").get() == "q")
      #expect(try Attribute.text(volume.upper + "/f", "user.com.apple.quarantine").get() == "q")
      #expect(Attribute.remove(path, "user.com.apple.quarantine") == nil)
      #expect(Attribute.get(path, "com.apple.quarantine").refusal == .noData)
    }
  }
}
