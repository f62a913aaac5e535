import MountSupport
import Testing

extension CommandTests {
  @Suite("Long runs of chmod, chflags and chown") struct ItemRunTests {
    /// A volume with 2,000 files in 20 directories.
    private func wide() throws -> Desk {
      let volume = try MountedVolume()
      try volume.unmount()
      try Program.shell(
        "mkdir d; cd d; for i in $(seq 20); do mkdir s$i; (cd s$i; touch $(seq 100)); done", in: volume.upper)
      try volume.mount()
      return Desk(volume)
    }

    static let program = "'\(Program.built("varve"))'"
    static let state =
      "state() { find d -printf '%p %m %U:%G\\n' | sort; varve ls -RO d | grep -v ^total; }\n"

    @Test(
      "After a kill in the middle everything comes back",
      arguments: ["chmod -R {} go=,u=rwx d", "chflags -R {} hidden d", "chown -R {} 7001:7002 d"])
    func killed(_ command: String) throws {
      let desk = try wide()
      defer { desk.volume.remove() }
      let words = command.replacing("{}", with: "--undo $BASE/undo")
      try desk.run(
        Self.state + """
          state > $BASE/before
          \(Self.program) \(words) & run=$!
          until test -e $BASE/undo && test $(wc -l < $BASE/undo) -gt 300; do :; done
          kill -KILL $run; wait $run || test $? = 137
          state > $BASE/between; ! cmp -s $BASE/before $BASE/between
          varve acl restore $BASE/undo 2> $BASE/said; grep -q "has no 'end' at its end" $BASE/said
          state | cmp - $BASE/before
          # And the run can be continued.
          varve \(words.replacing("--undo", with: "--resume --undo"))
          state > $BASE/after; test $(grep -c '^d' $BASE/after) -ge 2021
          varve acl restore $BASE/undo; state | cmp - $BASE/before
          """, succeeds: true)
      try desk.end()
    }

    @Test("After Ctrl-C one line says how far it got and how to go on; the rest is done with --resume")
    func interrupted() throws {
      let desk = try wide()
      defer { desk.volume.remove() }
      try desk.run(
        Self.state + """
          state > $BASE/before
          run() { local signal=$1 until=$2; shift 2
            "$@" 2> $BASE/said & local run=$!
            until test -e $until && test $(wc -l < $until) -gt 300; do :; done
            kill -$signal $run; status=0; wait $run || status=$?; cat $BASE/said; }
          run TERM $BASE/undo \(Self.program) chmod -R --undo $BASE/undo go= d; test $status = 143
          grep -Eqx 'varve chmod: interrupted after [0-9,]+ items, [0-9,]+ changed; run it again with --resume to go on, or go back with .varve acl restore.' $BASE/said
          test $(wc -l < $BASE/said) = 1; tail -1 $BASE/undo | grep -qx end
          varve chmod -R --undo $BASE/undo --resume go= d
          varve chmod -R -n go= d | grep -qx '0 of 2,021 items would change'
          test $(grep -c '^[fd]' $BASE/undo) = 2021
          # Restoring tells the same.
          run TERM $BASE/redo \(Self.program) acl restore --undo $BASE/redo $BASE/undo; test $status = 143
          grep -Eqx 'varve acl restore: interrupted after [0-9,]+ items, [0-9,]+ changed; run it again with --resume .*' $BASE/said
          varve acl restore $BASE/undo; state | cmp - $BASE/before
          # What counts entries must not be done again.
          varve acl set -R -e 'user:1 allow read' -e 'user:2 allow read' d; varve acl dump d > $BASE/lists
          run TERM $BASE/count \(Self.program) chmod -R --undo $BASE/count -a# 0 d; test $status = 143
          grep -q 'run again it would change those once more: go back with' $BASE/said
          ! varve chmod -R --undo $BASE/count --resume -a# 0 d 2> $BASE/said
          grep -q 'counts entries cannot be resumed' $BASE/said
          varve acl restore $BASE/count; varve acl dump d | cmp - $BASE/lists
          """, succeeds: true)
      try desk.end()
    }

