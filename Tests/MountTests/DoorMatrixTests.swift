// Every door as the writer, every door as the reader: all tell the same, and what they tell is enforced.

import AccessControl
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "The doors side by side",
    .enabled(
      if: Programs.has("nfs4_setfacl", "setfacl", "chattr", "setfattr"), "needs the tools of all doors"),
    .timeLimit(.minutes(2)))
  struct DoorMatrixTests {
    /// What is there to see of a file of alice and group 2001, at each door.
    struct Sight: Equatable, CustomStringConvertible {
      var mode = "0640"
      /// `system.varve.acl`, and the lines of `varve ls -le` without their numbers.
      var list: [String] = []
      var flags = ""
      /// nfs4_getfacl, the mode's entries too.
      var nfs = ["A::OWNER@:rwatTnNcCy", "A:g:GROUP@:rtncy", "A::EVERYONE@:tcy"]
      /// lsattr.
      var letters = ""
      /// getfacl.
      var posix = "user::rw- group::r-- other::---"
      /// The mark of `ls -l` and of `varve ls -l`.
      var isMarked = false
      var isInvisible = false
      /// Who can open it to read and to write: alice, carol of the group, bob of neither.
      var readers = ["alice", "carol"]
      var writers = ["alice"]

      var description: String {
        "\(mode) \(list) {\(flags)} \(nfs) \(letters) \(posix) \(isMarked) \(isInvisible) \(readers) \(writers)"
      }
    }

    struct Row: Sendable, CustomTestStringConvertible {
      let testDescription: String
      /// Commands in the mount, run as the user beside them; each of them alone makes the file look like `sight`.
      let commands: [(words: String, user: TestUser)]
      let sight: Sight
    }

    private static func asAlice(_ commands: String...) -> [(words: String, user: TestUser)] {
      commands.map { ($0, .alice) }
    }

    private static func asRoot(_ commands: String...) -> [(words: String, user: TestUser)] {
      commands.map { ($0, .root) }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
      "0x" + bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private static func numbers(_ entries: [AccessEntry], mode: UInt16) -> String {
      let list = entries.isEmpty ? nil : AccessList(entries)
      return
        "setfattr -n system.nfs4_acl_xdr -v \(hex(NFSv4List.encodeNumbers(list, mode: mode, for: .file))) f"
    }

    private static let invisible = hex((0..<32).map { $0 == 8 ? 0x40 : 0 })

    static let rows: [Row] = [
      Row(testDescription: "nothing", commands: asAlice("true"), sight: Sight()),
      Row(
        testDescription: "bob may write",
        commands: asAlice(
          "varve chmod +a 'user:1002 allow write,append' f",
          "setfattr -n system.varve.acl -v 'user:1002 allow write,append' f",
          "nfs4_setfacl -a A::1002:wa f",
          "nfs4_setfacl -s A::1002:wa,A::OWNER@:rwatTnNcCy,A:g:GROUP@:rtncy,A::EVERYONE@:tcy f",
          numbers([AccessEntry(.allow, .user(1002), [.write, .append])], mode: 0o640)),
        sight: Sight(
          list: ["user:1002 allow write,append"],
          nfs: ["A::1002:wa", "A::OWNER@:rwatTnNcCy", "A:g:GROUP@:rtncy", "A::EVERYONE@:tcy"], isMarked: true,
          writers: ["alice", "bob"])),
      Row(
        testDescription: "carol is denied what her group may",
        commands: asAlice(
          "varve chmod +a 'user:1003 deny read' f", "setfattr -n system.varve.acl -v 'user:1003 deny read' f",
          "nfs4_setfacl -a D::1003:r f", numbers([AccessEntry(.deny, .user(1003), .read)], mode: 0o640)),
        sight: Sight(
          list: ["user:1003 deny read"],
          nfs: ["D::1003:r", "A::OWNER@:rwatTnNcCy", "A:g:GROUP@:rtncy", "A::EVERYONE@:tcy"], isMarked: true,
          readers: ["alice"])),
      Row(
        testDescription: "mode 0604",
        commands: asAlice(
          "chmod 604 f", "varve chmod 604 f", "setfacl -m g::-,o::r f",
          "nfs4_setfacl -s A::OWNER@:rwatTnNcCy,D:g:GROUP@:rn,A:g:GROUP@:tcy,A::EVERYONE@:rtncy f",
          numbers([], mode: 0o604)),
        sight: Sight(
          mode: "0604",
          nfs: ["A::OWNER@:rwatTnNcCy", "D:g:GROUP@:rn", "A:g:GROUP@:tcy", "A::EVERYONE@:rtncy"],
          posix: "user::rw- group::--- other::r--", readers: ["alice", "bob"])),
      Row(
        testDescription: "a list and a mode at once",
        commands: asAlice(
          "bash -c \"varve chmod +a 'user:1002 allow read' f && chmod 600 f\"",
          "bash -c 'setfacl -m g::- f && nfs4_setfacl -a A::1002:r f'",
          "nfs4_setfacl -s A::1002:r,A::OWNER@:rwatTnNcCy,A:g:GROUP@:tcy,A::EVERYONE@:tcy f",
          numbers([AccessEntry(.allow, .user(1002), .read)], mode: 0o600)),
        sight: Sight(
          mode: "0600", list: ["user:1002 allow read"],
          nfs: ["A::1002:r", "A::OWNER@:rwatTnNcCy", "A:g:GROUP@:tcy", "A::EVERYONE@:tcy"],
          posix: "user::rw- group::--- other::---", isMarked: true, readers: ["alice", "bob"])),
      Row(
        testDescription: "uchg",
        commands: asAlice("varve chflags uchg f", "setfattr -n system.varve.flags -v uchg f"),
        sight: Sight(flags: "uchg", letters: "i", writers: [])),
      Row(
        testDescription: "schg",
        commands: asRoot("varve chflags schg f", "setfattr -n system.varve.flags -v schg f", "chattr +i f"),
        sight: Sight(flags: "schg", letters: "i", writers: [])),
      Row(
        testDescription: "sappnd",
        commands: asRoot("varve chflags sappnd f", "chattr +a f"),
        sight: Sight(flags: "sappnd", letters: "a", writers: [])),
      Row(
        testDescription: "nodump",
        commands: asAlice(
          "varve chflags nodump f", "setfattr -n system.varve.flags -v nodump f", "chattr +d f"),
        sight: Sight(flags: "nodump", letters: "d")),
      Row(
        testDescription: "hidden",
        commands: asAlice(
          "varve chflags hidden f", "setfattr -n system.varve.flags -v hidden f",
          "setfattr -n com.apple.FinderInfo -v \(invisible) f",
          "setfattr -n user.com.apple.FinderInfo -v \(invisible) f"),
        sight: Sight(flags: "hidden", isInvisible: true)),
    ]

    @Test(arguments: rows) func agree(_ row: Row) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.publishTool()
      for (words, user) in row.commands {
        let path = try volume.file("f", 1001, 2001, 0o640)
        let result = try volume.run(words, as: user)
        #expect(result.exit == 0, "\(words): \(result.output)")
        #expect(try look(at: path, volume) == row.sight, "\(words)")
        _ = Attribute.set(path, Attribute.flags, "")
        try #require(unlink(path) == 0)
      }
    }

    private func look(at path: String, _ volume: MountedVolume) throws -> Sight {
      var sight = Sight()
      let shown = try Shown(of: path)
      (sight.mode, sight.flags, sight.list) = (shown.mode, shown.flags, shown.list)
      // The tool's own listing must say the same as the doors do.
      let lines = try volume.run("varve ls -lenO f").output.split(separator: "\n").map(String.init)
      let listed = lines.dropFirst().map { String($0.drop { $0 != ":" }.dropFirst(2)) }
      if listed != sight.list { sight.list += ["but varve ls says"] + listed }
      let column = sight.flags.isEmpty ? " - " : " \(sight.flags) "
      if lines.first?.contains(column) != true { sight.flags += ", but varve ls says \(lines)" }
      sight.nfs = try volume.nfsEntries("f")
      let numbers = try NFSv4List.decodeNumbers(Attribute.get(path, "system.nfs4_acl_xdr").get())
      let names = try NFSv4List.decode(Attribute.get(path, "system.nfs4_acl").get(), names: .numeric)
      if numbers != names { sight.nfs.append("but in numbers \(numbers)") }
      sight.letters = try volume.letters("f")
      sight.posix = try volume.run("getfacl -cnE f").output.split(separator: "\n").joined(separator: " ")
      sight.isMarked = try volume.run("ls -l f").output.prefix(11).last == "+"
      let info = try? Attribute.get(path, "com.apple.FinderInfo").get()
      sight.isInvisible = info.map { $0[8] & 0x40 != 0 } ?? false
      let people: [(String, TestUser)] = [("alice", .alice), ("carol", .carol), ("bob", .bob)]
      func those(_ flags: CInt) -> [String] {
        people.filter { person in person.1.run { Calls.open(path, flags) } == nil }.map(\.0)
      }
      (sight.readers, sight.writers) = (those(O_RDONLY), those(O_WRONLY))
      return sight
    }
  }
}
