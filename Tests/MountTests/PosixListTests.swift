// `system.posix_acl_access`: programs that copy modes as POSIX lists neither fail nor tell what is not so.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("POSIX lists on a mount", .timeLimit(.minutes(1))) struct PosixListTests {
    private static let access = "system.posix_acl_access"
    private static let defaults = "system.posix_acl_default"

    private static func list(_ entries: (tag: UInt8, bits: UInt8)...) -> [UInt8] {
      [2, 0, 0, 0] + entries.flatMap { [$0.tag, 0, $0.bits, 0, 0xFF, 0xFF, 0xFF, 0xFF] }
    }

    @Test("A minimal POSIX list is a chmod with the rights of chmod, and more than that is refused")
    func setting() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o6644, list: ["user:1002 allow read"])
      let minimal = Self.list((1, 6), (4, 4), (0x20, 0))
      #expect(TestUser.bob.run { Attribute.set(path, Self.access, minimal) } == .notPermitted)
      #expect(TestUser.alice.run { Attribute.set(path, Self.access, minimal) } == nil)
      #expect(
        try Shown(of: path) == Shown("1001:2001", "06640", list: ["user:1002 allow read"]))
      let extended =
        [UInt8](Self.list((1, 6))) + [2, 0, 7, 0, 0xEA, 3, 0, 0]
        + Self.list((4, 4), (0x10, 7), (0x20, 0)).dropFirst(4)
      #expect(Attribute.set(path, Self.access, extended) == .unsupported)
      #expect(Attribute.set(path, Self.access, [1, 2, 3]) == .invalid)
      try #require(Attribute.set(path, Attribute.flags, "uchg") == nil)
      #expect(Attribute.set(path, Self.access, Self.list((1, 7), (4, 7), (0x20, 7))) == .notPermitted)
      #expect(try Shown(of: path).mode == "06640")
      try #require(Attribute.set(path, Attribute.flags, "") == nil)
      #expect(Attribute.remove(path, Self.access) == nil)
      #expect(try Shown(of: path).mode == "06640")
    }

    @Test("There is one to read where a list is stored, so that ls prints its mark there and nowhere else")
    func reading() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let plain = try volume.file("plain", 1001, 2001, 0o640)
      let listed = try volume.file("listed", 1001, 2001, 0o640, list: ["user:1002 allow read"])
      #expect(Attribute.get(plain, Self.access).refusal == .noData)
      #expect(try Attribute.get(listed, Self.access).get() == Self.list((1, 6), (4, 4), (0x20, 0)))
      for path in [plain, listed] {
        #expect(try Attribute.names(path).get().filter { $0.contains("posix") } == [])
      }
      let output = try volume.run("ls -l plain listed").output.split(separator: "\n").map { $0.prefix(11) }
      #expect(output == ["-rw-r-----+", "-rw-r----- "])
    }

    @Test("Directories hand on no POSIX entries: an empty default list is taken, any other refused")
    func defaults() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 1001, 2001, 0o755, list: ["user:1002 allow list"])
      #expect(Attribute.get(path, Self.defaults).refusal == .noData)
      #expect(Attribute.set(path, Self.defaults, Self.list((1, 7), (4, 5), (0x20, 5))) == .unsupported)
      #expect(Attribute.remove(path, Self.defaults) == nil)
      #expect(Attribute.set(path, Self.defaults, Self.list()) == nil)
      #expect(try Shown(of: path) == Shown("1001:2001", "0755", list: ["user:1002 allow list"]))
    }

    @Test(
      "cp, mv, install, rsync, tar, getfacl and setfacl carry the mode in, out and within, without a word",
      .enabled(if: Programs.has("setfacl", "rsync"), "needs acl and rsync"))
    func programs() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let result = try volume.run(
        """
        bash -euo pipefail -c '
        umask 022
        echo x > plain; chmod 4751 plain
        echo x > listed; chmod 640 listed; setfattr -n \(Attribute.list) -v "user:1002 allow read" listed
        mkdir ../out ../out/tar in
        for f in plain listed; do
          cp -a $f in/cp; cp -p $f in/cpp; install -m 640 $f in/install; rsync -aA $f in/rsync
          cp -a $f ../out/cp; cp -a ../out/cp in/back; mv in/back in/moved; mv ../out/cp in/across
          rsync -aA $f ../out/rsync
          tar --acls -cf ../out/t $f; tar --acls -xpf ../out/t -C in; tar --acls -xpf ../out/t -C ../out/tar
          stat -c %a in/cp in/cpp in/install in/rsync in/moved in/across ../out/rsync in/$f ../out/tar/$f |
            tr "\\n" " "
          echo
          getfacl -cE $f | tr "\\n" " "
          echo
          rm -r in/* ../out/tar/*
        done
        getfacl -R . | setfacl --restore=-
        setfacl -m u::rwx,g::x,o::- plain; setfacl -b plain; setfacl -k in
        stat -c %a plain listed | tr "\\n" " "
        echo'
        """)
      #expect(
        result.output == """
          4751 4751 640 4751 4751 4751 4751 4751 4751 
          user::rwx group::r-x other::--x  
          640 640 640 640 640 640 640 640 640 
          user::rw- group::r-- other::---  
          4710 640 

          """)
      #expect(try Shown(of: volume.path + "/listed").list == ["user:1002 allow read"])
      // What cannot be kept is said, and not done by halves.
      for words in ["-m u:1002:r plain", "-d -m u::rwx in"] {
        #expect(try volume.run("setfacl \(words)").exit != 0)
      }
      #expect(try Shown(of: volume.path + "/plain") == Shown("0:0", "04710"))
    }
  }
}
