import MountSupport
import Testing

extension CommandTests {
  @Suite("chown") struct ChownTests {
    @Test("It changes owner and group, says what changed, and knows every form of its first word")
    func forms() throws {
      let desk = try Desk("", "touch f; ln -s f link; mkdir d; touch d/f; ln -s ../f d/link")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown -vv 7001:7002 f; varve chown -v 7001 f; varve chown -vv :7003 f; varve chown -v root:root f
        varve chown -vv -R 7001 d; stat -c '%u %n' d/link f
        varve chown -vv -R -h 7004 d; varve chown -h :7005 link; stat -c '%u:%g %n' link f
        varve chown -vv 7006 link
        varve chown 0 f gone; echo $?
        varve chown -f 0 f gone; echo $?
        """,
        prints: """
          f: 0:0 -> 7001:7002
          f: 7001:7002 -> 7001:7003
          f
          d/f: 0:0 -> 7001:0
          d: 0:0 -> 7001:0
          0 d/link
          0 f
          d/f: 7001:0 -> 7004:0
          d/link: 0:0 -> 7004:0
          d: 7001:0 -> 7004:0
          0:7005 link
          0:0 f
          link: 0:0 -> 7006:0
          varve chown: gone: No such file or directory (ENOENT)
          1
          0

          """)
      try desk.end()
    }

    @Test("Who owns an item already gets nothing, and its set-id bits stay") func already() throws {
      let desk = try Desk("", "mkdir d; touch d/f; chown 7001:7002 d d/f; chmod 6755 d/f; chmod 3777 d")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown -q --dry-run -R 7001:7002 d; varve chown --json -R 7001:7002 d | tail -1; varve chown 7001 d/f; varve chown :7002 d/f
        stat -c %a d d/f
        varve chown :group=7003 d/f; varve chown -v :group=7003 d/f
        varve chown -v nobody d/f; getfattr --only-values -n system.varve.owner d/f
        """,
        prints: """
          0 of 2 items would change
          {"changes": [], "dryRun": false, "items": 2, "changed": 0, "unchanged": 2, "leftAlone": 0, "failed": 0, "interrupted": false}
          3777
          6755
          d/f
          user:nobody
          """)
      try desk.end()
    }

