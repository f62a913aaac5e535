import MountSupport
import Testing

extension CommandTests {
  @Suite("varve why and varve access") struct WhyVerbTests {
    private static let scene = """
      mkdir team team/box; echo text > team/plan.txt; chown -R 1001:2001 team; chmod 755 team team/box
      varve chmod +a "group:2001 deny delete" team/plan.txt
      ln -s plan.txt team/link; ln -s /etc team/away
      """

    @Test("The way, the rule that decides, and the status") func why() throws {
      let desk = try Desk("", WhyVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --as 1001:2001 delete team/plan.txt; echo $?
        varve why --as 1001:2009 delete team/plan.txt; echo $?
        varve why --as 1002:2009 write team/link; echo $?
        varve why --as 1002:2009 rename team/plan.txt plan; echo $?
        varve why --as 1002:2009 create "$BASE/mount/team/new"; echo $?
        varve why --as 1001:2001 mkdir team/box; echo $?
        varve why read team/missing; echo $?
        varve why list team/away/x; echo $?
        varve chflags uchg team/plan.txt; varve why write team/plan.txt; echo $?
        """,
        prints: """
          denied: user 1001 may not delete BASE/mount/team/plan.txt (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (owner rwx)
            team/plan.txt: delete denied by entry 0 of its list: group:2001 deny delete
          1
          allowed: user 1001 may delete BASE/mount/team/plan.txt
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (owner rwx)
            team: delete_child allowed by its mode (owner rwx)
          0
          denied: user 1002 may not write BASE/mount/team/link (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/link: is a link to 'plan.txt'
            team: search allowed by its mode (other r-x)
            team/plan.txt: write denied by its mode (other r--)
          1
          denied: user 1002 may not rename BASE/mount/team/plan.txt to BASE/mount/plan (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            BASE/mount: search allowed by its mode (other r-x)
            team: delete_child denied by its mode (other r-x)
          1
          denied: user 1002 may not create BASE/mount/team/new (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team: add_file denied by its mode (other r-x)
          1
          allowed: user 1001 may make the directory BASE/mount/team/box
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (owner rwx)
            team/box: search allowed by its mode (owner rwx)
            team/box: add_subdirectory allowed by its mode (owner rwx)
          0
          impossible: root cannot read BASE/mount/team/missing (ENOENT)
            BASE/mount: search allowed: root: only flags could stop this
            team: search allowed: root: only flags could stop this
            team/missing: does not exist (ENOENT)
          2
          outside: whether root may list BASE/mount/team/away/x is decided outside of the volume
            BASE/mount: search allowed: root: only flags could stop this
            team: search allowed: root: only flags could stop this
            team/away: is a link to '/etc'
            team/away: leads out of the volume, to /etc/x: No such file or directory (ENOENT)
          2
          denied: root may not write BASE/mount/team/plan.txt (EPERM)
            BASE/mount: search allowed: root: only flags could stop this
            team: search allowed: root: only flags could stop this
            team/plan.txt: write denied by its flag uchg
          1

          """)
      try desk.end()
    }

    @Test("The table of rights, for files and directories") func access() throws {
      let desk = try Desk("", WhyVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        # What is said of 'link' is a setting of the machine's (fs.protected_hardlinks).
        table=$(varve access --as 1002:2009 team/plan.txt); status=$?; grep -v ^link <<<"$table"; echo $status
        varve access --as 1001:2009 read,delete team/box team/plan.txt; echo $?
        varve access read team/plan.txt /proc/version; echo $?
        touch read; varve access --as 1001:2001 ./read | head -1
        """,
        prints: """
          read        yes  by its mode (other r--)
          write       no   by its mode (other r--)
          append      no   by its mode (other r--)
          execute     no   its mode has no execute bit
          delete      no   team: delete_child by its mode (other r-x)
          rename      no   team: delete_child by its mode (other r-x)
          readattr    yes  every user may, and no entry denies it
          writeattr   no   by its mode (other r--)
          readxattr   yes  by its mode (other r--)
          writexattr  no   by its mode (other r--)
          readacl     yes  every user may, and no entry denies it
          writeacl    no   only the owner, root, or users whom an entry of its list allows writesecurity may
          chown       no   only root and users whom an entry of its list allows chown may
          chmod       no   only the owner, root, or users whom an entry of its list allows writesecurity may
          chflags     no   only the owner, root, or users whom an entry of its list allows writesecurity may
          1
          team/box:
          read        yes  by its mode (owner rwx)
          delete      yes  team: delete_child by its mode (owner rwx)

          team/plan.txt:
          read        yes  by its mode (owner rw-)
          delete      yes  team: delete_child by its mode (owner rwx)
          0
          team/plan.txt:
          read        yes  root: only flags could stop this
          varve access: /proc/version: not on a Varve volume; 'varve status' lists the volumes
          2
          read        yes  by its mode (other r--)

          """)
      try desk.end()
    }

    @Test("What is missing is one line, a mistyped operation is named, and circles are told once")
    func oddities()
      throws
    {
      let desk = try Desk("", "touch f; ln -s b a; ln -s a b; mkdir d")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve access gone; echo $?
        varve access read,list d/gone f; echo $?
        varve access create gone | cut -c1-15
        varve access raed,write f 2>&1 | head -1; varve access raed,write f > /dev/null 2>&1; echo $?
        varve access nosuchthing,write f
        varve why read a
        varve why --json --as 1001:2001,2002,2001 read f | tr -d ' \\n' | grep -o '"groups":[^]]*]'
        """,
        prints: """
          varve access: gone: does not exist (ENOENT)
          2
          varve access: d/gone: does not exist (ENOENT)
          f:
          read        yes  root: only flags could stop this
          list        -    is not a directory (ENOTDIR)
          2
          create      yes
          varve access: no such operation 'raed'; did you mean 'read'?
          2
          varve access: no such operation 'nosuchthing'; 'varve help why' lists them
          impossible: root cannot read BASE/mount/a (ELOOP)
            BASE/mount: search allowed: root: only flags could stop this
            a: is a link to 'b'
            b: is a link to 'a'
            the link loops (76 more steps)
            b: too many links, the last one to 'a' (ELOOP)
          "groups":[2001,2002]

          """)
      try desk.end()
    }

    @Test("JSON for programs, any bytes in names, -- before dashes, no colour in a pipe") func forPrograms()
      throws
    {
      let desk = try Desk("", "touch -- -r \"$(printf 'n\\377\\n')\"")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --json --as 1001:2001 write -- -r; echo $?
        varve access --json --as 1001:2001 read "$(printf 'n\\377\\nx')" | tr -d ' \\n'; echo
        varve why --color=always --as 1001:2001 read "$(printf 'n\\377\\nx')" | head -1 | cat -v
        cd team 2>/dev/null; cd "$BASE/mount" && varve why --as 1001:2001 read ../mount/./-r | head -1
        """,
        prints: """
          {
            "outcome": "denied",
            "operation": "write",
            "path": "-r",
            "user": 1001,
            "group": 2001,
            "groups": [
              2001
            ],
            "directory": false,
            "error": "EACCES",
            "steps": [
              {
                "path": "",
                "asked": "search",
                "allowed": true,
                "reason": "mode",
                "because": "by its mode (other r-x)"
              },
              {
                "path": "-r",
                "asked": "write",
                "allowed": false,
                "error": "EACCES",
                "reason": "mode",
                "because": "by its mode (other r--)"
              }
            ]
          }
          1
          [{"path":"n\u{FFFD}\\nx","pathBytes":"6eff0a78","operations":[{"outcome":"impossible","operation":"read","path":"n\u{FFFD}\\nx","pathBytes":"6eff0a78","user":1001,"group":2001,"groups":[2001],"error":"ENOENT","steps":[{"path":"","asked":"search","allowed":true,"reason":"mode","because":"byitsmode(otherr-x)"},{"path":"n\u{FFFD}\\nx","pathBytes":"6eff0a78","asked":"search","allowed":false,"error":"ENOENT","reason":"fact","because":"doesnotexist"}]}]}]
          ^[[31mimpossible: user 1001 cannot read BASE/mount/n\\377\\012x (ENOENT)^[[0m
          allowed: user 1001 may read BASE/mount/-r

          """)
      try desk.end()
    }

    @Test("What another mount of the volume forbids is the reason there, and nowhere else") func binds()
      throws
    {
      let desk = try Desk("suid", WhyVerbTests.scene + "\nchmod 755 team/plan.txt; mkdir $BASE/ro $BASE/part")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd $BASE; mount --bind mount ro; mount -o remount,ro,bind ro
        mount --bind mount/team part; mount -o remount,noexec,bind part
        varve why --as 1001:2001 write ro/team/plan.txt; echo $?
        varve why --as 1002:2009 delete ro/team/plan.txt | tail -n 1
        varve why --as 1001:2001 write mount/team/plan.txt | head -n 1
        varve why --as 1001:2001 execute part/plan.txt | tail -n 1
        varve access --as 1001:2001 read,write,execute ro/team/plan.txt part/plan.txt
        varve why --json --as 1001:2001 write ro/team/plan.txt | tail -n 10
        varve why rename mount/team/plan.txt part/plan; varve why rename part/plan.txt part/plan | head -n 1
        umount ro part
        """,
        prints: """
          denied: user 1001 may not write BASE/ro/team/plan.txt (EROFS)
            BASE/ro: search allowed by its mode (other r-x)
            team: search allowed by its mode (owner rwx)
            team/plan.txt: write denied: this mount of the volume is read-only
          1
            team: delete_child denied: this mount of the volume is read-only
          allowed: user 1001 may write BASE/mount/team/plan.txt
            team/plan.txt: execute denied: this mount of the volume is noexec
          ro/team/plan.txt:
          read        yes  by its mode (owner rwx)
          write       no   this mount of the volume is read-only
          execute     yes  by its mode (owner rwx)

          part/plan.txt:
          read        yes  by its mode (owner rwx)
          write       yes  by its mode (owner rwx)
          execute     no   this mount of the volume is noexec
              {
                "path": "team/plan.txt",
                "asked": "write",
                "allowed": false,
                "error": "EROFS",
                "reason": "readonly",
                "because": "this mount of the volume is read-only"
              }
            ]
          }
          varve why: part/plan: the two paths are on different mounts of the volume (EXDEV)
          allowed: root may rename BASE/part/plan.txt to BASE/part/plan

          """)
      try desk.end()
    }

    @Test("What was denied lately, as a user and as root") func last() throws {
      let desk = try Desk("", WhyVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --last; echo $?
        setpriv --reuid 1002 --regid 2009 --clear-groups rm -f team/plan.txt 2>/dev/null
        setpriv --reuid 1002 --regid 2009 --clear-groups chmod 777 team 2>/dev/null
        varve why --last 1 | sed 's/^[0-9T:.Z-]* //'; echo $?
        cd /; varve why --last 2>/dev/null | grep "$BASE" | sed 's/^[0-9T:.Z-]* //'
        cd "$BASE/mount"; varve why --json --last 1 | grep -c because
        """,
        prints: """
          nothing was denied lately
          0
          user 1002: chmod BASE/mount/team denied: only the owner, root, or users whom an entry of its list allows writesecurity may (EPERM)
          0
          user 1002: chmod BASE/mount/team denied: only the owner, root, or users whom an entry of its list allows writesecurity may (EPERM)
          user 1002: delete BASE/mount/team/plan.txt denied by its directory's mode (other r-x) (EACCES)
          1

          """)
      try desk.end()
    }

