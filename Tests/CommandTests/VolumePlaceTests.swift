import Glibc
import MountSupport
import Testing

extension CommandTests {
  /// Finding the volume of a path, whatever shows it and whoever answers.
  @Suite("Volumes by path") struct VolumePlaceTests {
    @Test("Asking leaves no refusals behind, through links as well") func noTrace() throws {
      let desk = try Desk(
        "",
        "mkdir -p closed/deep; touch closed/deep/f; chmod 700 closed; ln -s \"$BASE/mount/closed\" \"$BASE/way\""
      )
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cp '\(Program.built("varve"))' "$BASE/varve"; chmod 755 "$BASE/varve"
        ann() { setpriv --reuid 1002 --regid 2009 --clear-groups "$@"; }
        ann "$BASE/varve" why read closed/deep/f | tail -1
        ann "$BASE/varve" why read "$BASE/way/deep/f" | tail -1
        ann "$BASE/varve" access closed/deep/f > /dev/null
        ann "$BASE/varve" access read "$BASE/way/deep/f" > /dev/null
        ann "$BASE/varve" why rename closed/deep/f closed/deep/g | tail -1
        ann "$BASE/varve" why read closed/../closed/deep/f | tail -1
        varve why --last
        ann cat closed/deep/f 2> /dev/null
        varve why --last | wc -l
        """,
        prints: """
            closed: search denied by its mode (other ---)
            closed: search denied by its mode (other ---)
            closed: search denied by its mode (other ---)
            closed: search denied by its mode (other ---)
          nothing was denied lately
          1

          """)
      try desk.end()
    }

    @Test("A part of a volume that is bound elsewhere is asked about like the rest") func bound() throws {
      let desk = try Desk(
        "", "mkdir -p pub/deep; touch pub/deep/f; mkdir \"$BASE/bind\"; touch \"$BASE/file\"")
      defer {
        umount2(desk.volume.base + "/bind", CInt(MNT_DETACH))
        umount2(desk.volume.base + "/file", CInt(MNT_DETACH))
        desk.volume.remove()
      }
      try desk.expect(
        """
        mount --bind pub "$BASE/bind"; mount --bind pub/deep/f "$BASE/file"
        varve why --as 1002:2009 write "$BASE/bind/deep/f"; echo $?
        cd "$BASE/bind/deep"; varve why --as 1002:2009 write ../deep/f | head -1
        varve why --as 1002:2009 write "$BASE/file" | head -1
        varve status "$BASE/bind" | head -1
        varve why --last; cd /; varve why --last 2>&1 | grep -c "$BASE/bind"
        varve why read "$BASE/bind/.."; echo $?
        varve umount "$BASE/bind"; echo $?; varve umount "$BASE/file"; echo $?
        ls "$BASE/mount"
        mount --bind "$BASE/mount/pub" "$BASE/bind"; umount -l "$BASE/mount"
        varve why read "$BASE/bind/deep/f"; echo $?
        umount "$BASE/bind"
        """,
        prints: """
          denied: user 1002 may not write BASE/bind/deep/f (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            pub: search allowed by its mode (other r-x)
            pub/deep: search allowed by its mode (other r-x)
            pub/deep/f: write denied by its mode (other r--)
          1
          denied: user 1002 may not write BASE/bind/deep/../deep/f (EACCES)
          denied: user 1002 may not write BASE/file (EACCES)
          BASE/upper on BASE/mount
          nothing was denied lately
          0
          varve why: BASE/bind/..: not on a Varve volume; 'varve status' lists the volumes
          2
          0
          0
          pub
          varve why: BASE/bind/deep/f: only a part of this volume is mounted where you can see it; its daemon is asked where all of it is
          2

          """)
    }

    @Test("A daemon that does not answer keeps nobody waiting") func silent() throws {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      let daemon = try #require(desk.volume.daemon)
      defer { kill(daemon, SIGCONT) }
      try desk.expect(
        """
        cd "$BASE"; kill -STOP \(daemon); began=$SECONDS
        varve status mount; echo $?
        varve why read mount/f; echo $?
        varve why --last 2>&1 | grep -c "$BASE/mount: its daemon does not answer"
        varve umount mount; echo $?
        echo $((SECONDS - began < 20))
        varve umount -l mount; echo $?; kill -CONT \(daemon)
        """,
        prints: """
          varve status: mount: its daemon does not answer; 'varve umount -l' takes the mount away
          1
          varve why: mount/f: its daemon does not answer; 'varve umount -l' takes the mount away
          2
          1
          varve umount: mount: its daemon does not answer; 'varve umount -l' takes the mount away
          1
          1
          0

          """)
    }

    @Test("A daemon that says it serves, and then nothing of itself in time, has its mount left to it")
    func late()
      throws
    {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      // Nobody writes to what stands in the place of its status.
      try desk.expect(
        """
        cd "$BASE"; mkfifo late; mount --bind late mount/.varve/status; began=$SECONDS
        varve umount mount; echo $?
        echo $((SECONDS - began < 20)); umount -l mount/.varve/status
        """,
        prints: """
          varve umount: mount: its daemon does not answer; 'varve umount -l' takes the mount away
          1
          1

          """)
    }

    @Test("status complains about names that lead to nothing") func nothing() throws {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd "$BASE"; varve status mount/none; echo $?; varve status mount/f/x; echo $?
        varve status mount/f | head -n 1
        """,
        prints: """
          varve status: mount/none: No such file or directory (ENOENT)
          1
          varve status: mount/f/x: Not a directory (ENOTDIR)
          1
          BASE/upper on BASE/mount

          """)
      try desk.end()
    }

    @Test("Users who ask for their latest denials are not told of volumes that are closed to them")
    func closed()
      throws
    {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      // In a world of its own: whatever else is mounted on the machine would be asked, too.
      try desk.expect(
        """
        cd "$BASE"; mkdir -m 700 closed; mkdir closed/upper closed/mount; cp '\(Program.built("varve"))' varve
        unshare --mount bash -c '
          findmnt -rnt fuse.varve -o TARGET | grep -v "^$BASE/" | while read -r other; do
            umount -l "$(printf %b "$other")"
          done
          findmnt -rnt fuse.varve | wc -l
          varve mount closed/upper closed/mount
          setpriv --reuid 1002 --regid 2009 --clear-groups ./varve why --last; echo $?
          varve umount closed/mount'
        """,
        prints: """
          1
          nothing was denied lately
          0

          """)
      try desk.end()
    }
  }
}
