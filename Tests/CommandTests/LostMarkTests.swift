import MountSupport
import Testing

extension CommandTests {
  @Suite("What is said of encryption where it is easily missed", .timeLimit(.minutes(2)))
  struct LostMarkTests {
    private static let copied = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q complete vol/d
      echo one >vol/d/one; echo two >vol/d/two; varve umount vol

      """

    private static let unmarked =
      "varve fsck: 1 file of another user is not marked: a user may have put a copy of another user's file there; "
      + "'varve fsck --repair --trust-owners' lets its owner read it"

    @Test("Copies without attributes: unlock and verify tell of lost marks and classes, and of what helps")
    func copies() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          cp -r upper copy; chmod 700 copy/.varve; varve mount copy vol; ls vol/d >/dev/null; stat vol/d/* >/dev/null
          varve unlock vol raw; varve verify -R vol/d >out; echo $?; sort out; varve verify -q vol/d/one; echo $?
          varve verify -R --json vol/d >out; echo $?; tail -1 out; varve umount vol
          """,
        prints: """
          varve unlock: vol: 2 encrypted files were met without a mark, as in a copy made without attributes, whose directories may have lost their class; unmount it, and run 'varve fsck --repair'
          varve verify: 2 encrypted files have lost their mark, as in a copy made without attributes; unmount the volume, and run 'varve fsck --repair'
          varve verify: vol/d: is without a class although all its files are encrypted: new files are not; 'varve protect CLASS DIR' gives it one
          1
          2 encrypted files, 2 blocks: no damage
          vol/d/one: is encrypted (complete), and its record does not say so
          vol/d/two: is encrypted (complete), and its record does not say so
          vol/d/one: is encrypted (complete), and its record does not say so
          1
          1
          ], "verified": 2, "blocks": 2, "damaged": 0, "plain": 0, "unmarked": 2, "withoutClass": ["vol/d"], "failed": 0}

          """)
    }

    @Test(
      "What belongs to another user is marked again only where its owner is trusted",
      .enabled(if: KeyDrawer.isRoot, "needs root"))
    func others() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          cp -r upper copy; chmod 700 copy/.varve; mkdir copy/theirs; mv copy/d/one copy/theirs; chown -R 7001:7001 copy/theirs
          varve fsck copy | sort -r; varve fsck --trust-owners copy 2>&1 | tail -1; varve fsck --repair --keyfile raw copy | sort -r
          varve fsck --json copy | grep -c stays; varve fsck -q --repair --trust-owners copy; echo $?; varve fsck --keyfile raw copy; echo $?
          """,
        prints: """
          varve fsck: 'varve fsck --repair' mends 2 of these
          \(Self.unmarked)
          BASE/copy/theirs/one: marker: is encrypted (complete), and its record does not say so; it belongs to the user 7001
          BASE/copy/d: class: all its files are complete, and new ones would not be encrypted
          BASE/copy/d/two: marker: is encrypted (complete), and its record does not say so
          'varve help fsck' tells more.
          \(Self.unmarked)
          BASE/copy/theirs/one: marker: is encrypted (complete), and its record does not say so; it belongs to the user 7001
          BASE/copy/d: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/copy/d/two: marker: is encrypted (complete), and its record does not say so; repaired
          1
          BASE/copy/theirs/one: marker: is encrypted (complete), and its record does not say so; repaired
          BASE/copy/theirs: class: all its files are complete, and new ones would not be encrypted; repaired
          0
          0

          """)
    }

    @Test("A directory that alone has lost its class gets it back") func directory() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          setfattr -x trusted.varve.m upper/d; varve fsck upper; echo $?; varve fsck --repair upper; echo $?; varve fsck upper; echo $?
          """,
        prints: """
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted
          varve fsck: 'varve fsck --repair' mends 1 of these
          1
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted; repaired
          0
          0

          """)
    }

    @Test("verify names a directory without a class that also holds an empty file") func besideEmptyVerified()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          : >upper/d/empty; setfattr -x trusted.varve.m upper/d; varve mount -o keyfile=raw upper vol
          varve verify -R vol/d; echo $?; echo plain >vol/d/empty; varve verify -R vol/d; echo $?; varve umount vol
          """,
        prints: """
          2 encrypted files, 2 blocks: no damage
          varve verify: vol/d: is without a class although all its files are encrypted: new files are not; 'varve protect CLASS DIR' gives it one
          0
          2 encrypted files, 2 blocks: no damage
          0

          """)
    }

    @Test("A directory that holds directories and an empty file gets its class back, and so does the file")
    func besideEmpty() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir -p vol/d/s
        varve protect -q -R complete vol/d; echo one >vol/d/s/one; : >vol/d/empty; varve umount vol
        cp -r upper copy; chmod 700 copy/.varve; setfattr -x trusted.varve.m upper/d
        for volume in upper copy; do
          varve fsck $volume | sort; varve fsck --repair $volume | sort; varve fsck $volume; echo $?
        done
        varve mount -o keyfile=raw copy vol; echo secret >vol/d/empty; varve umount vol; grep -c secret copy/d/empty
        """,
        prints: """
          varve fsck: 'varve fsck --repair' mends 1 of these
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted; repaired
          0
          varve fsck: 'varve fsck --repair' mends 4 of these
          BASE/copy/d/empty: marker: is empty, and what is written to it would not be encrypted, as all files below its directory are
          BASE/copy/d/s/one: marker: is encrypted (complete), and its record does not say so
          BASE/copy/d/s: class: all its files are complete, and new ones would not be encrypted
          BASE/copy/d: class: all files below it are complete, and new ones would not be encrypted
          BASE/copy/d/empty: marker: is empty, and what is written to it would not be encrypted, as all files below its directory are; repaired
          BASE/copy/d/s/one: marker: is encrypted (complete), and its record does not say so; repaired
          BASE/copy/d/s: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/copy/d: class: all files below it are complete, and new ones would not be encrypted; repaired
          0
          0

          """)
    }

    @Test("A plain directory inside an encrypted one stays plain, unless all its files are encrypted")
    func plainInside() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          varve mount upper vol; varve unlock vol raw; cd vol/d; mkdir plain none mixed moved deep
          varve protect -q none plain none mixed moved deep; echo p >plain/p; : >plain/empty; mkdir deep/in; echo q >deep/in/q
          echo m >m; mv m mixed/m; echo n >mixed/n; echo o >o; mv o moved/o; cd ../..
          varve verify -R vol/d; echo $?; varve umount vol
          varve fsck upper; echo $?; varve fsck --repair --keyfile raw upper; echo $?; varve fsck --keyfile raw upper; echo $?
          varve mount -o keyfile=raw upper vol; cd vol/d
          for p in . plain none mixed moved deep deep/in plain/empty; do
            getfattr --only-values -n system.varve.class $p 2>/dev/null || printf none; echo " $p"
          done
          echo new >plain/new; cd ../..; grep new upper/d/plain/new; varve umount vol
          """,
        prints: """
          4 encrypted files, 4 blocks: no damage
          varve verify: vol/d/moved: is without a class although all its files are encrypted: new files are not; 'varve protect CLASS DIR' gives it one
          0
          BASE/upper/d/moved: class: all its files are complete, and new ones would not be encrypted
          BASE/upper/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          varve fsck: 'varve fsck --repair' mends 1 of these
          1
          BASE/upper/d/moved: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/upper/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          0
          BASE/upper/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          0
          complete .
          none plain
          none none
          none mixed
          complete moved
          none deep
          none deep/in
          none plain/empty
          new

          """)
    }

    @Test("Damage that was met is in the answer of why") func why() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          printf '\\377\\377' | dd of=upper/d/one bs=1 seek=4200 conv=notrunc status=none
          varve mount upper vol; varve unlock vol raw; varve why read vol/d/one | grep -c damaged
          cat vol/d/one 2>/dev/null; varve why read vol/d/one | grep damaged; varve umount vol
          """,
        prints: """
          0
            d/one: parts of it are damaged, and reading those fails (EIO); 'varve verify' names them

          """)
    }

    @Test("The list of volumes says which are locked, and ls --json tells classes") func lists() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          say() { varve status | grep "$BASE/vol" | sed 's/(.*)/(OPTIONS)/'; }
          varve mount upper vol; say; varve unlock vol raw; say; varve lock vol; say; varve lock --all vol
          varve ls --json vol/d | grep -c '"class": "complete"'; varve umount vol
          """,
        prints: """
          BASE/upper on BASE/vol (OPTIONS) locked
          BASE/upper on BASE/vol (OPTIONS) unlocked
          BASE/upper on BASE/vol (OPTIONS) locked except until-first-unlock
          2

          """)
    }

    @Test("Mistakes with arguments and with what is given as a secret") func mistakes() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          varve mount upper vol; varve protect vol/d complete 2>&1 | head -1; cp raw vol/inside; echo no >wide; chmod 644 wide
          varve unlock vol - <vol/inside; varve unlock vol fd:4 4<upper/inside; varve unlock --passphrase-file wide vol closed
          cat vol/inside | varve unlock -v vol -; varve umount vol
          """,
        prints: """
          varve protect: the class comes first: 'varve protect complete vol/d'
          varve unlock: -: is on the volume 'BASE/upper' itself: a copy of the volume would contain its key; keep it elsewhere
          varve unlock: fd:4: is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere
          varve unlock: closed: others than its owner may read or write the passphrase file 'wide' (mode 0644); 'chmod 400 wide' closes it
          vol unlocked

          """)
    }

    @Test("A tree that was locked before it was all encrypted says how many items are left") func left()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.copied + """
          varve mount upper vol; mkdir vol/t; echo 1 >vol/t/1; echo 2 >vol/t/2; varve protect -R complete vol/t; echo $?
          varve umount vol
          """,
        prints: """
          varve protect: vol/t: the class complete is locked (ENOKEY); 'varve unlock BASE/vol KEYFILE' opens it
          varve protect: 2 items were not tried for the same reason; run it again to go on
          1

          """)
    }
  }
}
