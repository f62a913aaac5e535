// No volume that is mounted for writing lies inside another one, whichever comes first.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Volumes inside volumes", .timeLimit(.minutes(2))) struct NestedVolumeTests {
    /// `mounts OPTIONS SOURCE DIR` says how a mount went, with N for the process that has the other volume.
    private static let stage = """
      mounts() { status_of timeout -s KILL 30 varve mount "$@" | sed 's/process [0-9]*/process N/'; }
      daemon() { varve status --json "$1" | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'; }
      export -f status_of mounts
      ends() { while [ -e "/proc/$1/exe" ]; do sleep 0.01; done; }
      mkdir -p upper/inner/deep third

      """

    /// For mounts by users: a device that is open to them, and accounts, which fusermount3 wants.
    static let users = """
      mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
      user() { local user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
      cp /etc/passwd world/passwd
      echo 'varve-test:x:1001:1001::/:/bin/sh' >>world/passwd; echo 'varve-other:x:1002:1002::/:/bin/sh' >>world/passwd
      mount --bind world/passwd /etc/passwd
      as_ann() { user 1001 /bin/bash -ec "$1"; }
      as_bob() { user 1002 /bin/bash -ec "$1"; }

      """

    private func output(_ script: String) throws -> String { try NestedVolumeTests.output(script) }

    static func output(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(stage + script)
    }

    @Test("A directory inside a mounted volume is refused, and the volume and its process are named")
    func innerAfterOuter() throws {
      let said = try output(
        """
        varve mount upper mount
        real=$(status_of varve mount upper/inner/deep second)
        [ "$real" = "varve mount: $BASE/upper/inner/deep: it is inside the volume $BASE/upper, which is \
        mounted already, by process $(daemon mount)
        status 32" ] || echo "$real"
        mounts upper second; mounts -f upper/inner second
        ls -A upper/inner upper/inner/deep
        status_of mount -t fuse.varve "$BASE/upper/inner" "$BASE/second" | sed 's/process [0-9]*/process N/'
        status_of varved "$BASE/upper/inner" "$BASE/second" | sed 's/process [0-9]*/process N/'
        ln -s upper/inner link && mounts link second
        mounts -o upperdir=$BASE/upper/inner word second
        mkdir bound && mount --bind upper/inner bound && mounts bound second
        umount bound && mount --bind upper bound && mounts bound/inner/deep second
        umount bound; ls -A upper/inner
        deep=upper/$(printf 'd/%.0s' {1..1200})inner; mkdir -p "$deep"; mounts "$deep" second | sed -E 's|(/d){9,}/|/.../|'
        varve umount mount && mounts upper/inner second
        """)
      #expect(
        said == """
          varve mount: BASE/upper: the volume is mounted already, by process N, on BASE/mount
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          upper/inner:
          deep

          upper/inner/deep:
          mount.varve: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varved: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varve mount: BASE/bound: it is inside the volume BASE/upper, which is mounted already, as the table of mounts says
          status 32
          varve mount: BASE/bound/inner/deep: it is inside the volume BASE/bound, which is mounted already, by process N
          status 32
          deep
          varve mount: BASE/upper/.../inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          status 0

          """)
    }

    @Test("A directory with a mounted volume inside is refused, and that volume and its process are named")
    func outerAfterInner() throws {
      let said = try output(
        """
        varve mount upper/inner second
        real=$(status_of varve mount upper mount)
        [ "$real" = "varve mount: $BASE/upper: the volume $BASE/upper/inner is inside it, and mounted \
        already, by process $(daemon second)
        status 32" ] || echo "$real"
        mounts -f upper mount; ls -A upper
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/mount" | sed 's/process [0-9]*/process N/'
        status_of varved "$BASE/upper" "$BASE/mount" | sed 's/process [0-9]*/process N/'
        mkdir bound && mount --bind upper bound && mounts bound mount; umount bound
        varve umount second
        mounts upper/inner upper/inner; mounts upper mount; varve umount upper/inner
        mount --bind upper/inner bound && mounts bound second; mounts upper mount
        mounts other mount
        umount mount; varve umount second; mounts upper mount
        """)
      #expect(
        said == """
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          inner
          mount.varve: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          varved: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          varve mount: BASE/bound: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, as the table of mounts says
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/bound is inside it, and mounted already, by process N
          status 32
          status 0
          status 0

          """)
    }

    @Test("A mount whose daemon is gone gives way at once, whatever the kernel remembers of it")
    func deadAndCached() throws {
      let said = try output(
        """
        mounts -o cache=exclusive upper mount; ls -a mount >/dev/null; stat mount mount/. >/dev/null
        process=$(daemon mount); kill -9 "$process"; ends "$process"; stat -c %F mount
        mounts -o cache=exclusive upper mount; varve umount mount
        """)
      #expect(
        said == """
          status 0
          directory
          status 0

          """)
    }

    @Test("Read-only volumes, and those whose daemon is gone, keep no other from being mounted")
    func readOnlyAndDead() throws {
      let said = try output(
        """
        varve mount upper mount; process=$(daemon mount); kill -9 "$process"; ends "$process"
        mounts upper/inner second
        process=$(daemon second); kill -9 "$process"; ends "$process"
        umount mount && mounts upper mount
        umount second && mounts -o ro upper/inner second
        status_of varve remount -o rw second | sed 's/process [0-9]*/process N/'
        varve umount mount && status_of varve remount -o rw second
        mounts upper mount; mounts -o ro upper mount
        ls upper/inner/.varve; status_of varve remount -o rw mount | sed 's/process [0-9]*/process N/'
        status_of varve remount -o ro second; mounts upper third; varve umount second; mounts upper third
        """)
      #expect(
        said == """
          status 0
          status 0
          status 0
          varve remount: second: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          lock
          volume
          work
          varve remount: mount: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0

          """)
    }

    @Test("A volume that could not become writable keeps no other from being mounted") func failedRemount()
      throws
    {
      let said = try output(
        """
        mkdir -m 755 upper/inner/.varve; chmod 700 upper/inner/.varve; varve mount -o ro upper/inner second
        chmod 755 upper/inner/.varve; status_of varve remount -o rw second
        mounts upper mount
        """)
      #expect(
        said == """
          varve remount: second: '.varve' in the upper directory is open to others than the mounter; it must belong to the mounter, with mode 0700
          status 32
          status 0

          """)
    }

    @Test("Of two nested directories that are mounted at the same moment at most one stays") func race()
      throws
    {
      let said = try output(
        """
        outcomes() { sort -u | grep -vxE 'status (0|32)|.* (is inside it, and|which is) mounted already, .*' || true; }
        for attempt in {1..25}; do
          mounts upper mount >outer & mounts upper/inner second >inner & wait
          cat outer inner | outcomes
          mounted=$(cat outer inner | grep -c 'status 0' || true); [ "$mounted" -le 1 ] || echo both
          [ "$(grep -c fuse.varve /proc/self/mountinfo)" = "$mounted" ] || echo "one is mounted that was refused"
          for dir in mount second; do if mountpoint -q $dir; then varve umount $dir; fi; done
          rm -rf upper/.varve upper/inner/.varve
        done
        mounts upper mount
        """)
      #expect(said == "status 0\n")
    }

    @Test("A volume can be mounted on a directory of another volume") func mountedOn() throws {
      let said = try output(
        """
        varve mount upper mount; mkdir mount/point
        mounts other mount/point; echo text >mount/point/file; cat other/file; ls upper/point
        varve umount mount/point; mounts other upper/inner; varve umount upper/inner; mounts other mount
        """)
      #expect(
        said == """
          status 0
          text
          status 0
          varve mount: BASE/mount: the mount point shows a Varve volume already; unmount that one first
          status 32

          """)
    }

    @Test("Bookkeeping further down is a directory like any other") func furtherDown() throws {
      let said = try output(
        """
        mounts upper/inner second; varve umount second
        mounts upper mount
        ls -A mount/inner; stat -c %a mount/inner/.varve; ls mount/inner/.varve
        mkdir mount/.varve 2>&1 || true; mkdir mount/inner/deep/.varve && mv mount/inner/.varve mount/inner/kept
        ls -A upper/inner upper/inner/deep
        """)
      #expect(
        said == """
          status 0
          status 0
          .varve
          deep
          700
          lock
          volume
          work
          mkdir: cannot create directory 'mount/.varve': File exists
          upper/inner:
          deep
          kept

          upper/inner/deep:
          .varve

          """)
    }

    @Test("What is mounted below an upper directory from elsewhere is not inside it") func otherFileSystem()
      throws
    {
      let said = try output(
        """
        mount -t tmpfs tmpfs upper/inner && mkdir upper/inner/own
        mounts upper mount; mounts upper/inner second; ls mount/inner 2>&1 | head -1
        varve umount second; mounts upper/inner/own second
        varve umount second; varve umount mount; umount upper/inner
        """)
      #expect(
        said == """
          status 0
          status 0
          ls: cannot access 'mount/inner': Invalid cross-device link
          status 0

          """)
    }

    @Test("A limit: below, only what the table of mounts names is found, where it was when it was mounted")
    func limits() throws {
      let said = try output(
        """
        echo renamed
        mounts -o fsname=elsewhere upper/inner second; mounts upper mount; varve umount mount; varve umount second
        echo moved
        varve mount upper/inner second; mv upper/inner other/moved; mkdir upper/inner
        mounts upper mount; varve umount mount; mounts other mount; varve umount second
        mv other upper/other; mounts upper/other/moved/deep second; varve umount mount
        echo in another mount namespace
        unshare --mount --propagation private sleep 60 &
        other=$!
        until [ "$(cat /proc/$other/comm)" = sleep ]; do sleep 0.01; done
        mounts -N "$other" "$BASE/upper" "$BASE/mount"; mounts upper second; mounts upper/inner second
        mounts -N "$other" "$BASE/upper/inner" "$BASE/second"
        nsenter --mount --target "$other" varve umount "$BASE/mount"
        mounts -N "$other" "$BASE/upper/inner" "$BASE/second"
        mounts -N "$other" "$BASE/upper" "$BASE/mount"; mounts upper mount
        nsenter --mount --target "$other" varve umount "$BASE/second"
        kill "$other"
        """)
      #expect(
        said == """
          renamed
          status 0
          status 0
          moved
          status 0
          status 0
          varve mount: BASE/upper/other/moved/deep: it is inside the volume BASE/upper/other, which is mounted already, by process N
          status 32
          in another mount namespace
          status 0
          varve mount: BASE/upper: the volume is mounted already, by process N, and not to be seen here: it is in another mount namespace, or after 'umount -l' its daemon goes on until no process uses the volume
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0

          """)
    }

    @Test(
      "What counts is root's volumes and the user's own, and no other user's",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func users() throws {
      let said = try output(
        NestedVolumeTests.users + """
          mkdir upper/bobs upper/closed upper/closed/inner; chown 1001 upper upper/inner mount second third
          chown 1002 upper/bobs other; chmod 700 upper/closed
          echo her own
          as_ann 'mounts upper mount; mounts upper/inner second; fusermount3 -u mount'; sleep 0.1
          as_ann 'mounts upper/inner second; mounts upper mount; fusermount3 -u second'; sleep 0.1
          echo "root's"
          rm -r upper/.varve upper/inner/.varve
          varve mount upper mount; as_ann 'mounts upper/inner second'; varve umount mount; rm -r upper/.varve
          varve mount upper/inner second; as_ann 'mounts upper mount'; varve umount second; rm -r upper/inner/.varve
          chown 1001 mount; varve mount upper/closed/inner second; as_ann 'mounts upper mount'; varve umount second
          echo "another user's"
          as_ann 'mounts upper mount'; as_bob 'mounts upper/bobs other'; mounts upper/closed/inner second
          as_ann 'fusermount3 -u mount'; varve umount second; sleep 0.1; rm -r upper/.varve; mounts upper mount
          varve umount mount; umount other
          """)
      #expect(
        said == """
          her own
          status 0
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          root's
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, as the table of mounts says
          status 32
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, as the table of mounts says
          status 32
          varve mount: BASE/upper: the volume BASE/upper/closed/inner is inside it, and mounted already, as the table of mounts says
          status 32
          another user's
          status 0
          status 0
          status 0
          status 0

          """)
    }
  }
}
