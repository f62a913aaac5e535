import MountSupport
import Testing

extension CommandTests {
  @Suite("varve verify", .timeLimit(.minutes(2))) struct VerifyVerbTests {
    /// A mounted volume that is open, with encrypted files in `vol/d`.
    private static let volume = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; echo plain >vol/d/plain
      setfattr -n system.varve.class -v complete vol/d; head -c 300000 /dev/zero >vol/d/long; echo text >vol/d/short
      : >vol/d/empty; again() { varve umount vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; }
      flip() {
        local byte=$(od -An -tu1 -j$2 -N1 upper/d/$1)
        printf "\\x$(printf %x $((byte ^ 1)))" | dd of=upper/d/$1 bs=1 seek=$2 conv=notrunc status=none
      }

      """

    @Test("What no key of this volume opens, why refuses as opening does") func why() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          echo other >vol/d/other; varve umount vol; flip other 32; flip other 544
          dd if=/dev/zero of=upper/d/short bs=1024 count=1 conv=notrunc status=none; varve mount upper vol; varve unlock vol raw
          for f in other short long; do
            varve why read vol/d/$f >said; echo $? $(head -1 said | grep -o '(E.*'); tail -1 said | grep -o "$f: .*"
            cat vol/d/$f 2>&1 >/dev/null | grep -oE 'Required.*|Input.*'
          done
          varve why write vol/d/empty >said; echo $?; varve umount vol
          """,
        prints: """
          2 (ENOKEY)
          other: belongs to the keybag of another volume; only a volume with that keybag can read it (ENOKEY)
          Required key not available
          2 (EIO)
          short: its header is lost, damaged or of a later version; its content cannot be read (EIO)
          Input/output error
          0
          long: read allowed: root: only flags could stop this
          0

          """)
    }

    @Test("Whole files are clean, in the mount that wrote them and in the next; plain ones are named")
    func clean()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          varve verify -R vol; echo $?; again; varve verify -R vol; echo $?; varve verify -q vol/d/long; echo $?
          varve verify --json vol/d/long; varve verify vol/d; echo $?; varve verify vol/d/none; echo $?
          setfattr -n system.varve.verify -v x vol/d/long; varve lock vol; varve verify vol/d/long; echo $?
          varve umount vol; varve verify upper/d/long; echo $?
          """,
        prints: """
          vol/d/plain: is not encrypted, and its directory has the class complete
          3 encrypted files, 75 blocks: no damage
          0
          vol/d/plain: is not encrypted, and its directory has the class complete
          3 encrypted files, 75 blocks: no damage
          0
          0
          {"files": [], "verified": 1, "blocks": 74, "damaged": 0, "plain": 0, "unmarked": 0, "withoutClass": [], "failed": 0}
          varve verify: vol/d: is a directory; -R verifies the files below it
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          2
          varve verify: vol/d/none: No such file or directory (ENOENT)
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          2
          setfattr: vol/d/long: Operation not permitted
          varve verify: vol/d/long: its class is locked (ENOKEY); 'varve unlock' opens it
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          2
          varve verify: upper/d/long: in the upper directory of a volume that is not mounted here; 'varve fsck BASE/upper' looks at its encrypted files
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          2

          """)
    }

    @Test(
      "In a source or a backup the mount or fsck is named, once; a plain file that is named is called that")
    func elsewhere() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          cp -a upper copy; mkdir none; echo plain >vol/other; varve verify vol/other; echo $?; varve verify -q vol/other
          for path in '-R upper' upper/d/long '-R copy' '-R copy/d' '-R none'; do varve verify -q $path; echo $?; done
          varve protect -q none upper/d/long; varve protect -q -R none copy/d; varve umount vol
          """,
        prints: """
          varve verify: vol/other: is not encrypted
          0 encrypted files, 0 blocks: no damage
          0
          varve verify: upper: not on a Varve volume, but in the source of the one that is mounted on BASE/vol; name that
          2
          varve verify: upper/d/long: not on a Varve volume, but in the source of the one that is mounted on BASE/vol; name that
          2
          varve verify: copy: in the upper directory of a volume that is not mounted here; 'varve fsck BASE/copy' looks at its encrypted files
          2
          varve verify: copy/d: in the upper directory of a volume that is not mounted here; 'varve fsck BASE/copy' looks at its encrypted files
          2
          0
          varve protect: upper/d/long: not on a Varve volume, but in the source of the one that is mounted on BASE/vol; name that
          varve protect: copy/d: in the upper directory of a volume that is not mounted here; mount it, and name the file there

          """)
    }

    @Test("Damage is named with its range, and makes the exit status 1") func damage() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          varve umount vol; flip long 40965; flip long 45061; flip long 110000; flip short 1030
          varve mount upper vol; varve unlock vol raw 2>/dev/null
          varve verify vol/d/long vol/d/short vol/d/empty; echo $?
          varve verify --json vol/d/long; varve verify -q vol/d/empty; echo $?
          head -c 36864 vol/d/long | wc -c; varve umount vol
          """,
        prints: """
          vol/d/long: bytes 36864-45055: damaged
          vol/d/long: bytes 98304-102399: damaged
          vol/d/short: one of the two records of its size is damaged: the content cannot be read
          3 encrypted files, 71 blocks: 2 damaged
          1
          {"files": [
            {"path": "vol/d/long", "class": "complete", "doubtful": false, "damage": true, "header": [], "damaged": 3, "ranges": [{"kind": "damaged", "offset": 36864, "length": 8192}, {"kind": "damaged", "offset": 98304, "length": 4096}]}
          ], "verified": 1, "blocks": 71, "damaged": 1, "plain": 0, "unmarked": 0, "withoutClass": [], "failed": 0}
          0
          36864

          """)
    }

    @Test("A header and its copy that a crash left not alike are no damage, and a repair makes them alike")
    func unlike() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          varve umount vol; chmod u+w upper/.varve/keybag; flip short 712; varve mount upper vol
          varve unlock vol raw 2>/dev/null; varve verify vol/d/short; echo $?; cat vol/d/short
          varve umount vol; varve fsck --keyfile raw upper; echo $?; varve fsck --repair --keyfile raw upper; echo $?
          varve mount upper vol; varve unlock vol raw; varve verify vol/d/short; echo $?; varve umount vol
          """,
        prints: """
          vol/d/short: the header and its copy are not alike, as a crash leaves them; both can be read, and nothing is lost; 'varve fsck --repair --keyfile' on the unmounted volume makes them alike
          1 encrypted file, 1 block: no damage
          0
          text
          BASE/upper/d/short: header: the header and its copy are not alike, as a crash leaves them; both can be read, and nothing is lost
          varve fsck: 'varve fsck --repair --keyfile' mends 1 of these
          1
          BASE/upper/d/short: header: the header and its copy are not alike, as a crash leaves them; both can be read, and nothing is lost; repaired
          0
          1 encrypted file, 1 block: no damage
          0

          """)
    }

    @Test("A daemon that dies is complained about once") func deadDaemon() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q a vol/d
        for n in {1..20}; do echo $n >vol/d/$n; done; head -c 40000000 /dev/zero >vol/d/0; echo one >vol/one
        daemon=$(varve status --json vol | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'); exec 7<vol/d
        kill -9 $daemon; while kill -0 $daemon 2>/dev/null; do sleep 0.01; done
        varve verify -R /proc/self/fd/7/.. vol/d >out 2>&1; echo $?; grep -c ENOTCONN out; exec 7>&-; varve umount vol
        """,
        prints: """
          2
          1

          """)
    }

    @Test("What belongs to another volume is not called locked", .enabled(if: KeyDrawer.isRoot, "needs root"))
    func foreign() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol more plain; varve mount plain more; varve key create a; varve key slot add more a 2>/dev/null
        varve unlock more a; mkdir more/d; varve protect -q a more/d; echo text >more/d/file; varve umount more
        cp -a plain/d upper/d; varve mount upper vol; varve verify vol/d/file; varve unlock vol raw 2>/dev/null
        varve verify vol/d/file; varve protect none vol/d/file; varve umount vol
        """,
        prints: """
          varve verify: vol/d/file: its class is locked (ENOKEY); 'varve unlock' opens it
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          varve verify: vol/d/file: belongs to the keybag of another volume (ENOKEY), and only a volume with that keybag can read it; or it was locked when it was asked for, and is not any more: try again
          0 encrypted files, 0 blocks: no damage found, but not everything was verified
          varve protect: vol/d/file: belongs to the keybag of another volume (ENOKEY), and only a volume with that keybag can read it; or it was locked when it was asked for, and is not any more: try again

          """)
    }

    @Test("Whoever may not read a file does not verify it", .enabled(if: KeyDrawer.isRoot, "needs root"))
    func rights() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        VerifyVerbTests.volume + """
          chmod 600 vol/d/short; as_user 'varve verify -q vol/d/short; getfattr -n system.varve.verify vol/d/short' 2>&1 | sed 's/;.*//'
          as_user 'varve verify -q vol/d/long'; echo $?; varve umount vol
          """,
        prints: """
          varve verify: vol/d/short: Permission denied (EACCES)
          vol/d/short: system.varve.verify: Permission denied
          0

          """)
    }
  }
}
