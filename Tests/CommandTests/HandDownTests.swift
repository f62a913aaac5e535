import MountSupport
import Testing

extension CommandTests {
  /// `acl propagate` asks the daemon about hundreds of files at once, with an undo file twice, and where it cannot, about
  /// one after the other; all ways must agree.
  @Suite("acl propagate, many files at once") struct HandDownTests {
    /// Two trees of the same shape, with everything that makes a file different from its neighbours.
    static let trees = """
      as() { setpriv --reuid $1 --regid $1 --clear-groups "${@:2}"; }
      # Runs something while the daemon cannot be asked.
      alone() {
        local socket=$(getfattr --only-values -n system.varve.control $BASE/mount 2>/dev/null) status=0
        mv $socket $BASE/socket; "$@" || status=$?; mv $BASE/socket $socket; return $status
      }
      fill() {
        mkdir -p $1/s/t $1/private; chmod 0700 $1/private
        touch $1/{1..40} $1/s/{1..40} $1/s/t/{1..20} $1/private/{1..5} "$1/$(printf 'raw\\377\\nname')" $1/.hidden
        ln $1/1 $1/hard; mkfifo $1/fifo; ln -s 2 $1/link; ln -s /etc $1/s/away
        varve acl set -e "user:5 allow read" $1/2
        varve acl set -e "user:6 inherited deny write" -e "user:7 allow read" $1/3
        varve acl set --format json -F <(varve acl get --format json $1/3) $1/4
        for entry in {1..127}; do echo "user:$((9000 + entry)) allow read"; done | varve acl set -F - $1/5
        varve chflags uchg $1/6; varve chflags uappnd $1/7; varve chflags hidden $1/8
        chown 1001:1001 $1/9 $1/s/9; chmod 000 $1/10
        varve acl set -e "user:7 inherited allow read" $1/s/11
        varve acl set -e "group:702 allow read,file_inherit" -e "user:8 deny readattr,file_inherit,directory_inherit" $1/s
      }
      compare() {
        for tree in a b c; do
          (cd $tree; varve acl dump . | sed '/^root/d') > $BASE/dump.$tree
          sed "s/${tree}\\//x\\//g" $BASE/said.$tree | sort > $BASE/words.$tree
        done
        for tree in b c; do diff $BASE/dump.a $BASE/dump.$tree && diff $BASE/words.a $BASE/words.$tree; done
      }

      """

    @Test("Root: the same lists and the same complaints as one by one") func same() throws {
      let desk = try Desk("", HandDownTests.trees + "fill a; fill b; fill c")
      defer { desk.volume.remove() }
      try desk.run(
        HandDownTests.trees + """
          for entries in "group:701 allow list,file_inherit,directory_inherit" \\
            "group:702 deny readattr,file_inherit,directory_inherit" "group:703 allow read" ; do
            for tree in a b c; do varve acl set -e "$entries" $tree; done
            varve acl dump c > $BASE/before
            status=0; varve acl propagate a > $BASE/said.a 2>&1 || status=$?
            other=0; alone varve acl propagate b > $BASE/said.b 2>&1 || other=$?
            third=0; varve acl propagate --undo $BASE/undo c > $BASE/said.c 2>&1 || third=$?
            test $status = $other; test $status = $third
            compare
            # The undo file knows them all.
            varve acl dump c > $BASE/after; ! cmp -s $BASE/before $BASE/after
            varve acl restore --undo $BASE/redo $BASE/undo; varve acl dump c | cmp - $BASE/before
            varve acl restore $BASE/redo; varve acl dump c | cmp - $BASE/after; rm $BASE/undo $BASE/redo
          done
          # The files that are too full or locked were complained about, or the comparison shows nothing.
          for tree in a b c; do
            varve acl set -e "group:701 allow list,file_inherit" -e "group:702 allow list,file_inherit" $tree
            way=; if test $tree = b; then way=alone; fi
            ! $way varve acl propagate $(test $tree = c && echo --undo $BASE/undo) $tree > $BASE/said.$tree 2>&1
          done
          compare
          grep -q 'x/5: with what it inherits' $BASE/words.a
          grep -q 'x/6: .*uchg' $BASE/words.a
          grep -c inherited $BASE/dump.a | grep -qvx 0
          """, succeeds: true)
      try desk.end()
    }

    @Test("A damaged list is complained about and left, as one by one") func damage() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      try Program.shell(
        "mkdir d; touch d/1 d/2 d/3; setfattr -n trusted.varve.m -v 0x0bad d/2", in: desk.volume.upper)
      try desk.volume.mount()
      try desk.run(
        """
        varve acl set -e "group:701 allow list,file_inherit" d
        ! varve acl propagate d 2> $BASE/said
        grep -q 'd/2:.*damaged' $BASE/said; test $(wc -l < $BASE/said) = 1
        varve acl get d/1 d/3 | grep -c 'group:701 inherited' | grep -qx 2
        """, succeeds: true)
      try desk.end()
    }

