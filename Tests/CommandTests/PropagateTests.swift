import Foundation
import MountSupport
import Testing

extension CommandTests {
  @Suite("acl propagate, dump and restore") struct PropagateTests {
    /// Lists of the tree in Apple's File System Programming Guide, a letter for each entry, small if it is inherited.
    static let letters = """
      letters() {
        for item in d0 d0/f0 d0/s1 d0/s1/f1 d0/s2 d0/s2/s3 d0/s2/s3/s4 d0/s2/s3/s4/f2; do
          varve acl get --numeric $item | sed -n 's/^group:70\\([123]\\) \\(inherited \\)\\?allow.*/\\1\\2/p' |
            sed 's/1inherited /a/; s/2inherited /b/; s/3inherited /c/; s/1/A/; s/2/B/; s/3/C/' | paste -sd,
        done | paste -sd' '
      }
      words=allow\\ list,file_inherit,directory_inherit

      """

    @Test("The example of Apple's guide") func guide() throws {
      let desk = try Desk("", "mkdir -p d0/s1 d0/s2/s3/s4; touch d0/f0 d0/s1/f1 d0/s2/s3/s4/f2")
      defer { desk.volume.remove() }
      try desk.expect(
        PropagateTests.letters + """
          varve acl set -e "group:701 $words" d0; varve acl propagate d0; letters
          varve chmod +a "group:703 $words" d0/s2; letters
          varve acl propagate d0/s2; letters
          varve chmod -a# 0 d0; varve chmod +a "group:702 $words" d0; letters
          varve acl propagate d0; letters
          varve acl propagate -v d0
          """,
        prints: """
          A a a a a a a a
          A a a a C,a a a a
          A a a a C,a c,a c,a c,a
          B a a a C,a c,a c,a c,a
          B b b b C,b c,b c,b c,b
          varve acl propagate: 7 items, 0 changed, 0 failed

          """)
      try desk.end()
    }

