// What users cannot do to the mounts of others by what they make, lock or mount above and below an upper directory.

import MountSupport
import Testing

extension FrontTests {
  @Suite(
    "Keeping others from mounting", .timeLimit(.minutes(2)),
    .enabled(if: Programs.has("fusermount3", "setpriv", "perl"), "needs fusermount3, setpriv and perl"))
  struct NestedVolumeAbuseTests {
    private func output(_ script: String) throws -> String {
      try NestedVolumeTests.output(
        NestedVolumeTests.users + """
          echo user_allow_other >world/fuse.conf; touch /etc/fuse.conf; mount --bind world/fuse.conf /etc/fuse.conf

          """ + script)
    }

    @Test("Moving the bookkeeping of a mounted volume away does not let it be mounted a second time")
    func movedBookkeeping() throws {
      let said = try NestedVolumeTests.output(
        """
        mounts upper mount; mounts upper second
        mv upper/.varve upper/x; mounts upper second; mounts -f upper second; ls -A upper
        mounts -o ro upper second; varve umount second
        varve umount mount; mounts upper second
        """)
      #expect(
        said == """
          status 0
          varve mount: BASE/upper: the volume is mounted already, by process N, on BASE/mount
          status 32
          varve mount: BASE/upper: the volume is mounted already, on BASE/mount, as the table of mounts says; unmount it first
          status 32
          varve mount: BASE/upper: the volume is mounted already, on BASE/mount, as the table of mounts says; unmount it first
          status 32
          inner
          x
          status 0
          status 0

          """)
    }

    @Test("What is not a file in the bookkeeping keeps no mount waiting") func pipes() throws {
      let said = try NestedVolumeTests.output(
        """
        mkdir -m 0700 upper/.varve; mkfifo upper/.varve/volume; mounts upper mount; mounts -o ro upper mount
        rm upper/.varve/volume; mounts upper mount
        """)
      #expect(
        said == """
          varve mount: BASE/upper: '.varve/volume' is a FIFO, not a regular file; put back what was there, or move it away
          status 32
          varve mount: BASE/upper: '.varve/volume' is a FIFO, not a regular file; put back what was there, or move it away
          status 32
          status 0

          """)
    }

    @Test("A lock that a user holds in a '.varve' of their own does not keep root from mounting") func locks()
      throws
    {
      let said = try output(
        """
        chmod 1777 . upper && mkdir forged && chown 1001 forged
        lock='open(my $lock, "+<", $ARGV[0]) or die; my $whole = pack("s s x4 q q i x4", 1, 0, 0, 0, 0);
          fcntl($lock, 37, $whole) or die; open(my $held, ">", "$ARGV[0].held"); sleep 60'
        claim() {
          user 1001 mkdir -m 700 "$1/.varve"; user 1001 /bin/bash -c "echo 1 >'$1/.varve/lock'"
          setpriv --reuid 1001 --regid 1001 --clear-groups perl -e "$lock" "$1/.varve/lock" &
          liars="$liars $!"
          until [ -e "$1/.varve/lock.held" ] || ! kill -0 $!; do sleep 0.01; done
        }
        user 1001 varve mount -o "fsname=$BASE/upper/hers" forged forged
        liars=; claim .; user 1001 mkdir upper/hers; claim upper/hers
        mounts upper mount; varve umount mount; mounts upper/inner mount; varve umount mount
        echo "root's, in the same way"
        rm -r upper/.varve; install -d -m 700 upper/.varve; printf '1\\ntoken a\\n' >upper/.varve/lock
        perl -e "$lock" "$BASE/upper/.varve/lock" & liars="$liars $!"
        until [ -e upper/.varve/lock.held ]; do sleep 0.01; done
        mounts upper/inner mount
        kill $liars && wait $liars 2>/dev/null || true
        umount forged
        """)
      #expect(
        said == """
          status 0
          status 0
          root's, in the same way
          varve mount: BASE/upper/inner: it is inside the volume BASE/upper, which is mounted already, by process N
          status 32

          """)
    }

    @Test("A user's volume around root's directory, and a FIFO for a lock, keep root from nothing")
    func around()
      throws
    {
      let said = try output(
        """
        chown 1001 upper second; as_ann 'mounts upper second'; mounts upper/inner mount
        as_ann 'fusermount3 -u second'; varve umount mount; sleep 0.1
        rm -r upper/.varve; user 1001 mkdir -m 700 upper/.varve && user 1001 mkfifo upper/.varve/lock
        mounts upper/inner mount
        """)
      #expect(said == "status 0\nstatus 0\nstatus 0\n")
    }

    @Test("What a user has mounted on a '.varve' keeps nobody waiting, whether it is stopped or dead")
    func bookkeeping() throws {
      let said = try output(
        """
        mkdir -m 1777 shared; mkdir shared/roots upper/hers; chown 1001 other upper/hers third
        as_ann 'varve mount upper/hers third 2>/dev/null; mkdir shared/.varve'
        processes=
        for dir in shared upper/hers; do
          as_ann "varve mount -o ro,allow_other other $dir/.varve 2>/dev/null"
          processes="$processes $(daemon $dir/.varve)"
        done
        tries() { mounts "$@"; varve umount "$2" 2>/dev/null || true; }
        kill -STOP $processes
        # The kernel forgets by then what it knew of them.
        sleep 1.5
        tries shared/roots mount; tries upper mount; tries shared mount
        kill -KILL $processes; for process in $processes; do ends "$process"; done
        tries shared/roots mount; tries upper mount; tries shared mount
        umount -l shared/.varve upper/hers/.varve third
        """)
      let answers = """
        status 0
        status 0
        varve mount: BASE/shared: '.varve' in the upper directory is a mount point
        status 32

        """
      #expect(said == answers + answers)
    }

    @Test("Nor does what a user has mounted on a directory above, when a volume becomes writable")
    func above()
      throws
    {
      let said = try output(
        """
        mkdir -p hers/roots; chown 1001 hers other; varve mount -o ro hers/roots mount
        as_ann 'varve mount -o ro,allow_other other hers 2>/dev/null'; process=$(daemon hers)
        kill -STOP $process; sleep 1.5
        status_of timeout -s KILL 20 varve remount -o rw mount
        kill -KILL $process; ends "$process"; umount -l hers
        """)
      #expect(said == "status 0\n")
    }
  }
}
