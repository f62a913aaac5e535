// Who keeps a volume busy: what its user is told who unmounts it, and what root is told.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Busy volumes", .timeLimit(.minutes(2))) struct BusyVolumeTests {
    /// A volume of a user, open to others; `hold DIR` lets a process of the user work there, `holder` is its number.
    private static let scene = #"""
      mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
      echo user_allow_other >world/fuse.conf && mount --bind world/fuse.conf /etc/fuse.conf
      chown 65534:65534 upper mount; mkdir fr de upper/d upper/e; touch upper/d/f
      trap 'umount -l "$BASE/fr" "$BASE/de" "$BASE/mount/d" 2>/dev/null || true; cleanup' EXIT
      export -f status_of
      as_user 'varve mount -o allow_other upper mount'
      arrived() {
        for try in $(seq 500); do
          [ "$(readlink "/proc/$holder/cwd")" != "$(readlink -f "$1")" ] || return 0
          sleep 0.02
        done
        return 9
      }
      hold() {
        setpriv --reuid 65534 --regid 65534 --clear-groups /bin/sh -c 'cd "$1" && exec sleep 60' sh "$1" & holder=$!
        arrived "$1"
      }
      let_go() { kill "$holder"; wait "$holder" 2>/dev/null || true; }
      said() { sed -E 's/process [0-9]+ \([a-z0-9.]+\)/process N/'; }
      umount_as_user() { as_user 'status_of varve umount mount' | said; }

      """#

    @Test(
      "A user is told which of their processes keeps a volume busy, and with what",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func processes() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          hold mount/d; umount_as_user; let_go
          hold mount/.varve/view/fr; umount_as_user; let_go
          (cd mount/e && exec sleep 60) & holder=$!; arrived mount/e
          umount_as_user
          status_of varve umount mount | said
          let_go
          umount_as_user
          """#)
      #expect(
        output == """
          varve umount: mount: busy: process N works in it or has a file open: BASE/mount/d (EBUSY)
          status 1
          varve umount: mount: busy: process N works in it or has a file open: BASE/mount/.varve/view/fr (EBUSY)
          status 1
          varve umount: mount: busy: none of your processes uses it, but one of another user may; as root 'varve umount BASE/mount' names it (EBUSY)
          status 1
          varve umount: mount: busy: process N works in it or has a file open: BASE/mount/e (EBUSY)
          status 1
          status 0

          """)
    }

    @Test(
      "A view that cannot go is named, and whether another is gone, and so is what is mounted in a volume",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func mounts() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          mount --bind mount/.varve/view/fr fr
          hold fr; umount_as_user; let_go
          (cd fr && exec sleep 60) & holder=$!; arrived fr
          umount_as_user; mount --bind mount/.varve/view/de de; umount_as_user; let_go
          umount_as_user; findmnt -rno TARGET | grep -Ec "^$BASE/(mount|fr|de)" || true
          as_user 'varve mount -o allow_other upper mount'
          mount -t tmpfs tmpfs mount/d
          umount_as_user; status_of varve umount mount
          # A process in another mount of the volume is not what keeps this one.
          mount --bind mount/e fr; hold fr; status_of varve umount mount | said; let_go; umount fr
          umount mount/d; umount_as_user
          """#)
      let inner =
        "varve umount: mount: busy: BASE/mount/d is mounted in it; unmount that first: umount BASE/mount/d (EBUSY)"
      #expect(
        output == """
          varve umount: mount: busy: process N works in the view at BASE/fr or has a file open (EBUSY); views of it are mounted, and nothing was unmounted
          status 1
          varve umount: mount: the view at BASE/fr has to be unmounted first: busy: none of your processes uses it, but one of another user may; as root 'varve umount BASE/fr' names it (EBUSY)
          status 1
          varve umount: mount: the view at BASE/fr has to be unmounted first: busy: none of your processes uses it, but one of another user may; as root 'varve umount BASE/fr' names it (EBUSY); 1 other view was unmounted
          status 1
          status 0
          0
          \(inner)
          status 1
          \(inner)
          status 1
          \(inner)
          status 1
          status 0

          """)
    }

    @Test(
      "A process that has a file mapped and not open is found, too",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func mapped() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        head -c 8192 /dev/zero >upper/f; varve mount upper mount
        python3 -c 'if True:
          import mmap, os, time
          fd = os.open("mount/f", os.O_RDONLY)
          kept = mmap.mmap(fd, 8192, prot=mmap.PROT_READ)
          os.closerange(3, 64)
          open("ready", "w").close()
          time.sleep(60)' & holder=$!
        for try in $(seq 500); do ! [ -e ready ] || break; sleep 0.02; done; [ -e ready ]
        status_of varve umount mount | sed -E 's/process [0-9]+ \([a-z0-9.]+\)/process N/'
        kill "$holder"; wait "$holder" 2>/dev/null || true
        varve umount mount
        """#)
      #expect(
        output == """
          varve umount: mount: busy: process N has a file of it mapped: BASE/mount/f (EBUSY)
          status 1

          """)
    }
  }
}