    @Test("On a terminal long work shows how far it is, and -q shows nothing") func progress() throws {
      let desk = try wide()
      defer { desk.volume.remove() }
      try desk.run(
        """
        export TERM=xterm
        # Slow enough for a look at the clock: a line a time.
        seen() { script -qec "stty cols 80; for i in 1 2 3 4 5 6 7 8; do $1; done" /dev/null | tr '\\r' '\\n' | grep -c "$2" || true; }
        for n in $(seq 80); do cp -r d/s1 d/t$n; done
        test $(seen 'varve chown -R -f :$i d' '^varve chown: [0-9,]* items') -gt 0
        test $(seen 'varve chown -R -q :$i d' '^varve chown: [0-9,]* items') = 0
        varve chmod -R --undo $BASE/undo 700 d
        test $(seen "varve acl restore $BASE/undo" '^varve acl restore: [0-9,]* items') -gt 0
        test $(seen "varve acl restore -q $BASE/undo" '^varve acl restore: [0-9,]* items') = 0
        """, succeeds: true)
      try desk.end()
    }

    @Test("Links put in place of items meanwhile are not followed, and what is gone is told") func swapped()
      throws
    {
      let desk = try Desk(
        "", "mkdir -p d/sub outside/sub; touch d/sub/f d/gone d/g outside/sub/f; chmod 600 outside/sub/f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chmod -R --undo $BASE/undo 700 d; varve chown -R --undo $BASE/owner 7001 d
        mv d/sub d/kept; ln -s ../outside/sub d/sub; rm d/gone d/g; ln -s ../outside/sub/f d/g
        varve acl restore $BASE/undo; echo $?; varve acl restore $BASE/owner 2> /dev/null; echo $?
        stat -c '%a %u' outside/sub outside/sub/f d/kept; stat -c %u d/g
        mv d d2; ln -s outside d; varve acl restore $BASE/undo; echo $?; stat -c %a outside
        """,
        prints: """
          varve acl restore: BASE/mount/d/g: is not a file any more
          varve acl restore: BASE/mount/d/sub: is not a directory any more
          varve acl restore: BASE/mount/d/sub/f: the way to it leads over something that is not a directory any more
          varve acl restore: BASE/mount/d/gone: is gone (ENOENT)
          1
          1
          755 0
          600 0
          700 7001
          0
          varve acl restore: BASE/mount/d: the way to it leads over a link now, or something else that is not a directory; if that is meant, name it with --root
          1
          755

          """)
      try desk.end()
    }

    @Test("With -v more than ten items are counted at the end, and with -q nothing is") func counted() throws
    {
      let desk = try Desk("", "mkdir d; touch d/{1..10}; varve chflags hidden d/1")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        for verb in "chflags hidden" "chmod 700" "chown 7001"; do
          set -- $verb
          varve $1 -Rv $2 d d/gone > $BASE/told; wc -l < $BASE/told; varve $1 -Rvv $2 d | wc -l
          varve $1 -Rvq $2 d; varve $1 -R $2 d; varve $1 -v $2 d/*; varve $1 -Rvn $2 d 2>&1 | grep -c failed
        done
        """,
        prints: """
          varve chflags: d/gone: No such file or directory (ENOENT)
          varve chflags: 12 items, 10 changed, 1 failed
          10
          varve chflags: 11 items, 0 changed, 0 failed
          0
          0
          varve chmod: d/gone: No such file or directory (ENOENT)
          varve chmod: 12 items, 11 changed, 1 failed
          11
          varve chmod: 11 items, 0 changed, 0 failed
          0
          0
          varve chown: d/gone: No such file or directory (ENOENT)
          varve chown: 12 items, 11 changed, 1 failed
          11
          varve chown: 11 items, 0 changed, 0 failed
          0
          0

          """)
      try desk.end()
    }

