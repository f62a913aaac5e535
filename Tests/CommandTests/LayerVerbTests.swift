import Glibc
import MountSupport
import Testing

extension CommandTests {
  /// What the tool says of layers; what is behind it the volume's own tests hold.
  @Suite("layer") struct LayerVerbTests {
    @Test("Layers are listed with what they are, and what was brought up") func list() throws {
      let desk = try Desk.layered("echo text > f", "echo more >> f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        kind=$(stat -f -c %T $BASE | sed 's/ext2.*/ext4/')
        varve layer list | sed "s/($kind)/(FS)/"; echo $?
        varve layer list --json f | grep -c '"sealed": true'
        varve status . | grep -c 'layer 1, path'
        cd $BASE; varve umount mount; varve mount -o lower= upper mount 2>/dev/null
        varve layer list mount; varve layer list --json mount
        """,
        prints: """
          0 BASE/upper (FS): upper, has records
          1 BASE/one (FS): lower, sealed, may have records
          2 BASE/two (FS): lower, sealed, may have records
          copied to the upper directory since it was mounted: 1 item, 5 bytes
          0
          2
          1
          mount: the volume has no lower directories; everything it shows is in its upper directory
          the last time it was mounted over: BASE/one:BASE/two
          {
            "layers": [],
            "formerLowers": "BASE/one:BASE/two"
          }

          """)
      try desk.end()
    }

    @Test("A redirect that leads nowhere, or cannot be followed, is told as what it is") func redirects()
      throws
    {
      let desk = try Desk.layered("mkdir d e; touch d/below", "touch d/own e/own")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd $BASE; varve umount mount; names=trusted; [ $(id -u) = 0 ] || names=user
        setfattr -n $names.overlay.redirect -v /nowhere upper/d
        setfattr -n $names.overlay.redirect -v ../outside upper/e
        varve mount -o upperdir=upper,lower=one:two word mount; varve layer list mount | sed 's/ (.*//'
        varve layer origin mount/d; varve layer origin mount/e 2>&1; ls mount/d
        varve why read mount/e | tail -n 1
        """,
        prints: """
          0 BASE/upper
          1 BASE/one
          2 BASE/two
          copied to the upper directory since it was mounted: 0 items, 0 bytes
          mount/d: in the upper directory, copied from a lower; its redirect to /nowhere leads nowhere
          varve layer origin: mount/e: a mark of the directory, or its record, is damaged; 'varve check' of the upper directory tells how
          own
            e: it, or what the volume keeps of it, cannot be read; 'varve check' of the upper directory tells more (EIO)

          """)
      try desk.end()
    }

