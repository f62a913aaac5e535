// What is known of the volumes that are mounted, and by whom.

import MountSupport
import Testing

extension FrontTests {
  @Suite(
    "Knowing of other volumes", .timeLimit(.minutes(2)),
    .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
  struct NeighbourTests {
    @Test("Nobody learns from what root has written down where a volume is") func closed() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir -p closed/name-of-a-secret && chmod 700 closed
        varve mount -o fsname=hidden closed/name-of-a-secret mount
        is_listed closed/name-of-a-secret
        public=$(file_of closed/name-of-a-secret volumes)
        as_ann "cat '$public' >/dev/null && echo numbers can be read"
        as_ann 'ls /run/varve/places 2>&1 || true; grep -r secret /run/varve 2>/dev/null || echo and no names'
        grep -l secret "$(file_of closed/name-of-a-secret)" >/dev/null && echo "root's are complete"
        varve umount mount; [ -e "$public" ] || echo gone
        """)
      #expect(
        said == """
          closed/name-of-a-secret is listed
          numbers can be read
          ls: cannot open directory '/run/varve/places': Permission denied
          and no names
          root's are complete
          gone

          """)
    }

    @Test("A user is told of root's volume inside his own by the name he sees, or by none") func inside()
      throws
    {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir -p upper/way/inner upper/closed/inner && chown 1001 upper mount
        varve mount upper/way/inner second
        as_ann 'mounts upper mount'
        mv upper/way upper/renamed; as_ann 'mounts upper mount'
        mv upper/renamed other/away; as_ann 'mounts upper mount; fusermount3 -u mount'; sleep 0.1
        varve umount second; chmod 700 upper/closed; varve mount upper/closed/inner second
        as_ann 'mounts upper mount'
        varve umount second; as_ann 'mounts upper mount; fusermount3 -u mount'; sleep 0.1; rm -r upper/.varve
        mounts upper/closed/inner upper/closed/inner; as_ann 'mounts upper mount'; umount upper/closed/inner
        """)
      #expect(
        said == """
          varve mount: BASE/upper: the volume BASE/upper/way/inner is inside it, and mounted already, by process N
          status 32
          varve mount: BASE/upper: the volume BASE/upper/renamed/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: a volume is inside it, and mounted already, by process N
          status 32
          status 0
          status 0
          varve mount: BASE/upper: a volume is inside it, and mounted already, by process N
          status 32

          """)
    }

    @Test(
      "A user's directory is his: nobody mounts what is in it while he has mounted it, whatever others say")
    func twoUsers() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir upper/bobs upper/more bound spare; chown -R 1001 upper mount
        chown -R 1002 upper/bobs upper/more second other spare
        as_ann 'mounts upper mount'
        as_bob 'mounts upper/bobs second'
        as_ann 'fusermount3 -u mount'; sleep 0.1
        as_bob "mounts -o fsname=$BASE/upper other other; mounts upper/bobs second"
        echo dead
        chown 1001 third; as_ann 'mounts upper mount; mounts upper/inner third' | sed 2,3d
        process=$(user 1001 varve status --json mount | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p')
        kill -9 "$process"; ends "$process"
        as_ann 'mounts upper/inner third; fusermount3 -u third'
        as_bob 'mounts upper/more spare'; as_ann 'fusermount3 -u mount'
        echo root
        mount --bind second bound
        mounts upper mount
        rm -r upper/.varve; mounts upper mount
        umount bound second other
        """)
      #expect(
        said == """
          status 0
          varve mount: BASE/upper/bobs: it is inside the volume BASE/upper, which is mounted already, as the table of mounts says
          status 32
          status 0
          status 0
          dead
          status 0
          status 0
          varve mount: BASE/upper/more: it is inside the volume BASE/upper, which is mounted already, as the table of mounts says
          status 32
          root
          varved: BASE/upper: the volume BASE/upper/bobs is inside it, mounted by user 1002, process N; what is locked on one is not on the other
          varve mount: BASE/upper: '.varve' in the upper directory belongs to varve-test, who alone can mount or check this volume; root can when it is removed, and the flags and lists of this volume no longer count then
          status 32
          varved: BASE/upper: the volume BASE/upper/bobs is inside it, mounted by user 1002, process N; what is locked on one is not on the other
          status 0

          """)
    }

    @Test("What cannot be found out is not taken for allowed") func unknown() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir -m 700 closed; mkdir closed/own; chown 1001 closed/own mount
        as_ann 'status_of varved /proc/self/fd/3 mount' 3<closed/own
        ls -A closed/own
        """)
      #expect(
        said == """
          varved: /proc/self/fd/3: it cannot be found out whether it is inside a mounted volume, or one is inside it: Permission denied (EACCES)
          status 32

          """)
    }

    @Test("Root is told when a volume cannot be written down; users need no place for that") func unwritten()
      throws
    {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mount -t tmpfs -o ro tmpfs /run
        mounts upper mount; mounts -o ro other second; umount second
        varve umount mount; umount /run
        mount -t tmpfs tmpfs /run; mkdir -m 711 /run/varve; mkdir /run/varve/volumes
        mount -t tmpfs -o ro,mode=755 tmpfs /run/varve/volumes
        mounts upper mount; is_listed upper; varve umount mount; umount /run/varve/volumes /run
        chown 1001 other second; as_ann 'XDG_RUNTIME_DIR= mounts other second; fusermount3 -u second'
        """)
      #expect(
        said == """
          varved: BASE/upper: cannot be written down in /run/varve (Read-only file system (EROFS)); a volume that is mounted around it later will not see it
          status 0
          varved: no control socket: there is no place for one
          status 0
          varved: BASE/upper: cannot be written down in /run/varve/volumes (Read-only file system (EROFS)); a user's volume that is mounted around it later will not see it
          status 0
          upper is listed
          status 0

          """)
    }

    @Test("What a dead daemon left is taken away, and nothing of a living one, however many look")
    func sweeping() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        varve mount upper/inner second
        varve mount other mount; process=$(daemon mount)
        living=$(file_of upper/inner); dead=$(file_of other)
        kill -9 "$process"; ends "$process"; is_listed other
        watch() { while [ ! -e stop ]; do [ -e "$living" ] || echo "the living one was hidden"; done; }
        watch & watcher=$!
        for attempt in {1..8}; do mounts -f upper third & looking="$looking $!"; done | sort | uniq -c | sed 's/^ *//'
        touch stop; wait $watcher
        [ -e "$living" ] && echo "the living one stays"; [ -e "$dead" ] || echo "the dead one is gone"
        umount mount; varve umount second
        """)
      #expect(
        said == """
          other is listed
          8 status 32
          8 varve mount: BASE/upper: the volume BASE/upper/inner is inside it, and mounted already, by process N
          the living one stays
          the dead one is gone

          """)
    }
  }
}