    @Test("A colon at the end is the user's own group, and a colon alone changes nothing") func colons()
      throws
    {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown -vv nobody: f; stat -c %G f | grep -cx "$(id -gn nobody)"
        varve chown -vv : f; echo $?; varve chown : gone; echo $?
        """,
        prints: """
          f: 0:0 -> 65534:65534
          1
          0
          varve chown: gone: No such file or directory (ENOENT)
          1

          """)
      try desk.end()
    }

    @Test("A group owns a tree in place of a user, until a user is named") func ownedByGroup() throws {
      let desk = try Desk("", "mkdir d; touch d/f; chmod 600 d/f; chmod 6755 d/f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown -vv -R :group=7002 d
        getfattr --only-values -n system.varve.owner d/f; echo; stat -c '%U:%g %a' d/f
        setpriv --reuid 7001 --regid 7001 --groups 7002 chmod 640 d/f; stat -c %a d/f
        setpriv --reuid 7001 --regid 7001 --clear-groups chmod 600 d/f; stat -c %a d/f
        varve chown -vv 7001 d/f; varve chown -vv :7009 d
        """,
        prints: """
          d/f: 0:0 -> group=7002:0
          d: 0:0 -> group=7002:0
          group:7002
          nobody:0 755
          640
          chmod: changing permissions of 'd/f': Operation not permitted
          640
          d/f: group=7002:0 -> 7001:0
          d: group=7002:0 -> group=7002:7009

          """)
      try desk.end()
    }

    @Test("Each refusal says what is needed, and a mistake in the words changes nothing") func refusals()
      throws
    {
      let desk = try Desk(
        "", "touch f g; chown 7001:7001 f; chown 7001:7002 g; varve chflags uchg g; mkdir d; chmod 777 .")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve
        ann() { setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve chown "$@"; echo $?; }
        ann 7002 f; ann :7003 f; ann :group=7001 f
        varve chmod +a 'user:7001 allow chown' f; ann :group=7001 f
        ann :7001 g
        for words in nobodyhere :nogrouphere '' 7001: :group= 7001:group=7002 4294967295 7001.7002; do
          varve chown "$words" f; echo $?
        done
        varve chown 0; echo $?
        stat -c '%u:%g %n' f g
        """,
        prints: """
          varve chown: f: Operation not permitted (EPERM): only root can give an item to another user
          1
          varve chown: f: Operation not permitted (EPERM): not a member of group:7003; only root and members can give an item to a group
          1
          varve chown: f: Operation not permitted (EPERM): without root you need the right chown, and must be a member of the group
          1
          0
          varve chown: g: is locked by uchg; clear it first: varve chflags nouchg g (EPERM)
          1
          varve chown: there is no user 'nobodyhere'; a number will do
          2
          varve chown: there is no group 'nogrouphere'; a number will do
          2
          varve chown: neither an owner nor a group is named
          2
          varve chown: user 7001 has no account, and so no group; name one
          2
          varve chown: the name of a group is missing
          2
          varve chown: an item is owned by a user or by a group; ':group=7002' must be alone
          2
          varve chown: '4294967295' is not the number of a user
          2
          varve chown: there is no user '7001.7002'; a number will do
          2
          varve chown: PATH is missing
          Usage: varve chown [-fhnqvx0] [-R [-H | -L | -P]] OWNER[:GROUP] PATH...
                 varve chown [-fhnqvx0] [-R [-H | -L | -P]] :GROUP PATH...
                 varve chown [-fhnqvx0] [-R [-H | -L | -P]] :group=GROUP PATH...
          'varve help chown' tells more.
          2
          65534:7001 f
          7001:7002 g

          """)
      try desk.end()
    }

    @Test("A group that is refused brings the rule, in the words of why where there is but one") func groups()
      throws
    {
      let desk = try Desk("", "touch f g; chown 7001:7001 f; chmod 777 .")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve
        ann() { setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve "$@"; }
        ann chown 7001:7003 f; ann chown -n :7003 f 2>&1 | grep member; ann why --last 1 | sed 's/.*chown/chown/'
        ann chown :7001 g; ann chown 7001 g; ann chown 7001:7003 g; ann chown 7002:7001 f
        varve chmod +a 'user:7001 allow writesecurity' g; ann chown :7003 g; ann chown :7001 g; stat -c '%u:%g' f g
        """,
        prints: """
          varve chown: f: Operation not permitted (EPERM): not a member of group:7003; only root and members can give an item to a group
          varve chown: f: Operation not permitted (EPERM): not a member of group:7003; only root and members can give an item to a group
          chown BASE/mount/f denied: not a member of group:7003; only root and members can give an item to a group (EPERM)
          varve chown: g: Operation not permitted (EPERM): only root, the owner, or a user with writesecurity can change the group; the last two only to a group they are in
          varve chown: g: Operation not permitted (EPERM): without root you need the right chown to take it over
          varve chown: g: Operation not permitted (EPERM): without root you need the right chown to take it over, and must be a member of the group
          varve chown: f: Operation not permitted (EPERM): only root can give an item to another user
          varve chown: g: Operation not permitted (EPERM): only root, the owner, or a user with writesecurity can change the group; the last two only to a group they are in
          7001:7001
          0:7001

          """)
      try desk.end()
    }

    @Test("On another file system it is chown, and a group cannot own anything there") func elsewhere() throws
    {
      let desk = try Desk("", "touch $BASE/plain")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown -vv 7001:7002 $BASE/plain; varve chown :group=7002 $BASE/plain; echo $?
        """,
        prints: """
          BASE/plain: 0:0 -> 7001:7002
          varve chown: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1

          """)
      try desk.end()
    }
  }
}
