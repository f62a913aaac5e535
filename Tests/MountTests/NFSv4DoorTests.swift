// `system.nfs4_acl` and `system.nfs4_acl_xdr` by their bytes: rights, atomicity, sizes, nonsense.

import AccessControl
import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Testing

extension MountTests {
  @Suite("NFSv4 lists on a mount", .timeLimit(.minutes(1))) struct NFSv4DoorTests {
    private static let names = "system.nfs4_acl"
    private static let numbers = "system.nfs4_acl_xdr"

    /// The bytes of a list and a mode, as a tool would send them.
    private static func bytes(_ entries: [AccessEntry], mode: UInt16, _ name: String) -> [UInt8] {
      let list = entries.isEmpty ? nil : AccessList(entries)
      return name == names
        ? NFSv4List.encode(list, mode: mode, for: .file, names: .numeric)
        : NFSv4List.encodeNumbers(list, mode: mode, for: .file)
    }

    private static let bobWrites = AccessEntry(.allow, .user(1002), .write)

    @Test("Every item has an NFSv4 list to read, and it is listed where one is stored")
    func reading() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o640)
      let directory = try volume.directory("d", 1001, 2001, 0o1777)
      try #require(mkfifo(volume.path + "/pipe", 0o604) == 0)
      try #require(symlink("f", volume.path + "/link") == 0)
      for name in [Self.names, Self.numbers] {
        #expect(try Attribute.get(file, name).get() == Self.bytes([], mode: 0o640, name))
        #expect(try Attribute.get(volume.path + "/pipe", name).get() == Self.bytes([], mode: 0o604, name))
        #expect(try Attribute.get(volume.path + "/link", name).get() == Self.bytes([], mode: 0o777, name))
        #expect(Attribute.get(directory, name).refusal == nil)
        #expect(Attribute.get(volume.path, name).refusal == nil)
      }
      #expect(try Attribute.names(file).get() == [])
      try #require(Attribute.set(file, Attribute.list, "user:1002 allow write") == nil)
      for name in [Self.names, Self.numbers] {
        let expected = Self.bytes([Self.bobWrites], mode: 0o640, name)
        #expect(try Attribute.get(file, name).get() == expected)
      }
      #expect(try Attribute.names(file).get() == [Self.names])
      #expect(TestUser.bob.run { Attribute.names(file).refusal } == .accessDenied)
      #expect(Attribute.remove(file, Self.names) == nil)
      #expect(try Attribute.names(file).get() == [])
      #expect(try Shown(of: file) == Shown("1001:2001", "0640"))
    }

    @Test("A caller learns the length, and is told when the buffer is too small") func sizes() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = (0..<128).map { "user:\(4_000_000_000 + $0) allow read" }
      let file = try volume.file("f", 1001, 2001, 0o640, list: list)
      for name in [Self.names, Self.numbers] {
        let bytes = try Attribute.get(file, name).get()
        #expect(bytes.count > 1_024)
        var buffer = [UInt8](repeating: 0, count: bytes.count)
        #expect(lt_attribute(file, name, nil, 0) == bytes.count)
        for room in [1, 28, 1_024, bytes.count - 1] {
          #expect(lt_attribute(file, name, &buffer, room) == -Int(ERANGE), "\(room)")
        }
        #expect(lt_attribute(file, name, &buffer, bytes.count) == bytes.count)
        #expect(buffer == bytes)
        // A list as long as they come, and the mode behind it, is taken back.
        for flags: CInt in [0, 2, 1] { #expect(Attribute.set(file, name, bytes, flags: flags) == nil) }
        #expect(try Shown(of: file).list == list)
      }
    }

    @Test("List and mode are set together, by either form and by the owner") func setting() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o640)
      for name in [Self.names, Self.numbers] {
        try volume.dress(file, 1001, 2001, 0o6640)
        let set: @Sendable ([AccessEntry], UInt16) -> Errno? = { entries, mode in
          Attribute.set(file, name, Self.bytes(entries, mode: mode, name), flags: 2)
        }
        #expect(TestUser.alice.run { set([Self.bobWrites], 0o604) } == nil)
        #expect(
          try Shown(of: file) == Shown("1001:2001", "06604", list: ["user:1002 allow write"]))
        #expect(TestUser.bob.run { Calls.open(file, O_WRONLY) } == nil)
        #expect(TestUser.bob.run { Calls.open(file, O_RDONLY) } == nil)
        #expect(TestUser.carol.run { Calls.open(file, O_RDONLY) } == .accessDenied)
        #expect(TestUser.alice.run { set([], 0o600) } == nil)
        #expect(try Shown(of: file) == Shown("1001:2001", "06600"))
        #expect(TestUser.bob.run { Calls.open(file, O_RDONLY) } == .accessDenied)
        // No entries at all grant nobody anything.
        let bare = name == Self.names ? [UInt8](repeating: 0, count: 4) : [UInt8](repeating: 0, count: 8)
        #expect(TestUser.alice.run { set([Self.bobWrites], 0o640) } == nil)
        #expect(TestUser.alice.run { Attribute.set(file, name, bare) } == nil)
        #expect(try Shown(of: file) == Shown("1001:2001", "06000"))
        #expect(TestUser.bob.run { Calls.open(file, O_WRONLY) } == .accessDenied)
      }
    }

    @Test("The list asks for writesecurity and the mode for the rights of chmod; refused, nothing changes")
    func rights() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o644)
      for name in [Self.names, Self.numbers] {
        let set: @Sendable ([AccessEntry], UInt16) -> Errno? = { entries, mode in
          Attribute.set(file, name, Self.bytes(entries, mode: mode, name))
        }
        try volume.dress(file, 1001, 2001, 0o644)
        let plain = try Shown(of: file)
        #expect(TestUser.bob.run { set([Self.bobWrites], 0o644) } == .notPermitted)
        #expect(TestUser.bob.run { set([], 0o666) } == .notPermitted)
        // What is there already asks for nothing, as with any other door.
        #expect(TestUser.bob.run { set([], 0o644) } == nil)
        #expect(try Shown(of: file) == plain)

        let security = AccessEntry(.allow, .user(1002), .writeSecurity)
        try volume.dress(file, 1001, 2001, 0o4755, list: ["user:1002 allow writesecurity"])
        // A set-user-id program's mode is its owner's to change: the list that came along is not stored either.
        #expect(TestUser.bob.run { set([security, Self.bobWrites], 0o777) } == .notPermitted)
        #expect(
          try Shown(of: file) == Shown("1001:2001", "04755", list: ["user:1002 allow writesecurity"]))
        #expect(TestUser.bob.run { set([security, Self.bobWrites], 0o755) } == nil)
        #expect(
          try Shown(of: file).list == ["user:1002 allow writesecurity", "user:1002 allow write"])

        try volume.dress(file, 1001, 2001, 0o644, flags: "uchg")
        let frozen = try Shown(of: file)
        #expect(TestUser.alice.run { set([], 0o600) } == .notPermitted)
        #expect(set([Self.bobWrites], 0o644) == .notPermitted)
        #expect(Attribute.remove(file, name) == .notPermitted)
        #expect(try Shown(of: file) == frozen)
        try #require(Attribute.set(file, Attribute.flags, "") == nil)
        #expect(TestUser.carol.run { Attribute.remove(file, name) } == .notPermitted)
        #expect(TestUser.alice.run { Attribute.remove(file, name) } == nil)
        try volume.dress(file, 1001, 2001, 0o644, list: ["group:everyone deny readsecurity"])
        #expect(TestUser.bob.run { Attribute.get(file, name).refusal } == .accessDenied)
        try #require(Attribute.remove(file, Attribute.list) == nil)
      }
    }

    @Test("Without lists the mode can be set, and a list that is there can be written back and removed")
    func withoutLists() throws {
      let volume = try MountedVolume()
      let file = try volume.file("f", 1001, 2001, 0o644, list: ["user:1002 allow write"])
      try volume.unmount()
      let shown = try MountedVolume("noacl", base: volume.base)
      defer { shown.remove() }
      for name in [Self.names, Self.numbers] {
        let present = Self.bytes([Self.bobWrites], mode: 0o644, name)
        #expect(try Attribute.get(file, name).get() == present)
        #expect(Attribute.set(file, name, present) == nil)
        #expect(
          Attribute.set(file, name, Self.bytes([Self.bobWrites, Self.bobWrites], mode: 0o600, name))
            == .unsupported)
        #expect(try Shown(of: file).mode == "0644")
        #expect(Attribute.set(file, name, Self.bytes([Self.bobWrites], mode: 0o600, name)) == nil)
        #expect(try Shown(of: file).mode == "0600")
        try #require(chmod(file, 0o644) == 0)
      }
      #expect(Attribute.set(file, Self.names, Self.bytes([], mode: 0o600, Self.names)) == nil)
      #expect(try Shown(of: file) == Shown("1001:2001", "0600"))
    }

    @Test("What is no list is EINVAL, changes nothing and harms nobody") func nonsense() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o640, list: ["user:1002 allow write"])
      let before = try Shown(of: file)
      var dice = Dice(seed: 7)
      for name in [Self.names, Self.numbers] {
        let sound = Self.bytes([Self.bobWrites, AccessEntry(.deny, .group(2009), .read)], mode: 0o604, name)
        let many = Self.bytes(Array(repeating: Self.bobWrites, count: 129), mode: 0o604, name)
        let others = name == Self.names ? Self.numbers : Self.names
        for bytes in [
          [], [0], [0xFF], Array(sound.dropLast()), sound + [0], many, Self.bytes([], mode: 0o600, others),
          [UInt8](repeating: 0xFF, count: 65_536),
        ] {
          #expect(Attribute.set(file, name, bytes) == .invalid)
        }
        #expect(try Shown(of: file) == before)
        // Whatever is accepted of damaged bytes is a list that can be read again and stays the same.
        for _ in 0..<1_500 {
          var bytes = sound
          for _ in 0...Int.random(in: 0..<3, using: &dice) {
            bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
          }
          if let refusal = Attribute.set(file, name, bytes) {
            if refusal != .invalid { Issue.record("\(bytes): \(refusal)") }
            continue
          }
          let shown = try Attribute.get(file, name).get()
          if let refusal = Attribute.set(file, name, shown) { Issue.record("\(bytes): \(refusal)") }
          if try Attribute.get(file, name).get() != shown { Issue.record("\(bytes) wander") }
        }
        try volume.dress(file, 1001, 2001, 0o640, list: ["user:1002 allow write"])
      }
    }

    @Test("A directory that is closed through an NFSv4 list is closed at once") func revocation() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 1001, 2001, 0o755)
      let file = try volume.file("d/f", 1001, 2001, 0o644)
      for (entries, mode): ([AccessEntry], UInt16) in [
        ([], 0o700), ([AccessEntry(.deny, .user(1002), .search)], 0o755),
      ] {
        for name in [Self.names, Self.numbers] {
          try volume.dress(directory, 1001, 2001, 0o755)
          #expect(TestUser.bob.run { Calls.read(file) }.refusal == nil)
          let list = entries.isEmpty ? nil : AccessList(entries)
          let bytes =
            name == Self.names
            ? NFSv4List.encode(list, mode: mode, for: .directory, names: .numeric)
            : NFSv4List.encodeNumbers(list, mode: mode, for: .directory)
          #expect(TestUser.alice.run { Attribute.set(directory, name, bytes) } == nil)
          #expect(TestUser.bob.run { Calls.read(file) }.refusal == .accessDenied)
          try #require(Attribute.remove(directory, name) == nil)
        }
      }
    }

    @Test("An entry that the directory hands down is inherited, whichever of the two attributes it came by")
    func inheritedMarks() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 1001, 2001, 0o755)
      let rights: Rights = [.read, .write]
      let handedDown = AccessList([
        AccessEntry(.allow, .group(2009), rights, [.fileInherit, .directoryInherit])
      ])
      try #require(
        Attribute.set(
          directory, Self.numbers, NFSv4List.encodeNumbers(handedDown, mode: 0o755, for: .directory)) == nil)
      for name in [Self.names, Self.numbers] {
        let file = try volume.file("d/\(name)", 1001, 2001, 0o600)
        // Without the mark, and beside an entry of its own.
        let entries = [AccessEntry(.deny, .user(1003), .read), AccessEntry(.allow, .group(2009), rights)]
        #expect(Attribute.set(file, name, Self.bytes(entries, mode: 0o600, name)) == nil)
        #expect(
          try Shown(of: file).list == ["user:1003 deny read", "group:2009 inherited allow read,write"],
          "\(name)")
      }
    }

    @Test("Lists that Samba would keep for itself are refused, also to root") func foreignLists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 0, 0, 0o644)
      for name in ["security.nfs4acl_ndr", "security.nfs4acl_xdr"] {
        #expect(Attribute.set(file, name, "x") == .unsupported)
        #expect(Attribute.get(file, name).refusal == .unsupported)
        #expect(Attribute.remove(file, name) == .unsupported)
        // Put there before, or behind the mount, it is not shown either.
        try #require(Attribute.set(volume.upper + "/f", name, "x") == nil)
        #expect(Attribute.get(file, name).refusal == .unsupported)
      }
      #expect(try Attribute.names(file).get() == [])
      #expect(Attribute.set(file, "security.NTACL", "x") == nil)
      #expect(try Attribute.names(file).get() == ["security.NTACL"])
    }
  }
}
