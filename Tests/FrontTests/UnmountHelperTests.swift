import Foundation
import Glibc
import MountSupport
import Testing

extension FrontTests {
  /// umount(8) comes back when a volume can be mounted again; and where it came back before that, the next mount waits.
  @Suite("Unmounting, and mounting again at once", .timeLimit(.minutes(3))) struct UnmountHelperTests {
    private func output(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(UnmountHelperTests.prelude + script)
    }

    private static let prelude = """
      daemon() { grep -o '"pid":[0-9]*' "$1/.varve/status" | tr -dc 0-9; }
      runs() { case $(cut -d')' -f2 "/proc/$1/stat" 2>/dev/null) in '' | ' Z'*) echo ended ;; *) echo runs ;; esac; }
      # Milliseconds.
      took() { local start=$(date +%s%N); "$@"; echo $((($(date +%s%N) - start) / 1000000)) >took; }

      """

    @Test("umount returns when its daemon has ended, so that a volume is mounted again at once") func again() throws {
      #expect(
        try output(
          """
          head -c 3000000 /dev/zero >upper/file
          for i in 1 2 3 4 5 6 7 8; do
            mount -t fuse.varve "$BASE/upper" "$BASE/mount"
            number=$(daemon mount); cat mount/file >mount/copy; umount "$BASE/mount"; runs $number
          done | uniq -c | tr -s ' '
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount); cd mount
          status_of umount "$BASE/mount" | sed 's/umount: //'; cd ..; runs $number
          umount -v "$BASE/mount"; runs $number
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; umount -l "$BASE/mount"; findmnt "$BASE/mount" || echo gone
          status_of umount.fuse.varve -v
          """) == """
           8 ended
          BASE/mount: target is busy.
          status 32
          runs
          umount: BASE/mount unmounted
          ended
          gone
          umount.fuse.varve: DIR is missing
          usage: umount.fuse.varve DIR [-flnrv] [-N NAMESPACE]
          status 1

          """)
    }

    @Test("umount waits neither for views, nor for other namespaces, nor for a daemon that does not answer or is gone")
    func others() throws {
      #expect(
        try output(
          """
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount)
          mount -t fuse.varve -o view=display,lang=fr "$BASE/upper" "$BASE/second"
          took umount "$BASE/mount"; [ $(cat took) -lt 5000 ] || echo slow; runs $number; umount "$BASE/second"; runs $number
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount)
          unshare --mount --propagation private sleep 60 & other=$!
          until grep -q sleep /proc/$other/comm; do sleep 0.01; done
          took umount "$BASE/mount" 2>said; [ $(cat took) -lt 10000 ] || echo slow
          grep -c 'in another mount namespace' said; kill $other; wait $other || true
          while [ -e /proc/$number/exe ]; do sleep 0.01; done
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount)
          kill -STOP $number; took umount -c "$BASE/mount"; [ $(cat took) -lt 10000 ] || echo slow; kill -CONT $number
          while [ -e /proc/$number/exe ]; do sleep 0.01; done
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; number=$(daemon mount)
          kill -KILL $number; while [ -e /proc/$number/exe ]; do sleep 0.01; done
          umount "$BASE/mount"; findmnt "$BASE/mount" || echo gone
          """) == """
          runs
          ended
          1
          gone

          """)
    }
  }
}
