import FlagRules
import Glibc
import LinuxFiles
import MountSupport
import RecordFormat
import Testing

extension MountTests {
  @Suite("Twins: flags and lists as attributes that travel") struct TwinTests {
    private static let flags = "user.varve.flags"
    private static let list = "user.varve.acl"

    private func text(_ path: String, _ name: String) -> Result<String, Errno> { Attribute.text(path, name) }

    private func volume(_ options: String = "twins") throws -> (MountedVolume, String) {
      let volume = try MountedVolume(options)
      let path = volume.path + "/f"
      try Program.shell("chmod 777 .; echo text > f; chown 1001:2001 f", in: volume.path)
      return (volume, path)
    }

    private func names(_ path: String) throws -> [String] {
      try Program.run("/usr/bin/getfattr", ["--absolute-names", "-m", "user.varve", path]).output
        .split(separator: "\n").map { String($0) }.filter { !$0.hasPrefix("#") }
    }

    @Test("They are shown where there is something to tell, and nowhere without the option") func shown()
      throws
    {
      let (volume, path) = try volume()
      defer { volume.remove() }
      #expect(try names(path) == [])
      #expect(text(path, Self.flags) == .failure(.noData))
      #expect(text(path, Self.list) == .failure(.noData))
      #expect(Attribute.set(path, Attribute.flags, "hidden") == nil)
      #expect(Attribute.set(path, Attribute.list, "user:1002 allow read") == nil)
      #expect(try names(path) == [Self.list, Self.flags])
      #expect(text(path, Self.flags) == .success("varve-flags 1 7f3fe452\nhidden\n"))
      #expect(text(path, Self.list) == .success("varve-acl 1 ef11c88f\nuser:1002 allow read\n"))
      try volume.unmount()

      let without = try MountedVolume("", base: volume.base)
      #expect(try names(path) == [])
      #expect(text(path, Self.flags) == .failure(.noData))
      #expect(Attribute.set(path, Self.flags, "varve-flags 1 7f3fe452\nhidden\n") == .notPermitted)
      #expect(Attribute.remove(path, Self.list) == .notPermitted)
      try without.unmount()
    }

    @Test("Setting one needs the right that setting the flags or the list needs") func rights() throws {
      let (volume, path) = try volume()
      defer { volume.remove() }
      let list = "varve-acl 1 ef11c88f\nuser:1002 allow read\n"
      let hidden = "varve-flags 1 7f3fe452\nhidden\n"
      #expect(TestUser.bob.run { Attribute.set(path, Self.list, list) } == .notPermitted)
      #expect(TestUser.bob.run { Attribute.set(path, Self.flags, hidden) } == .notPermitted)
      #expect(TestUser.alice.run { Attribute.set(path, Self.list, list) } == nil)
      #expect(TestUser.alice.run { Attribute.set(path, Self.flags, hidden) } == nil)
      // Of what only root may set, a user gets nothing, not even the rest.
      let both = String(decoding: TwinText.flags([.systemImmutable, .noDump]), as: UTF8.self)
      #expect(TestUser.alice.run { Attribute.set(path, Self.flags, both) } == .notPermitted)
      #expect(Attribute.text(path, Attribute.flags) == .success("hidden"))
      #expect(TestUser.bob.run { Attribute.remove(path, Self.list) } == .notPermitted)
      #expect(TestUser.alice.run { Attribute.remove(path, Self.list) } == nil)
      #expect(Attribute.text(path, Attribute.list) == .failure(.noData))
    }

    @Test("Anything but the very text is refused and changes nothing") func garbage() throws {
      let (volume, path) = try volume()
      defer { volume.remove() }
      for value in [
        "", "hidden", "varve-flags 1 7f3fe452\nhidden", "varve-flags 1 4bd84ccb\nhidden\n",
        "varve-flags 2 7f3fe452\nhidden\n",
        "varve-acl 1 7f3fe452\nhidden\n", "varve-flags 1 7F3FE452\nhidden\n", "varve-flags 1\n", "\n",
      ] {
        #expect(Attribute.set(path, Self.flags, value) == .invalid, "\(value)")
      }
      #expect(Attribute.set(path, Self.list, "varve-acl 1 ef11c88f\nuser:1002 allow write\n") == .invalid)
      #expect(try names(path) == [])
      #expect(Attribute.set(path, "user.varve.other", "x") == .notPermitted)
    }

