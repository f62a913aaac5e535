import Foundation
import MountSupport
import Testing

extension CommandTests {
  @Suite("The dry run and the way back of chmod, chflags and chown") struct ItemUndoTests {
    /// `state` prints everything the three verbs change.
    static let tree =
      PropagateTests.oddTree + """
        mkdir d/sub; touch d/sub/program d/sub/locked; chmod 755 d/sub/program; chmod 2750 d/sub
        varve chown :group=7002 "d/été"; varve chflags uchg,hidden d/sub/locked; varve chflags -h nodump d/link
        cat > $BASE/state <<'END'
        find . -printf '%p %y %m %U:%G\\n' | sort
        varve ls -ROe . | grep -v ^total | sed -E 's/ +[0-9]+ [A-Z][a-z]{2} +[0-9]+ +[0-9:]+ / /'
        varve acl dump .
        find . -exec getfattr -h --absolute-names -d -m '^system.varve.owner$' {} + 2> /dev/null
        END
        state() { . $BASE/state; }; state > $BASE/before

        """

    static let changes = [
      "chmod -R a=rx,u+w", "chmod -R go=", "chmod -R +a# 0 'user:7003 deny write'", "chmod -R -N",
      "chflags -R nouchg,nodump", "chflags -R -h uappnd,hidden", "chown -R 7001:7002",
      "chown -R -h 7001:7003",
      "chown -R :group=7003", "chown -R :7009",
    ]

    @Test("Everything comes back, whatever names, links, locks and owners there are", arguments: changes)
    func everything(_ change: String) throws {
      let desk = try Desk("", ItemUndoTests.tree)
      defer { desk.volume.remove() }
      // What is locked is refused, and that is not what this is about.
      let unlock =
        change.hasPrefix("chflags") ? ":" : "varve chflags nouchg d/sub/locked; state > $BASE/before"
      let words = change.split(separator: " ", maxSplits: 1)
      let (verb, rest) = (words[0], words[1])
      try desk.run(
        """
        state() { . $BASE/state; }
        \(unlock)
        varve \(verb) --dry-run \(rest) d > $BASE/plan
        state | cmp - $BASE/before
        varve \(verb) --undo $BASE/undo \(rest) d filelink
        head -1 $BASE/undo | grep -qx 'varve-acl 1'; tail -1 $BASE/undo | grep -qx end
        state > $BASE/between; ! cmp -s $BASE/before $BASE/between
        varve acl restore --dry-run $BASE/undo > /dev/null; state | cmp - $BASE/between
        varve acl restore --undo $BASE/redo $BASE/undo; state | diff $BASE/before -
        varve acl restore --undo $BASE/back $BASE/redo; state | diff $BASE/between -
        varve acl restore $BASE/back; state | diff $BASE/before -
        varve acl restore -v $BASE/undo 2>&1 | grep -q ', 0 changed, 0 failed'
        """, succeeds: true)
      try desk.run("varve chflags -R -h nouchg,nouappnd d", succeeds: true)
      try desk.end()
    }

