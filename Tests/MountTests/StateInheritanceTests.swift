// What new objects are born with: lists, set-id bits, groups.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("New objects on a mount", .timeLimit(.minutes(1))) struct StateInheritanceTests {
    /// Every way to make something that is neither a directory nor a link.
    private static let ways: [(name: String, make: @Sendable (String) -> Errno?)] = [
      ("open", { Calls.create($0, mode: 0o644) }),
      ("mknod", { Calls.answer(mknod($0, S_IFREG | 0o644, 0)) }),
      ("mkfifo", { Calls.answer(mkfifo($0, 0o644)) }),
      ("bind", { bindSocket($0) }),
      ("tmpfile", { linkUnnamed($0) }),
    ]

    private static func bindSocket(_ path: String) -> Errno? {
      let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      guard number >= 0 else { return .current }
      defer { close(number) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix(107)) }
      return withUnsafePointer(to: address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Calls.answer(bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)))
        }
      }
    }

    /// O_TMPFILE, and then a name.
    private static func linkUnnamed(_ path: String) -> Errno? {
      let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      let number = open(parent, 0o20_200_000 | O_RDWR, 0o644)
      guard number >= 0 else { return .current }
      defer { close(number) }
      return Calls.answer(linkat(AT_FDCWD, "/proc/self/fd/\(number)", AT_FDCWD, path, AT_SYMLINK_FOLLOW))
    }

    /// An entry's inheritance, and what a new file and a new directory get of it.
    private static let rows: [(parent: String, file: [String], directory: [String])] = [
      ("user:1003 allow read", [], []),
      ("user:1003 inherited allow read", [], []),
      ("user:1003 allow read,file_inherit", ["user:1003 inherited allow read"], []),
      (
        "user:1003 allow read,directory_inherit", [],
        ["user:1003 inherited allow list,directory_inherit"]
      ),
      (
        "user:1003 allow read,file_inherit,directory_inherit", ["user:1003 inherited allow read"],
        ["user:1003 inherited allow list,file_inherit,directory_inherit"]
      ),
      (
        "user:1003 deny write,file_inherit,directory_inherit,only_inherit",
        ["user:1003 inherited deny write"],
        ["user:1003 inherited deny add_file,file_inherit,directory_inherit"]
      ),
      (
        "user:1003 allow read,file_inherit,directory_inherit,limit_inherit",
        ["user:1003 inherited allow read"], ["user:1003 inherited allow list"]
      ),
      ("user:1003 allow read,limit_inherit", [], []),
      ("user:1003 allow read,only_inherit", [], []),
    ]

    @Test(
      "Each kind of entry reaches files, special files and directories as the table says",
      arguments: [""] + StoreFallback.all)
    func table(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      for (index, row) in StateInheritanceTests.rows.enumerated() {
        // The second entry shows that order and company do not matter.
        let list = [row.parent, "group:2009 allow execute"]
        let parent = try volume.directory("d\(index)", 0, 0, 0o777, list: list)
        for way in StateInheritanceTests.ways where way.name != "tmpfile" || !options.contains("no_tmpfile") {
          let isBare = options.contains("no_trusted") && ["mkfifo", "bind"].contains(way.name)
          let path = "\(parent)/\(way.name)"
          #expect(TestUser.bob.run { way.make(path) } == nil, "\(row.parent): \(way.name)")
          #expect(try Shown(of: path).list == (isBare ? [] : row.file), "\(row.parent): \(way.name)")
          #expect(try Shown(of: path).owner == "1002:0", "\(row.parent): \(way.name)")
        }
        let made = TestUser.bob.run {
          [Calls.answer(mkdir(parent + "/dir", 0o755)), Calls.answer(symlink("open", parent + "/link"))]
        }
        #expect(made == [nil, nil], "\(row.parent)")
        #expect(try Shown(of: parent + "/dir").list == row.directory, "\(row.parent)")
        #expect(try Shown(of: parent + "/link").list == [], "\(row.parent)")
      }
    }

    @Test(
      "A list that was inherited is in force at once, against its maker too",
      arguments: [""] + StoreFallback.all)
    func inForce(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let parent = try volume.directory(
        "d", 0, 0, 0o777, list: ["user:1002 deny write,append,file_inherit,only_inherit"])
      let path = parent + "/f"
      #expect(TestUser.bob.run { Calls.create(path) } == nil)
      #expect(TestUser.bob.run { Calls.write(path, "x", 0) } == .accessDenied)
      #expect(TestUser.carol.run { Calls.answer(access(path, W_OK)) } == nil)
    }

    @Test(
      "A list that would grow beyond 128 entries is refused and nothing is made",
      arguments: [""] + StoreFallback.all)
    func tooLong(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let full = (0..<128).map { "user:\(3000 + $0) allow read,file_inherit,directory_inherit" }
      let parent = try volume.directory("d", 0, 0, 0o777, list: full)
      #expect(Calls.create(parent + "/f") == nil)
      #expect(try Shown(of: parent + "/f").list.count == 128)
      let tooMany = full + ["user:1 allow read"]
      #expect(Attribute.set(parent, Attribute.list, tooMany.joined(separator: "\n")) == .invalid)
      #expect(try Shown(of: parent).list.count == 128)
    }

    @Test(
      "setgid at creation is kept for members of the group the object gets, and dropped for others",
      arguments: [""] + StoreFallback.all)
    func setGroupAtCreation(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let member = TestUser(1002, group: 2009, groups: [2003])
      let foreign = try volume.directory("foreign", 0, 2003, 0o777)
      let own = try volume.directory("own", 0, 2009, 0o777)
      let marked = try volume.directory("marked", 0, 2003, 0o2777)
      let rows: [(user: TestUser, parent: String, file: String, directory: String)] = [
        (.bob, foreign, "0755", "0755"), (.bob, own, "02755", "02755"), (member, foreign, "02755", "02755"),
        (.root, foreign, "02755", "02755"), (.bob, marked, "0755", "0755"),
      ]
      for (index, row) in rows.enumerated() {
        let path = "\(row.parent)/\(index)"
        let refusals = row.user.run {
          [Calls.create(path + "f", mode: 0o2755), Calls.answer(mkdir(path + "d", 0o2755))]
        }
        #expect(refusals == [nil, nil])
        #expect(try Shown(of: path + "f").mode == row.file, "\(row.user) in \(row.parent)")
        // mkdir of Linux passes no set-id bits on; sticky it does.
        #expect(try Shown(of: path + "d").mode == "0755", "\(row.user) in \(row.parent)")
      }
    }
  }
}
