import MountSupport
import Testing

extension CommandTests {
  @Suite("The way back of set-id bits") struct SetIDUndoTests {
    static let begin = """
      undo="--undo $BASE/undo --resume"
      ann() { setpriv --reuid 7001 --regid 7001 --clear-groups "$@"; }
      state() { stat -c '%n %a %u:%g' f* d; varve ls -leO f* | cut -d' ' -f1,5; }
      state > $BASE/before

      """

    /// Restores after `script`, and compares a set-id file with two names, and a directory, with what they were.
    private func check(_ script: String, comesBack: Bool = true) throws {
      let desk = try Desk("", "echo content > f; mkdir d; ln f f2; chmod 6755 f; chmod 2755 d; chmod 755 .")
      defer { desk.volume.remove() }
      try desk.run(Self.begin + script, succeeds: true)
      let asked = "varve acl restore $BASE/undo 2>&1; state 2>&1 | diff $BASE/before -; stat -c %a f d"
      let output = try desk.run(Self.begin.replacing("state > $BASE/before", with: "") + asked)
      if comesBack {
        #expect(output == "6755\n2755\n")
      } else {
        #expect(output.hasSuffix("\n755\n2755\n"), "\(output)")
        #expect(output.contains("was changed after the record was made"), "\(output)")
      }
      try desk.run("varve chflags -R nouchg .", succeeds: true)
      try desk.end()
    }

    static let ours = [
      ("a run that goes on, and changes nothing", "varve chown $undo 7001 f; varve chown $undo 7001 f"),
      ("a run that goes on, twice", "for i in 1 2 3; do varve chown -R $undo 7001:7001 f d; done"),
      ("a second name", "varve chown $undo 7001 f f2"),
      (
        "a second name, which is all that the next run knows",
        "varve chown $undo 7001 f; varve chown $undo 7001 f2"
      ),
      ("a second name, and another mode", "varve chmod $undo 700 f; varve chmod $undo 711 f2"),
      (
        "a mode, then an owner",
        "varve chmod $undo a-s f; varve chown $undo 7001:7001 f; varve chmod $undo 600 f"
      ),
      (
        "an owner, then a mode",
        "varve chown $undo 7001:7001 f; varve chmod $undo 600 f2; varve chmod $undo 640 f"
      ),
      ("flags in front", "varve chflags $undo hidden f; varve chown $undo 7001 f"),
      ("flags behind", "varve chown $undo 7001 f; varve chflags $undo uchg f"),
      (
        "all verbs",
        """
        varve chmod $undo +a 'user:7003 allow read' f; varve chflags $undo nodump f; varve chown $undo 7001 f
        varve acl set $undo -e 'user:7004 allow write' f; varve chflags $undo uchg f f2; varve chflags $undo nouchg f2
        varve chown $undo 7002:7002 f f2; varve acl strip -R $undo . ; varve chmod $undo 700 f
        """
      ),
      (
        "a list on several threads",
        "varve chown $undo 7001 f; varve acl set -R $undo -e 'user:7 allow read' ."
      ),
      (
        "a change that is refused in between",
        "varve chown $undo 7001 f; varve chflags $undo uchg f; ! varve chmod $undo 600 f f2 2> $BASE/said"
      ),
      (
        "a way back that is gone and taken back",
        """
        varve chown --undo $BASE/first 7001 f; varve chown --undo $BASE/first --resume 7001 f2
        varve acl restore --undo $BASE/second $BASE/first; varve acl restore --undo $BASE/second --resume $BASE/first
        varve acl restore --undo $BASE/third $BASE/second; cp $BASE/third $BASE/undo
        """
      ),
    ]

    @Test("What we change again ourselves is no reason to leave them off", arguments: ours)
    func ourOwn(_ sentence: String, _ script: String) throws {
      try check(script)
    }

    static let theirs = [
      "echo evil > f", "cat f > $BASE/content; cp $BASE/content f", "touch f", "ln f own", "chmod 755 f",
      "mv f g; mv g f",
    ]

    @Test("Whoever comes between two of our runs keeps them off", arguments: theirs)
    func between(_ deed: String) throws {
      for rest in ["varve chown $undo 7001 f", "varve chown $undo 7001 f2; varve chmod $undo 700 f f2", ":"] {
        try check(
          """
          chmod 777 .; touch $BASE/content; chmod 666 $BASE/content; chmod 711 $BASE
          varve chown $undo 7001 f; varve chflags $undo hidden f; touch -r f $BASE/times
          ann sh -c '\(deed)'; ann touch -r $BASE/times f; \(rest)
          """, comesBack: false)
      }
    }

    @Test("Set-id bits the new owner gave the file himself are not taken for ours") func ownBits() throws {
      try check(
        """
        varve chown $undo 7001 f; ann sh -c 'echo evil > f; chmod 4755 f'
        varve chown $undo 7001 f; varve chown $undo 0 f; grep -c ^changed $BASE/undo | grep -qx 1
        """, comesBack: false)
    }

    @Test("An undo file that is gone on with says from when to when a file was changed by us") func file()
      throws
    {
      let desk = try Desk("", "touch f g; chmod 4755 f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown --undo $BASE/undo 7001 f g; varve chown --undo $BASE/undo --resume 7001 f g
        varve acl set --undo $BASE/undo --resume -e 'user:7 allow read' g f
        grep -v '^#' $BASE/undo | sed -E 's/[0-9]+ [0-9]+ from [0-9]+ [0-9]+/B from A/; s/changed [0-9].*/changed A/'
        """,
        prints: """
          varve-acl 2
          root BASE/mount/f
          file - owner=user:0,group=0,mode=04755 .
          changed A
          root BASE/mount/g
          file - owner=user:0,group=0,mode=0644 .
          end
          end
          root BASE/mount/g
          file 0 - .
          root BASE/mount/f
          file 0 - .
          file - - .
          changed B from A
          end

          """)
      try desk.end()
    }
  }
}
