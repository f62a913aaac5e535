import Glibc
import MountSupport
import Testing

extension CommandTests {
  @Suite("varve fsck", .timeLimit(.minutes(2))) struct FsckVerbTests {
    /// A volume that is not mounted, with encrypted files in `upper/d`.
    private static let volume = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d
      setfattr -n system.varve.class -v complete vol/d; head -c 300000 /dev/zero >vol/d/long; echo text >vol/d/short
      : >vol/d/empty; varve umount vol; chmod u+w upper/.varve/keybag
      flip() {
        local byte=$(od -An -tu1 -j$2 -N1 upper/d/$1)
        printf "\\x$(printf %x $((byte ^ 1)))" | dd of=upper/d/$1 bs=1 seek=$2 conv=notrunc status=none
      }
      open() { varve mount upper vol; varve unlock vol raw; }

      """

    @Test("A whole volume is clean, with and without a key, and is left as it is") func clean() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          sum() { find upper -type f ! -name lock | sort | xargs sha256sum; }; sum >before
          varve fsck upper; echo $?; varve fsck --keyfile raw upper; echo $?; varve fsck --json --keyfile raw upper
          varve fsck --keyfile closed --passphrase-file word upper; echo $?; sum | cmp - before
          varve fsck --repair --keyfile raw upper; echo $?; varve fsck upper/d; echo $?
          open; varve fsck upper; echo $?; varve verify -q vol/d/long; varve umount vol
          """,
        prints: """
          0
          0
          {"items": [], "checked": 3, "findings": 0, "repaired": 0, "notes": 0, "failed": 0}
          0
          0
          varve fsck: upper/d: is inside a volume; name its upper directory, 'BASE/upper'
          2
          varve fsck: upper: the volume is mounted; unmount it first
          2

          """)
    }

    @Test("Damage is found with its range; a header comes from its copy, and what cannot be repaired stays")
    func damage()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          flip long 40965; flip short 3; varve fsck upper; echo $?; varve fsck --keyfile raw upper | sort
          varve fsck --repair --keyfile raw upper | sort; varve fsck --keyfile raw upper; echo $?
          open; cat vol/d/short; varve umount vol
          """,
        prints: """
          BASE/upper/d/short: header: the header and its copy are not alike; --keyfile tells which one is right
          1
          varve fsck: 'varve fsck --repair --keyfile' mends 1 of these
          BASE/upper/d/long: content: bytes 36864-40959: damaged
          BASE/upper/d/short: header: the header is damaged; its copy is whole
          BASE/upper/d/long: content: bytes 36864-40959: damaged
          BASE/upper/d/short: header: the header is damaged; its copy is whole; repaired
          BASE/upper/d/long: content: bytes 36864-40959: damaged
          1
          text

          """)
    }

    @Test("A copy without attributes gets its marks and classes back, and a damaged keybag its copy")
    func restore()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          cp -r upper copy; chmod 700 copy/.varve; rm -r upper; mv copy upper; printf X >upper/.varve/keybag
          varve fsck upper | sort; varve fsck --repair --keyfile raw upper | sort; varve fsck --keyfile raw upper; echo $?
          cmp upper/.varve/keybag upper/.varve/keybag.copy; open; getfattr -n system.varve.class vol/d vol/d/short
          cat vol/d/short; echo secret >vol/d/empty; grep -c secret upper/d/empty; varve umount vol
          """,
        prints: """
          varve fsck: 'varve fsck --repair --keyfile' mends 5 of these
          BASE/upper/.varve/keybag: keybag: the keybag and its copy are not alike
          BASE/upper/d/empty: marker: is empty, and what is written to it would not be encrypted, as all files beside it are
          BASE/upper/d/long: marker: is encrypted (complete), and its record does not say so
          BASE/upper/d/short: marker: is encrypted (complete), and its record does not say so
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted
          BASE/upper/.varve/keybag: keybag: the keybag and its copy are not alike; repaired
          BASE/upper/d/empty: marker: is empty, and what is written to it would not be encrypted, as all files beside it are; repaired
          BASE/upper/d/long: marker: is encrypted (complete), and its record does not say so; repaired
          BASE/upper/d/short: marker: is encrypted (complete), and its record does not say so; repaired
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted; repaired
          0
          # file: vol/d
          system.varve.class="complete"

          # file: vol/d/short
          system.varve.class="complete"

          text
          0

          """)
    }

    @Test("A file of a later form is named as that, and is neither read, changed nor given a mark")
    func laterForm() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          for place in 8 520; do printf '\\002' | dd of=upper/d/short bs=1 seek=$place conv=notrunc status=none; done
          varve fsck --repair --keyfile raw upper; echo $?; setfattr -x trusted.varve.m upper/d/short; cp upper/d/short before
          varve fsck --repair --keyfile raw upper; echo $?; varve mount -o keyfile=raw upper vol 2>/dev/null; cat vol/d/short
          sh -c 'echo more >>vol/d/short' 2>&1 | grep -o 'Input.*'; varve why read vol/d/short | grep -o 'its header.*'
          varve umount vol; cmp upper/d/short before; getfattr -n trusted.varve.m upper/d/short 2>&1 | grep -o 'No such.*'
          """,
        prints: """
          BASE/upper/d/short: header: it is encrypted in a form that this version of Varve does not know; a newer one may read it
          1
          BASE/upper/d/short: header: it is encrypted in a form that this version of Varve does not know; a newer one may read it
          1
          cat: vol/d/short: Input/output error
          Input/output error
          its header is lost, damaged or of a later version; its content cannot be read (EIO)
          No such attribute

          """)
    }

    @Test(
      "Directories that hold directories alone get their class back, those with a record keep what they have")
    func directories() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          open; mkdir -p vol/d/e/f vol/g/h vol/i/j vol/k; cp vol/d/short vol/d/e/f; cp vol/d/short vol/g/h; echo >vol/i/plain
          varve protect -q complete vol/g/h vol/g/h/short; varve protect -q b vol/i/j; cp vol/d/short vol/i/j
          varve umount vol; cp -r upper copy; chmod 700 copy/.varve; rm -r upper; mv copy upper
          varve mount upper vol; varve chflags nodump vol/g; varve umount vol
          varve fsck --repair --keyfile raw upper | grep class: | sort; varve fsck --keyfile raw upper; echo $?
          open; getfattr -R -n system.varve.class vol 2>/dev/null | grep -c '"'
          for name in d d/e d/e/f g g/h i i/j k; do
            echo $name $(getfattr --only-values -n system.varve.class vol/$name 2>/dev/null)
          done; varve umount vol
          """,
        prints: """
          BASE/upper/d/e/f: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/upper/d/e: class: all files below it are complete, and new ones would not be encrypted; repaired
          BASE/upper/d: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/upper/g/h: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/upper/i/j: class: all its files are complete-unless-open, and new ones would not be encrypted; repaired
          0
          11
          d complete
          d/e complete
          d/e/f complete
          g
          g/h complete
          i
          i/j complete-unless-open
          k

          """)
    }

    @Test("On a full disk a volume can be looked at", .enabled(if: KeyDrawer.isRoot, "needs root"))
    func fullDisk()
      throws
    {
      let drawer = try KeyDrawer()
      defer {
        umount2("\(drawer.base)/full", CInt(MNT_DETACH))
        drawer.remove()
      }
      try drawer.expect(
        FsckVerbTests.volume + """
          mkdir full; mount -t tmpfs -o size=2m,nr_inodes=40 varve-test full; cp -a upper full
          cat /dev/zero >full/room 2>/dev/null
          varve fsck --keyfile raw full/upper; echo $?; : >full/upper/.varve/lock; varve fsck full/upper; echo $?
          rm full/upper/.varve/lock; for n in {1..60}; do : >full/$n; done 2>/dev/null
          varve fsck full/upper; echo $?; ls full/upper/.varve/lock; umount full
          """,
        prints: """
          0
          0
          0
          ls: cannot access 'full/upper/.varve/lock': No such file or directory

          """)
    }

    @Test("A volume whose keybag and copy are both damaged can be mounted, and takes an export")
    func damagedKeybag()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          cp upper/.varve/keybag out; head -c 256 /dev/urandom >upper/.varve/keybag; head -c 100 out >upper/.varve/keybag.copy
          varve fsck upper; echo $?; varve fsck --keyfile raw upper; echo $?
          varve mount upper vol 2>&1 | cut -d : -f 1-3; cat vol/d/short; sh -c "echo x >>vol/d/short" 2>&1 | grep -o Required.*
          varve unlock vol raw 2>&1 | cut -d ';' -f 1; varve unlock --keybag out vol raw 2>&1 | head -1; cat vol/d/short
          varve umount vol; cmp out upper/.varve/keybag; varve mount upper vol; varve unlock vol raw; cat vol/d/short; varve umount vol
          rm upper/.varve/sessions; : >upper/.varve/keybag; : >upper/.varve/keybag.copy; varve mount upper vol; echo $?
          varve fsck upper; echo $?; cp out upper/.varve/keybag; varve mount upper vol; varve unlock vol raw; cat vol/d/short; varve umount vol
          """,
        prints: """
          BASE/upper/.varve/keybag: keybag: the keybag and its copy are both damaged, or of another volume, and no keyfile opens the encrypted files; bring one back, or mount the volume and give an export to 'varve unlock --keybag'
          1
          varve fsck: upper: its keybag is damaged, and no copy beside it opens (EBADMSG); put a copy or an export of it in place as .varve/keybag, or mount the volume without 'keyfile' and give an export to 'varve unlock --keybag'
          2
          varved: both files of the keybag are damaged, or of another volume: encrypted files stay locked until 'varve unlock --keybag' brings back an export, or a copy of .varve/keybag is put back
          cat: vol/d/short: Required key not available
          Required key not available
          varve unlock: vol: its keybag is damaged, and no copy beside it opens (EBADMSG)
          varve unlock: vol: has taken the exported keybag as its own, with all the keyslots that it had then; 'varve key slot list' shows them
          text
          text
          varve mount: BASE/upper: its two keybags, .varve/keybag and .varve/keybag.copy, are damaged, and no session log tells whose encrypted files are here (EBADMSG); put a copy or an export of the right one in place as .varve/keybag, or move both away if nothing was ever encrypted
          32
          varve fsck: upper: its two keybags, .varve/keybag and .varve/keybag.copy, are damaged, and no session log tells whose encrypted files are here (EBADMSG); put a copy or an export of the right one in place as .varve/keybag, or move both away if nothing was ever encrypted
          2
          varve unlock: vol: one of the two files of its keybag was missing, damaged or older, and was made anew
          varve unlock: vol: its session log (.varve/sessions) was lost: every encrypted file counts as one that was being written when the machine crashed, until 'varve fsck --repair --keyfile' on the unmounted volume has looked at it
          text

          """)
    }

    @Test("Where the keybag is lost that is said, and how it comes back; a new one is not made")
    func lostKeybag() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let back = "bring it back, or name an export of it: 'varve unlock --keybag EXPORT BASE/vol KEYFILE'"
      try drawer.expect(
        FsckVerbTests.volume + """
          cp upper/.varve/keybag out; rm -f upper/.varve/keybag*; varve fsck upper; echo $?
          varve key check raw upper 2>&1 | grep -o 'upper: its keybag .* is lost'
          varve mount upper vol; varve protect -q -R none vol/d; varve umount vol
          rm -rf upper/.varve; varve mount upper vol; varve key slot add vol raw 2>&1 | sed 's,d/long,d/short,'
          varve unlock vol raw; varve unlock --keybag out vol raw 2>&1 | head -1; cat vol/d/short; varve umount vol
          rm -rf upper/.varve; varve mount upper vol; varve key slot add --new-keybag vol raw 2>/dev/null; echo $?
          varve unlock --keybag out vol raw 2>&1 | cut -d ';' -f 1; varve umount vol
          """,
        prints: """
          BASE/upper/.varve/keybag: keybag: the keybag and its copy are lost, and without them no keyfile opens the encrypted files; bring one back, or mount the volume and give an export to 'varve unlock --keybag'
          1
          upper: its keybag (.varve/keybag) is lost
          varve protect: vol/d: the volume has lost its keybag (ENOKEY), without which no keyfile opens this; \(back)
          varve key slot add: vol: has no keybag (ENOKEY), but encrypted files, such as d/short: bring back .varve, or name an export of the keybag with 'varve unlock --keybag'. A new keybag would not open these files, and the old one would then be refused; 'varve key slot add --new-keybag' makes one all the same
          varve unlock: vol: \(SlotVerbTests.none)
          varve unlock: vol: has taken the exported keybag as its own, with all the keyslots that it had then; 'varve key slot list' shows them
          text
          0
          varve unlock: vol: the exported keybag is one of another volume (EBADMSG)

          """)
    }

    @Test("A complaint names what it is about: the volume, the keyfile or a file") func subjects() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          cp raw open; chmod 644 open; echo no >wrong; chmod 400 wrong
          varve fsck --keyfile open upper 2>&1 | cut -d '(' -f 1; varve fsck --keyfile nothing upper; echo $?
          varve fsck --keyfile closed --passphrase-file wrong upper 2>&1 | cut -d '(' -f 1
          varve fsck --passphrase-file word upper; echo $?
          varve fsck --keyfile raw upper nothing d/long upper/d/long raw; echo $?
          """,
        prints: """
          varve fsck: open: others than its owner may read it 
          varve fsck: nothing: No such file or directory (ENOENT)
          2
          varve fsck: closed: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart 
          varve fsck: --passphrase-file needs --keyfile
          Usage: varve fsck [-q] [--repair] [--trust-owners] [--keyfile=SRC]
                              [--passphrase-file=SRC] [--json] UPPER [FILE...]
          'varve help fsck' tells more.
          2
          varve fsck: nothing: No such file or directory (ENOENT)
          varve fsck: d/long: does not exist here; name it as you named the volume: 'upper/d/long'
          varve fsck: raw: is not below 'upper'
          2

          """)
    }

    @Test("A hard link to an encrypted file gives the directory around it no class") func linked() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          open; ln vol/d/short vol/linked; varve umount vol; cp -r --preserve=links upper copy; chmod 700 copy/.varve
          varve fsck --repair --keyfile raw copy | grep class:; varve fsck --keyfile raw copy; echo $?
          """,
        prints: """
          BASE/copy/d: class: all its files are complete, and new ones would not be encrypted; repaired
          0

          """)
    }

    @Test("Who names a mount is told what to name") func mountPoint() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + "varve mount upper vol; varve fsck vol; echo $?; varve umount vol",
        prints: """
          varve fsck: vol: is on a mounted volume; unmount it, and name its upper directory
          2

          """)
    }

    @Test("What a crash interrupted is settled, and then no file is in doubt") func crash() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          open; printf more >>vol/d/short; sync vol/d/short; cp upper/d/short taken; cp upper/.varve/sessions log
          varve umount vol; cat taken >upper/d/short; cat log >upper/.varve/sessions
          varve fsck --repair --keyfile raw upper; echo $?; varve fsck --repair --keyfile raw upper; echo $?
          open; cat vol/d/short; echo; varve verify --json vol/d/short; varve umount vol
          """,
        prints: """
          BASE/upper/d/short: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          0
          0
          text
          more
          {"files": [], "verified": 1, "blocks": 1, "damaged": 0, "plain": 0, "unmarked": 0, "withoutClass": [], "failed": 0}

          """)
    }

    @Test("A daemon that is killed leaves in doubt what was written since the last lock, and nothing else")
    func killed() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        FsckVerbTests.volume + """
          end() {
            local daemon=$(varve status --json vol | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'); kill -9 $daemon
            while kill -0 $daemon 2>/dev/null; do sleep 0.01; done; varve umount vol
          }
          open; printf more >>vol/d/short; varve lock vol; varve status vol | grep -w session | tr -s ' '; end
          varve fsck --repair --keyfile raw upper; echo $?
          open; printf more >>vol/d/short; varve lock vol; varve unlock vol raw; printf most >>vol/d/long
          varve status vol | grep -w session | tr -s ' '; end
          varve fsck --repair --keyfile raw upper; echo $?; open; cat vol/d/short; tail -c 4 vol/d/long; echo; varve umount vol
          """,
        prints: """
           session: none
          0
           session: running
          BASE/upper/d/long: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          0
          text
          moremoremost

          """)
    }
  }
}
