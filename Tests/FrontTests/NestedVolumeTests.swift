// No volume that is mounted for writing lies inside another one, whoever comes first and by whatever way.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Volumes inside volumes", .timeLimit(.minutes(2))) struct NestedVolumeTests {
    /// `mounts OPTIONS SOURCE DIR` says how a mount went, with N for the process that is in the way.
    static let stage = """
      mounts() { status_of varve mount "$@" | sed 's/process [0-9]*/process N/'; }
      daemon() { varve status --json "$1" | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'; }
      export -f status_of mounts
      file_of() { # DIRECTORY [WHERE IT IS LISTED]
        echo /run/varve/${2-places}/$(($(stat -c %Hd "$1") << 32 | $(stat -c %Ld "$1")))-$(stat -c %i "$1").*; }
      is_listed() { if [ -e "$(file_of "$1")" ]; then echo "$1 is listed"; else echo "$1 is not listed"; fi; }
      ends() { while [ -e "/proc/$1/exe" ]; do sleep 0.01; done; }
      mkdir -p upper/inner/deep third

      """

    /// What a script says that also acts as Ann and as Bob.
    static func outputOfUsers(_ script: String) throws -> String {
      try output(
        users + """
          as_ann() { user 1001 /bin/bash -ec "$1"; }
          echo 'varve-other:x:1002:1002::/:/bin/sh' >>world/passwd
          as_bob() { user 1002 /bin/bash -ec "$1"; }

          """ + script)
    }

    /// For mounts by users: a device that is open to them, and a place for their programs.
    static let users = """
      mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
      user() { local user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
      # fusermount3 wants a user with an account.
      cp /etc/passwd world/passwd && echo 'varve-test:x:1001:1001::/:/bin/sh' >>world/passwd
      mount --bind world/passwd /etc/passwd

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
        ls -A upper/inner upper/inner/deep
        status_of mount -t fuse.varve "$BASE/upper/inner" "$BASE/second" | sed 's/process [0-9]*/process N/'
        status_of varved "$BASE/upper/inner" "$BASE/second" | sed 's/process [0-9]*/process N/'
        ln -s upper/inner link && mounts link second
        mounts -o upperdir=$BASE/upper/inner word second
        mkdir bound && mount --bind upper/inner bound && mounts bound second
        umount bound && mount --bind upper bound && mounts bound/inner/deep second
        umount bound; ls -A upper/inner
        varve umount mount && mounts upper/inner second
        """)
      #expect(
        said == """
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
          varve mount: BASE/bound: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          varve mount: BASE/bound/inner/deep: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          deep
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
        ls -A upper
        status_of mount -t fuse.varve "$BASE/upper" "$BASE/mount" | sed 's/process [0-9]*/process N/'
        status_of varved "$BASE/upper" "$BASE/mount" | sed 's/process [0-9]*/process N/'
        mkdir bound && mount --bind upper bound && mounts bound mount; umount bound
        varve umount second
        mounts -o fsname=elsewhere upper/inner second; mounts upper mount; varve umount second
        mounts -o upperdir=$BASE/upper/inner word second; mounts upper mount; varve umount second
        mounts upper/inner upper/inner; mounts upper mount; varve umount upper/inner
        mount --bind upper/inner bound && mounts bound second; mounts upper mount
        mounts other mount
        umount mount; varve umount second; mounts upper mount
        """)
      #expect(
        said == """
          inner
          mount.varve: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          varved: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          varve mount: BASE/bound: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/bound is inside it, and mounted already, by process N
          status 32
          status 0
          status 0

          """)
    }

    @Test("A volume whose daemon was killed is in nobody's way, and one that is only read neither")
    func dead() throws {
      let said = try output(
        """
        varve mount upper mount; process=$(daemon mount); kill -9 "$process"; ends "$process"
        mounts upper/inner second
        process=$(daemon second); kill -9 "$process"; ends "$process"
        is_listed upper/inner; umount mount && mounts upper mount; is_listed upper/inner
        umount second && mounts -o ro upper/inner second
        status_of varve remount -o rw second | sed 's/process [0-9]*/process N/'
        varve umount mount && status_of varve remount -o rw second
        mounts upper mount; mounts -o ro upper mount
        ls upper/inner/.varve
        is_listed upper; is_listed upper/inner; varve umount second; is_listed upper/inner
        """)
      #expect(
        said == """
          status 0
          upper/inner is listed
          status 0
          upper/inner is not listed
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
          upper is not listed
          upper/inner is listed
          upper/inner is not listed

          """)
    }

    @Test("A volume that could not become writable is in nobody's way") func failedRemount() throws {
      let said = try output(
        """
        mkdir -m 755 upper/inner/.varve; chmod 700 upper/inner/.varve; varve mount -o ro upper/inner second
        chmod 755 upper/inner/.varve; status_of varve remount -o rw second
        mounts upper mount
        """)
      #expect(
        said == """
          varve remount: second: '.varve' in the upper directory is open to others than the mounter; it must be his, with mode 0700
          status 32
          status 0

          """)
    }

    @Test("A volume that is moved while it is mounted is in the way where it is") func moved() throws {
      let said = try output(
        """
        varve mount upper/inner second; mv upper/inner other/moved; mkdir upper/inner
        mounts upper mount && varve umount mount
        mounts other mount
        varve umount second; varve mount other mount; mv other upper/other
        mounts upper/other/moved/deep second; mounts upper second
        """)
      #expect(
        said == """
          status 0
          varve mount: BASE/other: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          varve mount: BASE/upper/other/moved/deep: it is inside the volume BASE/other, which is mounted already, by process N
          status 32
          varve mount: BASE/upper: the volume BASE/other is inside it, and mounted already, by process N
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

    @Test("Volumes in another mount namespace are in the way, and are said to be there") func namespaces()
      throws
    {
      let said = try output(
        """
        mkdir bound
        unshare --mount --propagation private /bin/bash -ec 'mount --bind upper/inner bound; exec sleep 60' &
        other=$!
        until [ "$(cat /proc/$other/comm)" = sleep ]; do sleep 0.01; done
        mounts -N "$other" "$BASE/upper" "$BASE/mount"
        mounts upper second
        mounts upper/inner second
        nsenter --mount --target "$other" varve umount "$BASE/mount"
        mounts upper mount
        mounts -N "$other" "$BASE/bound" "$BASE/second"
        varve umount mount
        mounts -N "$other" "$BASE/bound" "$BASE/second"
        mounts upper mount
        mounts -N "$other" "$BASE/upper" "$BASE/mount"
        nsenter --mount --target "$other" varve umount "$BASE/second"
        kill "$other"
        """)
      #expect(
        said == """
          status 0
          varve mount: BASE/upper: the volume is mounted already, by process N, in another mount namespace
          status 32
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N, in another mount namespace
          status 32
          status 0
          varve mount: BASE/bound: it is inside the volume BASE/upper, which is mounted already, by process N, in another mount namespace
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/bound is inside it, and mounted already, by process N, in another mount namespace
          status 32
          varve mount: BASE/upper: the volume BASE/bound is inside it, and mounted already, by process N
          status 32

          """)
    }

    @Test(
      "A user's volumes are in the way of his own, and root's in everybody's",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func users() throws {
      let said = try output(
        NestedVolumeTests.users + """
          chown -R 1001 upper mount second
          as_ann() { user 1001 /bin/bash -ec "$1"; }
          as_ann 'mounts upper mount; mounts upper/inner second; fusermount3 -u mount; sleep 0.1
            mounts upper/inner second; mounts upper mount'
          fusermount3 -u second
          echo root outside
          rm -r upper/.varve upper/inner/.varve
          varve mount upper mount; as_ann 'mounts upper/inner second'; varve umount mount
          echo root inside
          rm -r upper/.varve
          varve mount upper/inner second; as_ann 'mounts upper mount'; varve umount second
          """)
      #expect(
        said == """
          status 0
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          root outside
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32
          root inside
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32

          """)
    }

    @Test(
      "No user can keep others from mounting: his bookkeeping counts where he rules anyway",
      .enabled(if: Programs.has("fusermount3", "setpriv", "perl"), "needs fusermount3, setpriv and perl"))
    func forged() throws {
      // What a user may make anywhere that is open to him: bookkeeping with a lock, a mount that names any source, a FIFO
      // that keeps whoever opens it.
      let said = try output(
        NestedVolumeTests.users + """
          chmod 1777 . upper && mkdir forged && chown 1001 forged
          claim() {
            user 1001 mkdir -m 700 "$1/.varve"
            setpriv --reuid 1001 --regid 1001 --clear-groups perl -e 'open(my $lock, ">", $ARGV[0]) or die; syswrite($lock, "1\\n");
              my $whole = pack("s s x4 q q i x4", 1, 0, 0, 0, 0); fcntl($lock, 37, $whole) or die;
              open(my $held, ">", "$ARGV[0].held"); sleep 60' "$1/.varve/lock" &
            liars="$liars $!"
            until [ -e "$1/.varve/lock.held" ] || ! kill -0 $!; do sleep 0.01; done
          }
          liars=
          user 1001 varve mount -o "fsname=$BASE/upper/hers" forged forged
          claim .; user 1001 mkdir upper/hers; claim upper/hers
          mounts upper mount; varve umount mount
          mounts upper/inner mount; varve umount mount
          varve mount upper/inner mount; process=$(daemon mount)
          left=$(file_of upper/inner volumes)
          setpriv --reuid 1001 --regid 1001 --clear-groups perl -e 'open(my $left, "<", $ARGV[0]) or die;
            my $whole = pack("s s x4 q q i x4", 0, 0, 0, 0, 0); select undef, undef, undef, 0.01 until fcntl($left, 37, $whole);
            open(my $held, ">", $ARGV[1]); sleep 60' "$left" "$BASE/shared" &
          liars="$liars $!"
          kill -9 "$process"; until [ -e shared ] || ! kill -0 $!; do sleep 0.01; done
          umount mount; mounts upper mount; varve umount mount; mounts upper/inner mount; mounts upper second; varve umount mount
          echo waiting
          chown 1001 upper && kill $liars && wait $liars 2>/dev/null || true
          rm -r upper/.varve; user 1001 mkdir -m 700 upper/.varve && user 1001 mkfifo upper/.varve/lock
          mounts upper/inner mount
          umount forged
          """)
      #expect(
        said == """
          varved: BASE/upper: the volume BASE/upper/hers is inside it, mounted by user 1001, process N; what is locked on one is not on the other
          status 0
          status 0
          varved: BASE/upper: the volume BASE/upper/hers is inside it, mounted by user 1001, process N; what is locked on one is not on the other
          status 0
          status 0
          varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          status 32
          waiting
          status 0

          """)
    }
  }
}
