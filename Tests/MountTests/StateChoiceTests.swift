// Rules in which Varve differs from macOS or from Linux, seen through a mount.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Choices that can be seen on a mount", .timeLimit(.minutes(1))) struct StateChoiceTests {
    @Test("A pipe or socket is not there for those who may neither use nor remove it")
    func specialFiles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let shared = try volume.directory("shared", 0, 0, 0o755)
      let ofBob = try volume.directory("ofBob", 1002, 2009, 0o755)
      for parent in [shared, ofBob] {
        try #require(mkfifo(parent + "/pipe", 0o600) == 0)
        try #require(chown(parent + "/pipe", 1001, 2001) == 0)
        // What root and alice have walked is no way in for bob.
        _ = Calls.status(parent + "/pipe")
        #expect(TestUser.alice.run { Calls.open(parent + "/pipe", O_RDWR | O_NONBLOCK) } == nil)
      }
      let pipe = shared + "/pipe"
      #expect(TestUser.bob.run { Calls.open(pipe, O_RDONLY | O_NONBLOCK) } == .accessDenied)
      #expect(TestUser.bob.run { Calls.open(pipe, O_RDWR | O_NONBLOCK) } == .accessDenied)
      #expect(TestUser.bob.run { Calls.status(pipe).refusal } == .accessDenied)
      #expect(try TestUser.bob.run { Calls.list(shared) }.get() == ["pipe"])
      // Who can remove it can see it.
      let removable = ofBob + "/pipe"
      #expect(TestUser.bob.run { Calls.status(removable).refusal } == nil)
      #expect(TestUser.bob.run { Calls.answer(unlink(removable)) } == nil)
      // One of read and write is enough for both: the documented limit.
      try #require(Attribute.set(pipe, Attribute.list, "user:1002 allow write") == nil)
      #expect(TestUser.bob.run { Calls.open(pipe, O_RDWR | O_NONBLOCK) } == nil)
      try #require(Attribute.remove(pipe, Attribute.list) == nil)
      #expect(TestUser.bob.run { Calls.open(pipe, O_RDWR | O_NONBLOCK) } == .accessDenied)
    }

    @Test("A chown that names nothing strips set-id bits only for those who may write")
    func emptyChown() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let guarded = try volume.file("guarded", 1001, 2001, 0o6755)
      let open = try volume.file("open", 1001, 2001, 0o6777)
      let plain = try volume.file("plain", 1001, 2001, 0o644)
      let paths = [guarded, open, plain]
      let refusals = TestUser.bob.run { paths.map { Calls.answer(chown($0, .max, .max)) } }
      #expect(refusals == [.notPermitted, nil, nil])
      #expect(try paths.map { try Shown(of: $0).mode } == ["06755", "0777", "0644"])
    }

    @Test(
      "Who may not stat a program or a directory can neither run nor list it",
      arguments: ["readattr", "readsecurity"])
    func deniedStatus(right: String) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = ["user:1002 deny \(right)"]
      let program = try volume.file("program", 1001, 2001, 0o755, list: list)
      try #require(Calls.write(program, "#!/bin/sh\n") == nil)
      let folder = try volume.directory("folder", 1001, 2001, 0o755, list: list)
      @Sendable func attempts() -> [Errno?] {
        [
          Calls.status(program).refusal, Calls.answer(access(program, X_OK)), Calls.execute(program),
          Calls.list(folder).refusal,
        ]
      }
      #expect(TestUser.bob.run { attempts() } == Array(repeating: .accessDenied, count: 4))
      #expect(TestUser.bob.run { Calls.open(program, O_RDONLY) } == nil)
      #expect(TestUser.carol.run { attempts() } == Array(repeating: nil, count: 4))
    }

    @Test("With noacl stored lists are shown, and neither set, evaluated nor handed down")
    func ignoredLists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = ["user:1002 allow write,file_inherit", "group:everyone deny read,file_inherit"]
      _ = try volume.file("f", 1001, 2001, 0o644, list: list)
      _ = try volume.directory("d", 1001, 2001, 0o777, list: list)
      try volume.unmount()
      let without = try MountedVolume("noacl", base: volume.base)
      defer { umount2(without.path, CInt(MNT_DETACH)) }
      let file = without.path + "/f"
      let folder = without.path + "/d"
      let readable = ["user:1002 allow add_file,file_inherit", "group:everyone deny list,file_inherit"]
      #expect(try Shown(of: folder).list == readable)
      #expect(try Shown(of: file).list == list)
      #expect(Attribute.set(file, Attribute.list, "user:1 allow read") == .unsupported)
      #expect(TestUser.bob.run { Calls.open(file, O_RDONLY) } == nil)
      #expect(TestUser.bob.run { Calls.open(file, O_WRONLY) } == .accessDenied)
      #expect(TestUser.bob.run { Calls.create(folder + "/new") } == nil)
      #expect(try Shown(of: folder + "/new").list == [])
      #expect(Attribute.remove(file, Attribute.list) == nil)
      #expect(try Shown(of: file).list == [])
    }

    @Test("A list without entries is no list", arguments: ["", "\n", "# only a remark\n"])
    func emptyList(text: String) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, list: ["user:1002 allow write"])
      #expect(Attribute.set(path, Attribute.list, text) == nil)
      #expect(Attribute.get(path, Attribute.list).refusal == .noData)
      #expect(Attribute.get(volume.upper + "/f", "trusted.varve.acl").refusal == .noData)
      #expect(Attribute.get(volume.upper + "/f", "trusted.varve.m").refusal == .noData)
    }

    @Test("One time of now and one left alone are explicit times")
    func nowAndOmit() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      let refusals = TestUser.bob.run {
        [
          Calls.setTimes(path, access: Calls.now, modification: Calls.omit),
          Calls.setTimes(path, access: Calls.omit, modification: Calls.now),
          Calls.setTimes(path, access: Calls.now, modification: 1),
          Calls.setTimes(path, access: Calls.now, modification: Calls.now),
          Calls.setTimes(path, access: Calls.omit, modification: Calls.omit),
        ]
      }
      #expect(refusals == [.notPermitted, .notPermitted, .notPermitted, nil, nil])
    }

    @Test("A bad argument is refused before a flag, and a flag before a missing right")
    func orderOfRefusals() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file(
        "f", 1001, 2001, 0o600, list: ["group:everyone deny writeextattr"], flags: "uchg")
      let tooLong = (0...128).map { "user:\($0) allow read" }.joined(separator: "\n")
      let refusals = TestUser.bob.run {
        [
          Attribute.set(path, Attribute.list, "user:1 permit read"),
          Attribute.set(path, Attribute.list, tooLong),
          Attribute.set(path, Attribute.flags, "nonsense"),
          Attribute.set(path, Attribute.list, "user:1 allow read"),
          Attribute.set(path, "user.x", "y"), Calls.open(path, O_WRONLY), Calls.open(path, O_RDONLY),
        ]
      }
      #expect(
        refusals == [
          .invalid, .invalid, .invalid, .notPermitted, .notPermitted, .notPermitted, .accessDenied,
        ])
    }

    @Test("Where ownership is ignored, new objects get the caller's ids and everybody is an owner")
    func ignoredOwnership() throws {
      let volume = try MountedVolume("noowners")
      defer { volume.remove() }
      let parent = try volume.directory("d", 1001, 2001, 0o755)
      let path = parent + "/new"
      #expect(TestUser.bob.run { Calls.create(path, mode: 0o640) } == nil)
      #expect(try Shown(of: volume.upper + "/d/new", plain: true) == Shown("1002:2009", "0640"))
      // Each user is shown as the owner; what is stored stays.
      let seen = TestUser.carol.run { Calls.status(path).map { [$0.st_uid, $0.st_gid] } }
      #expect(try seen.get() == [1003, 2001])
      #expect(TestUser.carol.run { Calls.write(path, "x") } == nil)
      #expect(TestUser.carol.run { Calls.answer(chown(path, 1003, 2001)) } == nil)
      #expect(try Shown(of: volume.upper + "/d/new", plain: true).owner == "1002:2009")
    }
  }
}
