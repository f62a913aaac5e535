import Glibc
import MountSupport
import Testing

extension CommandTests {
  /// Volumes that were damaged byte by byte, and what is said and done about each.
  @Suite("check") struct CheckTests {
    /// An unmounted volume with items of every kind; `$UP` is its upper directory.
    private func damaged(_ script: String) throws -> Desk {
      let desk = try Desk(
        "",
        """
        mkdir d; echo text > d/locked; echo text > d/listed; echo text > plain; ln -s nowhere link; mkfifo fifo
        varve chflags uchg d/locked; varve chmod +a 'user:7001 allow read' d/listed; varve chflags -h hidden link
        varve chmod +a 'user:7001 allow list,file_inherit' d; varve chflags nodump fifo
        """)
      try desk.volume.unmount()
      try run(desk, script)
      return desk
    }

    private func run(_ desk: Desk, _ script: String) throws {
      try desk.run(CheckTests.prelude + script, succeeds: true)
    }

    private func expect(
      _ desk: Desk, _ script: String, prints: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      try desk.expect(CheckTests.prelude + script, prints: prints, sourceLocation: sourceLocation)
    }

    private static let prelude = """
      UP=$BASE/upper; M=trusted.varve.m; A=trusted.varve.acl
      bytes() { getfattr -h --absolute-names -e hex -n "$1" "$2" | sed -n 's/^[^=]*=0x//p'; }
      put() { setfattr -h -n "$1" -v "0x$3" "$2"; }
      # Changes the two digits of one byte.
      flip() { b=$(bytes $1 $2); put $1 $2 "${b:0:$(($3*2))}$4${b:$(($3*2+2))}"; }

      """

    @Test("A sound volume is clean, as a whole, in part and through its mount") func clean() throws {
      let desk = try damaged("")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        varve check $UP; echo $?; varve check $UP/d/locked; echo $?; varve check --json $UP
        """,
        prints: """
          0
          0
          {"items": [], "checked": 7, "findings": 0, "repaired": 0, "posixLists": 0, "failed": 0}

          """)
      try desk.volume.mount()
      try expect(
        desk,
        """
        varve check $BASE/mount; echo $?; varve check --json $UP; varve check --repair -y $UP $BASE/mount 2>&1 |
          sed 's/process [0-9]*/process N/'
        """,
        prints: """
          0
          {"items": [], "checked": 7, "findings": 0, "repaired": 0, "posixLists": 0, "failed": 0}
          varve check: BASE/upper: the volume is mounted, by process N; unmount it first
          varve check: BASE/mount: is on a mounted volume; unmount it, and repair its upper directory

          """)
      try desk.end()
    }

    @Test("A volume mounted read-only is not repaired, wherever it is mounted; others may mount it so too")
    func readers() throws {
      let desk = try damaged("")
      defer { desk.volume.remove() }
      // The reader names its source otherwise, and another one is where nobody sees it.
      try expect(
        desk,
        """
        mkdir $BASE/side $BASE/hidden $BASE/second; mount --bind $UP $BASE/side
        varve mount -o ro $BASE/side $BASE/mount; varve check --repair -y $UP; echo $?
        varve mount -o ro $UP $BASE/second; varve check $UP; echo $?
        varve umount $BASE/second; varve umount $BASE/mount; umount $BASE/side; varve check --repair -y $UP; echo $?
        mkfifo $BASE/ready $BASE/end
        unshare -m --propagation private bash -c "varve mount -o ro $UP $BASE/hidden; echo > $BASE/ready
          read < $BASE/end; varve umount $BASE/hidden" &
        read < $BASE/ready; varve check --repair -y $UP; echo $?
        varve mount $UP $BASE/mount && varve umount $BASE/mount; echo > $BASE/end; wait
        varve check --repair -y $UP; echo $?
        """,
        prints: """
          varve check: BASE/upper: \(CheckTests.readOnly)
          2
          0
          0
          varve check: BASE/upper: \(CheckTests.readOnly)
          2
          0

          """)
    }

    private static let readOnly =
      "the volume is mounted read-only, maybe in another mount namespace; unmount it first"

    private static let wounds =
      """
      flip $M $UP/d/locked 8 00; flip $A $UP/d/listed 12 09; flip $M $UP/link 0 a8
      put $A $UP/plain "$(bytes $A $UP/d)"; setfattr -x $A $UP/d; b=$(bytes $M $UP/fifo); put $M $UP/fifo "${b}00"
      mkdir $UP/.varve/work/t-1; touch $UP/.varve/work/t-1/x $UP/.varve/volume.new

      """

    @Test("Every damage is named with its reason, and nothing is touched without --repair") func report()
      throws
    {
      let desk = try damaged(CheckTests.wounds)
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        before=$(getfattr -hR --absolute-names -d -m - -e hex $UP | md5sum)
        varve check $UP | sed 's/0x[0-9a-f]\\{8\\}/0xN/g' | sort; varve check -q $UP; echo $?
        test "$before" = "$(getfattr -hR --absolute-names -d -m - -e hex $UP | md5sum)" && ls $UP/.varve/work
        varve check --json $UP/fifo | sed 's/0x[0-9a-f]\\{8\\}/0xN/g'
        """,
        prints: """
          BASE/upper/.varve: leftover: work/t-1 and 1 more: left by a crash, not finished and not used
          BASE/upper/d/listed: list: the access list is damaged: its checksum is 0xN and should be 0xN
          BASE/upper/d/locked: record: the record of flags and owner is damaged: its checksum is 0xN and should be 0xN
          BASE/upper/d: list: the access list is missing
          BASE/upper/fifo: record: the record of flags and owner is damaged: its checksum is 0xN and should be 0xN
          BASE/upper/link: record: the record of flags and owner is damaged: it begins with the byte 0xa8, which is not the start of a record
          BASE/upper/plain: residue: has an access list that no record announces; it is ignored
          1
          t-1
          {"items": [
            {"path": "BASE/upper/.varve", "kind": "leftover", "text": "work/t-1 and 1 more: left by a crash, not finished and not used", "repaired": false},
            {"path": "BASE/upper/fifo", "kind": "record", "text": "the record of flags and owner is damaged: its checksum is 0xN and should be 0xN", "repaired": false}
          ], "checked": 1, "findings": 2, "repaired": 0, "posixLists": 0, "failed": 0}

          """)
    }