    @Test("The counts of JSON add up, also in a tree that holds another file system") func sums() throws {
      let desk = try Desk(
        "",
        "mkdir -p d/mounted d/sub; touch d/f d/sub/g; varve chflags hidden d/f; varve chflags uchg d/sub/g")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        unshare --mount bash -c '
          counts() { "$VARVE" "$@" 2> "$BASE/said" | grep -o "\"items.*failed[^,]*"; grep -c . "$BASE/said"; }
          mount -t tmpfs -o size=1m none d/mounted; mkdir d/mounted/x; touch d/mounted/x/y d/mounted/x/z
          counts chflags -Rv --json hidden d d/gone
          counts chflags -Rf --json nohidden d d/gone
          umount d/mounted
          counts chmod -R --json 700 d
          counts chmod -R --json +a "user:1 allow read" d
          counts chown -R --json 7001 d; counts chown -R --json 7001 d
          counts acl set -R --json -e "user:2 allow read" d
          counts acl restore --json /dev/null'
        """#.replacing("$VARVE", with: Program.built("varve")),
        prints: """
          "items": 9, "changed": 3, "unchanged": 1, "leftAlone": 3, "failed": 2
          2
          "items": 9, "changed": 4, "unchanged": 0, "leftAlone": 3, "failed": 2
          0
          "items": 5, "changed": 4, "unchanged": 0, "leftAlone": 0, "failed": 1
          1
          "items": 5, "changed": 4, "unchanged": 0, "leftAlone": 0, "failed": 1
          1
          "items": 5, "changed": 4, "unchanged": 0, "leftAlone": 0, "failed": 1
          1
          "items": 5, "changed": 0, "unchanged": 4, "leftAlone": 0, "failed": 1
          1
          "items": 5, "changed": 4, "unchanged": 0, "leftAlone": 0, "failed": 1
          1
          "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1
          1

          """)
      try desk.end()
    }

    @Test("With -L, and across a mount point, the way back knows where things really are") func elsewhere()
      throws
    {
      let desk = try Desk(
        "", "mkdir -p d/mounted outside/sub; touch d/f outside/sub/f; ln -s ../outside d/link; chmod -R 755 ."
      )
      defer { desk.volume.remove() }
      try desk.run(
        #"""
        state() { find . -printf '%p %m\n' | sort; }
        state > $BASE/before
        varve chmod -R -L --undo $BASE/undo 700 d; ! state | cmp -s - $BASE/before
        varve acl restore $BASE/undo; state | cmp - $BASE/before
        varve chmod -R -H --undo $BASE/named 700 d/link; varve acl restore $BASE/named; state | cmp - $BASE/before
        mkdir $BASE/tmp
        unshare --mount bash -c '
          set -e
          mount -t tmpfs -o size=1m none d/mounted; mkdir d/mounted/x; touch d/mounted/x/y
          find d -printf "%p %m\n" > $BASE/inside
          varve chmod -R --undo $BASE/across 711 d; ! find d -printf "%p %m\n" | cmp -s - $BASE/inside
          varve acl restore $BASE/across; find d -printf "%p %m\n" | diff - $BASE/inside'
        """#, succeeds: true)
      try desk.end()
    }

    @Test("Paths come from standard input, too; nothing is said with -q; a full undo file ends even -f")
    func options()
      throws
    {
      let desk = try Desk("", "mkdir d; touch d/{1..300}; touch \"$(printf 'odd\\nname')\"")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        printf 'd/1\\0odd\\nname\\0gone\\0' | varve chmod -0 -v 600 d/2; echo $?
        printf 'd/1\\0' | varve chflags -0 hidden; printf 'd/1\\0' | varve chown -0 7001:7002; varve ls -lO d/1 | cut -c1-34
        printf 'd/1\\0' | varve ls -0; printf 'd/1\\0' | varve access -0 read,write; printf '' | varve ls -0; echo $?
        for verb in "chmod 600" "chflags hidden" "chown 0" chown "chown -0" chmod "chmod -0" "chmod -N" "chmod -E -0" "chmod -C --undo x d"; do
          varve $verb < /dev/null 2>&1 | head -1
        done
        varve chown --resume 0 d 2>&1 | head -1
        stat -c %a d/* d > $BASE/modes; (ulimit -f 2; trap '' XFSZ; varve chmod -R -f --undo $BASE/undo 700 d); echo $?
        test $(varve chmod -q -R -n 700 d | grep -c ' -> ') -gt 0; echo $?
        varve acl restore -q $BASE/undo; echo $?; stat -c %a d/* d | cmp - $BASE/modes && echo same
        """,
        prints: """
          d/2
          d/1
          odd
          name
          varve chmod: gone: No such file or directory (ENOENT)
          1
          -rw-------@ 1 7001  7002  hidden 0
          d/1
          d/1:
          read        yes  root: only flags could stop this
          write       yes  root: only flags could stop this
          0
          varve chmod: PATH is missing
          varve chflags: PATH is missing
          varve chown: PATH is missing
          varve chown: OWNER is missing
          varve chown: OWNER is missing
          varve chmod: MODE is missing
          varve chmod: MODE is missing
          varve chmod: PATH is missing
          varve chmod: -E and -0 both read standard input
          varve chmod: -C changes nothing, so there is nothing to undo
          varve chown: --resume goes with --undo FILE
          varve chmod: BASE/undo: the undo file cannot be written: File too large (EFBIG); nothing more is changed
          1
          0
          varve acl restore: BASE/undo: has no 'end' at its end: the program that wrote it was stopped; what is complete in it was restored
          0
          same

          """)
      try desk.end()
    }

