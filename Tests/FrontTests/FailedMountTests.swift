// What a mount that fails leaves behind: nothing.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Mounts that fail", .timeLimit(.minutes(2))) struct FailedMountTests {
    @Test(
      "What fusermount3 refuses leaves nothing behind that would keep root from mounting",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func refusedToUser() throws {
      let said = try NestedVolumeTests.output(
        NestedVolumeTests.users + """
          echo 'mount_max = 0' >world/fuse.conf; touch /etc/fuse.conf; mount --bind world/fuse.conf /etc/fuse.conf
          chown 1001:1001 upper mount; chown 1003 third second; mkdir -m 777 logs
          user 1001 /bin/bash -ec 'mounts -o audit=$BASE/logs/log upper mount'; ls -A upper logs
          mounts -o audit=$BASE/logs/log upper mount; varve umount mount; rm -r upper/.varve
          echo 'mount_max = 9' >world/fuse.conf
          user 1001 /bin/bash -ec 'mounts upper mount; echo kept >mount/file; varve chflags uchg mount/file; fusermount3 -u mount'
          echo 'mount_max = 0' >world/fuse.conf; sleep 0.1
          user 1001 /bin/bash -ec 'mounts upper mount'; ls -A upper upper/.varve
          user 1003 /bin/bash -ec 'mounts third second; mounts -f third second'; ls -A third
          """)
      #expect(
        said == """
          varve mount: BASE/mount: cannot be mounted on: fusermount3: too many FUSE filesystems mounted; mount_max=N can be set in /etc/fuse.conf
          status 32
          logs:

          upper:
          inner
          status 0
          status 0
          varve mount: BASE/mount: cannot be mounted on: fusermount3: too many FUSE filesystems mounted; mount_max=N can be set in /etc/fuse.conf
          status 32
          upper:
          .varve
          file
          inner

          upper/.varve:
          lock
          volume
          work
          varve mount: BASE/second: user 1003 has no account, and fusermount3 mounts only for users who have one
          status 32
          varve mount: BASE/second: user 1003 has no account, and fusermount3 mounts only for users who have one
          status 32

          """)
    }

    @Test(
      "No empty log is left where every file has a mode that a log may not have",
      .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func openLog() throws {
      let said = try NestedVolumeTests.output(
        """
        mkdir logs; apart bindfs -p a+rX other logs
        mounts -o audit=$BASE/logs/log upper mount; ls -A other upper; umount logs
        """)
      #expect(
        said == """
          varve mount: BASE/mount: the audit log BASE/logs/log cannot be opened: Operation not permitted (EPERM); a log that is there has to be the mounter's own, with mode 0600 and no second name
          status 32
          other:

          upper:
          inner

          """)
    }

    @Test("What finds no room for its bookkeeping leaves none of it", arguments: [2, 3, 4]) func noRoom(
      inodes: Int
    ) throws {
      let said = try NestedVolumeTests.output(
        """
        mount -t tmpfs -o nr_inodes=\(inodes) tmpfs other; mounts other mount | grep -c ENOSPC; ls -A other
        mount -o remount,nr_inodes=100 other; mounts other mount; varve umount mount; umount other
        """)
      #expect(said == "1\nstatus 0\n")
    }
  }
}