    @Test("Somebody without the right changes nothing, and is told so of each file") func stranger() throws {
      let desk = try Desk(
        "", HandDownTests.trees + "for tree in a b c; do fill $tree; chmod 755 $tree $tree/s $tree/s/t; done")
      defer { desk.volume.remove() }
      try desk.run(
        HandDownTests.trees + """
          program=$(type varve | sed -n "s/.*'\\(.*\\)'.*/\\1/p")
          set -o pipefail
          failed() { grep '"error"' | sed 's/,$//; s/"pathBytes": "6[123]/"pathBytes": "/'; }
          for tree in a b c; do varve acl set -e "group:701 allow list,file_inherit,directory_inherit" $tree; done
          varve acl dump a > $BASE/before
          ! as 1001 $program acl propagate --json a 2> $BASE/errors | failed > $BASE/said.a
          ! alone as 1001 $program acl propagate --json b 2> $BASE/errors.b | failed > $BASE/said.b
          chmod 777 $BASE; ! as 1001 $program acl propagate --json --undo $BASE/undo c 2> $BASE/errors.c | failed > $BASE/said.c
          # Ten files are named, the others are counted.
          sed 's/^[^:]*: //' $BASE/errors | grep -q '^[0-9]* more: '
          compare
          # What belongs to the caller was changed, by the list that is in force above it.
          varve acl get a/9 | grep -q 'group:701 inherited'
          varve acl get a/s/9 | grep -q 'group:702 inherited'
          varve acl dump a > $BASE/after
          test $(diff $BASE/before $BASE/after | grep -c '^>.*inherited') = 3
          # Files nobody else may look for are not reached through the directory's descriptor either.
          ! as 1001 $program acl propagate a/private
          test $(varve acl get -R a/private | grep -c inherited) = 0
          """, succeeds: true)
      try desk.end()
    }

    @Test("Hundreds of files cost few requests") func requests() throws {
      let desk = try Desk(
        "", "mkdir d; touch d/{1..1000}; varve acl set -e 'user:5 allow read,file_inherit' d")
      defer { desk.volume.remove() }
      try desk.run(
        """
        total() { grep -o '"requests":{[^}]*}' .varve/status | grep -o ':[0-9]*' | tr -d : | awk '{ sum += $1 } END { print sum }'; }
        for undo in "" "--undo $BASE/undo"; do
          before=$(total); varve acl propagate $undo d; after=$(total)
          test $(varve acl get -R d | grep -c inherited) = 1000
          echo "$((after - before)) requests"; test $((after - before)) -lt 100
          varve acl set -e 'user:6 allow read,file_inherit' d
        done
        test $(grep -c '^file' $BASE/undo) = 1000
        """, succeeds: true)
      try desk.end()
    }

    @Test("A file with two names is changed and counted once, whatever threads come to them") func linked()
      throws
    {
      let desk = try Desk("", "mkdir -p d/a d/b; touch d/a/{1..400}; ln d/a/* d/b")
      defer { desk.volume.remove() }
      try desk.run(
        """
        for round in {1..6}; do
          varve acl set -R --json -e "user:$round allow read" d | tail -1 | grep -q '"changed": 403, "unchanged": 400,'
        done
        """, succeeds: true)
      try desk.end()
    }

    @Test("Through a read-only bind mount nothing is changed, by whatever program") func readOnlyBind() throws
    {
      let desk = try Desk("", "mkdir d; touch d/{1..5}; varve acl set -e 'user:5 allow read,file_inherit' d")
      defer { desk.volume.remove() }
      try desk.run(
        """
        mkdir $BASE/bound
        export -f varve
        BASE=$BASE unshare --mount --propagation private /bin/bash -ec '
          mount --bind d $BASE/bound; mount -o remount,bind,ro $BASE/bound
          if varve acl propagate $BASE/bound 2> $BASE/words; then exit 1; fi
          for file in 1 2 3 4 5; do grep -q "$file: .*EROFS" $BASE/words; done'
        rmdir $BASE/bound
        if varve acl get -R d | grep -q inherited; then exit 1; fi
        varve acl propagate d; varve acl get -R d | grep -c inherited | grep -qx 5
        """, succeeds: true)
      try desk.end()
    }

    @Test("After a kill in the middle the undo file knows everything that was changed") func killed() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/{1..10}; for part in {1..10}; do touch d/$part/{1..1000}; done
        varve acl set -e 'user:5 allow list,file_inherit,directory_inherit' d
        """)
      defer { desk.volume.remove() }
      try desk.run(
        """
        varve acl dump d > $BASE/before; stopped=0
        for records in 300 3000 6000 9000; do
          \(ItemRunTests.program) acl propagate --undo $BASE/undo d & run=$!
          until test -e $BASE/undo && test $(wc -l < $BASE/undo) -gt $records; do :; done
          kill -KILL $run; wait $run || stopped=$((stopped + 1))
          varve acl dump d > $BASE/between; ! cmp -s $BASE/before $BASE/between
          varve acl restore -q $BASE/undo 2> $BASE/words || grep -q "has no 'end' at its end" $BASE/words
          varve acl dump d | cmp - $BASE/before; rm $BASE/undo
        done
        test $stopped -ge 2
        """, succeeds: true)
      try desk.end()
    }

    @Test("A right that an entry takes away is gone at once, whatever was remembered") func revoked() throws {
      let desk = try Desk(
        "cache=exclusive",
        "mkdir d; touch d/{1..50}; varve acl set -e 'user:1001 deny readattr,file_inherit,only_inherit' d")
      defer { desk.volume.remove() }
      try desk.run(
        """
        as() { setpriv --reuid $1 --regid $1 --clear-groups "${@:2}"; }
        as 1001 ls -l d > $BASE/listing; as 1001 stat d/50 > $BASE/stat
        varve acl propagate d
        for file in {1..50}; do ! as 1001 stat d/$file 2> $BASE/words; grep -q 'Permission denied' $BASE/words; done
        """, succeeds: true)
      try desk.end()
    }
  }
}
