// What changes, not only whether: owner, mode, list and flags afterwards, on a mount.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("What changes on a mount", .timeLimit(.minutes(1))) struct StateTests {
    @Test("The group comes from the directory, the umask counts")
    func groupOfDirectory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 2003, 0o777) + "/new"
      #expect(TestUser.bob.run(umask: 0o022) { Calls.create(path) } == nil)
      #expect(try Shown(of: path) == Shown("1002:2003", "0644"))
    }

    @Test("An inherited list does not switch the umask off")
    func umaskBesideList() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let parent = try volume.directory("d", 0, 2003, 0o777, list: ["group:everyone allow read,file_inherit"])
      let path = parent + "/new"
      #expect(TestUser.bob.run(umask: 0o077) { Calls.create(path) } == nil)
      #expect(
        try Shown(of: path)
          == Shown("1002:2003", "0600", list: ["group:everyone inherited allow read"]))
    }

    @Test("A setgid directory does not hand its bit on")
    func setGroupDirectory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 2003, 0o2777) + "/new"
      #expect(TestUser.bob.run(umask: 0o022) { Calls.answer(mkdir(path, 0o777)) } == nil)
      #expect(try Shown(of: path) == Shown("1002:2003", "0755"))
    }

    @Test("Every chown and chgrp clears the set-id bits, of directories and for root too")
    func changeOfOwner() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let alice = TestUser(1001, group: 2001, groups: [2002])
      let file = try volume.file("f", 1001, 2001, 0o6755)
      #expect(alice.run { Calls.answer(chown(file, .max, 2002)) } == nil)
      #expect(try Shown(of: file) == Shown("1001:2002", "0755"))
      let folder = try volume.directory("d", 1001, 2001, 0o6755)
      #expect(Calls.answer(chown(folder, 1002, .max)) == nil)
      #expect(try Shown(of: folder) == Shown("1002:2001", "0755"))
      let sticky = try volume.directory("s", 1001, 2001, 0o7755)
      #expect(Calls.answer(chown(sticky, 1001, 2001)) == nil)
      #expect(try Shown(of: sticky) == Shown("1001:2001", "01755"))
    }

    @Test(
      "A foreign write clears set-id bits, root's does not",
      arguments: ["", "no_killpriv_v2"])
    func foreignWrite(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let rows: [(mode: mode_t, writer: TestUser, left: String)] = [
        (0o6777, .bob, "0777"), (0o4777, .bob, "0777"), (0o2777, .bob, "0777"), (0o6767, .bob, "02767"),
        (0o2767, .bob, "02767"), (0o7777, .bob, "01777"), (0o6777, .alice, "0777"), (0o6777, .root, "06777"),
        (0o777, .bob, "0777"),
      ]
      for row in rows {
        for way in ["write", "truncate", "open"] {
          let path = try volume.file("f\(row.mode)\(row.writer.user)\(way)", 1001, 2001, row.mode)
          let refusal = row.writer.run {
            switch way {
            case "write": Calls.write(path, "x", 0)
            case "truncate": Calls.answer(truncate(path, 2))
            default: Calls.open(path, O_WRONLY | O_TRUNC)
            }
          }
          #expect(refusal == nil, "\(row) \(way)")
          #expect(try Shown(of: path).mode == row.left, "\(row) \(way)")
        }
      }
    }

    @Test("A chmod leaves the list alone, and a list leaves the mode alone")
    func modeAndList() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = ["user:1002 allow read,write", "group:2009 deny append"]
      let path = try volume.file("f", 1001, 2001, 0o644, list: list)
      #expect(TestUser.alice.run { Calls.answer(chmod(path, 0o600)) } == nil)
      #expect(try Shown(of: path) == Shown("1001:2001", "0600", list: list))
      #expect(TestUser.alice.run { Attribute.remove(path, Attribute.list) } == nil)
      #expect(try Shown(of: path) == Shown("1001:2001", "0600"))
    }

    @Test("Restricted is handed to what is made and to what is moved in")
    func restricted() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let parent = try volume.directory("d", 0, 0, 0o777, flags: "restricted,hidden")
      let mover = try volume.file("f", 1002, 2009, 0o644)
      chmod(volume.path, 0o777)
      let refusals = TestUser.bob.run {
        [
          Calls.create(parent + "/new"), Calls.answer(mkdir(parent + "/dir", 0o755)),
          Calls.answer(rename(mover, parent + "/moved")),
        ]
      }
      #expect(refusals == [nil, nil, nil])
      for name in ["new", "dir", "moved"] {
        #expect(try Shown(of: "\(parent)/\(name)").flags == "restricted", "\(name)")
      }
    }

    @Test("What is moved inherits nothing, and a further name changes nothing")
    func moveAndLink() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let list = ["group:everyone deny write,file_inherit,directory_inherit,only_inherit"]
      let parent = try volume.directory("d", 0, 0, 0o777, list: list)
      let mover = try volume.file("f", 1002, 2009, 0o644)
      let linked = try volume.file("l", 1002, 2009, 0o644)
      #expect(rename(mover, parent + "/f") == 0)
      #expect(link(linked, parent + "/l") == 0)
      #expect(try Shown(of: parent + "/f") == Shown("1002:2009", "0644"))
      #expect(try Shown(of: parent + "/l") == Shown("1002:2009", "0644"))
    }

    @Test("Root clears uchg and writes")
    func rootUnlocks() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, flags: "uchg")
      #expect(Calls.write(path, "x", 0) == .notPermitted)
      #expect(Attribute.set(path, Attribute.flags, "0") == nil)
      #expect(Calls.write(path, "x", 0) == nil)
    }

    @Test("An append-only file grows at its end and nowhere else")
    func appendOnly() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644, flags: "uappnd")
      let seen: [Errno?] = TestUser.alice.run {
        let file = open(path, O_RDWR | O_APPEND)
        guard file >= 0 else { return [.current] }
        defer { close(file) }
        let first = Calls.answer(write(file, "+", 1))
        // Linux appends with pwrite as well.
        let second = Calls.answer(pwrite(file, "+", 1, 0))
        // Nobody is told that a handle lost O_APPEND; the offset of the write tells.
        _ = fcntl(file, F_SETFL, 0)
        return [
          first, second, Calls.answer(pwrite(file, "!", 1, 0)), Calls.answer(ftruncate(file, 0)),
          mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED ? .current : nil,
        ]
      }
      #expect(seen.prefix(4) == [nil, nil, .notPermitted, .notPermitted])
      #expect(seen.last != .some(nil), "a shared writable mapping was given out")
      #expect(try Calls.read(path).get() == "content++")
    }

    @Test(
      "A handle from before outlives uchg; new handles meet uchg and uappnd",
      arguments: ["", "passthrough=off"])
    func openBeforeFlag(_ options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      let file = open(path, O_RDWR)
      try #require(file >= 0)
      defer { close(file) }
      try #require(Attribute.set(path, Attribute.flags, "uchg") == nil)
      #expect(Calls.answer(pwrite(file, "C", 1, 0)) == nil)
      #expect(try Calls.read(path).get() == "Content")
      for flag in ["uchg", "uappnd"] {
        try #require(Attribute.set(path, Attribute.flags, flag) == nil)
        #expect(Calls.open(path, O_RDWR) == .notPermitted)
        #expect(Calls.open(path, O_RDONLY | O_TRUNC) == .notPermitted)
        #expect(Calls.answer(truncate(path, 0)) == .notPermitted)
      }
      #expect(Calls.open(path, O_WRONLY | O_APPEND) == nil)
      // SEMANTICS 2.5: a handle that the kernel serves from the backing file keeps what it was given.
      let passes = Machine.passesThrough && options.isEmpty
      #expect(Calls.answer(pwrite(file, "C", 1, 0)) == (passes ? nil : .notPermitted))
      // Whoever could map the file for writing must wait until it is closed.
      #expect(Calls.open(path, O_RDWR | O_APPEND) == (passes ? .busy : nil))
    }

    @Test("With suiddir a setuid directory hands its owner on, unless that is root")
    func suidDirectories() throws {
      let volume = try MountedVolume("suiddir")
      defer { volume.remove() }
      let parent = try volume.directory("d", 1001, 2001, 0o4777)
      let ofRoot = try volume.directory("r", 0, 0, 0o4777)
      let plain = try volume.directory("p", 1001, 2001, 0o777)
      let refusals = TestUser.bob.run {
        [
          Calls.create(parent + "/f", mode: 0o6777), Calls.answer(mkdir(parent + "/d", 0o755)),
          Calls.answer(mkfifo(parent + "/p", 0o666)), Calls.answer(symlink("f", parent + "/l")),
          Calls.create(ofRoot + "/f", mode: 0o644), Calls.create(plain + "/f", mode: 0o755),
        ]
      }
      #expect(refusals == Array(repeating: nil, count: 6))
      #expect(try Shown(of: parent + "/f") == Shown("1001:2001", "0666"))
      #expect(try Shown(of: parent + "/d") == Shown("1001:2001", "04755"))
      #expect(try Shown(of: parent + "/p") == Shown("1001:2001", "0666"))
      #expect(try Shown(of: parent + "/l").owner == "1001:2001")
      #expect(try Shown(of: ofRoot + "/f") == Shown("1002:0", "0644"))
      #expect(try Shown(of: plain + "/f") == Shown("1002:2001", "0755"))
    }

    @Test("Without suiddir a setuid directory is a directory")
    func noSuidDirectories() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let parent = try volume.directory("d", 1001, 2001, 0o4777)
      #expect(TestUser.bob.run { Calls.create(parent + "/f", mode: 0o755) } == nil)
      #expect(try Shown(of: parent + "/f") == Shown("1002:2001", "0755"))
    }
  }
}
