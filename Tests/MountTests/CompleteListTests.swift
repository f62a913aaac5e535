// NFSv4 lists that do not end with a mode: whom they do not let in is not let in.

import AccessControl
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("NFSv4 lists that say everything, on a mount", .timeLimit(.minutes(1))) struct CompleteListTests {
    private static let forms = ["system.nfs4_acl", "system.nfs4_acl_xdr"]

    /// The bytes of these entries and of nothing else.
    private static func bytes(_ entries: [AccessEntry], _ form: String) -> [UInt8] {
      // What the mode 0 adds is three entries at the end, for either form of a fixed length.
      let list = AccessList(entries)
      if form == forms[1] {
        let bytes = NFSv4List.encodeNumbers(list, mode: 0, for: .file).dropLast(3 * 20)
        return Array(bytes.prefix(7)) + [UInt8(entries.count)] + bytes.dropFirst(8)
      }
      let bytes = NFSv4List.encode(list, mode: 0, for: .file, names: .numeric)
        .dropLast(3 * 16 + 8 + 8 + 12)
      return Array(bytes.prefix(3)) + [UInt8(entries.count)] + bytes.dropFirst(4)
    }

    private static let reading: Rights = [.read, .readExtended, .readAttributes, .readSecurity]
    private static let writing: Rights = [.write, .append, .writeExtended, .writeAttributes]
    private static let bobReads = AccessEntry(.allow, .user(1002), reading)
    private static let ownerWrites = AccessEntry(.allow, .owner, reading.union(writing))

    @Test("Whom the list does not let in is not let in by the mode either; set-id and sticky bits stay")
    func closes() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o644)
      for form in Self.forms {
        for flags: CInt in [0, 2] {
          try volume.dress(file, 1001, 2001, 0o6666)
          #expect(TestUser.carol.run { Calls.open(file, O_RDONLY) ?? Calls.open(file, O_WRONLY) } == nil)
          let set = TestUser.alice.run {
            Attribute.set(file, form, Self.bytes([Self.bobReads, Self.ownerWrites], form), flags: flags)
          }
          #expect(set == nil)
          let shown = try Shown(of: file)
          #expect(shown.mode == "06600" && shown.list.count == 2, "\(shown)")
          #expect(TestUser.alice.run { Calls.open(file, O_RDWR) } == nil)
          #expect(TestUser.bob.run { Calls.open(file, O_RDONLY) } == nil)
          #expect(TestUser.bob.run { Calls.open(file, O_WRONLY) } == .accessDenied)
          #expect(TestUser.carol.run { Calls.open(file, O_RDONLY) } == .accessDenied)
          #expect(TestUser.carol.run { Calls.open(file, O_WRONLY) } == .accessDenied)
          try #require(Attribute.remove(file, form) == nil)
        }
      }
    }

    @Test("A list of named users alone shuts out the owner too, who can take the rights back")
    func owners() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o644)
      for form in Self.forms {
        try volume.dress(file, 1001, 2001, 0o644)
        let before = try Attribute.get(file, form).get()
        let set: @Sendable ([AccessEntry]) -> Errno? = { Attribute.set(file, form, Self.bytes($0, form)) }
        #expect(TestUser.alice.run { set([Self.bobReads]) } == nil)
        #expect(try Shown(of: file).mode == "00")
        #expect(TestUser.alice.run { Calls.open(file, O_RDONLY) } == .accessDenied)
        #expect(TestUser.bob.run { Calls.open(file, O_RDONLY) } == nil)
        #expect(Calls.open(file, O_RDWR) == nil, "root")
        #expect(TestUser.alice.run { Attribute.get(file, form).refusal } == nil)
        #expect(TestUser.alice.run { Attribute.set(file, form, before) } == nil)
        #expect(try Shown(of: file) == Shown("1001:2001", "0644"))
        // Root as well, and nobody else.
        #expect(set([Self.bobReads]) == nil)
        #expect(TestUser.bob.run { Attribute.set(file, form, before) } == .notPermitted)
        #expect(Attribute.set(file, form, before) == nil)
        #expect(try Shown(of: file) == Shown("1001:2001", "0644"))
      }
    }

    @Test("Entries only for what is made below leave the directory itself to nobody") func directories()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 1001, 2001, 0o1777)
      let file = try volume.file("d/f", 1001, 2001, 0o644)
      for form in Self.forms {
        try volume.dress(directory, 1001, 2001, 0o1777)
        #expect(TestUser.bob.run { Calls.read(file) }.refusal == nil)
        let below = AccessEntry(.allow, .everyone, .specific, [.fileInherit, .onlyInherit])
        #expect(TestUser.alice.run { Attribute.set(directory, form, Self.bytes([below], form)) } == nil)
        #expect(try Shown(of: directory).mode == "01000")
        #expect(TestUser.bob.run { Calls.read(file) }.refusal == .accessDenied)
        #expect(TestUser.alice.run { Calls.read(file) }.refusal == .accessDenied)
        let here = AccessEntry(.allow, .everyone, .specific, [.fileInherit])
        #expect(TestUser.alice.run { Attribute.set(directory, form, Self.bytes([here], form)) } == nil)
        #expect(try Shown(of: directory).mode == "01777")
        #expect(TestUser.bob.run { Calls.read(file) }.refusal == nil)
        try #require(Attribute.remove(directory, form) == nil)
      }
    }

    @Test("Where the mode may not be changed, the list is not changed either") func refused() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o644)
      let security = AccessEntry(.allow, .user(1002), [.writeSecurity])
      let everybody = AccessEntry(.allow, .everyone, Self.reading)
      for form in Self.forms {
        let set: @Sendable ([AccessEntry]) -> Errno? = { Attribute.set(file, form, Self.bytes($0, form)) }
        try volume.dress(file, 1001, 2001, 0o644)
        let plain = try Shown(of: file)
        #expect(TestUser.bob.run { set([Self.ownerWrites]) } == .notPermitted)
        #expect(TestUser.carol.run { set([everybody]) } == .notPermitted)
        #expect(try Shown(of: file) == plain)
        // The mode of a set-user-id program is its owner's to change, whatever an entry says.
        try volume.dress(file, 1001, 2001, 0o4644, list: ["user:1002 allow writesecurity"])
        let program = try Shown(of: file)
        #expect(TestUser.bob.run { set([security, Self.ownerWrites]) } == .notPermitted)
        #expect(try Shown(of: file) == program)
        #expect(TestUser.bob.run { set([security, Self.ownerWrites, everybody]) } == nil)
        #expect(try Shown(of: file).mode == "04644")
        // What everybody may is in the mode, which stays.
        #expect(try Shown(of: file).list.count == 2)
        try volume.dress(file, 1001, 2001, 0o644, list: ["user:1002 allow writesecurity"])
        #expect(TestUser.bob.run { set([security, Self.ownerWrites]) } == nil)
        #expect(try Shown(of: file).mode == "0600")
        try volume.dress(file, 1001, 2001, 0o644, flags: "uchg")
        let frozen = try Shown(of: file)
        #expect(TestUser.alice.run { set([Self.ownerWrites]) } == .notPermitted)
        #expect(try Shown(of: file) == frozen)
        try #require(Attribute.set(file, Attribute.flags, "") == nil)
        _ = Attribute.remove(file, form)
      }
    }

    @Test("A link has no mode to close, so it takes no list that would need one") func links() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let link = volume.path + "/link"
      try #require(symlink("f", link) == 0)
      for form in Self.forms {
        let before = try Attribute.get(link, form).get()
        #expect(Attribute.set(link, form, Self.bytes([Self.bobReads], form)) == .unsupported)
        #expect(Attribute.set(link, form, Self.bytes([Self.ownerWrites], form)) == .unsupported)
        #expect(try Attribute.get(link, form).get() == before)
        #expect(Attribute.set(link, form, before) == nil)
      }
    }

    @Test("Without lists only what a mode can say is taken") func withoutLists() throws {
      let volume = try MountedVolume("noacl")
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o644)
      let owner = AccessEntry(.allow, .owner, Self.ownerWrites.rights.union([.writeSecurity]))
      for form in Self.forms {
        try #require(chmod(file, 0o644) == 0)
        #expect(Attribute.set(file, form, Self.bytes([Self.bobReads, owner], form)) == .unsupported)
        #expect(try Shown(of: file).mode == "0644")
        #expect(Attribute.set(file, form, Self.bytes([owner], form)) == nil)
        #expect(try Shown(of: file) == Shown("1001:2001", "0600"))
      }
    }
  }
}
