import Testing
import TextForms

@Suite("Settings of an administrator") struct SettingsFileTests {
  private func read(_ text: String) throws -> SettingsFile { try SettingsFile(Array(text.utf8)) }

  private func options(_ text: String, at mountPoint: String) throws -> String {
    String(decoding: MountOption.text(try read(text).options(for: Array(mountPoint.utf8))), as: UTF8.self)
  }

  @Test func emptyFilesAndCommentsSayNothing() throws {
    for text in ["", "\n\n", "# options = ro\n   # more\r\n\t\n"] {
      #expect(try read(text) == SettingsFile())
    }
  }

  @Test func optionsForAllComeBeforeThoseOfAMountPoint() throws {
    let text =
      "options = noatime\noptions=cache=none\n[/mnt/a]\n source = /srv/a b \n options = acl , ro\n[/mnt/b/]\n"
    #expect(try options(text, at: "/mnt/a") == "noatime,cache=none,acl , ro")
    #expect(try options(text, at: "/mnt/a/") == "noatime,cache=none,acl , ro")
    #expect(try options(text, at: "/mnt/b") == "noatime,cache=none")
    #expect(try options(text, at: "/mnt") == "noatime,cache=none")
    #expect(try read(text).section(Array("/mnt/a".utf8))?.source == Array("/srv/a b".utf8))
    #expect(try read(text).section(Array("/mnt/c".utf8)) == nil)
  }

  @Test func sectionsMayComeTwiceAndNamesMayBeAnyBytes() throws {
    let file = try SettingsFile(
      Array("[/m\u{FF}]\noptions=ro\n[/]\noptions=rw\n[/m\u{FF}]\noptions=acl".utf8))
    #expect(MountOption.text(file.options(for: Array("/m\u{FF}".utf8))) == Array("ro,acl".utf8))
    #expect(MountOption.text(file.options(for: Array("/".utf8))) == Array("rw".utf8))
  }

  @Test("What a section says of sleep counts, or else what is said of all")
  func sleep() throws {
    let places = ["/m", "/n", "/o"]
    let rows: [(String, [Bool])] = [
      ("", [false, false, false]), ("sleep = lock", [true, true, true]),
      ("sleep=nothing\n[/n/]\nsleep = lock", [false, true, false]),
      ("sleep = lock\n[/m]\noptions = ro\n[/n]\nsleep = nothing", [true, false, true]),
      ("[/o]\nsleep = nothing\nsleep = lock", [false, false, true]),
    ]
    for (text, expected) in rows {
      let file = try read(text)
      #expect(places.map { file.locksForSleep(Array($0.utf8)) } == expected, "\(text)")
    }
  }

  @Test(
    arguments: [
      ("ro", 1, "'=' is missing"), ("\n[mnt]", 2, "a section is an absolute mount point in brackets"),
      ("[/mnt", 1, "a section is an absolute mount point in brackets"),
      ("option = ro", 1, "unknown setting 'option'; there are 'options', 'sleep' and 'source'"),
      ("sleep = no", 1, "'sleep' is 'lock' or 'nothing'"),
      ("[/m]\nsleep =", 2, "'sleep' is 'lock' or 'nothing'"),
      ("source = /srv", 1, "'source' belongs into the section of a mount point"),
      ("[/m]\n#\nsource = srv", 3, "'source' is an absolute path"),
    ])
  func whatIsWrongIsSaidWithItsLine(text: String, line: Int, sentence: String) {
    do {
      _ = try read(text)
      Issue.record("taken: \(text)")
    } catch let failure as SettingsFile.Failure {
      #expect(failure.line == line && failure.sentence == sentence, "\(failure)")
    } catch {
      Issue.record("\(error)")
    }
  }
}
