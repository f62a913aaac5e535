import MountSupport
import Testing

extension CommandTests {
  @Suite("Words in the wrong order") struct WordOrderTests {
    @Test("Where the path comes first, the error has the command that was meant") func pathFirst() throws {
      let desk = try Desk("", "mkdir d; touch d/plan \"d/my plan\"")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        cd d
        varve chflags plan uchg; echo $?; varve chflags -R --undo "$BASE/u n" -v . plan nouchg,hidden; varve chflags plan waiting
        varve chown plan 7001:7002; varve chown plan "my plan" :7002; varve chown plan :group=7002
        varve chmod plan 600; varve chmod "my plan" plan u+x,go=; varve chmod -R plan -w
        varve chmod plan "user:7001 allow read"; varve chmod "user:7001 allow read" plan
        varve chmod plan +a "user:7001 allow read"; varve chmod +a plan "user:7001 allow read"
        varve chmod plan -a# 0; stat -c '%a %u %g' plan; varve acl get plan; varve chflags 0 plan; ls "$BASE" | grep -c 'u n'
        """#,
        prints: #"""
          varve chflags: the path comes last; did you mean: varve chflags uchg plan
          2
          varve chflags: the path comes last; did you mean: varve chflags -R --undo='BASE/u n' -v nouchg,hidden . plan
          varve chflags: the path comes last; did you mean: varve chflags waiting plan
          varve chown: the path comes last; did you mean: varve chown 7001:7002 plan
          varve chown: the path comes last; did you mean: varve chown :7002 plan 'my plan'
          varve chown: the path comes last; did you mean: varve chown :group=7002 plan
          varve chmod: the path comes last; did you mean: varve chmod 600 plan
          varve chmod: the path comes last; did you mean: varve chmod u+x,go= 'my plan' plan
          varve chmod: the path comes last; did you mean: varve chmod -R -w plan
          varve chmod: the path comes last; did you mean: varve chmod +a 'user:7001 allow read' plan
          varve chmod: +a comes before an entry; did you mean: varve chmod +a 'user:7001 allow read' plan
          varve chmod: the path comes last; did you mean: varve chmod +a 'user:7001 allow read' plan
          varve chmod: the path comes last; did you mean: varve chmod +a 'user:7001 allow read' plan
          varve chmod: the path comes last; did you mean: varve chmod -a# 0 plan
          644 0 0
          # file: plan
          # no access list
          0

          """#)
      try desk.end()
    }

    @Test("Nothing is suggested that would not work either") func noGuess() throws {
      let desk = try Desk("", "touch plan")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve chflags gone uchg; varve chflags plan uchgg; varve chflags plan gone uchg; varve chown gone 0; varve chown plan nobody-here
        varve chmod gone 600; varve chmod plan 999; varve chmod plan "user:7001 alow"; varve chmod "user:7001 allow read" gone
        varve chmod plan 600 --dry-run; varve chmod plan 2>&1 | head -1
        printf 'plan\0' | varve chown -0 plan 7001; printf 'plan\0' | varve chmod -0 plan 600
        touch 2024 600 uchg; varve chown plan 2024; varve chmod plan 600; varve chflags plan uchg; stat -c '%u %a' plan 2024 600
        """#,
        prints: #"""
          varve chflags: unknown flag 'gone'; 'varve help chflags' lists them
          varve chflags: unknown flag 'plan'; 'varve help chflags' lists them
          varve chflags: unknown flag 'plan'; 'varve help chflags' lists them
          varve chown: there is no user 'gone'; a number will do
          varve chown: there is no user 'plan'; a number will do
          varve chmod: 'gone' is neither a mode nor a form such as +a
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chmod: 'user:7001 allow read' is neither a mode nor a form such as +a
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chown: there is no user 'plan'; a number will do
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chown: there is no user 'plan'; a number will do
          varve chmod: 'plan' is neither a mode nor a form such as +a
          varve chflags: unknown flag 'plan'; 'varve help chflags' lists them
          0 644
          0 644
          0 644

          """#)
      try desk.end()
    }

    @Test("Where the keyfile comes before the volume, the error has the command that was meant")
    func keyfileFirst() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; cp raw vol/inside
        varve unlock raw vol; echo $?; varve unlock --after 600 raw "$BASE/vol" 2>&1; varve unlock - vol </dev/null; varve unlock cred:raw vol
        varve key slot add closed vol --with raw; varve unlock raw vol/inside; varve unlock . vol; varve unlock none vol; states vol
        varve unlock fd:3 vol; varve unlock fd:x vol; varve unlock cred: vol
        varve umount vol
        """,
        prints: """
          varve unlock: raw: not on a Varve volume; did you mean: varve unlock vol raw
          1
          varve unlock: raw: not on a Varve volume; did you mean: varve unlock --after=600 BASE/vol raw
          varve unlock: -: not on a Varve volume; did you mean: varve unlock vol -
          varve unlock: cred:raw: not on a Varve volume; did you mean: varve unlock vol cred:raw
          varve key slot add: closed: not on a Varve volume; did you mean: varve key slot add --with=raw vol closed
          varve unlock: raw: not on a Varve volume; 'varve status' lists the volumes
          varve unlock: .: not on a Varve volume; 'varve status' lists the volumes
          varve unlock: none: No such file or directory (ENOENT)
          locked locked locked 
          varve unlock: fd:3: not on a Varve volume; did you mean: varve unlock vol fd:3
          varve unlock: fd:x: No such file or directory (ENOENT)
          varve unlock: cred:: No such file or directory (ENOENT)

          """)
    }
  }
}
