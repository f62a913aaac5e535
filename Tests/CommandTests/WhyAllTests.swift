import MountSupport
import Testing

extension CommandTests {
  @Suite("varve why --all") struct WhyAllTests {
    private static let scene = """
      mkdir -p team/closed; echo text > team/closed/plan.txt; chown -R 1001:2001 team; chmod 755 team
      chmod 700 team/closed; chmod 640 team/closed/plan.txt
      varve chmod +a "user:1002 deny write" team/closed/plan.txt
      varve chflags uchg team/closed/plan.txt

      """

    @Test("Every obstacle is told, with the command that lifts it, and the commands do") func lifted() throws
    {
      let desk = try Desk("", WhyAllTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --as 1002:2009 --all write team/closed/plan.txt; echo $?
        varve why --as 1002:2009 --all write team/closed/plan.txt | sed -n 's/^ *lift it with: //p' > $BASE/commands
        . $BASE/commands
        varve why --as 1002:2009 --all write team/closed/plan.txt | head -1
        setpriv --reuid 1002 --regid 2009 --clear-groups sh -c 'echo more > team/closed/plan.txt' && tail -1 team/closed/plan.txt
        """,
        prints: """
          denied: user 1002 may not write BASE/mount/team/closed/plan.txt (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/closed: search denied by its mode (other ---)
              lift it with: varve chmod +a 'user:1002 allow search' BASE/mount/team/closed
            team/closed/plan.txt: write denied by its flag uchg
              lift it with: varve chflags nouchg BASE/mount/team/closed/plan.txt
            team/closed/plan.txt: write denied by entry 0 of its list: user:1002 deny write
              lift it with: varve chmod -a# 0 BASE/mount/team/closed/plan.txt
            team/closed/plan.txt: write denied by its mode (other ---)
              lift it with: varve chmod +a 'user:1002 allow write' BASE/mount/team/closed/plan.txt
          1
          allowed: user 1002 may write BASE/mount/team/closed/plan.txt
          more

          """)
      try desk.end()
    }

    @Test("Others than root are told nothing of what lies behind a closed directory") func closed() throws {
      let desk = try Desk("", WhyAllTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        program=$(type varve | sed -n "s/.*'\\(.*\\)'.*/\\1/p")
        as() { setpriv --reuid $1 --regid $2 --clear-groups "${@:3}"; }
        as 1002 2009 $program why --all write team/closed/plan.txt; echo $?
        as 1002 2009 $program why --all write team/plan.txt; echo $?
        varve why --all --as 1002:2009 chown team/closed/plan.txt; echo $?
        varve why --all --json --as 1002:2009 delete team/closed/plan.txt | grep -c remedy
        """,
        prints: """
          denied: user 1002 may not write BASE/mount/team/closed/plan.txt (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/closed: search denied by its mode (other ---)
              lift it with: varve chmod +a 'user:1002 allow search' BASE/mount/team/closed
          1
          impossible: user 1002 cannot write BASE/mount/team/plan.txt (ENOENT)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/plan.txt: does not exist (ENOENT)
          2
          denied: user 1002 may not take ownership of BASE/mount/team/closed/plan.txt (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/closed: search denied by its mode (other ---)
              lift it with: varve chmod +a 'user:1002 allow search' BASE/mount/team/closed
            team/closed/plan.txt: chown denied by its flag uchg
              lift it with: varve chflags nouchg BASE/mount/team/closed/plan.txt
            team/closed/plan.txt: chown denied: only root and users whom an entry of its list allows chown may
              lift it with: varve chmod +a 'user:1002 allow chown' BASE/mount/team/closed/plan.txt
          1
          3

          """)
      try desk.end()
    }

    @Test("A name of which a shell would make something else can be copied") func quoting() throws {
      let desk = try Desk("", "mkdir d; touch \"d/it's \\$HOME\"; varve chflags uchg \"d/it's \\$HOME\"")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --all write d/it* | sed -n 's/^ *lift it with: //p' > $BASE/commands
        cat $BASE/commands; . $BASE/commands; varve why write d/it* | head -1
        """,
        prints: """
          varve chflags nouchg $'BASE/mount/d/it\\047s $HOME'
          allowed: root may write BASE/mount/d/it's $HOME

          """)
      try desk.end()
    }
  }
}
