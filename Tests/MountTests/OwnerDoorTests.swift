import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Items a group owns") struct OwnerDoorTests {
    private static let door = "system.varve.owner"

    private func setOwner(_ path: String, _ text: String) -> Errno? { Attribute.set(path, Self.door, text) }

    private func owner(_ path: String) -> String? { try? Attribute.text(path, Self.door).get() }

    @Test("Members of the owning group have the owner's rights, others do not, and stat shows nobody")
    func membersOwn() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/plan"
      try Program.shell("echo text > plan; chmod 0600 plan", in: volume.path)
      #expect(setOwner(path, "group:2002") == nil)
      #expect(owner(path) == "group:2002")
      #expect(try Descriptor.open(path: path, .readOnly).status().user == 65_534)

      let member = TestUser(1002, group: 2009, groups: [2002])
      let chmodByMember = member.run { Calls.answer(chmod(path, 0o640)) }
      #expect(chmodByMember == nil)
      let openByMember = member.run { Calls.open(path, O_RDWR) }
      #expect(openByMember == nil)
      let openByStranger = TestUser.carol.run { Calls.open(path, O_RDONLY) }
      #expect(openByStranger == .accessDenied)
      let chmodByStranger = TestUser.carol.run { Calls.answer(chmod(path, 0o666)) }
      #expect(chmodByStranger == .notPermitted)
    }

    @Test("Only who may take ownership, and is in the group, hands an item to it; chown takes it back")
    func handingOver() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/plan"
      try Program.shell("echo text > plan; chown 1001:2001 plan", in: volume.path)
      // The owner holds no right to take ownership; that is so on macOS, too.
      #expect(
        TestUser(1001, group: 2001, groups: [2002]).run { setOwner(path, "group:2002") } == .notPermitted)
      #expect(Attribute.set(path, Attribute.list, "user:1002 allow chown") == nil)
      #expect(TestUser.bob.run { setOwner(path, "group:2002") } == .notPermitted)
      #expect(TestUser(1002, group: 2009, groups: [2002]).run { setOwner(path, "group:2002") } == nil)
      #expect(chown(path, 1003, gid_t.max) == 0)
      #expect(owner(path) == "user:1003")
      #expect(setOwner(path, "everyone") == .invalid)
      #expect(Attribute.remove(path, Self.door) == .notPermitted)
    }

    @Test("Handing a program to a group strips its set-id bits") func stripsPrivilege() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/program"
      try Program.shell("echo > program; chmod 6755 program", in: volume.path)
      #expect(setOwner(path, "group:2002") == nil)
      #expect(try Descriptor.open(path: path, .readOnly).status().mode == 0o755)
    }
  }
}
