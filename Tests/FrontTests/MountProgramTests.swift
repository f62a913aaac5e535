import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("mount(8) and fstab", .timeLimit(.minutes(3))) struct MountProgramTests {
    @Test("mount -t fuse.varve shows source, type and options, and umount ends it") func plain() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mount -t fuse.varve "$BASE/upper" "$BASE/mount"
        findmnt -no SOURCE,FSTYPE,VFS-OPTIONS "$BASE/mount"
        df --output=source,fstype "$BASE/mount" | tail -n 1
        echo text >mount/file
        umount "$BASE/mount"
        cat upper/file
        findmnt "$BASE/mount" || echo gone
        mount -t varve -o ro,noatime "$BASE/upper" "$BASE/mount"
        findmnt -no FSTYPE,VFS-OPTIONS "$BASE/mount"
        umount "$BASE/mount"
        """)
      let lines = output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
      #expect(
        lines == [
          "BASE/upper fuse.varve rw,nosuid,nodev,relatime", "BASE/upper fuse.varve", "text", "gone",
          "fuse.varve ro,nosuid,nodev,noatime",
        ])
    }

    @Test("mount -a and mount DIR take fstab's lines, with the words that are for systemd and others")
    func fstab() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir "$BASE/with blank"
        fstab "$BASE/upper $BASE/mount fuse.varve nofail,x-systemd.requires-mounts-for=/srv/base,X-mine=1,comment=c 0 0
        $BASE/with\\\\040blank $BASE/second fuse.varve noauto,securelevel=1 0 0
        $BASE/nowhere $BASE/nowhere fuse.varve noauto,nofail 0 0"
        mount -a
        findmnt -no SOURCE "$BASE/mount"
        findmnt "$BASE/second" || echo not yet
        mount "$BASE/second"
        findmnt -no SOURCE "$BASE/second"
        varve status --json "$BASE/second" | grep '"securelevel":'
        findmnt --verify --tab-file /etc/fstab 2>&1 | grep -o '[0-9]* parse errors'
        umount "$BASE/mount" "$BASE/second"
        """)
      #expect(
        output == """
          BASE/upper
          not yet
          BASE/with blank
            "securelevel": 1,
          0 parse errors

          """)
    }

    @Test("Refusals are one line with what and why, and the status mount(8) documents") func refusals() throws
    {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        status_of mount -t fuse.varve "$BASE/nowhere" "$BASE/mount"
        status_of mount -t fuse.varve -o bogus "$BASE/upper" "$BASE/mount"
        status_of mount -t fuse.varve -o securelevel=9 "$BASE/upper" "$BASE/mount"
        status_of mount -t fuse.varve -o noowners=no "$BASE/upper" "$BASE/mount"
        status_of mount -f -t fuse.varve -o noexec,debug=0 "$BASE/upper" "$BASE/mount"
        status_of mount -s -t fuse.varve -o bogus "$BASE/upper" "$BASE/mount"
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/second" | sed 's/process [0-9]*/process N/'
        umount "$BASE/mount"
        status_of mount -f -v -t fuse.varve "$BASE/upper" "$BASE/mount"
        findmnt "$BASE/mount" || echo not mounted
        mkdir upper/inner
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/upper/inner"
        """)
      #expect(
        output == """
          mount.varve: BASE/nowhere: the source does not exist (ENOENT); make it with: mkdir BASE/nowhere
          status 32
          mount.varve: BASE/mount: unknown mount option 'bogus'
          status 1
          mount.varve: BASE/mount: 'securelevel' is a number from -1 to 3
          status 1
          mount.varve: BASE/mount: 'noowners' takes no value
          status 1
          mount.varve: BASE/mount: 'debug' takes no value
          status 1
          status 0
          mount.varve: BASE/upper: the volume is mounted already, by process N, on BASE/mount
          status 32
          status 0
          not mounted
          mount.varve: BASE/upper/inner: the mount point is inside the upper directory BASE/upper
          status 1

          """)
    }

    @Test(
      "Where the helper is missing, what libfuse's does instead is refused, and the helper is named",
      .enabled(if: Programs.has("mount.fuse3"), "needs mount.fuse3"))
    func withoutHelper() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        rm "$sbin/mount.fuse.varve" "$sbin/mount.varve"
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/mount"
        status_of mount -f -t fuse.varve -o suiddir "$BASE/upper" "$BASE/mount"
        status_of mount -t fuse.varve -o "upperdir=$BASE/upper" team "$BASE/mount"
        ls -A upper
        """)
      let refusal = """
        varve: BASE/mount: mount(8) did not find /sbin/mount.fuse.varve, which comes with Varve; install it, or use 'varve mount'
        status 32

        """
      #expect(output == refusal + refusal + refusal)
    }

    @Test("Remounting ro and rw, with other words, and with words that cannot change") func remount() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        fstab "$BASE/upper $BASE/mount fuse.varve nofail,suiddir 0 0"
        mount "$BASE/mount"
        show() { findmnt -no VFS-OPTIONS "$BASE/mount"; }
        mount -o remount,ro "$BASE/mount" && show
        touch mount/file || true
        mount -o remount,rw "$BASE/mount" && show
        touch mount/file
        exec 7>>mount/file
        status_of mount -o remount,ro "$BASE/mount"
        show
        exec 7>&-
        mount -o remount,noexec,noatime "$BASE/mount" && show
        mount -o remount,exec,relatime "$BASE/mount" && show
        varve remount -o noexec mount && mount -o remount,rw "$BASE/mount" && show
        status_of mount -o remount,lower=/srv "$BASE/mount"
        status_of mount -o remount,bogus "$BASE/mount"
        umount "$BASE/mount"
        """)
      #expect(
        output == """
          ro,nosuid,nodev,relatime
          touch: cannot touch 'mount/file': Read-only file system
          rw,nosuid,nodev,relatime
          mount.varve: BASE/mount: busy: files are open for writing; 'fuser -vm' names who (EBUSY)
          status 32
          rw,nosuid,nodev,relatime
          rw,nosuid,nodev,noexec,noatime
          rw,nosuid,nodev,relatime
          rw,nosuid,nodev,relatime
          mount.varve: BASE/mount: cannot change 'lower' while mounted; unmount and mount again
          status 32
          mount.varve: BASE/mount: unknown mount option 'bogus'
          status 1

          """)
    }

    @Test("A dead mount is marked, taken away by umount, and replaced by mount") func dead() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        die() {
          daemon=$(varve status --json mount | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p')
          kill -9 "$daemon"
          while [ -d "/proc/$daemon/fd" ] && ls /proc/$daemon/fd/* >/dev/null 2>&1; do sleep 0.01; done
        }
        mount -t fuse.varve "$BASE/upper" "$BASE/mount"
        socket=$(getfattr --absolute-names --only-values -n system.varve.control mount)
        [ -S "$socket" ]
        die
        varve status | grep "$BASE"
        status_of varve umount mount
        [ -e "$socket" ] || echo clean
        mount -t fuse.varve "$BASE/upper" "$BASE/mount"
        echo text >mount/file
        die
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/mount"
        cat mount/file
        varve umount mount
        """)
      #expect(
        output == """
          BASE/upper on BASE/mount (rw,nosuid,nodev,relatime)  dead: its daemon is gone; 'varve umount' removes the mount
          status 0
          clean
          status 0
          text

          """)
    }

    @Test("mount -N mounts in another namespace and nowhere else") func namespace() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        unshare --mount --propagation private sleep 60 &
        other=$!
        while [ "$(readlink /proc/$other/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done
        mount -N "$other" -t fuse.varve "$BASE/upper" "$BASE/mount"
        findmnt "$BASE/mount" || echo not here
        nsenter --mount --target "$other" findmnt -no FSTYPE "$BASE/mount"
        nsenter --mount --target "$other" varve umount "$BASE/mount"
        kill "$other"
        """)
      #expect(output == "not here\nfuse.varve\n")
    }
  }

  @Suite("A user's line in fstab", .timeLimit(.minutes(2))) struct UserLineTests {
    static let hasTools = access("/usr/bin/fusermount3", X_OK) == 0 && access("/usr/bin/setpriv", X_OK) == 0

    @Test(
      "Users mount, remount and unmount their own volumes, and others may not",
      .enabled(if: hasTools, "needs fusermount3 and setpriv"))
    func own() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mknod world/fuse c 10 229 && chmod 0666 world/fuse && mount --bind world/fuse /dev/fuse
        chown 65534:65534 upper mount
        fstab "$BASE/upper $BASE/mount fuse.varve noauto,user 0 0"
        as_user "mount $BASE/mount"
        findmnt -no SOURCE,FSTYPE,VFS-OPTIONS "$BASE/mount" | tr -s ' '
        as_user "echo text >$BASE/mount/file; varve chflags uchg $BASE/mount/file"
        as_user "varve remount -o ro $BASE/mount; touch $BASE/mount/new || true"
        findmnt -no VFS-OPTIONS "$BASE/mount"
        as_user "varve remount -o rw $BASE/mount; touch $BASE/mount/new"
        status_of setpriv --reuid 65533 --regid 65533 --clear-groups varve remount -o ro "$BASE/mount"
        status_of as_user "varve remount -o atime,dev $BASE/mount"
        as_user "umount $BASE/mount"
        findmnt "$BASE/mount" || echo gone
        """)
      #expect(
        output == """
          BASE/upper fuse.varve rw,nosuid,nodev,noexec,relatime
          touch: cannot touch 'BASE/mount/new': Read-only file system
          rw,nosuid,nodev,noexec,relatime
          varve remount: BASE/mount: only user 65534 may use this mount, and not even root; mounted with 'allow_other' it is open to others (EACCES)
          status 32
          varve remount: BASE/mount: only root may change 'nodev' of a mount
          status 1
          gone

          """)
    }
  }
}
