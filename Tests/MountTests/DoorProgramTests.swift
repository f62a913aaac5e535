// The same flags and lists through chattr, lsattr and the programs of this package: no door disagrees.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Programs at the doors", .timeLimit(.minutes(1))) struct DoorProgramTests {
    @Test("chattr of root sets the flags of the system, and every door tells the same")
    func chattrOfRoot() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let rows: [(change: String, flags: String, letters: String)] = [
        ("+i", "schg", "i"), ("-i", "", ""), ("+a", "sappnd", "a"), ("-a", "", ""), ("+d", "nodump", "d"),
        ("+ia", "sappnd,schg,nodump", "iad"), ("=", "", ""),
      ]
      for name in ["file", "directory"] {
        let path =
          name == "file"
          ? try volume.file(name, 1001, 2001, 0o644) : try volume.directory(name, 1001, 2001, 0o755)
        for row in rows {
          #expect(try volume.run("chattr \(row.change) \(name)").exit == 0, "\(name) \(row.change)")
          #expect(try Attribute.text(path, Attribute.flags).get() == row.flags, "\(name) \(row.change)")
          #expect(try volume.letters(name) == row.letters, "\(name) \(row.change)")
        }
        for flags in ["uchg", "schg", "uchg,schg"] {
          try #require(Attribute.set(path, Attribute.flags, flags) == nil)
          #expect(try volume.letters(name) == "i")
        }
        // Flags without a twin on Linux stay.
        try #require(Attribute.set(path, Attribute.flags, "uappnd,hidden") == nil)
        #expect(try volume.run("chattr -a \(name)").exit == 0)
        #expect(try Attribute.text(path, Attribute.flags).get() == "hidden")
        #expect(try volume.run("chattr +c \(name)").exit != 0)
        #expect(try Attribute.text(path, Attribute.flags).get() == "hidden")
      }
    }

    @Test("With chattr=user root's chattr sets the flags of users")
    func chattrForUsers() throws {
      let volume = try MountedVolume("chattr=user")
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      #expect(try volume.run("chattr +ia f").exit == 0)
      #expect(try Attribute.text(path, Attribute.flags).get() == "uappnd,uchg")
    }

    @Test("An owner clears uchg with chattr -i, and can neither set it so nor clear schg")
    func chattrOfOwners() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      try #require(Attribute.set(path, Attribute.flags, "uchg,hidden") == nil)
      #expect(try volume.run("chattr -i f", as: .bob).exit != 0)
      #expect(try volume.run("chattr -i f", as: .alice).exit == 0)
      #expect(try Attribute.text(path, Attribute.flags).get() == "hidden")
      #expect(try volume.run("chattr +d f", as: .alice).exit == 0)
      #expect(try Attribute.text(path, Attribute.flags).get() == "nodump,hidden")
      #expect(try volume.run("chattr +i f", as: .alice).exit != 0)
      try #require(Attribute.set(path, Attribute.flags, "schg") == nil)
      #expect(try volume.run("chattr -i f", as: .alice).exit != 0)
      #expect(try Attribute.text(path, Attribute.flags).get() == "schg")
    }

    @Test("The words of the ioctl are the words of lsattr")
    func words() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      let file = open(path, O_RDONLY)
      try #require(file >= 0)
      defer { close(file) }
      var word: UInt32 = 0
      for (flags, expected) in [
        ("uchg", UInt32(0x10)), ("sappnd", 0x20), ("nodump,schg", 0x50), ("hidden", 0),
      ] {
        try #require(Attribute.set(path, Attribute.flags, flags) == nil)
        #expect(lt_inode_flags(file, &word) == 0)
        #expect(word == expected, "\(flags)")
      }
      #expect(lt_set_inode_flags(file, 0x40) == 0)
      #expect(try Attribute.text(path, Attribute.flags).get() == "nodump,hidden")
      #expect(lt_set_inode_flags(file, 0x800) == -Int(EOPNOTSUPP))
    }

    @Test("varve chflags, chmod and ls do and show what the doors do and show")
    func varve() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.publishTool()
      let path = try volume.file("plan", 1001, 2001, 0o644)
      #expect(try volume.run("varve chflags uchg,hidden plan", as: .bob).exit == 1)
      #expect(try volume.run("varve chflags uchg,hidden plan", as: .alice).exit == 0)
      #expect(try volume.run("varve chmod +a 'user:1002 allow write' plan", as: .alice).exit == 1)
      #expect(try volume.run("varve chflags nouchg plan", as: .alice).exit == 0)
      #expect(try volume.run("varve chmod +a 'user:1002 allow write' plan", as: .alice).exit == 0)
      #expect(try volume.run("varve chmod +a# 0 'everyone deny delete' plan", as: .alice).exit == 0)
      #expect(
        try Shown(of: path)
          == Shown(
            "1001:2001", "0644", flags: "hidden",
            list: ["group:everyone deny delete", "user:1002 allow write"]))
      let listing = try volume.run("varve ls -leOn plan", as: .bob).output
      let lines = listing.split(separator: "\n").map(String.init)
      #expect(lines.count == 3, "\(listing)")
      #expect(lines.first?.hasPrefix("-rw-r--r--@ ") == true, "\(listing)")
      #expect(
        lines.first?.contains(" 1001 ") == true && lines.first?.contains(" hidden ") == true, "\(listing)")
      #expect(
        lines.dropFirst() == [" 0: group:everyone deny delete", " 1: user:1002 allow write"], "\(listing)")
      #expect(try volume.run("varve chmod -N plan", as: .alice).exit == 0)
      #expect(try volume.run("varve chmod 600 plan", as: .alice).exit == 0)
      #expect(try Shown(of: path) == Shown("1001:2001", "0600", flags: "hidden"))
      #expect(try volume.letters("plan") == "")
    }
  }
}
