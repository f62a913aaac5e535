import MountSupport
import Testing

extension CommandTests {
  @Suite("varve protect", .timeLimit(.minutes(3))) struct ProtectVerbTests {
    /// A tree with hard links in it and out of it, a link, a pipe and an empty file.
    static let tree = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null
      class() { getfattr --only-values -n system.varve.class $1 2>/dev/null || printf none; echo " $1"; }
      # Whether each file is encrypted where it lies.
      stored() { for f in "$@"; do head -c 4 upper/$f | grep -q EAR && echo "sealed $f" || echo "plain $f"; done; }
      mkdir -p vol/d/sub; printf 'the canary' >vol/d/one; printf 'sings' >vol/d/sub/two; : >vol/d/empty
      ln vol/d/one vol/d/sub/again; ln vol/d/sub/two vol/outside; ln -s one vol/d/link; mkfifo vol/d/pipe

      """
    static let refused =
      "varve protect: vol/shared: Permission denied (EACCES): this needs the rights add_file and writeattr in the "
      + "directory, and writesecurity because it has a class"
    static let plan =
      "varve protect: as things stand now; earlier steps of the same run are not taken into account\n"
    static let erased =
      "varve protect: the disk may keep the old bytes of what is encrypted now until their room is used again: they are "
      + "not erased\n"

    @Test(
      "A plan tells files and bytes and changes nothing; then a tree is encrypted in place, and decrypted")
    func tree() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          varve protect -n -R complete vol/d; stored d/one d/sub/two; class vol/d
          ls -i vol/d/one vol/outside >before; varve protect -R -v a vol/d >said; sed 's,sub/again,one,; s,outside,sub/two,' said | sort
          ls -i vol/d/one vol/outside | diff before -; cat vol/d/one vol/d/sub/again vol/d/sub/two vol/outside; echo
          stored d/one d/sub/two outside; class vol/d/sub; class vol/d/empty; class vol/outside; class vol
          printf new >vol/d/new; mkdir vol/d/deeper; class vol/d/new; class vol/d/deeper
          varve protect -R complete vol/d; varve protect -n -R complete vol/d; varve protect -q -R b vol/d; class vol/d/one
          varve protect -n -R none vol/d; varve protect -R none vol/d; stored d/one d/sub/two outside; cat vol/outside; echo
          varve umount vol
          """,
        prints: """
          would encrypt 3 files (15B), change 2 directories
          5 of 5 items would change
          \(Self.plan)plain d/one
          plain d/sub/two
          none vol/d
          varve protect: 3 files (15B) encrypted, 2 directories changed
          \(Self.erased)varve protect: 5 items, 5 changed, 0 failed
          vol/d/empty: none -> complete
          vol/d/one: none -> complete
          vol/d/sub/two: none -> complete
          vol/d/sub: none -> complete
          vol/d: none -> complete
          the canarythe canarysingssings
          sealed d/one
          sealed d/sub/two
          sealed outside
          complete vol/d/sub
          complete vol/d/empty
          complete vol/outside
          none vol
          complete vol/d/new
          complete vol/d/deeper
          7 items have the class already
          0 of 7 items would change
          \(Self.plan)complete-unless-open vol/d/one
          would decrypt 4 files (18B), change 3 directories
          7 of 7 items would change
          \(Self.plan)plain d/one
          plain d/sub/two
          plain outside
          sings

          """)
    }

    @Test(
      "A directory alone gets a class for new files, and it is said what keeps its own; mistakes are told")
    func alone() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          varve protect c vol/d/sub; varve protect complete vol/d; varve protect -q none vol/d; class vol/d/one
          varve protect c vol/d/link vol/d/pipe; echo $?; varve protect complet vol/d 2>&1 | head -1
          varve protect complete vol/nothing raw 2>&1 | head -3; varve umount vol
          """,
        prints: """
          varve protect: vol/d/sub: 2 items below keep what they have; -R changes what is there already
          varve protect: vol/d: 5 items below keep what they have; -R changes what is there already
          none vol/d/one
          varve protect: vol/d/link: is a symbolic link, which is not followed here; name what it leads to
          varve protect: vol/d/pipe: is neither a file nor a directory; nothing of it can be encrypted
          1
          varve protect: 'complet' is not a class; did you mean 'complete'?
          varve protect: vol/nothing: No such file or directory (ENOENT)
          varve protect: raw: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes

          """)
    }

    @Test("Who has a file open is named, the others are done, and a script is told of each item") func busy()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          rm vol/d/sub/again; sleep 60 <vol/d/one & user=$!
          varve protect -R c vol/d 2>said; echo $?; sed "s/$user/PID/; /not erased/d" said; stored d/one d/sub/two
          varve protect --json a vol/d/one vol/d/sub/two 2>/dev/null | sed "s/$user/PID/"; kill $user; wait 2>/dev/null
          varve protect -R c vol/d 2>/dev/null; echo $?; stored d/one; varve ls --json vol/d | grep -c until-first-unlock
          # Between classes it may be open.
          exec 7<vol/d/one; varve protect b vol/d/one; cat <&7; echo; exec 7<&-; varve umount vol
          """,
        prints: """
          1
          varve protect: vol/d/one: is in use (EBUSY) and stays as it is: process PID (sleep) has it open; close it there, and run this again
          plain d/one
          sealed d/sub/two
          {"changes": [
            {"path": "vol/d/one", "from": "none", "to": "complete", "size": 10, "result": "failed", "error": "is in use (EBUSY) and stays as it is: process PID (sleep) has it open; close it there, and run this again"},
            {"path": "vol/d/sub/two", "from": "until-first-unlock", "to": "complete", "size": 5, "result": "changed"}
          ], "dryRun": false, "items": 2, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false, "done": {"encrypted": {"items": 0, "bytes": 0}, "decrypted": {"items": 0, "bytes": 0}, "otherClass": {"items": 1, "bytes": 5}, "directories": {"items": 0, "bytes": 0}, "already": {"items": 0, "bytes": 0}}}
          0
          sealed d/one
          3
          the canary

          """)
    }

    @Test("While it is locked, and without a keybag, it says so once of a tree, in a plan too") func locked()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          varve protect -q -R c vol/d; varve lock --all vol
          for n in "" -n; do varve protect $n -q -R complete vol/d 2>said; echo $?; cat said; done
          varve protect -q -R none vol/d 2>said; echo $?; sed 's,sub/again,one,' said | sort; class vol/d; class vol/d/one; varve unlock vol raw 2>/dev/null
          varve protect -q -R none vol/d; echo $?; varve umount vol
          mkdir plain more; varve mount plain more; mkdir more/d; echo x >more/d/x
          for n in "" -n; do varve protect $n -q -R b more/d; echo $?; done; varve protect -R none more/d; echo $?; varve umount more
          """,
        prints: """
          1
          varve protect: vol/d: the class complete is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          0 of 5 items would change, 1 would be refused
          1
          varve protect: vol/d: the class complete is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          1
          varve protect: vol/d/empty: the class until-first-unlock is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          varve protect: vol/d/one: the class until-first-unlock is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          varve protect: vol/d/sub/two: the class until-first-unlock is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          varve protect: vol/d/sub: the class until-first-unlock is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          varve protect: vol/d: the class until-first-unlock is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          until-first-unlock vol/d
          until-first-unlock vol/d/one
          0
          varve protect: more/d: the volume has no keybag yet (ENOKEY); 'varve key slot add BASE/more KEYFILE' makes one
          1
          varve protect: more/d: the volume has no keybag yet (ENOKEY); 'varve key slot add BASE/more KEYFILE' makes one
          0 of 2 items would change, 1 would be refused
          1
          0

          """)
    }

    @Test("While its class is locked a plain tree is refused as a whole, and stays as it was")
    func lockedPlain() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          mkdir -p vol/t/s; for f in 1 2 s/3; do echo $f >vol/t/$f; done; varve lock --all vol
          for n in -n ""; do varve protect $n -q -R complete vol/t; echo $?; done; class vol/t; class vol/t/s; echo new >vol/t/new; cat vol/t/new
          varve protect -q -R none vol/t; echo $?; varve umount vol
          """,
        prints: """
          varve protect: vol/t: the class complete is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          0 of 5 items would change, 1 would be refused
          1
          varve protect: vol/t: the class complete is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          1
          none vol/t
          none vol/t/s
          new
          0

          """)
    }

    @Test(
      "Who may not read and write a file does not encrypt it, and a plan says so beforehand",
      .enabled(if: KeyDrawer.isRoot && Programs.has("setpriv"), "needs root and setpriv"))
    func rights() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          mkdir vol/theirs; echo theirs >vol/theirs/file; chown -R 7001:7001 vol/theirs; echo seen >vol/theirs/roots
          chmod 644 vol/theirs/roots; varve chflags uchg vol/outside; chmod 444 vol/theirs/file
          as_user "'$VARVE' protect a vol/theirs/file 2>&1; chmod u+w vol/theirs/file"
          for n in -n ""; do as_user "'$VARVE' protect $n -q -R complete vol/theirs vol/outside 2>&1 | sort"; done
          stored theirs/file theirs/roots; varve chflags nouchg vol/outside; varve umount vol
          """,
        prints: """
          varve protect: vol/theirs/file: Permission denied (EACCES): this needs the rights read, write and writeattr of the file; 'chmod u+w vol/theirs/file' gives you write
          2 of 4 items would change, 2 would be refused
          varve protect: vol/outside: is locked by uchg; clear it first: varve chflags nouchg vol/outside (EPERM)
          varve protect: vol/theirs/roots: Permission denied (EACCES): this needs the rights read, write and writeattr of the file
          would encrypt 1 file (7B), change 1 directory
          varve protect: vol/outside: is locked by uchg; clear it first: varve chflags nouchg vol/outside (EPERM)
          varve protect: vol/theirs/roots: Permission denied (EACCES): this needs the rights read, write and writeattr of the file
          sealed theirs/file
          plain theirs/roots

          """)
    }

    @Test(
      "A member of the group gives a directory a class, and cannot take it away",
      .enabled(if: KeyDrawer.isRoot && Programs.has("setpriv"), "needs root and setpriv"))
    func membersGive() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          mkdir vol/shared; chgrp 7001 vol/shared; chmod 3770 vol/shared; as_user "echo mine >vol/shared/mine"
          as_user "'$VARVE' protect -q complete vol/shared"; echo $?; class vol/shared
          for n in -n ""; do for c in none complete-unless-open; do as_user "'$VARVE' protect $n -q $c vol/shared 2>&1"; done; done
          class vol/shared; as_user "setfattr -x system.varve.class vol/shared 2>&1"; as_user "echo new >vol/shared/new"; stored shared/new
          as_user "'$VARVE' protect -q none vol/shared/new"; echo $?
          varve chmod +a 'user:7001 allow writesecurity' vol/shared; as_user "'$VARVE' protect -q none vol/shared"; echo $?; class vol/shared
          varve umount vol
          """,
        prints: """
          0
          complete vol/shared
          \(Self.refused)
          0 of 1 item would change, 1 would be refused
          \(Self.refused)
          0 of 1 item would change, 1 would be refused
          \(Self.refused)
          \(Self.refused)
          complete vol/shared
          setfattr: vol/shared: Permission denied
          sealed shared/new
          0
          0
          none vol/shared

          """)
    }

    @Test("A run that was ended is continued by running it again", arguments: ["INT", "TERM", "KILL"])
    func resumed(_ signal: String) throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          sealed() { grep -laF EAR1 upper/many/* | wc -l; }
          mkdir vol/many; for i in $(seq 1000); do echo "the canary $i" >vol/many/$i; done
          # A shell without a terminal has its background programs ignore INT.
          env --default-signal=INT "$VARVE" protect -R complete vol/many 2>said & run=$!
          for try in $(seq 2000); do test $(sealed) -le 20 || break; done; kill -\(signal) $run; wait $run 2>/dev/null; echo $?
          grep -v erased said | sed 's/[0-9][0-9]*/N/g'; done=$(sealed); test $done -gt 20 && test $done -lt 1000 && echo some
          varve protect -q -R -n complete vol/many | grep -c 'have the class already'
          varve protect -R complete vol/many 2>/dev/null; echo $?; sealed
          seq -f 'the canary %g' 1000 >all; (cd vol/many && cat $(seq 1000)) | cmp - all; ls upper/.varve/work; varve umount vol
          varve fsck --keyfile raw upper; echo $?
          """,
        prints: (signal == "KILL"
          ? "137\n"
          : (signal == "INT" ? "130" : "143")
            + "\nvarve protect: interrupted after N items, N changed; run it again to go on\n")
          + "some\n1\n0\n1000\n0\n")
    }

    @Test("On a terminal it shows items, bytes and the large file it is at, and with -q nothing")
    func progress() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + """
          truncate -s 64M vol/d/large vol/d/other; truncate -s 63M vol/smaller
          run() { script -qec "stty cols 200; varve protect $1" /dev/null | tr '\\r' '\\n'; }
          shown() { run "$1" | grep -E '^varve protect: [0-9]+ items?,.* now ' | sed 's/[0-9]* items*/N items/; s/, [0-9]*B,/,/; s,of vol/.*,of FILE,'; }
          shown '-R a vol/d'; run '-R -q none vol/d' | grep -c item; class vol/d/large; shown '-R -n a vol/d'; shown 'a vol/smaller vol/d/other'; varve umount vol
          """,
        prints: """
          varve protect: N items, now 64M of FILE
          varve protect: N items, 64M, now 64M of FILE
          0
          none vol/d/large
          varve protect: N items, 63M, now 64M of FILE

          """)
    }

    @Test(
      "A signal ends the change of a large file within two seconds with EINTR, and the file is as it was",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func large() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.tree + #"""
          (echo begin; head -c 768M /dev/zero; echo end) >vol/large; sync vol/large; sum=$(cksum <upper/large)
          cat >set.py <<'END'
          import os, signal, sys
          signal.signal(signal.SIGINT, lambda *_: None)
          try:
              os.setxattr("vol/large", "system.varve.class", sys.argv[1].encode())
              print("done")
          except OSError as error:
              print(os.strerror(error.errno))
          END
          begun() { until find upper/.varve/work -size +8M 2>/dev/null | grep -q .; do :; done; sent=$(date +%s%N); }
          ended() { wait $1; local status=$?; test $(($(date +%s%N) - sent)) -lt 2000000000 && echo soon; return $status; }
          interrupt() { begun; kill -$2 $1; ended $1; echo $?; class vol/large; ls upper/.varve/work; }
          python3 set.py complete & interrupt $! INT; test "$(cksum <upper/large)" = "$sum" && echo same
          "$VARVE" protect complete vol/large & interrupt $! TERM; test "$(cksum <upper/large)" = "$sum" && echo same
          varve protect -q complete vol/large; stored large; sealed=$(cksum <upper/large)
          python3 set.py none & interrupt $! INT; test "$(cksum <upper/large)" = "$sealed" && echo same
          test "$(cksum <vol/large)" = "$sum" && echo same; varve umount vol
          """#,
        prints: """
          Interrupted system call
          soon
          0
          none vol/large
          same
          varve protect: interrupted after 0 items, 0 changed; run it again to go on
          soon
          143
          none vol/large
          same
          sealed large
          Interrupted system call
          soon
          0
          complete vol/large
          same
          same

          """)
    }
  }
}