    @Test("A dry run, in words and in JSON, changes nothing") func plan() throws {
      let desk = try Desk(
        "",
        "mkdir -p d/s; touch d/s/f; varve acl set -e 'group:701 allow list,file_inherit,directory_inherit' d")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl propagate -q -n d; echo $?
        varve acl propagate -qnv d
        varve acl propagate -q -n --json d
        varve acl get -R d
        varve acl propagate --json d
        """,
        prints: """
          d/s: 0 -> 1 entry
          d/s/f: 0 -> 1 entry
          2 of 2 items would change
          0
          d/s: 0 -> 1 entry
            + group:701 inherited allow list,file_inherit,directory_inherit
          d/s/f: 0 -> 1 entry
            + group:701 inherited allow read
          2 of 2 items would change
          {"changes": [
            {"path": "d/s", "before": null, "after": [{"who": "group:701", "id": 701, "type": "allow", "inherited": true, "rights": ["list"], "inheritance": ["file_inherit", "directory_inherit"]}]},
            {"path": "d/s/f", "before": null, "after": [{"who": "group:701", "id": 701, "type": "allow", "inherited": true, "rights": ["read"], "inheritance": []}]}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          # file: d
          group:701 allow list,file_inherit,directory_inherit
          {"changes": [], "dryRun": false, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}

          """)
      try desk.end()
    }

    /// A tree with names and shapes that break careless tools.
    static let oddTree = """
      mkdir -p d/plain "d/ leading" "d/back\\\\slash" "d/$(printf 'new\\nline')" "d/$(printf 'raw\\377\\233')" "d/été"
      touch d/plain/f "d/ leading/trailing " "d/back\\\\slash/012" "d/$(printf 'new\\nline')/end" \
        "d/$(printf 'raw\\377\\233')/x" "d/été/ß" "d/-R" "d/file 0 - ." d/end
      mkdir outside; touch outside/f; ln -s ../outside d/link; ln -s outside/f filelink
      ln d/plain/f d/hard; mkfifo d/fifo
      varve acl set -e "user:5 allow read" d/plain/f
      varve acl set -e "user:6 inherited deny write" -e "user:7 allow read" "d/$(printf 'new\\nline')/end"
      varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d

      """

    @Test("Undo goes back, whatever names there are; links are not followed") func undo() throws {
      let desk = try Desk("", PropagateTests.oddTree)
      defer { desk.volume.remove() }
      try desk.run(
        """
        varve acl dump . > $BASE/before
        varve acl propagate --undo $BASE/undo d
        varve acl dump . > $BASE/between
        ! cmp -s $BASE/before $BASE/between
        varve acl get outside outside/f | grep -c 'no access list' | grep -qx 2
        test $(grep -c inherited $BASE/between) -ge 16
        head -1 $BASE/undo | grep -qx 'varve-acl 1'; tail -1 $BASE/undo | grep -qx end
        varve acl restore --undo $BASE/redo $BASE/undo
        varve acl dump . | cmp - $BASE/before
        varve acl restore $BASE/redo
        varve acl dump . | cmp - $BASE/between
        varve acl restore $BASE/before
        varve acl dump . | cmp - $BASE/before
        varve acl restore -v $BASE/before | wc -l | grep -qx 0
        # The same onto a copy of the tree elsewhere.
        mkdir copy; cp -a d outside filelink copy/
        varve acl strip -R copy; varve acl restore --root copy <(sed '/ copy/,/^end/{/^end/!d}' $BASE/before)
        (cd copy; varve acl dump . | grep -v '^root') > $BASE/copied
        sed '/ copy/,/^end/{/^end/!d}' $BASE/before | grep -v '^root' | diff - $BASE/copied
        """, succeeds: true)
      try desk.end()
    }

    @Test("Paths beyond 4,096 bytes are walked, changed, listed and restored") func deep() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        mkdir d; cd d
        name=$(printf 'n%.0s' $(seq 200))
        for level in $(seq 30); do mkdir $name; cd -P $name 2>/dev/null || cd $name; done
        touch leaf; cd $BASE/mount
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        varve acl propagate -v --undo $BASE/undo d 2>&1 | tail -1 | grep -q '31 items, 31 changed, 0 failed'
        test $(varve ls -Re d | grep -c '^ 0: group:701 inherited') = 31
        varve ls -R d | tail -1 | grep -qx leaf
        varve chmod -R o-rx d; test $(varve ls -Rl d | grep -c 'x---+') = 30
        varve chflags -R hidden d; test $(varve ls -RO d | grep -c ' hidden ') = 31
        varve acl restore $BASE/undo
        test $(varve acl get -R d | grep -c inherited) = 0
        """, succeeds: true)
      // The shell's own rm gives up on such a path less readily than most.
      try desk.run("rm -rf d", succeeds: true)
      try desk.end()
    }

    @Test("Locked and foreign items are named with what to do; the rest is done") func refusals() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/s; touch d/a d/b d/s/c; varve acl set -e 'group:701 allow list,file_inherit,directory_inherit' d
        varve chflags uchg d/b; varve chflags schg d/s
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl propagate d 2>&1 | sort; echo ${PIPESTATUS[0]}
        varve acl get -R d | grep -c inherited
        varve chmod 600 d/b; varve chflags nouchg,noschg d/b d/s; chmod 755 d; touch d/mine; chown 1001 d/mine d
        setpriv --reuid 1002 --regid 1002 --clear-groups '\(Program.built("varve"))' acl set -e "user:7001 allow read" d/mine
        setpriv --reuid 1002 --regid 1002 --clear-groups '\(Program.built("varve"))' chflags uchg d/mine
        setpriv --reuid 1001 --regid 1001 --clear-groups '\(Program.built("varve"))' chflags schg d/mine
        setpriv --reuid 1001 --regid 1001 --clear-groups '\(Program.built("varve"))' acl set -e "user:7001 allow read" d/mine
        varve acl get d/mine
        """,
        prints: """
          varve acl propagate: d/b: is locked by uchg; clear it first: varve chflags nouchg d/b (EPERM)
          varve acl propagate: d/s: is locked by schg; clear it first, as root: varve chflags noschg d/s (EPERM)
          1
          1
          varve chmod: d/b: is locked by uchg; clear it first: varve chflags nouchg d/b (EPERM)
          varve acl set: d/mine: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve chflags: d/mine: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve chflags: d/mine: only root may set or clear schg (EPERM)
          # file: d/mine
          user:7001 allow read

          """)
      try desk.end()
    }

    @Test("A directory that is swapped for a link meanwhile leads nowhere") func swaps() throws {
      let desk = try Desk(
        "", "mkdir -p d/{a,b,c}/sub outside/sub; touch d/{a,b,c}/sub/{1..20} outside/sub/{1..20}")
      defer { desk.volume.remove() }
      try desk.run(
        """
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        (while test ! -e $BASE/done; do
          mv d/b/sub d/b/kept; ln -s ../../outside/sub d/b/sub; rm d/b/sub; mv d/b/kept d/b/sub
          mv d/b d/kept; ln -s ../outside d/b; rm d/b; mv d/kept d/b
        done) & swapper=$!
        for round in $(seq 8); do
          varve acl set -e "group:$((710 + round)) allow list,file_inherit,directory_inherit" d
          varve acl propagate -q d 2> /dev/null || true
          varve acl strip -R d/a d/b d/c 2> /dev/null || true
          varve chmod -R +a "user:7001 allow read" d 2> /dev/null || true
        done
        touch $BASE/done; wait $swapper
        test $(varve acl get -R --all outside | grep -c '# no access list') = 22
        varve acl propagate -v d 2>&1 | grep -q ' 0 failed'
        """, succeeds: true)
      try desk.end()
    }

    @Test("An interrupted run says how to go on, and can be undone as a whole") func interruption() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell(
        "mkdir d; cd d; for i in $(seq 60); do mkdir s$i; (cd s$i; touch $(seq 100)); done", in: volume.upper)
      try volume.mount()
      let desk = Desk(volume)
      try desk.run(
        """
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        varve acl dump d > $BASE/before
        '\(Program.built("varve"))' acl propagate --undo $BASE/undo d 2> $BASE/said & run=$!
        until test -e $BASE/undo && test $(wc -l < $BASE/undo) -gt 100; do :; done
        kill -TERM $run
        status=0; wait $run || status=$?
        test $status = 143
        grep -q 'interrupted after .*--resume' $BASE/said
        tail -1 $BASE/undo | grep -qx end
        ! varve acl propagate --undo $BASE/undo d 2> $BASE/said
        grep -q 'exists: name another file, or add --resume' $BASE/said
        left=$(varve acl propagate -n d | tail -1)
        test "${left%% *}" != 0
        # What a crash would have left of a record.
        printf 'file 2 - d/torn\\n\\tuser:1 al' >> $BASE/undo
        varve acl propagate --undo $BASE/undo --resume d
        grep -c torn $BASE/undo | grep -qx 0
        varve acl propagate -n d | grep -qx '0 of 6,060 items would change'
        varve acl restore $BASE/undo
        varve acl dump d | cmp - $BASE/before
        """, succeeds: true)
      try desk.end()
    }
  }
}
