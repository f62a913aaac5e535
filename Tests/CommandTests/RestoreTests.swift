import MountSupport
import Testing

extension CommandTests {
  @Suite("acl restore and undo files") struct RestoreTests {
    /// What root restores must not be led elsewhere by somebody who owns a directory above.
    @Test("A link in place of the stored root, or of a directory above it, is not followed")
    func linksToTheRoot() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p way/d/sub outside/d/sub; touch way/d/f outside/d/f
        varve acl set -e "user:7001 allow list" way/d way/d/sub; varve acl set -e "user:7001 allow read" way/d/f
        varve acl dump way/d > $BASE/dump; varve acl strip -R way
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        lists() { varve acl get -R --all $1 | grep -c allow; }
        mv way/d way/kept; ln -s ../outside/d way/d
        varve acl restore $BASE/dump; echo $?; lists outside
        rm way/d; mv way/kept way/d; mv way kept; ln -s outside way
        varve acl restore $BASE/dump; echo $?; lists outside
        # Who names the place means it.
        varve acl restore --root way/d $BASE/dump; echo $?; lists outside; lists kept
        rm way; mv kept way
        varve acl restore $BASE/dump; echo $?; lists way
        """,
        prints: """
          varve acl restore: BASE/mount/way/d: the way to it leads over a link now, or something else that is not a directory; if that is meant, name it with --root
          1
          0
          varve acl restore: BASE/mount/way/d: the way to it leads over a link now, or something else that is not a directory; if that is meant, name it with --root
          1
          0
          0
          3
          0
          0
          3

