// The unmodified programs of nfs4-acl-tools.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "NFSv4 tools",
    .enabled(if: Programs.has("nfs4_getfacl", "nfs4_setfacl", "nfs4_editfacl"), "needs nfs4-acl-tools"),
    .timeLimit(.minutes(1)))
  struct NFSv4ToolTests {
    private static let plain = ["A::OWNER@:rwatTnNcCy", "A:g:GROUP@:rtncy", "A::EVERYONE@:tcy"]

    @Test("nfs4_getfacl, -setfacl and -editfacl show, add, change, replace and remove") func tools() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o640)
      #expect(try volume.nfsEntries("f") == Self.plain)
      func set(_ words: String, _ expected: [String], mode: String = "0640") throws {
        let result = try volume.run("nfs4_setfacl \(words) f", as: .alice)
        #expect(result.exit == 0, "\(words): \(result.output)")
        #expect(try Shown(of: path) == Shown("1001:2001", mode, list: expected), "\(words)")
      }
      try set("-a A::1002:rw", ["user:1002 allow read,write"])
      try set("-a D:g:2009:w", ["group:2009 deny write", "user:1002 allow read,write"])
      #expect(try volume.nfsEntries("f") == ["D:g:2009:w", "A::1002:rw"] + Self.plain)
      try set("-m A::1002:rw A::1002:r", ["group:2009 deny write", "user:1002 allow read"])
      try set("-x D:g:2009:w", ["user:1002 allow read"])
      // The mode is changed where it is shown.
      try set("-m A:g:GROUP@:rtncy A:g:GROUP@:tcy", ["user:1002 allow read"], mode: "0600")
      #expect(try volume.run("nfs4_setfacl -x A::1002:r f", as: .bob).exit != 0)
      try set(
        "-s A::1002:wN,A::OWNER@:rwatTnNcCy,A:g:GROUP@:rtncy,A::EVERYONE@:rtncy",
        ["user:1002 allow write,writeextattr"], mode: "0644")
      let editor = volume.base + "/editor"
      let script = "#!/bin/sh\nnew=$(sed s/1002:wN/1003:w/ \"$1\")\necho \"$new\" >\"$1\"\n"
      #expect(Calls.write(editor, script) == nil && chmod(editor, 0o755) == 0)
      let edited = try volume.run("env EDITOR=\(editor) nfs4_editfacl f", as: .alice)
      #expect(edited.exit == 0, "\(edited.output)")
      #expect(try Shown(of: path) == Shown("1001:2001", "0644", list: ["user:1003 allow write"]))
      #expect(TestUser.carol.run { Calls.open(path, O_WRONLY) } == nil)
      #expect(TestUser.bob.run { Calls.open(path, O_WRONLY) } == .accessDenied)
    }

    @Test("An entry that is taken out takes its right away, and one that is added anywhere gives no other")
    func removal() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      func run(_ words: String, _ mode: String, _ list: [String] = []) throws {
        let result = try volume.run(words, as: .alice)
        #expect(result.exit == 0, "\(words): \(result.output)")
        #expect(try Shown(of: path) == Shown("1001:2001", mode, list: list), "\(words)")
      }
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == nil)
      try run("nfs4_setfacl -x A::EVERYONE@:rtncy f", "0640")
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      #expect(TestUser.carol.run { Calls.open(path, O_RDONLY) } == nil)
      #expect(try volume.nfsEntries("f") == Self.plain)
      try run("nfs4_setfacl -x A:g:GROUP@:rtncy f", "0600")
      #expect(TestUser.carol.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      // Half of what the bit stands for is an entry of its own.
      try run(
        "nfs4_setfacl -m A::EVERYONE@:tcy A::EVERYONE@:rtc f", "0600",
        ["group:everyone allow read,readattr,readsecurity"])
      #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == nil)
      try run("nfs4_setfacl -x A::EVERYONE@:rtc f", "0600")
      // Behind the entries of the mode.
      try run("nfs4_setfacl -a A::1002:rw 4 f", "0600", ["user:1002 allow read,write"])
      #expect(TestUser.carol.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      let editor = volume.base + "/editor"
      let script = "#!/bin/sh\nnew=$(grep -v OWNER@ \"$1\")\necho \"$new\" >\"$1\"\n"
      #expect(Calls.write(editor, script) == nil && chmod(editor, 0o755) == 0)
      try run("env EDITOR=\(editor) nfs4_editfacl f", "00", ["user:1002 allow read,write"])
      #expect(TestUser.alice.run { Calls.open(path, O_RDONLY) } == .accessDenied)
      // The letters for several rights at once say what the bits stand for.
      try run("nfs4_setfacl -s A::OWNER@:RW,A:g:GROUP@:R f", "0640")
      // All of them at once leave a list without any.
      try run("sh -c 'nfs4_getfacl f | grep @ | nfs4_setfacl -X - f'", "00")
    }

    @Test("Whatever is read and written back is the same, on every kind of item and through every list")
    func roundTrips() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let lists: [[String]] = [
        [], ["user:1002 allow read"],
        ["group:everyone deny delete", "owner@ allow write", "group@ allow read"],
        [
          "user:1002 inherited allow read,write,execute,delete,append,readattr,writeattr,readextattr",
          "user:1003 inherited deny read,delete_child,file_inherit,directory_inherit,limit_inherit",
        ],
        ["nobody@ deny read", "group:2009 allow generic_all"],
        ["!#acl 1 no_inherit", "user:1002 allow read"],
        ["group:everyone allow read,readextattr,readattr,readsecurity"],
      ]
      for mode: mode_t in [0o640, 0o604, 0o077, 0o777, 0o1777, 0o2750, 0] {
        for (index, list) in lists.enumerated() {
          let name = "f\(mode)-\(index)"
          let file = try volume.file(name, 1001, 2001, mode, list: list)
          let directory = try volume.directory("d" + name, 1001, 2001, mode, list: list)
          for (path, name) in [(file, name), (directory, "d" + name)] {
            let before = try Shown(of: path)
            let result = try volume.run(
              "bash -c 'nfs4_getfacl \(name) | nfs4_setfacl -S - \(name)'", as: .root)
            #expect(result.exit == 0, "\(result.output)")
            #expect(try Shown(of: path) == before, "\(String(mode, radix: 8)) \(list)")
          }
        }
      }
    }

    @Test("Entries a directory hands on reach what is made in it") func inheritance() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.directory("d", 1001, 2001, 0o700)
      #expect(try volume.run("nfs4_setfacl -a A:fdg:2009:rwaDxtTnNc d", as: .alice).exit == 0)
      _ = try volume.run("bash -c 'umask 077; echo > d/f; mkdir d/s'", as: .bob)
      #expect(try volume.nfsEntries("d/s").first == "A:fdg:2009:rwaDxtTnNc")
      let file = volume.path + "/d/f"
      let handedOn = try Shown(of: file).list
      #expect(
        handedOn.count == 1 && handedOn[0].hasPrefix("group:2009 inherited allow read,write,execute,"),
        "\(handedOn)")
      // What the text has no letters for stays with the entries that are not touched.
      #expect(try volume.run("nfs4_setfacl -a D::1003:r d/f", as: .alice).exit != 0)
      #expect(try volume.run("nfs4_setfacl -a D::1003:r d/f", as: .bob).exit == 0)
      #expect(try Shown(of: file).list == ["user:1003 deny read"] + handedOn)
    }

    @Test("An entry that nfs4_setfacl adds is inherited if the directory hands it down, and goes with it")
    func inheritedMarks() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.publishTool()
      func run(_ words: String, as user: TestUser = .alice) throws {
        let result = try volume.run(words, as: user)
        #expect(result.exit == 0, "\(words): \(result.output)")
      }
      func list(_ name: String) throws -> [String] { try Shown(of: "\(volume.path)/d/\(name)").list }
      let both = "file_inherit,directory_inherit"
      _ = try volume.directory("d", 1001, 2001, 0o711)
      // Made before the directory handed anything down.
      for name in ["early", "own", "two", "off"] { _ = try volume.file("d/\(name)", 1001, 2001, 0o600) }
      try run("varve chmod +a 'group:2009 allow read' d/own")
      try run(
        "bash -c 'printf \"!#acl 1 no_inherit\\nuser:1003 allow execute\\n\" | varve acl set -F - d/off'")
      for entry in [
        "group:2009 allow read,\(both)", "user:1002 allow write,\(both)", "user:1002 allow append,\(both)",
      ] {
        try run("varve chmod +a# 0 '\(entry)' d")
      }
      try run("bash -c 'umask 077; echo > d/late'")

      let handedDown = "group:2009 inherited allow read"
      // What the directory hands down by now; what the item has inherited already; beside entries that say so.
      try run("nfs4_setfacl -a A:g:2009:r d/early")
      #expect(try list("early") == [handedDown])
      try run("nfs4_setfacl -a D::1003:w d/early")
      #expect(try list("early") == ["user:1003 deny write", handedDown])
      try run("nfs4_setfacl -a A:g:2009:r d/late")
      #expect(try list("late").filter { $0 == handedDown }.count == 2)
      // One in place of two.
      try run("nfs4_setfacl -a A::1002:wa d/two")
      #expect(
        try Set(list("two")) == ["user:1002 inherited allow write", "user:1002 inherited allow append"])
      // Explicit entries of before, other entries, and items that turned inheritance off.
      try run("nfs4_setfacl -a A::1003:r d/own")
      #expect(try list("own") == ["user:1003 allow read", "group:2009 allow read"])
      try run("nfs4_setfacl -a A:g:2009:r d/off")
      #expect(try list("off").last == "user:1003 allow execute")
      #expect(try list("off").contains("group:2009 allow read"))

      // The group is taken off the directory.
      for name in ["early", "late", "own", "off"] {
        #expect(TestUser.bob.run { Calls.read("\(volume.path)/d/\(name)").refusal } == nil, "\(name)")
      }
      try run("varve chmod -a 'group:2009 allow read,\(both)' d")
      try run("varve acl propagate d")
      for name in ["early", "late"] {
        #expect(
          TestUser.bob.run { Calls.read("\(volume.path)/d/\(name)").refusal } == .accessDenied, "\(name)")
      }
      for name in ["own", "off"] {
        #expect(TestUser.bob.run { Calls.read("\(volume.path)/d/\(name)").refusal } == nil, "\(name)")
      }
    }
  }
}