    @Test("A word that makes no sense ends every verb with 2, and nothing is changed") func words() throws {
      let desk = try Desk("", "touch f; varve acl set -e 'user:1 allow read' f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        for words in "chmod 9" "chmod rwx" "chmod +a 'x permit y'" "chmod +a 'nobodyhere allow read'" \\
          "chmod +a 'everyone allow read,,write'" "chmod +a 'everyone allow read,'" "chmod -a# 500" "chflags bogus" \\
          "chflags uchgg" "chflags 7777777777" "chflags 0x10" "chflags 99" "chown nobodyhere" "chown :nogrouphere" \\
          "acl set -e 'everyone allow read,,write'" "chmod --undo /nowhere/u 600" "acl sort --undo /nowhere/u"
        do eval "varve $words f"; echo $?; done
        echo 'everyone allow ,read' | varve chmod -E f; echo $?
        printf 'user:1 allow read\\nuser:2 allow write,,read' | varve acl set -F - f; echo $?
        varve chmod -a# 5 f; echo $?
        varve ls -leO f | sed -n '2,$p'
        varve chflags 0200003 f; varve ls -lO f | cut -c1-42; varve chflags 0 f
        mkdir source there
        for words in "mount --bogus there" "mount -o bogus source there" "remount --bogus ." "remount -o bogus ."; do
          eval "varve $words" 2>&1 | head -n 1 | grep -o "bogus'"; eval "varve $words" 2>/dev/null; echo $?
        done
        """,
        prints: """
          varve chmod: '9' is neither a mode nor a form such as +a
          2
          varve chmod: 'rwx' is neither a mode nor a form such as +a
          2
          varve chmod: 'x' is neither a user nor a group; a number will do, such as user:1001
          2
          varve chmod: 'nobodyhere' is neither a user nor a group; a number will do, such as user:1001
          2
          varve chmod: empty word in 'read,,write'
          2
          varve chmod: empty word in 'read,'
          2
          varve chmod: '500' is not the number of an entry (0 to 128)
          2
          varve chflags: unknown flag 'bogus'; 'varve help chflags' lists them
          2
          varve chflags: unknown flag 'uchgg'; did you mean 'uchg'?
          2
          varve chflags: '7777777777' has bits that are not flags: 07730077420
          2
          varve chflags: '0x10' has bits that are not flags: 020
          2
          varve chflags: unknown flag '99'; 'varve help chflags' lists them
          2
          varve chown: there is no user 'nobodyhere'; a number will do
          2
          varve chown: there is no group 'nogrouphere'; a number will do
          2
          varve acl set: empty word in 'read,,write'
          2
          varve chmod: '/nowhere/u': No such file or directory (ENOENT); there is no /nowhere
          2
          varve acl sort: '/nowhere/u': No such file or directory (ENOENT); there is no /nowhere
          2
          varve chmod: standard input: line 1: empty word in ',read'
          2
          varve acl set: '-': line 2: empty word in 'write,,read'
          2
          varve chmod: f: there is no entry 5 in a list of 1; entries are numbered from 0, as ls -le shows them
          1
           0: user:daemon allow read
          -rw-r--r--+ 1 root  root  arch,uchg,nodump
          bogus'
          1
          bogus'
          1
          bogus'
          1
          bogus'
          1

          """)
      try desk.end()
    }
  }
}