          """)
      try desk.end()
    }

    @Test("An item that was changed twice gets its first list back") func firstRecord() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/sub; touch d/sub/f; varve acl set -e "user:7001 allow read" d/sub/f
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        varve acl set -e "group:702 allow list,file_inherit,directory_inherit" d/sub
        varve acl dump d > $BASE/before
        """)
      defer { desk.volume.remove() }
      try desk.run(
        """
        varve acl propagate --undo $BASE/overlap d/sub d
        grep -c '^file' $BASE/overlap | grep -qx 2
        varve acl restore $BASE/overlap
        varve acl dump d | diff - $BASE/before
        varve acl set -e "user:7002 allow read" --undo $BASE/twice d/sub/f
        varve acl set -R -e "user:7003 allow read" --undo $BASE/twice --resume d
        varve acl restore $BASE/twice
        varve acl dump d | diff - $BASE/before
        """, succeeds: true)
      try desk.end()
    }

    @Test("What is cut off, or empty, is restored as far as it goes, and is a failure") func cutOff() throws {
      let desk = try Desk("", "mkdir d; touch d/f d/g")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        restore() { printf "$1" "$PWD/d" | varve acl restore -q -; echo $?; }
        restore ''
        restore 'varve-acl'
        restore 'varve-acl 1\\nroot %s\\nfile 1 - f\\n\\tuser:7001 allow read\\nfile 1 - g\\n'
        restore 'varve-acl 1\\nroot %s\\nfile 1 - g\\n\\tuser:7001 allow re'
        restore 'varve-acl 1\\nroot %s\\nfile 0 - g\\nen'
        restore 'varve-acl 1\\nroot %s\\nfile 0 - g\\n'
        restore 'varve-acl 1\\nroot %s\\nfile 0 - g\\nend\\n'
        varve acl get d/f
        """,
        prints: """
          varve acl restore: standard input: is not a dump of access lists: 'varve-acl 1' was expected, and it ends before that
          1
          varve acl restore: standard input: is not a dump of access lists: 'varve-acl 1' was expected, and it ends before that
          1
          varve acl restore: standard input: ends inside a record; what is complete in it was restored
          1
          varve acl restore: standard input: ends inside a record; what is complete in it was restored
          1
          varve acl restore: standard input: ends inside a record; what is complete in it was restored
          1
          varve acl restore: standard input: has no 'end' at its end: the program that wrote it was stopped; what is complete in it was restored
          0
          0
          # file: d/f
          user:7001 allow read

          """)
      try desk.end()
    }

    @Test("--root stands for one root, not for several") func oneRoot() throws {
      let desk = try Desk(
        "",
        """
        mkdir a b c; touch {a,b,c}/f; varve acl set -e 'user:7001 allow read' a/f
        varve acl dump a b a > $BASE/two
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl restore --root c $BASE/two; echo $?
        varve acl get c/f
        varve acl dump a a | varve acl restore --root b -; echo $?
        varve acl get b/f
        """,
        prints: """
          varve acl restore: BASE/two: has a second root, 'BASE/mount/b', and --root names one place for both; nothing after this line is restored
          1
          # file: c/f
          user:7001 allow read
          0
          # file: b/f
          user:7001 allow read

          """)
      try desk.end()
    }

    @Test("--resume continues a sound file only, which no other process writes, and through no link")
    func resume() throws {
      let desk = try Desk(
        "", "touch f; varve acl set -e 'user:7001 allow read' f; varve acl dump f > $BASE/sound")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd $BASE; ln -s sound link; mkfifo fifo; mkdir directory; echo text > text; cp sound former; cd mount
        for file in link fifo directory text; do varve acl strip --undo $BASE/$file --resume f; echo $?; done
        flock $BASE/sound bash -c 'varve acl strip --undo $BASE/sound --resume f'; echo $?
        cmp $BASE/sound $BASE/former; cat $BASE/text; varve acl get f
        varve acl strip --undo $BASE/new --resume f; echo $?
        head -c 12 $BASE/new; stat -c %a $BASE/new
        varve acl restore $BASE/new; varve acl get f
        """,
        prints: """
          varve acl strip: 'BASE/link' is a link, and no undo file is written through one
          2
          varve acl strip: 'BASE/fifo' is not an undo file, or is damaged
          2
          varve acl strip: 'BASE/directory' is a directory; name a new file, in it or elsewhere
          2
          varve acl strip: 'BASE/text' is not an undo file, or is damaged
          2
          varve acl strip: another run is writing to 'BASE/sound'; wait for its end, or name another file
          2
          text
          # file: f
          user:7001 allow read
          0
          varve-acl 1
          600
          # file: f
          user:7001 allow read

          """)
      try desk.end()
    }

    /// Several threads write to a file that may not grow, as on a disk that is full.
    @Test("An undo file that cannot grow ends the run; every change has a whole record") func full() throws {
      let desk = try Desk(
        "",
        """
        mkdir d; for i in {1..40}; do mkdir d/s$i; touch d/s$i/{1..50}; done
        varve acl set -R -e "user:7001 allow read" d
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        varve acl dump d > $BASE/before
        """)
      defer { desk.volume.remove() }
      try desk.run(
        """
        for size in 4 7 16 29; do
          status=0
          (ulimit -f $size; trap '' XFSZ; varve acl propagate --undo $BASE/undo d 2> $BASE/said) || status=$?
          test $status = 1
          grep -q 'undo: the undo file cannot be written: .*EFBIG.*; nothing more is changed' $BASE/said
          left=$(varve acl propagate -n d | tail -1); left=${left%% *}; left=${left/,/}
          test $left -gt 0
          # Whole lines, and each record with all of its own.
          test -z "$(tail -c 1 $BASE/undo)"
          awk '/^(file|directory) / { if (left) exit 1; left = $2 } /^\t/ { left-- } END { exit left != 0 }' $BASE/undo
          # The way back knows all that was changed, and reads as a whole.
          varve acl restore -q $BASE/undo 2> $BASE/said
          ! grep -v "there is no 'end'" $BASE/said
          varve acl dump d | cmp - $BASE/before
          test $(grep -c '^[df]' $BASE/undo) -ge $((2040 - left))
          rm $BASE/undo
        done
        """, succeeds: true)
      try desk.end()
    }
  }
}
