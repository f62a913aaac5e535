import MountSupport
import Testing

extension CommandTests {
  @Suite("acl dump --all") struct DumpAllTests {
    private static let scene = """
      mkdir -p d/sub; touch d/plan d/tool d/sub/deep; ln -s plan d/link
      chown 1001:2001 d/plan d/tool; varve chown :group=2002 d/tool; chown -h 7:8 d/link
      chmod 640 d/plan; chmod 711 d/tool; chmod 2750 d/sub; varve acl set -e 'user:7001 allow read' d/plan
      varve chflags uchg,hidden d/plan; varve chflags schg d/sub; varve chflags -h uappnd d/link
      varve acl dump --all d > $BASE/all

      """

    @Test("With --all flags, modes and owners are saved and come back, of links and of what is locked, too")
    func everything() throws {
      let desk = try Desk("", Self.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        items() { grep -v ^root "$@" | sort; }
        items $BASE/all
        varve chflags -Rh 0 d; varve acl strip -qR d; chown -hR 5:6 d; chmod -R 700 d; varve acl dump --all d > $BASE/changed
        varve acl restore -n $BASE/all 2> /dev/null | tail -1; varve acl dump --all d | cmp - $BASE/changed
        varve acl restore --undo $BASE/undo $BASE/all; echo $?; varve acl dump --all d | cmp - $BASE/all
        varve acl restore $BASE/undo; echo $?; varve acl dump --all d | cmp - $BASE/changed
        cp -r d copy; varve acl restore --root copy $BASE/all; echo $?; varve acl dump --all copy | items | diff - <(items $BASE/all)
        varve acl dump copy | items
        """,
        prints: """
          \tuser:7001 allow read
          directory 0 owner=user:0,group=0,mode=02750,flags=0400000 sub
          directory 0 owner=user:0,group=0,mode=0755,flags=00 .
          end
          file 0 owner=group:2002,group=2001,mode=0711,flags=00 tool
          file 0 owner=user:0,group=0,mode=0644,flags=00 sub/deep
          file 1 owner=user:1001,group=2001,mode=0640,flags=0100002 plan
          link - owner=user:7,group=8,flags=04 link
          varve-acl 1
          6 of 6 items would change
          0
          0
          0
          \tuser:7001 allow read
          directory 0 - .
          directory 0 - sub
          end
          file 0 - sub/deep
          file 0 - tool
          file 1 - plan
          varve-acl 1

          """)
      try desk.run("varve chflags -Rh 0 d copy", succeeds: true)
      try desk.end()
    }

    @Test("Owners are named for another machine, and a name that nobody has there is a failure of its item")
    func names() throws {
      let desk = try Desk("", "mkdir d; touch d/f d/g; chmod 600 d/f d/g; chown 4242001:4242002 d/g")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl dump --all --names d | grep -v ^root | sort | tee $BASE/names
        printf 'varve-acl 1\\nroot %s\\nfile - owner=user:no-such-user,group=root,mode=0644 f\\nfile - group=root g\\nend\\n' \\
          "$PWD/d" | varve acl restore -; echo $?; stat -c '%a %g' d/f d/g
        """,
        prints: """
          directory 0 owner=user:root,group=root,mode=0755,flags=00 .
          end
          file 0 owner=user:4242001,group=4242002,mode=0600,flags=00 g
          file 0 owner=user:root,group=root,mode=0600,flags=00 f
          varve-acl 1
          varve acl restore: BASE/mount/d/f: its record: there is no user 'no-such-user' here
          1
          600 0
          600 0

          """)
      try desk.end()
    }

    /// A restore that asked for it would be told that it is done, and ask again the next time.
    @Test("A file that was compressed meanwhile stays so, and counts as unchanged") func compressed() throws {
      let desk = try Desk("", "seq 100000 > f; varve acl dump --all f > $BASE/all; varve compress -q f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve find -flags compressed .
        varve acl restore -v $BASE/all; varve find -flags compressed .
        varve acl dump --all f > $BASE/compressed; varve decompress -q f; varve acl restore -v $BASE/compressed
        varve find -flags compressed .
        """,
        prints: """
          ./f
          varve acl restore: 1 item, 0 changed, 0 failed
          ./f
          varve acl restore: 1 item, 0 changed, 0 failed

          """)
      try desk.end()
    }

    @Test("A user restores what they own, closing directories last, and is refused what is not theirs")
    func user() throws {
      let desk = try Desk("", "chmod 755 .; mkdir -m 777 all; cp '\(Program.built("varve"))' $BASE/varve")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        chmod 755 "$BASE" "$BASE/varve"
        as() { setpriv --reuid 1001 --regid 2001 --clear-groups bash -c "$1" 2>&1; }
        as 'mkdir -p all/d/in; touch all/d/in/f all/d/g; chmod 600 all/d/in/f; "$BASE/varve" chflags uchg all/d/g; chmod 600 all/d/in'
        varve acl dump --all all/d > "$BASE/dump"; chmod 644 "$BASE/dump"
        as 'chmod 755 all/d/in; chmod 644 all/d/in/f; "$BASE/varve" chflags 0 all/d/g'; chown 1002 all/d/g
        as '"$BASE/varve" acl restore -q "$BASE/dump"' | cut -d : -f 1-2; stat -c '%a' all/d/in all/d/in/f; varve find -flags uchg all/d
        """,
        prints: """
          varve acl restore: BASE/mount/all/d/g
          600
          600

          """)
      try desk.end()
    }
  }
}
