// File systems of users that lie on the way to other volumes: they need not answer, and nobody waits for them.

import MountSupport
import Testing

extension FrontTests {
  @Suite(
    "What others have mounted on the way", .timeLimit(.minutes(2)),
    .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
  struct UnansweringNeighbourTests {
    @Test("What a user has mounted on a '.varve' stops nobody, whether it is stopped or dead")
    func bookkeeping() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        echo user_allow_other >world/fuse.conf; touch /etc/fuse.conf; mount --bind world/fuse.conf /etc/fuse.conf
        mkdir -m 1777 shared; mkdir shared/roots upper/hers; chown 1001 other upper/hers third
        as_ann 'varve mount upper/hers third 2>/dev/null; mkdir shared/.varve'
        processes=
        for place in shared upper/hers; do
          as_ann "varve mount -o ro,allow_other other $place/.varve 2>/dev/null"
          processes="$processes $(daemon $place/.varve)"
        done
        tries() { status_of timeout -s KILL 20 varve mount "$@"; varve umount "$2" 2>/dev/null || true; }
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

    @Test("A volume that has gone is gone, whoever has mounted something beside the place where it was")
    func siblings() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir -p upper/way/inner upper/beside away; chown 1001 upper mount; chown 1002 upper/beside other
        varve mount upper/way/inner second; mv upper/way away
        as_bob 'mounts other upper/beside'
        as_ann 'mounts upper mount; fusermount3 -u mount'; sleep 0.1
        mv away/way upper; as_ann 'mounts upper mount'
        umount upper/beside
        """)
      #expect(
        said == """
          status 0
          status 0
          varve mount: BASE/upper: the volume BASE/upper/way/inner is inside it, and mounted already, by process N
          status 32

          """)
    }

    @Test("A user who moves root's volume inside his own directory hides it from himself, and not from root")
    func movedWithin() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        mkdir -p upper/way/inner upper/down; chown 1001 upper upper/way upper/down mount
        varve mount upper/way/inner second
        as_ann 'mounts upper mount; mv upper/way upper/down/way; mounts upper mount; fusermount3 -u mount'
        sleep 0.1; rm -r upper/.varve; mounts upper mount
        """)
      #expect(
        said == """
          varve mount: BASE/upper: the volume BASE/upper/way/inner is inside it, and mounted already, by process N
          status 32
          status 0
          varve mount: BASE/upper: the volume BASE/upper/way/inner is inside it, and mounted already, by process N
          status 32

          """)
    }

    @Test("A volume is found however deep it is below") func deep() throws {
      let said = try NestedVolumeTests.outputOfUsers(
        """
        deep=upper/$(printf 'd/%.0s' {1..1200})inner; mkdir -p "$deep"; chown 1001 upper mount
        varve mount "$deep" second
        as_ann 'mounts upper mount' | sed 's,/d/.*d/,/.../,'
        """)
      #expect(
        said == """
          varve mount: BASE/upper: the volume BASE/upper/.../inner is inside it, and mounted already, by process N
          status 32

          """)
    }
  }
}