    @Test("Without lowers the tool says so") func without() throws {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve layer list 2>/dev/null; echo $?; varve layer list --json; varve layer diff 2>&1; echo $?
        varve layer origin f; varve layer origin .varve /proc 2>&1; echo $?
        """,
        prints: """
          .: the volume has no lower directories; everything it shows is in its upper directory
          0
          {
            "layers": []
          }
          varve layer diff: .: the volume has no lower directories
          1
          f: in the upper directory
          varve layer origin: .varve: belongs to the volume itself, and to no layer
          varve layer origin: /proc: not on a Varve volume; 'varve status' lists the volumes
          1

          """)
      try desk.end()
    }

    @Test("Origins and changes are told in lines and as JSON, whatever names there are") func told() throws {
      let desk = try Desk.layered(
        "mkdir -p d/e; echo 1 > d/f; echo 2 > d/e/g; echo 3 > h; : > $'d/e/\\e[2Jx'; mkdir gone; ln -s h l",
        "echo more >> d/f; mv d/e d/moved; rm h; mkdir h; rmdir gone; chmod 600 d/moved/g; : > $'n\\new'; rm $'d/moved/\\e[2Jx'"
      )
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve layer origin d d/f l d/moved h; echo --; varve layer diff >"$BASE/out"; echo $?; LC_ALL=C sort -k 2 "$BASE/out"; cd ..
        varve layer diff mount/d | LC_ALL=C sort -k 2; varve layer diff mount/d/f; echo --; varve layer diff --json mount/d/moved
        terminal "'\(Program.built("varve"))' layer diff mount/d/moved" | cat -v
        varve layer origin --json mount/d/moved; varve layer diff nowhere 2>&1; echo $?; varve layer diff mount/x 2>&1
        """,
        prints: """
          d: merged from layers 0, 1
          d/f: in the upper directory, copied from a lower
          l: in layer 1
          d/moved: merged from layers 0, 1; the layers below have it as /d/e
          h: in the upper directory; nothing of the layers below shows in it
          --
          0
          D ./d/e/
          M ./d/f
          D ./d/moved/\\033[2Jx
          m ./d/moved/g
          D ./gone/
          D ./h
          A ./h/
          A ./n\\012ew
          R d/e -> ./d/moved/
          R d/e -> mount/d/moved/
          D mount/d/e/
          M mount/d/f
          D mount/d/moved/\\033[2Jx
          m mount/d/moved/g
          M mount/d/f
          --
          [
            {"path": "mount/d/moved", "change": "R", "directory": true, "from": "d/e"},
            {"path": "mount/d/moved/\\u001b[2Jx", "change": "D", "directory": false},
            {"path": "mount/d/moved/g", "change": "m", "directory": false}
          ]
          R d/e -> mount/d/moved/
          D mount/d/moved/\\033[2Jx
          m mount/d/moved/g
          [
            {"path": "mount/d/moved", "layers": [0, 1], "copied": false, "opaque": false, "redirect": "/d/e"}
          ]
          varve layer diff: nowhere: No such file or directory (ENOENT)
          1
          varve layer diff: mount/x: No such file or directory (ENOENT)

          """)
      try desk.end()
    }