    @Test("Mistakes are met with what to do") func mistakes() throws {
      let desk = try Desk("", WhyVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why fly team 2>&1 | cut -c1-40; varve why read 2>&1 | head -1; varve why 2>&1 | head -1
        varve why read a b 2>&1 | head -1; varve why --last 0; echo $?
        varve why --as nobody-there read team; echo $?
        varve why --as 4711 read team; echo $?
        varve why read /proc/version; echo $?
        varve why read ""; echo $?
        varve why rename team/plan.txt /proc/version; echo $?
        varve access 2>&1 | head -1
        varve access fly team; echo $?; varve access wirte team/plan.txt team; echo $?
        varve access none/fly team/gone; echo $?
        """,
        prints: """
          varve why: 'fly' is not an operation; on
          varve why: PATH is missing
          varve why: OP is missing
          varve why: 'read' takes one path
          varve why: '--last' takes a number from 1 to 512
          2
          varve why: there is no user 'nobody-there'; a number will do
          2
          varve why: user 4711 has no account; name its groups as well: 4711:GROUP
          2
          varve why: /proc/version: not on a Varve volume; 'varve status' lists the volumes
          2
          varve why: '': an empty path names nothing (ENOENT)
          2
          impossible: root cannot rename BASE/mount/team/plan.txt to /proc/version (EXDEV)
            BASE/mount: search allowed: root: only flags could stop this
            team: search allowed: root: only flags could stop this
            /proc/version: is on another file system; only a copy can be made there (EXDEV)
          2
          varve access: PATH is missing
          varve access: 'fly' is neither an operation nor a file; 'varve help why' lists the operations
          2
          varve access: 'wirte' is neither an operation nor a file; did you mean 'write'?
          2
          varve access: none/fly: none: does not exist (ENOENT)
          varve access: team/gone: does not exist (ENOENT)
          2

          """)
      try desk.end()
    }
  }
}
