// Views that hide something, that a remount would change, or that are left after their volume.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Views in the way", .timeLimit(.minutes(2))) struct ViewsInTheWayTests {
    /// A volume with a view in French.
    private static let scene = #"""
      mkdir fr
      trap 'umount -l "$BASE/fr" 2>/dev/null || true; cleanup' EXIT
      varve mount upper mount
      view() { status_of mount -t fuse.varve -o "view=$1" "$BASE/upper" "$BASE/$2"; }
      view display,lang=fr fr

      """#

    @Test("Another view is refused by a remount, and over a view or a volume") func refused() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          for option in lang=de view=all ext=never; do status_of mount -o "remount,$option" "$BASE/fr"; done
          status_of varve remount -o lang=de fr
          status_of mount -o remount,view=display,lang=fr,noexec "$BASE/fr"
          view display,lang=de fr
          view display,lang=fr fr
          view display,lang=fr mount
          status_of varve mount other fr
          findmnt -rno TARGET,VFS-OPTIONS | grep "^$BASE/[mf]"
          varve umount mount
          """#)
      func unchanged(_ name: String) -> String {
        "BASE/fr: it shows the view fr, and a remount cannot change that; unmount it (umount BASE/fr) and mount the "
          + "view \(name) anew\nstatus 32"
      }
      #expect(
        output == """
          status 0
          mount.varve: \(unchanged("de"))
          mount.varve: \(unchanged("fr,all"))
          mount.varve: \(unchanged("fr,ext=never"))
          varve remount: \(unchanged("de"))
          status 0
          mount.varve: BASE/fr: the mount point shows the view fr already; unmount that first: umount BASE/fr
          status 32
          status 0
          mount.varve: BASE/mount: the mount point shows a Varve volume already; mount the view on another directory
          status 32
          varve mount: BASE/fr: the mount point shows a Varve volume already; unmount that one first
          status 32
          BASE/mount rw,nosuid,nodev,relatime
          BASE/fr rw,nosuid,nodev,noexec,relatime

          """)
    }

    @Test("Views that umount(8) has left are named, with what to type") func left() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          umount "$BASE/mount"
          status_of varve umount mount
          status_of varve mount upper mount | sed 's/process [0-9]*/process N/'
          status_of varve umount fr
          status_of varve umount mount
          varve mount upper mount && varve umount mount
          """#)
      let left =
        "views of BASE/upper are still mounted and keep its daemon running; unmount them: umount BASE/fr"
      #expect(
        output == """
          status 0
          varve umount: mount: not a mount point; \(left)
          status 1
          varve mount: BASE/upper: the volume is mounted already, by process N; \(left)
          status 32
          status 0
          varve umount: mount: not a mount point; 'varve status' lists the volumes
          status 1

          """)
    }
  }
}
