// Lowers that a mount refuses: one line each, nothing made, and the same line by a mount that is only tried.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Complaints about lowers", .timeLimit(.minutes(2))) struct LowerComplaintTests {
    /// What the scripts begin with; `try SOURCE OPTIONS` mounts in each way, and prints what the real mount says.
    private static let prelude = """
      mkdir -p low/inner fine hold; touch file; ln -s gone link; mkfifo pipe; U=$BASE/upper L=$BASE/low
      all() { find upper other low fine hold foreign open broken file pipe -printf '%p %i %m %C@\\n' 2>/dev/null | sort; }
      say() { sed "s,process [0-9]*,process N,; s/^\\(mount\\|varve mount\\|mount.varve\\): //"; }
      try() {
        local real tried before way
        before=$(all); real=$(status_of varve mount -o "$2" "$1" "$BASE/mount" | say)
        [ "$(all)" = "$before" ] || echo "something was made"
        for way in "varve mount -f" "mount -f -t fuse.varve" "mount.varve -f"; do
          case $way in
            mount.varve*) tried=$(status_of mount.varve "$1" "$BASE/mount" -f -o "$2" | say) ;;
            *) tried=$(status_of $way -o "$2" "$1" "$BASE/mount" | say) ;;
          esac
          [ "$tried" = "$real" ] || echo "by $way: $tried"
        done
        [ "$(all)" = "$before" ] || echo "something was made by a trial"
        [ "$(echo "$real" | wc -l)" = 2 ] || echo "more than a line:"
        echo "${real%$'\\n'status*}"; [[ $real == *"status 0" ]] && echo "it was mounted" || true
      }

      """

    private func said(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(LowerComplaintTests.prelude + script)
    }

    @Test("Layers that share a part of a file system are refused, past all bind mounts") func overlap() throws
    {
      let said = try said(
        """
        try $U lower=$U; try $U lower=$L:$L; try $U lower=$L:$L/inner; try $U lower=$L/inner:$L
        mkdir upper/sub; try $U lower=$U/sub; try $L/inner lower=$L
        mkdir bound; mount --bind low/inner bound; try $U lower=$L:$BASE/bound; umount bound
        """)
      #expect(
        said == """
          BASE/upper: this lower directory is the layer BASE/upper; name each directory once
          BASE/low: this lower directory is the layer BASE/low; name each directory once
          BASE/low/inner: this lower directory is inside the layer BASE/low; leave one of the two out, or move one out of the other
          BASE/low: this lower directory holds the layer BASE/low/inner; leave one of the two out, or move one out of the other
          BASE/upper/sub: this lower directory is inside the layer BASE/upper; leave one of the two out, or move one out of the other
          BASE/low: this lower directory holds the layer BASE/low/inner; leave one of the two out, or move one out of the other
          BASE/bound: this lower directory is inside the layer BASE/low; leave one of the two out, or move one out of the other

          """)
    }

    @Test("What is not there, is no directory, or are too many is refused") func words() throws {
      let said = try said(
        """
        try $U lower=$BASE/none; try $U lower=$L:$BASE/none/x; try $U lower=$BASE/link; try $U lower=$BASE/file
        try $U lower=$BASE/pipe; try $U lower=/proc; try $U lower=$L::$BASE/fine; try $U lower=$L:; try $U lower=:$L
        many=; for i in $(seq 65); do mkdir -p many/$i; many=$many:$BASE/many/$i; done; try $U lower=${many#:}
        """)
      #expect(
        said == """
          BASE/none: cannot open this lower directory: No such file or directory (ENOENT); name one that exists; in a path ':' is written '\\:'
          BASE/none/x: cannot open this lower directory: No such file or directory (ENOENT); name one that exists; in a path ':' is written '\\:'
          BASE/link: cannot open this lower directory: No such file or directory (ENOENT); name one that exists; in a path ':' is written '\\:'
          BASE/file: cannot open this lower directory: Not a directory (ENOTDIR); name a directory
          BASE/pipe: cannot open this lower directory: Not a directory (ENOTDIR); name a directory
          /proc: on proc, where the kernel shows itself and no files are kept; name a directory of another file system
          BASE/mount: 'lower': '::' is for layers that only have data, which are not supported; separate directories with single colons
          BASE/mount: 'lower': a directory is empty; separate directories with single colons, as in A:B
          BASE/mount: 'lower': a directory is empty; separate directories with single colons, as in A:B
          BASE/mount: 'lower': 65 directories are more than 64; merge some of them into one

          """)
    }

    @Test("Volumes that are in use, and bookkeeping that could not be believed, are refused") func volumes()
      throws
    {
      let said = try said(
        """
        varve mount other second; mkdir second/d
        try $U lower=$BASE/second; try $U lower=$BASE/second/d; try $U lower=$BASE/other; varve umount second
        mkdir -p foreign/.varve open/.varve broken; chown 1001 foreign/.varve; chmod 700 foreign/.varve; chmod 755 open/.varve
        try $U lower=$BASE/foreign; try $U lower=$BASE/open
        volume() { printf "$1" > broken/.varve/volume; try $U lower=$BASE/broken; }
        mkdir -m 700 broken/.varve; volume 'nonsense\\n'; volume 'varve-volume 2\\n'; volume '\\377'; volume ''
        volume '\\033[2J%050d'
        head -c 70000 /dev/zero > broken/.varve/volume; try $U lower=$BASE/broken
        volume 'varve-volume 1\\nuuid = u\\nxattr = user\\n'
        volume 'varve-volume 1\\nuuid = u\\nxattr = elsewhere\\n'
        volume 'varve-volume 1\\nuuid = u\\nxattr = trusted\\nincompat = 8000\\n'
        rm broken/.varve/volume; mkdir broken/.varve/volume; try $U lower=$BASE/broken; rmdir broken/.varve/volume
        touch broken/f; setfattr -n user.varve.m -v x broken/f; try $U lower=$BASE/broken
        touch hold/.varve; try $U lower=$BASE/hold; rm hold/.varve; ln -s /tmp hold/.varve; try $U lower=$BASE/hold
        varve mount -o lower=$BASE/fine upper mount; touch mount/x; varve umount mount; try $U rw
        """)
      #expect(
        said == """
          BASE/second: on a mounted Varve volume, which hides its lists; give the directories it was mounted from
          BASE/second/d: on a mounted Varve volume, which hides its lists; give the directories it was mounted from
          BASE/other: this lower directory is a volume mounted for writing, by process N; unmount that one first
          BASE/foreign: its '.varve' is not root's own with mode 0700, so its lists could be overlooked: Operation not permitted (EPERM); if root made this volume, give it back with chown and chmod; else name another directory
          BASE/open: its '.varve' is not root's own with mode 0700, so its lists could be overlooked: Operation not permitted (EPERM); if root made this volume, give it back with chown and chmod; else name another directory
          BASE/broken: the volume file begins with 'nonsense', this version reads 'varve-volume 1'; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume file begins with 'varve-volume 2', this version reads 'varve-volume 1'; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume file is not text; this is not a volume of varve; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume file begins with '', this version reads 'varve-volume 1'; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume file begins with '?[2J000000000000000000000000000000000000…', this version reads 'varve-volume 1'; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume file is longer than any that varve writes; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: this lower directory is a user's volume, whose lists root does not read; let that user mount over it, or name another directory
          BASE/broken: the volume keeps its records in an unknown place 'elsewhere'; put back '.varve/volume' as it was, or use a newer varve
          BASE/broken: the volume uses features this version does not know; it needs a newer varve
          BASE/broken: '.varve/volume' is a directory, not a regular file; put back what was there, or move it away
          BASE/broken: '.varve/volume' is missing, and 'f' has a record in attributes user.*, which would not count; put that file back, which says where the records are, or remove the attributes user.varve.*
          BASE/hold: its '.varve' is not a directory, so its lists could be overlooked: Not a directory (ENOTDIR); move it away, or put back what was there
          BASE/hold: its '.varve' is not a directory, so its lists could be overlooked: Not a directory (ENOTDIR); move it away, or put back what was there
          BASE/upper: the volume has layers below it; name them with 'lower=', or write 'lower=' with nothing behind it to mount without them; the last time it was mounted with 'lower=BASE/fine'

          """)
    }

    @Test("That the lowers are others than the last time is told by a mount that is only tried as well")
    func others() throws {
      let said = try said(
        """
        varve mount -o lower=$BASE/fine upper mount; varve umount mount
        told() { "$@" 2>&1 | sed -n 's/^varved: mounted over other/other/p'; }
        for way in ro,lower=$L lower=$L ro lower=; do
          tried=$(told varve mount -f -o $way upper mount)
          real=$(told varve mount -o $way upper mount); varve umount mount
          [ "$tried" = "$real" ] && echo "$way: $real" || echo "$way: '$tried' is not '$real'"
        done
        told varve mount -f -o lower=$L upper mount; told varve mount -f -o lower= upper mount
        """)
      #expect(
        said == """
          ro,lower=BASE/low: other lowers than the last time, which were 'lower=BASE/fine'
          lower=BASE/low: other lowers than the last time, which were 'lower=BASE/fine'
          ro: other lowers than the last time, which were 'lower=BASE/low'
          lower=: other lowers than the last time, which were 'lower=BASE/low'
          other lowers than the last time, which were 'lower='

          """)
    }

    @Test(
      "A user is told what is wrong with a lower that is closed to them",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func closed() throws {
      let said = try said(
        """
        mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse
        mkdir -m 700 closed; mkdir -m 711 unlisted; mkdir mine; chown 65534 mine mount
        for lower in closed unlisted; do for way in '' -f; do
          status_of as_user "varve mount $way -o lower=$lower mine mount"
        done; done
        ls -A mine
        """)
      let closed = """
        varve mount: closed: cannot open this lower directory: Permission denied (EACCES); the user who mounts needs the rights to read and to search it
        status 32

        """
      let unlisted = closed.replacing("mount: closed", with: "mount: unlisted")
      #expect(said == closed + closed + unlisted + unlisted)
    }

    @Test(
      "On a user's mount, where a lower shows what is mounted in it, the mount point may not be inside it",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func mountPointInside() throws {
      let said = try said(
        """
        mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse
        mkdir mine; echo lower > low/file; chown -R 65534 mine low
        for way in '' -f; do status_of as_user "varve mount $way -o lower=low mine low/inner"; done
        ls -A mine
        as_user "varve mount -o lower=low mine low && cat low/file && echo more >> low/file; cat low/file; varve umount low"
        cat low/file
        varve mount -o lower=low upper low/inner; ls low/inner low/inner/inner; varve umount low/inner
        """)
      let refused = """
        varve mount: BASE/low/inner: the mount point is inside the layer BASE/low; mount on a directory outside of it
        status 32

        """
      #expect(
        said == refused + refused
          + "lower\nlower\nmore\nlower\nlow/inner:\nfile\ninner\n\nlow/inner/inner:\n")
    }

    @Test(
      "An upper on a file system that lacks what layers need is refused by its name, and nothing is made",
      .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func unfitUpper() throws {
      let said = try said(
        """
        mkdir -p under store; apart bindfs -o attr_timeout=0,entry_timeout=0 under store; mkdir store/up
        try $BASE/store/up lower=$L; ls -A store/up; varve mount store/up mount; touch mount/f; varve umount mount; try $BASE/store/up lower=$L
        varve mount -o ro,lower=$L store/up mount; ls mount; varve umount mount; umount store
        """)
      let words =
        "BASE/store/up: the file system of the upper directory lacks what layers need: files without a name (O_TMPFILE); "
        + "take an upper directory on another file system, such as ext4, xfs, btrfs or tmpfs\n"
      #expect(said == words + words + "f\ninner\n")
    }
  }
}
