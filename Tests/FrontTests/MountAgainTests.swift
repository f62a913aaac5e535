import Foundation
import Glibc
import MountSupport
import Testing

extension FrontTests {
  /// umount(8) comes back before the daemon has ended; the next mount waits for that.
  @Suite("Unmounting, and mounting again at once", .timeLimit(.minutes(3))) struct MountAgainTests {
    private func output(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(MountAgainTests.prelude + script)
    }

    private static let prelude = """
      daemon() { grep -o '"pid":[0-9]*' "$1/.varve/status" | tr -dc 0-9; }
      # Milliseconds.
      took() { local start=$(date +%s%N); "$@"; echo $((($(date +%s%N) - start) / 1000000)) >took; }

      """

    @Test("A mount waits for a daemon that is on its way out, as upper and as lower, and for no other")
    func leaving()
      throws
    {
      let said = try output(
        """
        left() { # Unmounted, and its daemon has not noticed.
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount)
          kill -STOP $number; umount -i -c "$BASE/mount"; (sleep 0.7; kill -CONT $number) &
        }
        left; varve mount "$BASE/upper" "$BASE/mount"; findmnt -no SOURCE "$BASE/mount"; varve umount "$BASE/mount"
        left; varve mount -o "lower=$BASE/upper" "$BASE/other" "$BASE/mount"; findmnt -no SOURCE "$BASE/mount"
        varve umount "$BASE/mount"
        left; mount -f -t fuse.varve "$BASE/upper" "$BASE/mount" && echo could be mounted
        # One that never ends is named.
        mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount); kill -STOP $number
        umount -i -c "$BASE/mount"
        took status_of varve mount "$BASE/upper" "$BASE/mount" | sed "s/process $number,.*/process N/"
        [ $(cat took) -ge 2900 ] || echo did not wait; kill -CONT $number
        varve mount "$BASE/upper" "$BASE/mount"
        # While it is mounted nobody waits.
        took status_of varve mount "$BASE/upper" "$BASE/second" | sed 's/process [0-9]*/process N/'
        [ $(cat took) -lt 2500 ] || echo waited
        """)
      #expect(
        said == """
          BASE/upper
          BASE/other
          could be mounted
          varve mount: BASE/upper: the volume is mounted already, by process N
          status 32
          varve mount: BASE/upper: the volume is mounted already, by process N, on BASE/mount
          status 32

          """)
    }

    @Test("The mount in the way is named, and not one for reading beside it, whichever came first")
    func beside() throws {
      let said = try output(
        """
        mkdir third; again() { status_of varve mount upper third | sed 's/process [0-9]*/process N/'; }
        varve mount -o ro upper second; varve mount upper mount; again; varve umount mount; varve umount second
        varve mount upper mount; varve mount -o ro upper second; again
        # Without an answer about the process it is the one that is mounted for writing.
        number=$(daemon mount); kill -STOP $number; again; kill -CONT $number
        varve umount second; varve umount mount
        """)
      let line = """
        varve mount: BASE/upper: the volume is mounted already, by process N, on BASE/mount
        status 32

        """
      #expect(said == line + line + line)
    }
  }
}