    @Test("A dry run tells old and new, in words and in JSON, and changes nothing") func dryRun() throws {
      let desk = try Desk("", "mkdir d; touch d/f; varve chflags hidden d/f; chown 7001 d/f; chmod 755 d")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chmod -n -R go-rx d; echo $?
        varve chmod -qnv +a 'user:7003 allow list' d
        varve chflags -qnR uchg d
        varve chown -q -R --dry-run :group=7002 d
        varve chmod -q -R -n --json go-rx d
        varve chflags -qnR --json uchg d
        varve chown -q -R --dry-run --json 7005:7006 d
        varve chown -qn 7001 d
        varve ls -leO d | tail -1 | cut -c1-34; stat -c '%a %u' d d/f
        varve chmod -R --json go-rx d; varve chmod --json 600 d/none d/f 2>/dev/null; echo $?
        varve chflags uchg d/f; varve chmod --json 640 d/f 2>/dev/null; varve chflags nouchg d/f
        varve chown -R --undo $BASE/undo :group=7002 d; varve chflags --undo $BASE/undo --resume uchg d/f
        varve acl restore -q -n $BASE/undo; varve acl restore --json -v $BASE/undo
        """,
        prints: """
          d: 040755 [drwxr-xr-x ] -> 040700 [drwx------ ]
          d/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          2 of 2 items would change
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          0
          d: 0 -> 1 entry
            + user:7003 allow list
          1 of 1 item would change
          d: none -> uchg
          d/f: hidden -> uchg,hidden
          2 of 2 items would change
          d: root:root -> group=7002:root
          d/f: 7001:root -> group=7002:root
          2 of 2 items would change
          {"changes": [
            {"path": "d", "before": {"mode": "0755"}, "after": {"mode": "0700"}},
            {"path": "d/f", "before": {"mode": "0644"}, "after": {"mode": "0600"}}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          {"changes": [
            {"path": "d", "before": {"flags": []}, "after": {"flags": ["uchg"]}},
            {"path": "d/f", "before": {"flags": ["hidden"]}, "after": {"flags": ["uchg", "hidden"]}}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          {"changes": [
            {"path": "d", "before": {"user": 0, "group": 0}, "after": {"user": 7005, "group": 7006}},
            {"path": "d/f", "before": {"user": 7001, "group": 0}, "after": {"user": 7005, "group": 7006}}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          d: root:root -> 7001:root
          1 of 1 item would change
          -rw-r--r--@ 1 7001  root  hidden 0
          755 0
          644 7001
          {"changes": [], "dryRun": false, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          {"changes": [
            {"path": "d/none", "error": "No such file or directory (ENOENT)"}
          ], "dryRun": false, "items": 2, "changed": 0, "unchanged": 1, "leftAlone": 0, "failed": 1, "interrupted": false}
          1
          {"changes": [
            {"path": "d/f", "error": "is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)"}
          ], "dryRun": false, "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          BASE/mount/d: owner group=7002:0 -> 0:0
          BASE/mount/d/f: flags uchg,hidden -> hidden
          BASE/mount/d/f: owner group=7002:0 -> 7001:0
          3 of 3 items would change
          {"changes": [
            {"path": "BASE/mount/d", "before": {"ownerGroup": 7002, "group": 0, "mode": "0700"}, "after": {"user": 0, "group": 0, "mode": "0700"}},
            {"path": "BASE/mount/d/f", "before": {"flags": ["uchg", "hidden"]}, "after": {"flags": ["hidden"]}},
            {"path": "BASE/mount/d/f", "before": {"ownerGroup": 7002, "group": 0, "mode": "0600", "flags": ["hidden"]}, "after": {"user": 7001, "group": 0, "mode": "0600", "flags": ["hidden"]}}
          ], "dryRun": false, "items": 3, "changed": 3, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}

          """)
      try desk.end()
    }

    @Test("A dump restores as ever, and one of another version is refused") func storedFile() throws {
      let desk = try Desk("", "mkdir -p d/notes; touch d/notes/$'odd\\nname' 'd/plan '")
      defer { desk.volume.remove() }
      let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/dump-version-1.acl").path
      try desk.expect(
        """
        varve acl set -R -e 'user:7005 allow read' d; chmod 4711 d/notes/*; varve chown 7001 'd/plan '
        cp '\(fixture)' $BASE/old
        varve acl restore --root d $BASE/old; echo $?
        varve acl get -R --all d; stat -c %a d/notes/*; stat -c %u d/plan*
        sed -i "s|/srv/team|$PWD/d|; s|^root /srv.*||" $BASE/old
        varve chmod --undo $BASE/old --resume 700 d; varve acl strip --undo $BASE/old --resume d; echo $?
        grep ^directory $BASE/old; varve acl restore $BASE/old; varve acl get d; stat -c %a d
        sed 's/^varve-acl 1/varve-acl 2/' $BASE/old | varve acl restore -; echo $?
        """,
        prints: """
          0
          # file: d
          !#acl 1 no_inherit
          group:701 allow list,search,file_inherit,directory_inherit

          # file: d/notes
          # no access list

          # file: d/notes/odd\\012name
          user:7001 inherited deny write

          # file: d/plan\\040
          # no access list
          4711
          7001
          0
          directory 2 - .
          directory 0 - notes
          directory - mode=0755 .
          directory 2 - .
          # file: d
          !#acl 1 no_inherit
          group:701 allow list,search,file_inherit,directory_inherit
          755
          varve acl restore: standard input: line 1: this dump is of version 2, and only version 1 can be read; nothing after this line is restored
          1

          """)
      try desk.end()
    }

    @Test("One file takes the changes of several verbs, and the oldest of each comes back") func several()
      throws
    {
      let desk = try Desk(
        "",
        "mkdir d; touch d/f d/g; chmod 640 d/f; varve chflags uchg d/g; varve acl set -e 'user:5 allow read' d/f"
      )
      defer { desk.volume.remove() }
      try desk.run(
        """
        state() { varve ls -leOa d | grep -v total; }
        state > $BASE/before; undo="--undo $BASE/undo --resume"
        varve chmod -R $undo 777 d || test $? = 1
        varve chflags -R $undo nouchg d; varve chmod -R $undo 755 d
        varve chown -R $undo 7001:7002 d; varve acl strip -R $undo d; varve chown -R $undo :group=7003 d
        varve chflags -R $undo schg,hidden d
        varve acl restore $BASE/undo; state | diff $BASE/before -
        varve acl restore $BASE/undo; state | diff $BASE/before -
        varve chflags nouchg d/g
        """, succeeds: true)
      try desk.end()
    }

    @Test("An undo file is taken away again if the disk has no room for its first record") func fullDisk()
      throws
    {
      let desk = try Desk(
        "",
        """
        mkdir $BASE/full; touch f; chmod 644 f
        for n in {1..100}; do echo "user:$((7000 + n)) allow read,write,append,readattr,writeattr"; done |
          varve acl set -F - f
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        mount -t tmpfs -o size=8k none $BASE/full; trap 'umount $BASE/full' EXIT
        head -c 8192 /dev/zero > $BASE/full/fill
        varve chmod --undo $BASE/full/undo 600 f; echo $?; stat -c %a f; ls $BASE/full
        # The first lines have room.
        head -c 4096 /dev/zero > $BASE/full/fill
        varve acl strip --undo $BASE/full/undo f; echo $?; varve acl get f | grep -c user; ls $BASE/full
        rm $BASE/full/fill
        varve acl strip --undo $BASE/full/undo f; echo $?; varve acl get f | grep -c user
        varve acl restore $BASE/full/undo; varve acl get f | grep -c user
        """,
        prints: """
          varve chmod: 'BASE/full/undo': No space left on device (ENOSPC)
          2
          644
          fill
          varve acl strip: BASE/full/undo: the undo file cannot be written: No space left on device (ENOSPC); nothing more is changed
          1
          100
          fill
          0
          0
          100

          """)
      try desk.end()
    }

    @Test("Users other than root get a tree back that was closed to them, too") func closedTree() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/a/b d/c; touch d/a/b/f d/c/g; chmod 400 d/a/b/f; chmod 000 d/c d/a/b d/a; chmod 500 d
        chown -R 7001:7001 d; chmod 755 .; find d -printf '%p %m\n' > $BASE/before
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve; install -d -o 7001 $BASE/own
        """)
      defer { desk.volume.remove() }
      try desk.run(
        """
        ann() { setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve "$@"; }
        ann chmod -R --undo $BASE/own/undo u+rwx d
        test $(find d -perm -u=rwx | wc -l) = 6
        ann acl restore $BASE/own/undo; find d -printf '%p %m\n' | diff $BASE/before -
        """, succeeds: true)
      try desk.end()
    }
  }
}