    @Test("Answers name the layer they come from, and a removed name its mark") func why() throws {
      let desk = try Desk.layered(
        "mkdir -p d; echo 1 > d/f; echo 2 > d/gone; echo 3 > up",
        "rm d/gone; echo 4 >> up; chmod 711 d; : > new")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why write d/f; varve why read up | grep upper; varve why delete d/f | grep 'd/f: is'
        varve why create d/new | grep 'd: is'; varve why read d/gone; varve why read d/never
        cp '\(Program.built("varve"))' "$BASE/varve"; chmod 755 "$BASE/varve"
        setpriv --reuid 1002 --regid 2009 --clear-groups "$BASE/varve" why read d/gone
        varve access read d/f; varve why --json read new | grep -c 'is in the upper directory"'
        """,
        prints: """
          allowed: root may write BASE/mount/d/f
            BASE/mount: search allowed: root: only flags could stop this
            d: search allowed: root: only flags could stop this
            d/f: is in layer 1, BASE/one; it would be copied to the upper directory first
            d/f: write allowed: root: only flags could stop this
            up: is in the upper directory, copied from a lower
            d/f: is in layer 1, BASE/one
            d: is merged from layers 0, 1
          impossible: root cannot read BASE/mount/d/gone (ENOENT)
            BASE/mount: search allowed: root: only flags could stop this
            d: search allowed: root: only flags could stop this
            d/gone: does not exist: the upper directory has a mark that it was removed (ENOENT)
          impossible: root cannot read BASE/mount/d/never (ENOENT)
            BASE/mount: search allowed: root: only flags could stop this
            d: search allowed: root: only flags could stop this
            d/never: does not exist (ENOENT)
          impossible: user 1002 cannot read BASE/mount/d/gone (ENOENT)
            BASE/mount: search allowed by its mode (other r-x)
            d: search allowed by its mode (other --x)
            d/gone: does not exist (ENOENT)
          layer            is in layer 1, BASE/one
          read        yes  root: only flags could stop this
          1

          """)
      try desk.end()
    }

    @Test("A dry run says how much would be copied") func dryRun() throws {
      let desk = try Desk.layered(
        "mkdir -p d/e; echo 12345 > d/f; echo 1234567 > d/e/g", "echo new > d/new; chmod 600 d/new")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chmod -R --dry-run 700 d 2>&1 | tail -3; varve chflags -qR --dry-run --json nodump d | tail -1; varve chmod -q --dry-run 600 d/new
        find $BASE/upper -name f -o -name g
        """,
        prints: """
          5 of 5 items would change
          3 items of lower layers, 14 bytes, would be copied to the upper directory
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          ], "dryRun": true, "items": 5, "changed": 5, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false, "copied": 3, "copiedBytes": 14}
          0 of 1 item would change

          """)
      try desk.end()
    }

    @Test("Lists are handed down to items of lowers") func handedDown() throws {
      let desk = try Desk.layered(
        "mkdir -p d/e; for i in $(seq 40); do echo $i > d/f$i; done; echo x > d/e/g; mkdir only; echo y > only/h",
        "echo new > d/new; rm d/f40; varve chmod +a 'user:7001 allow read,file_inherit,directory_inherit' d only"
      )
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl propagate d only; echo $?; varve acl get -R d only | grep -c 'user:7001 inherited allow read'
        ls d | wc -l; ls d/f40 2>&1; cat d/f7
        """,
        prints: """
          0
          42
          41
          ls: cannot access 'd/f40': No such file or directory
          7

          """)
      try desk.end()
    }

    @Test("What the flag opaque of the root hides is told as removed, and a slash at the end is typed once")
    func hiddenByRoot() throws {
      let desk = try Desk.layered(
        "mkdir d; echo 1 > a; echo 2 > b; echo 3 > d/x",
        "varve chflags opaque .; echo new > a; mkdir d; echo > d/y")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        ls; varve layer diff; varve layer diff d/ | sed 's/^/in d: /'; cd ..; varve layer diff mount//
        """,
        prints: """
          a
          d
          D ./a
          A ./a
          D ./b
          D ./d/
          A ./d/
          A ./d/y
          in d: A d/
          in d: A d/y
          D mount/a
          A mount/a
          D mount/b
          D mount/d/
          A mount/d/
          A mount/d/y

          """)
      try desk.end()
    }

    @Test("Another directory at the path of a lower is told of, once it was mounted for the last time")
    func replaced()
      throws
    {
      let desk = try Desk.layered("echo 1 > f", "echo 2 >> f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd $BASE; again() { varve umount mount; varve mount -o lower=$1 upper mount 2>/dev/null; varve layer list mount | grep last; }
        again one:two; mv one former; mkdir one; again one:two; varve status mount | grep -c replacedLowers; again one:two
        again ''; again ''; again one:two
        """,
        prints: """
          the last time another directory was there: BASE/one
          1
          the last time it was mounted over: BASE/one:BASE/two
          the last time it was mounted without lowers

          """)
      try desk.end()
    }

    @Test("A dry run counts a file with several names once, and a compressed one as it is stored")
    func dryRunOnce()
      throws
    {
      let desk = try Desk.layered("echo text > f; ln f g; ln f h")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chmod -n -R 600 . 2>&1 | grep 'would be copied'; chmod 600 f g h; varve layer list | tail -n 1
        """,
        prints: """
          1 item of lower layers, 5 bytes, would be copied to the upper directory
          copied to the upper directory since it was mounted: 1 item, 5 bytes

          """)
      try desk.end()
    }

    @Test("Each user is told what they may list") func rights() throws {
      let desk = try Desk.layered(
        "mkdir -p open closed; echo 1 > open/f; echo 2 > closed/f",
        "echo 3 > open/f; echo 4 > closed/f; chmod 711 closed")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cp '\(Program.built("varve"))' "$BASE/varve"; chmod 755 "$BASE/varve"
        ann() { setpriv --reuid 1002 --regid 2009 --clear-groups "$@"; }
        ann "$BASE/varve" layer diff 2>&1; echo $?
        """,
        prints: """
          m ./closed/
          varve layer diff: ./closed: Permission denied (EACCES): this needs the rights list and search
          M ./open/f
          1

          """)
      try desk.end()
    }
  }
}
