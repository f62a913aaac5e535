// Too little of everything: blocks, open files.

import AccessControl
import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Shortage under a mount", .timeLimit(.minutes(2))) struct HostileSpaceTests {
    /// A list that needs a block of its own; ext4 shares blocks between files that have the same.
    private static func longList(_ first: Int) -> [String] {
      (0..<120).map { "user:\(first + $0) allow read,write,file_inherit" }
    }

    /// A base on an ext4 of 8 MiB, whose files have 4 KiB for all their attributes.
    private func smallDisk() throws -> String {
      let base = try TemporaryDirectory.make()
      try Program.shell(
        """
        truncate -s 8M \(base).image
        mkfs.ext4 -q -b 4096 -I 256 -m 0 -O ^has_journal \(base).image
        mount -o loop \(base).image \(base)
        """)
      return base
    }

    private func removeDisk(_ base: String) {
      umount2(base, CInt(MNT_DETACH))
      unlink(base + ".image")
      TemporaryDirectory.remove(base)
    }

    @Test("Whichever of the two attributes finds no room, nothing of the list is left")
    func noRoom() throws {
      let base = try smallDisk()
      defer { removeDisk(base) }
      let volume = try MountedVolume(base: base)
      defer { umount2(volume.path, CInt(MNT_DETACH)) }
      var refused = 0
      for size in stride(from: 3_880, through: 4_040, by: 4) {
        for inline in [0, 20, 40, 60] {
          let name = "f\(size)-\(inline)"
          let path = try volume.file(name, 1001, 2001, 0o644)
          let below = volume.upper + "/" + name
          // What fits into the inode, and the rest of the one block.
          _ = Attribute.set(path, "user.i", [UInt8](repeating: 1, count: inline))
          _ = Attribute.set(path, "user.filler", [UInt8](repeating: 7, count: size))
          let before = try Attribute.names(below).get()
          let list = (0..<4).map { "user:\(5000 + $0) deny read" }
          let answer = Attribute.set(path, Attribute.list, list.joined(separator: "\n"))
          if answer == nil {
            #expect(try Shown(of: path).list == list, "\(name)")
          } else {
            refused += 1
            #expect(answer == .noSpace, "\(name)")
            #expect(try Shown(of: path).list == [], "\(name)")
            #expect(try Attribute.names(below).get() == before, "\(name)")
          }
          unlink(path)
        }
      }
      #expect(refused > 10)
    }

    @Test("A list that finds no room is refused with ENOSPC, and the old one stays in force")
    func noSpace() throws {
      let base = try smallDisk()
      defer { removeDisk(base) }
      let volume = try MountedVolume(base: base)
      defer { umount2(volume.path, CInt(MNT_DETACH)) }
      let bare = try volume.file("bare", 1001, 2001, 0o644)
      let short = try volume.file("short", 1001, 2001, 0o644, list: ["user:1002 deny read"], flags: "hidden")
      // All attributes of a file share one block here.
      try #require(Attribute.set(short, "user.filler", [UInt8](repeating: 7, count: 3_500)) == nil)
      let parent = try volume.directory("parent", 0, 0, 0o777, list: HostileSpaceTests.longList(5000))
      // Fill the disk to the last block.
      let filler = open(volume.path + "/filler", O_CREAT | O_WRONLY, 0o600)
      try #require(filler >= 0)
      let block = [UInt8](repeating: 1, count: 4096)
      var offset = 0
      while pwrite(filler, block, block.count, off_t(offset)) > 0 { offset += block.count }
      close(filler)

      let before = try [bare, short].map { try Shown(of: $0) }
      let list = HostileSpaceTests.longList(6000).joined(separator: "\n")
      let large = [UInt8](repeating: 1, count: 900)
      for path in [bare, short] {
        #expect(Attribute.set(path, Attribute.list, list) == .noSpace, "\(path)")
        #expect(Attribute.set(path, "user.large", large) == .noSpace, "\(path)")
      }
      // A mode that was to come with the list does not come either; this one takes and gives.
      let entries = (6000..<6120).map { AccessEntry(.allow, .user($0), [.read, .write], .fileInherit) }
      let both = NFSv4List.encode(AccessList(entries), mode: 0o606, for: .file, names: .numeric)
      for path in [bare, short] {
        #expect(Attribute.set(path, "system.nfs4_acl", both) == .noSpace, "\(path)")
      }
      #expect(try [bare, short].map { try Shown(of: $0) } == before)
      #expect(TestUser.bob.run { Calls.open(short, O_RDONLY) } == .accessDenied)
      #expect(TestUser.bob.run { Calls.open(bare, O_RDONLY) } == nil)
      // What does not get its list does not come into being.
      #expect(TestUser.bob.run { Calls.create(parent + "/new") } == .noSpace)
      #expect(TestUser.bob.run { Calls.answer(mkfifo(parent + "/pipe", 0o644)) } == .noSpace)
      #expect(try Calls.list(parent).get() == [])
      #expect(try Calls.list(volume.upper + "/.varve/work").get() == [])
      // A record of flags needs no block; and with room everything goes on.
      #expect(Attribute.set(bare, Attribute.flags, "uchg") == nil)
      #expect(unlink(volume.path + "/filler") == 0)
      #expect(Attribute.remove(short, "user.filler") == nil)
      #expect(Attribute.set(short, Attribute.list, list) == nil)
      #expect(try Shown(of: short).list.count == 120)
      #expect(TestUser.bob.run { Calls.create(parent + "/new") } == nil)
    }

    @Test("A daemon that may open 1,024 files serves 5,000 directories")
    func fewDescriptors() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      let mount = "\(Program.built("varve")) mount -o cache=exclusive \(volume.upper) \(volume.path)"
      try Program.shell("ulimit -n 1024; exec \(mount)")
      let daemon = try #require(volume.daemon)
      for outer in 0..<50 {
        try #require(mkdir("\(volume.path)/\(outer)", 0o755) == 0)
        for inner in 0..<100 {
          let path = "\(volume.path)/\(outer)/\(inner)"
          try #require(mkdir(path, 0o755) == 0)
          try #require(Calls.write(path + "/file", "\(outer) \(inner)") == nil)
        }
      }
      for outer in (0..<50).reversed() {
        for inner in 0..<100 {
          let path = "\(volume.path)/\(outer)/\(inner)"
          #expect(try Calls.read(path + "/file").get() == "\(outer) \(inner)")
          #expect(try Calls.list(path).get() == ["file"])
        }
      }
      let held = try Calls.list("/proc/\(daemon)/fd").get().count
      #expect(held < 1024, "\(held) descriptors")
      // Directories that were let go of are found again for everything else.
      for number in [0, 17, 49] {
        let path = "\(volume.path)/\(number)/3"
        #expect(Attribute.set(path + "/file", Attribute.list, "user:1002 deny read") == nil)
        #expect(rename(path + "/file", path + "/moved") == 0)
        #expect(TestUser.bob.run { Calls.open(path + "/moved", O_RDONLY) } == .accessDenied)
      }
    }

    @Test("More open files than the daemon may have are refused, and those that are open go on")
    func manyOpenFiles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell("ulimit -n 300; exec \(Program.built("varve")) mount \(volume.upper) \(volume.path)")
      let path = try volume.file("f", 0, 0, 0o644)
      var files: [CInt] = []
      defer { for file in files { close(file) } }
      var refusal: Errno?
      while refusal == nil, files.count < 400 {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file >= 0 { files.append(file) } else { refusal = .current }
      }
      #expect(refusal == .tooManyOpenFiles || refusal == Errno(rawValue: ENFILE), "\(files.count)")
      #expect(files.count > 100)
      var letter: UInt8 = 0
      for file in files { #expect(pread(file, &letter, 1, 0) == 1) }
      #expect(Calls.status(path).refusal == nil)
      for file in files { close(file) }
      files = []
      #expect(Calls.write(path, "again") == nil)
      #expect(try Calls.read(path).get() == "again")
    }

    @Test("A user who opens as many files as allowed leaves room for others, and most for root")
    func share() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell("ulimit -n 300; exec \(Program.built("varve")) mount \(volume.upper) \(volume.path)")
      let path = try volume.file("f", 0, 0, 0o644)
      var files: [CInt] = []
      defer { for file in files { close(file) } }
      func openAll(_ user: TestUser) -> (count: Int, refusal: Errno?) {
        let (opened, refusal) = user.run { () -> ([CInt], Errno?) in
          var opened: [CInt] = []
          while opened.count < 400 {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return (opened, .current) }
            opened.append(file)
          }
          return (opened, nil)
        }
        files += opened
        return (opened.count, refusal)
      }
      let first = openAll(.bob)
      #expect(first.refusal == .tooManyOpenFiles)
      let second = openAll(.carol)
      #expect(second.refusal == .tooManyOpenFiles)
      #expect(second.count * 3 > first.count, "\(first), \(second)")
      #expect(Calls.open(path, O_RDWR) == nil)
      #expect(try Calls.list(volume.path).get() == ["f"])
      for file in files { close(file) }
      files = []
      #expect(openAll(.bob).count == first.count, "what was closed counts no more")
    }

    @Test("Files that are open and have no name any more are as good as others, however many")
    func unnamedFiles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(lt_limit_open_files(0, 4096, 4096) == 0)
      var files: [CInt] = []
      defer { for file in files { close(file) } }
      for number in 0..<1_500 {
        let path = "\(volume.path)/\(number)"
        let file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        try #require(file >= 0, "\(number): \(Errno.current)")
        files.append(file)
        try #require(unlink(path) == 0)
      }
      var failures: [String] = []
      for (number, file) in files.enumerated() {
        var status = stat()
        if fchmod(file, 0o640) != 0 { failures.append("\(number) fchmod: \(Errno.current)") }
        if fstat(file, &status) != 0 { failures.append("\(number) fstat: \(Errno.current)") }
        if pwrite(file, "x", 1, 0) != 1 { failures.append("\(number) pwrite: \(Errno.current)") }
        if status.st_mode & 0o777 != 0o640 || status.st_nlink != 0 {
          failures.append("\(number) is another file")
        }
      }
      #expect(failures.prefix(5) == [])
    }
  }
}