    @Test("A lock waits until it is put into force, and locks nothing till then") func waiting() throws {
      let (volume, path) = try volume()
      defer {
        _ = Attribute.set(path, Attribute.flags, "0")
        volume.remove()
      }
      let twin = String(decoding: TwinText.flags([.userImmutable, .hidden]), as: UTF8.self)
      #expect(TestUser.alice.run { Attribute.set(path, Self.flags, twin) } == nil)
      #expect(Attribute.text(path, Attribute.flags) == .success("hidden"))
      #expect(text(path, Self.flags) == .success(twin))
      #expect(TestUser.alice.run { Calls.write(path, "more") } == nil)
      try volume.unmount()
      try volume.mount()
      #expect(text(path, Self.flags) == .success(twin))
      let varve = Program.built("varve")
      #expect(try Program.run(varve, ["chflags", "-R", "waiting", volume.path]).output == "")
      #expect(Attribute.text(path, Attribute.flags) == .success("uchg,hidden"))
      #expect(Calls.write(path, "more") == .notPermitted)
      // Once in force it waits no more.
      #expect(Attribute.set(path, Attribute.flags, "hidden") == nil)
      #expect(text(path, Self.flags) == .success("varve-flags 1 7f3fe452\nhidden\n"))
    }

    @Test("A lock that waits is forgotten when the flags are set otherwise, also to what they are")
    func forgotten()
      throws
    {
      let (volume, path) = try volume()
      defer { volume.remove() }
      let twin = String(decoding: TwinText.flags([.userImmutable]), as: UTF8.self)
      try #require(Attribute.set(path, Attribute.flags, "") == nil)
      for end in ["", "hidden"] {
        #expect(TestUser.alice.run { Attribute.set(path, Self.flags, twin) } == nil)
        #expect(text(path, Self.flags) == .success(twin))
        // Not for those who could not have brought it.
        #expect(TestUser.carol.run { Attribute.set(path, Attribute.flags, "") } == .notPermitted)
        #expect(text(path, Self.flags) == .success(twin))
        #expect(TestUser.alice.run { Attribute.set(path, Attribute.flags, end) } == nil)
        let varve = Program.built("varve")
        #expect(try Program.run(varve, ["chflags", "-R", "waiting", volume.path]).output == "")
        #expect(Attribute.text(path, Attribute.flags) == .success(end))
      }
    }

    @Test("Who may not look at an item does not learn from its names what it has") func names() throws {
      let (volume, path) = try volume()
      defer { volume.remove() }
      try #require(Attribute.set(path, Attribute.list, "user:1002 deny readattr") == nil)
      try #require(Attribute.set(path, "user.note", "x") == nil)
      #expect(try names(path).contains("user.varve.acl"))
      let seen = TestUser.bob.run { (try? Attribute.names(path).get()) ?? [] }
      #expect(seen == ["user.note"])
    }

    @Test("A twin neither clears a lock in force nor outlives another change of the flags") func locksStay()
      throws
    {
      let (volume, path) = try volume()
      defer {
        _ = Attribute.set(path, Attribute.flags, "0")
        volume.remove()
      }
      let lock = String(decoding: TwinText.flags(.userAppendOnly), as: UTF8.self)
      #expect(Attribute.set(path, Self.flags, lock) == nil)
      #expect(Attribute.set(path, Attribute.flags, "nodump") == nil)
      #expect(text(path, Self.flags) == .success(String(decoding: TwinText.flags(.noDump), as: UTF8.self)))
      #expect(Attribute.set(path, Attribute.flags, "uchg") == nil)
      #expect(Attribute.remove(path, Self.flags) == nil)
      #expect(Attribute.text(path, Attribute.flags) == .success("uchg"))
    }
  }
}
