// What the model found, each as the shortest story that went wrong.

import AccessControl
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension ModelTests {
  @Suite("What the model found") struct FoundTests {
    private static let everything = OpenWish(reads: true, writes: true)

    @Test("A file without a name can be looked at through its handle") func unnamedStatus() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let world = RealWorld(volume.path)
      defer { world.closeAll() }
      // A list that keeps somebody from looking makes the kernel ask each time.
      let list = AccessList([AccessEntry(.deny, .user(1001), .readAttributes, .fileInherit)])
      #expect(Outcome.done.isMet(by: world.perform(.setList("", list))))
      #expect(Outcome.done.isMet(by: world.perform(.openUnnamed(slot: 0, "", mode: 0o600))))
      guard case .status(let status) = world.perform(.statusOfOpen(slot: 0)) else {
        Issue.record("no status")
        return
      }
      #expect(status.links == 0)
    }

    @Test("A removed file that is open stays within reach, however many are removed after it")
    func removedWhileOpen() throws {
      let volume = try MountedVolume("cache=none")
      defer { volume.remove() }
      let world = RealWorld(volume.path)
      defer { world.closeAll() }
      let wish = OpenWish(reads: true, writes: true, creates: true)
      // More than the daemon keeps hold of by itself.
      for slot in 0..<1_100 {
        #expect(Outcome.done.isMet(by: world.perform(.open(slot: slot, "file", wish, mode: 0o600))))
        #expect(Outcome.done.isMet(by: world.perform(.unlink("file"))))
      }
      guard case .status(let status) = world.perform(.statusOfOpen(slot: 0)) else {
        Issue.record("no status")
        return
      }
      #expect(status.links == 0)
    }

    @Test("Whoever may add to a directory may not take its setuid bit away") func setIDOfDirectory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = volume.path + "/directory"
      #expect(mkdir(path, 0o777) == 0)
      #expect(chmod(path, 0o4777) == 0)
      #expect(TestUser.bob.run { chmod(path, 0o777) == 0 ? 0 : errno } == EPERM)
    }

    @Test("Where ownership is ignored, everybody is in the group of every file") func setGIDWithoutOwners()
      throws
    {
      let volume = try MountedVolume("noowners")
      defer { volume.remove() }
      let path = volume.path + "/file"
      #expect(close(open(path, O_CREAT | O_WRONLY, 0o644)) == 0)
      #expect(TestUser.bob.run { chmod(path, 0o2755) } == 0)
      #expect(try Descriptor.open(path: path, .readOnly).status().mode == 0o2755)
    }

    @Test("An administrator by group sets no set-id bit on the file of another") func setIDByAdministrator()
      throws
    {
      let volume = try MountedVolume("admin_group=2002")
      defer { volume.remove() }
      let path = volume.path + "/file"
      #expect(close(open(path, O_CREAT | O_WRONLY, 0o644)) == 0)
      let administrator = TestUser(1003, group: 2001, groups: [2002])
      #expect(administrator.run { chmod(path, 0o6755) } == -1)
      #expect(try Descriptor.open(path: path, .readOnly).status().mode == 0o644)
      // The group of an administrator is not the file's: the bit is dropped, as for anybody who is not in it.
      #expect(administrator.run { chmod(path, 0o2755) } == 0)
      #expect(try Descriptor.open(path: path, .readOnly).status().mode == 0o755)
    }
  }
}