    @Test("Through the mount it is seen what is damaged, and not repaired") func mounted()
      throws
    {
      let desk = try damaged("flip $M $UP/d/locked 8 00; flip $A $UP/d/listed 12 09")
      defer { desk.volume.remove() }
      try desk.volume.mount()
      try expect(
        desk, "varve check $BASE/mount | sort; varve check -q $BASE/mount; echo $?",
        prints: """
          BASE/mount/d/listed: list: the access list is damaged; 'varve check' of the upper directory tells how
          BASE/mount/d/locked: record: the record of flags and owner is damaged; 'varve check' of the upper directory tells how
          1

          """)
      try desk.end()
    }

    @Test("Repairing closes what was damaged, keeps the bytes, and leaves the rest alone") func repair()
      throws
    {
      let desk = try damaged(
        "chmod 666 $UP/d/locked $UP/d/listed; chmod 777 $UP/d $UP/plain\n" + CheckTests.wounds)
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        was=$(bytes $M $UP/d/locked)
        varve check --repair $UP < /dev/null 2>&1 | head -n 1; varve check -y $UP 2>&1 | head -n 1
        varve check --repair -y $UP 2>said | grep -c '; repaired$'; grep -o "'.varve/work.*" said
        varve check $UP; echo $?; ls $UP/.varve; stat -c %a $UP/.varve/damaged
        grep -c . $UP/.varve/damaged; grep " $M 0x$was $UP/d/locked$" $UP/.varve/damaged | wc -l
        """,
        prints: """
          varve check: --repair asks before each change; where nobody can answer, it needs -y
          varve check: -y needs --repair
          7
          '.varve/work/t-1' is not of this volume's making; it is kept in '.varve/trash'
          0
          damaged
          lock
          trash
          volume
          work
          600
          7
          1

          """)
      try desk.volume.mount()
      try expect(
        desk,
        """
        cd $BASE/mount; ann() { setpriv --reuid 7001 --regid 7001 --clear-groups "$@"; }
        ann cat d/locked; ann cat d/listed; ann ls d
        rm -f d/locked; varve ls -leO d/locked | sed 's/ [0-9]* ... .. ..:.. / /'; varve ls -lOd d/listed | grep -c schg
        varve chflags noschg d/locked; varve chmod -N d/locked d; ann cat d/locked
        """,
        prints: """
          cat: d/locked: Permission denied
          cat: d/listed: Permission denied
          ls: cannot access 'd': Permission denied
          rm: cannot remove 'd/locked': Operation not permitted
          -rw-rw-rw-+ 1 root  root  schg d/locked
           0: group:everyone deny read,write,execute,delete,append,readattr,writeattr,readextattr,writeextattr,readsecurity,writesecurity,chown
          0
          text

          """)
      try desk.end()
    }

    @Test("What is repaired is what the path named in the beginning, whatever takes its name meanwhile")
    func swapped() throws {
      let desk = try damaged("flip $M $UP/d/locked 8 00; echo nonsense > $UP/.varve/volume")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        cd $BASE; cp -a upper other; mkfifo in
        script -qfc "'\(Program.built("varve"))' check --repair $UP" out < in > /dev/null & exec 3> in
        for i in $(seq 200); do grep -qs 'y/N' out && break; sleep 0.05; done
        mv upper was; mv other upper; printf 'y\\ny\\n' >&3; wait; exec 3>&-
        varve check -q was; echo $?; varve check -q upper; echo $?; grep -c . was/.varve/damaged; ls upper/.varve
        """,
        prints: """
          0
          1
          2
          lock
          volume
          work

          """)
    }

    @Test("A volume file that is damaged or gone is written anew, and every record counts then")
    func header() throws {
      for wound in ["echo nonsense > $UP/.varve/volume", "rm $UP/.varve/volume"] {
        let desk = try damaged(wound)
        defer { desk.volume.remove() }
        let text =
          wound.hasPrefix("rm")
          ? "is missing; the next mount makes a new one"
          : "the volume file begins with 'nonsense', this version reads 'varve-volume 1'"
        try expect(
          desk,
          """
          varve check $UP; echo $?; varve check --repair -y $UP; echo $?; varve check $UP; echo $?
          grep -c 'compat = 1' $UP/.varve/volume
          """,
          prints: """
            BASE/upper/.varve/volume: header: \(text)
            1
            BASE/upper/.varve/volume: header: \(text); repaired
            0
            0
            1

            """)
        try desk.volume.mount()
        try expect(
          desk, "rm -f $BASE/mount/d/locked",
          prints: "rm: cannot remove 'BASE/mount/d/locked': Operation not permitted\n")
        try desk.end()
      }
    }

    @Test("A volume file that got lost takes no lock with it, checked or not") func lostHeader() throws {
      let desk = try damaged("rm $UP/.varve/volume")
      defer { desk.volume.remove() }
      try desk.volume.mount()
      try expect(
        desk, "rm -f $BASE/mount/d/locked; varve ls -lO $BASE/mount/d/locked | grep -c uchg",
        prints: """
          rm: cannot remove 'BASE/mount/d/locked': Operation not permitted
          1

          """)
      try desk.end()
    }

    @Test("Records that do not count are found; what a later version wrote is left to it") func unheeded()
      throws
    {
      let desk = try damaged(
        "sed -i '/^crc/d; s/^compat = 1/compat = 0/' $UP/.varve/volume; flip $M $UP/d/listed 1 02")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        varve check $UP; echo $?; varve check --repair -y $UP > /dev/null; echo $?
        varve check $UP; sed -n 's/^compat/&/p' $UP/.varve/volume
        sed -i '/^crc/d; s/^incompat = 0/incompat = 8/' $UP/.varve/volume; varve check $UP; echo $?
        """,
        prints: """
          BASE/upper/d/listed: newer: the record of flags and owner is of version 2, which needs a newer varve
          BASE/upper/.varve/volume: unheeded: says that no item has a record, but 5 of those checked do; they count for nothing
          1
          1
          BASE/upper/d/listed: newer: the record of flags and owner is of version 2, which needs a newer varve
          compat = 1
          varve check: BASE/upper: the volume uses features this version does not know; it needs a newer varve
          2

          """)
    }

    @Test("A record that promises an open list beside one that is not is found, and loses the promise")
    func contradiction() throws {
      let desk = try damaged("put $A $UP/d/listed ac010100000000000fecb798020200000000000080080000")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        varve check $UP; varve check --repair -y $UP | grep -c repaired; varve check $UP; echo $?
        """,
        prints: """
          BASE/upper/d/listed: contradiction: the record says that the list lets every user look, but it does not; stat(2) does not ask it
          1
          0

          """)
      try desk.volume.mount()
      try expect(
        desk,
        "setpriv --reuid 7002 --regid 7002 --clear-groups stat -c %a $BASE/mount/d/listed; varve acl get $BASE/mount/d/listed | tail -n 1",
        prints: """
          stat: cannot statx 'BASE/mount/d/listed': Permission denied
          group:everyone deny readattr,readsecurity

          """)
      try desk.end()
    }

    @Test(
      "The owner of a volume without root checks and repairs it, and the lock is one that its owner can clear"
    )
    func withoutRoot() throws {
      let desk = try damaged("")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve
        cd $BASE; mkdir own own/.varve; echo text > own/f; ln -s f own/link
        sed '/^crc/d; s/^xattr = trusted/xattr = user/' $UP/.varve/volume > own/.varve/volume
        put user.varve.m own/f "$(bytes $M $UP/d/locked)"; chmod 700 own/.varve; chown -R 7001:7001 own
        ann() { setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve "$@"; }
        ann check own; echo $?; flip user.varve.m own/f 8 00
        ann check --repair -y own | sed 's/0x[0-9a-f]\\{8\\}/0xN/g'; ann check own; echo $?
        bytes user.varve.m own/f | cut -c 1-16; stat -c '%u %a' own/.varve/damaged
        """,
        prints: """
          0
          BASE/own/f: record: the record of flags and owner is damaged: its checksum is 0xN and should be 0xN; repaired
          0
          a701010002000000
          7001 600

          """)
    }

    @Test("Whoever does not own a volume, and whatever is none, is refused") func refused() throws {
      let desk = try damaged("chmod 755 $UP; mkdir $BASE/none")
      defer { desk.volume.remove() }
      try expect(
        desk,
        """
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve
        setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve check $UP; echo $?
        varve check $BASE/none $BASE/gone; echo $?
        """,
        prints: """
          varve check: BASE/upper: '.varve' in the upper directory belongs to root, who alone can mount or check this volume
          2
          varve check: BASE/none: is neither on a Varve volume nor in the upper directory of one: there is no .varve; mount an upper directory of overlayfs, or one that has lost its .varve, for writing once before this
          varve check: BASE/gone: No such file or directory (ENOENT)
          2

          """)
    }
  }
}
