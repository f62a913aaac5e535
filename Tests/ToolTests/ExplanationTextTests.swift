import JSONForm
import Testing
import TextForms

/// What the daemon answers, as sentences.
@Suite("Explanations in sentences") struct ExplanationTextTests {
  private func text(_ json: String) throws -> ExplanationText {
    ExplanationText(try #require(JSON(Array(json.utf8))), mountPoint: Array("/mnt/team".utf8))
  }

  @Test("A denial names who, what, the way and the rule") func denial() throws {
    let told = try text(
      #"""
      {"outcome": "denied", "operation": "delete", "path": "docs/plan.txt", "user": 1001, "userName": "ann",
       "directory": false, "error": "EACCES", "steps": [
        {"path": "", "asked": "search", "allowed": true, "reason": "mode", "because": "by its mode (group r-x)"},
        {"path": "docs", "asked": "search", "allowed": true, "reason": "everybody", "because": "everybody may"},
        {"path": "docs/plan.txt", "asked": "delete", "allowed": false, "error": "EACCES", "reason": "entry",
         "entry": 0, "because": "by entry 0 of its list: group:staff deny delete"}]}
      """#)
    #expect(
      told.lines == [
        "denied: ann may not delete /mnt/team/docs/plan.txt (EACCES)",
        "  /mnt/team: search allowed by its mode (group r-x)",
        "  docs: search allowed: everybody may",
        "  docs/plan.txt: delete denied by entry 0 of its list: group:staff deny delete",
      ])
    #expect(told.exitStatus == 1)
    let row = told.row(width: 8)
    #expect(row.operation == "delete  ")
    #expect(row.answer == "no")
    #expect(row.reason == "by entry 0 of its list: group:staff deny delete")
    #expect(told.isForItsKind)
  }

  @Test("What cannot be for another reason says so, and a name stays on its line") func impossible() throws {
    let told = try text(
      #"""
      {"outcome": "impossible", "operation": "rename", "path": "a\nb", "newPath": "x", "newPathBytes": "ff",
       "user": 7, "error": "ENOENT", "steps": [
        {"path": "l", "asked": "follow", "reason": "note", "because": "is a link to 'x\n\u001b\u202ey'"},
        {"path": "a\nb", "asked": "search", "allowed": false, "error": "ENOENT", "reason": "fact",
         "because": "the name does not exist"}]}
      """#)
    #expect(
      told.lines == [
        #"impossible: user 7 cannot rename /mnt/team/a\012b to /mnt/team/\377 (ENOENT)"#,
        "  l: is a link to 'x???y'", #"  a\012b: the name does not exist (ENOENT)"#,
      ])
    #expect(told.exitStatus == 2)
    #expect(told.row(width: 0).reason == "the name does not exist (ENOENT)")
  }

  @Test("Each operation has a sentence") func phrases() throws {
    for (word, phrase) in [
      ("read", "read"), ("append", "append to"), ("execute", "run"), ("mkdir", "make the directory"),
      ("readacl", "read the access list of"), ("chown", "take ownership of"), ("link", "link"),
    ] {
      let told = try text(
        #"{"outcome": "allowed", "operation": "\#(word)", "path": "", "user": 0, "userName": "root", "steps": []}"#
      )
      #expect(told.lines[0].hasPrefix("allowed: root may \(phrase) /mnt/team"))
      #expect(told.exitStatus == 0)
    }
  }

  @Test("A refusal of the past is one line") func past() throws {
    let denial = try #require(
      JSON(
        Array(
          #"""
          {"time": "2026-11-21T19:05:19.042Z", "user": 1001, "userName": "ann", "operation": "rename",
           "path": "a", "newPath": "b/c", "error": "EPERM", "because": "by its directory's flag uchg"}
          """#.utf8)))
    #expect(
      DenialText.line(denial, mountPoint: Array("/".utf8))
        == "2026-11-21T19:05:19.042Z ann: rename /a to /b/c denied by its directory's flag uchg (EPERM)")
  }
}
