import Arguments
import Foundation
import Testing
import TextForms

@Suite("Options of a mount") struct MountOptionTests {
  static let rows: [(String, [String])] = [
    ("", []), ("ro", ["ro"]), ("ro,lower=/a:/b", ["ro", "lower=/a:/b"]), (",ro,,nofail,", ["ro", "nofail"]),
    (#"lower=/a\,b,ro"#, [#"lower=/a\,b"#, "ro"]), (#"a\\,b"#, [#"a\\"#, "b"]), (#"a\"#, [#"a\"#]),
  ]

  @Test(arguments: rows) func splits(_ text: String, _ pieces: [String]) {
    let options = MountOption.list(Array(text.utf8))
    #expect(options.map { String(decoding: $0.written, as: UTF8.self) } == pieces)
    let again = MountOption.list(MountOption.text(options))
    #expect(again == options)
  }

  @Test func nameAndValueAreToldApart() {
    let option = MountOption(Array("lower=/a=b".utf8))
    #expect(option.name == "lower")
    #expect(option.value == Array("/a=b".utf8))
    #expect(MountOption(Array("ro".utf8)).value == nil)
    #expect(MountOption(Array("view=".utf8)).value == [])
  }

  static let escapes = [
    (#"/a\,b"#, "/a,b"), (#"/a\:b"#, "/a:b"), (#"a\\b"#, #"a\b"#), (#"a\"#, #"a\"#), ("", ""),
  ]

  @Test(arguments: escapes) func unescapes(_ written: String, _ meant: String) {
    #expect(MountOption.unescaped(Array(written.utf8)) == Array(meant.utf8))
  }
}

@Suite("The manual of varve") struct ManualTests {
  @Test(arguments: ["mount", "remount", "umount", "status", "chflags", "chmod", "ls"]) func namesEveryOption(
    _ name: String
  ) throws {
    let page = try manual("varve.1")
    let verb = try #require(Program.varve.verb(named: name))
    let items = page.split(separator: "\n").filter { $0.hasPrefix(".It Fl") }
      .map { $0.split(separator: " ").map(String.init) }
    for option in verb.options {
      let letter = option.letter.map { "\($0)" }
      let word = option.word.map { "-\($0)" }
      let isThere = items.contains { item in
        (letter.map { item.contains($0) } ?? true) && (word.map { item.contains($0) } ?? true)
      }
      #expect(isThere, "\(name): \(option.spelling) is not in the manual")
    }
  }
}

func manual(_ name: String) throws -> String {
  let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  return try String(contentsOf: root.appendingPathComponent("man/\(name)"), encoding: .utf8)
}

@Suite("The table of mounts") struct MountTableTests {
  static let lines = """
    22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
    36 22 0:98 / /mnt/team rw,nosuid,nodev shared:3 master:7 - fuse.varve /srv/team rw,user_id=0,group_id=0
    37 22 0:99 / /mnt/a\\040b\\134c\\011 rw - fuse.varve up\\012per rw
    38 36 0:50 / /mnt/team/inner rw - tmpfs tmpfs rw
    39 22 0:51 / /mnt/teamwork rw - tmpfs tmpfs rw
    garbage
    40 22 0:52 / /mnt/x rw - fuse
    """
  static let table = MountedVolume.table(Array(lines.utf8))

  @Test func readsLinesWithAnyNumberOfOptionalFields() {
    #expect(MountTableTests.table.count == 5)
    let team = MountTableTests.table[1]
    #expect(team.mountPoint == Array("/mnt/team".utf8))
    #expect(team.type == "fuse.varve")
    #expect(team.isOurs)
    #expect(team.source == Array("/srv/team".utf8))
    #expect(team.options == "rw,nosuid,nodev")
    #expect(team.systemOptions == "rw,user_id=0,group_id=0")
    #expect(team.device == "0:98")
    #expect(team.owner == 0)
    #expect(MountTableTests.table[2].owner == nil)
    #expect(!MountTableTests.table[0].isOurs)
  }

  @Test func aMountOfAUserInsideIsNoneOfRoot() {
    let lines = """
      1 0 0:9 / /team rw - fuse.varve up rw,user_id=0,group_id=0
      2 1 0:7 / /team/own rw,nosuid - fuse.sshfs host rw,user_id=1001,group_id=1001
      3 1 0:8 / /team/disk rw - ext4 disk rw
      4 1 0:6 / /team/far rw - fuse.sshfs host rw,user_id=0,group_id=0
      """
    let table = MountedVolume.table(Array(lines.utf8))
    #expect(table[0].mountsInside(in: table).map(\.number) == [2, 3, 4])
    #expect(table[0].mountsOfRootInside(in: table).map(\.number) == [3, 4])
  }

  @Test func undoesTheKernelsEscapes() {
    #expect(MountTableTests.table[2].mountPoint == Array("/mnt/a b\\c\t".utf8))
    #expect(MountTableTests.table[2].source == Array("up\nper".utf8))
  }

  static let places: [(String, String)] = [
    ("/mnt/team", "/mnt/team"), ("/mnt/team/x/y", "/mnt/team"), ("/mnt/team/inner/z", "/mnt/team/inner"),
    ("/mnt/teamwork/a", "/mnt/teamwork"), ("/mnt/teams", "/"), ("/", "/"), ("/srv", "/"),
  ]

  @Test(arguments: places) func findsWhoServesAPath(_ path: String, _ mountPoint: String) {
    let found = MountedVolume.serving(Array(path.utf8), in: MountTableTests.table)
    #expect(found?.mountPoint == Array(mountPoint.utf8))
  }

  @Test func ofTwoMountsOnOnePointTheLastServes() {
    let lines = "1 0 0:1 / /m rw - tmpfs below rw\n2 1 0:2 / /m rw - tmpfs above rw\n"
    let found = MountedVolume.serving(Array("/m/x".utf8), in: MountedVolume.table(Array(lines.utf8)))
    #expect(found?.source == Array("above".utf8))
  }

  @Test func aPartThatIsBoundElsewhereIsOfTheVolumeThatShowsAllOfItself() {
    let lines = """
      1 0 0:1 / / rw - ext4 disk rw
      2 1 0:9 /pub/a\\040b /bind rw - fuse.varve up rw
      3 1 0:9 / /covered rw - fuse.varve up rw
      4 1 0:1 / /covered rw - ext4 disk rw
      5 1 0:9 / /team rw - fuse.varve up rw
      6 1 0:8 /pub /alone rw - fuse.varve other rw
      """
    let table = MountedVolume.table(Array(lines.utf8))
    #expect(table[1].root == Array("/pub/a b".utf8))
    #expect(table[1].whole(in: table) == table[4])
    #expect(table[2].whole(in: table) == table[2])
    #expect(table[5].whole(in: table) == nil)
  }

  @Test func oneDirectoryHasOnePlaceThroughWhateverMountItIsReached() throws {
    let lines = """
      1 0 8:1 / / rw - ext4 disk rw
      2 1 8:1 /srv/team /bind rw - ext4 disk rw
      3 1 8:2 / /srv/team/disk rw - ext4 other rw
      4 1 8:2 /only/part /part rw - ext4 other rw
      5 1 8:2 / /covered rw - ext4 other rw
      6 1 0:9 / /covered rw - tmpfs none rw
      """
    let table = MountedVolume.table(Array(lines.utf8))
    func place(_ path: String) -> PositionInFileSystem? {
      MountedVolume.position(of: Array(path.utf8), in: table)
    }
    func inFileSystem(_ device: String, _ path: String) -> PositionInFileSystem {
      PositionInFileSystem(device: device, path: Array(path.utf8))
    }
    #expect(place("/") == inFileSystem("8:1", "/"))
    #expect(place("/srv/team/x") == inFileSystem("8:1", "/srv/team/x"))
    #expect(place("/bind/x") == place("/srv/team/x") && place("/bind") == place("/srv/team"))
    #expect(place("/srv/team/disk") == inFileSystem("8:2", "/"))
    #expect(place("/part/x") == inFileSystem("8:2", "/only/part/x"))
    let team = try #require(place("/bind"))
    #expect(place("/bind/x/y")?.path(below: team) == Array("x/y".utf8))
    #expect(team.path(below: team) == nil && place("/srv/teams")?.path(below: team) == nil)
    #expect(place("/srv/team/disk/x")?.path(below: team) == nil)
    #expect(team.path(below: inFileSystem("8:1", "/")) == Array("srv/team".utf8))
    #expect(team.above == inFileSystem("8:1", "/srv") && team.above?.above == inFileSystem("8:1", "/"))
    #expect(inFileSystem("8:1", "/").above == nil)
  }
}

@Suite("The daemon's answer") struct DaemonAnswerTests {
  static let rows: [(String, DaemonAnswer)] = [
    ("ok\n", .ready),
    ("error 32 /srv/x: in use\n", .refused(status: 32, message: "/srv/x: in use")),
    ("error 1 unknown option 'fooo'\n", .refused(status: 1, message: "unknown option 'fooo'")),
    ("error 2 \n", .refused(status: 2, message: "")),
    ("", .silent), ("ok", .silent), ("error 32 cut off", .silent), ("okay\n", .silent),
    ("error x y\n", .silent),
    ("error 0 fine\n", .silent), ("error 999 y\n", .silent), ("error 32\n", .silent), ("\n", .silent),
  ]

  @Test(arguments: rows) func isRead(_ text: String, _ answer: DaemonAnswer) {
    #expect(DaemonAnswer(Array(text.utf8)) == answer)
  }
}
