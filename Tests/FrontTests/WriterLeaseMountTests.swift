// Two daemons over one directory, in two mount namespaces, where the lock for writing can get lost.

import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("Two writers", .timeLimit(.minutes(2))) struct WriterLeaseMountTests {
    @Test("When the lock is taken away by force the first writer stops before the second one begins")
    func force() throws {
      let world = try World()
      defer { world.remove() }
      // The store is a directory of this machine that is taken for one of another.
      let output = try world.output(
        """
        tried() { if "$@" 2>/dev/null; then echo done; else echo refused; fi; }
        elsewhere() { unshare --mount --propagation private /bin/bash -ec "umount -l '$BASE/mount'; $1"; }
        varve mount -o no_local "$BASE/upper" "$BASE/mount"
        echo first >mount/first
        exec 3>>mount/open
        elsewhere 'varve mount -o no_local "$BASE/upper" "$BASE/second" 2>&1 || true' | sed "s/process [0-9]*.*/process N/"
        mkfifo "$BASE/world/end"
        rm upper/.varve/lock
        elsewhere '
          varve mount -o no_local "$BASE/upper" "$BASE/second" 2>"$BASE/world/waited"
          echo second >"$BASE/second/second"
          read line <"$BASE/world/end"
          varve umount "$BASE/second"' 3>&- &
        other=$!
        # As long as the first one can write there is nothing of the second one.
        while sh -c 'echo more >>mount/first' 2>/dev/null; do sleep 0.05; done
        [ -e upper/second ] && echo "two writers"
        tried sh -c 'echo more >>mount/first'
        tried mkdir mount/new
        tried sh -c 'echo more >&3'
        sort -u mount/first
        varve status "$BASE/mount" |
          sed -n "s/lost: .*; n/lost: ...; n/; s/^ *\\(lock\\|readOnly\\): */\\1: /p"
        for attempt in $(seq 2000); do [ ! -e upper/second ] || break; sleep 0.02; done
        grep -c "waiting 15 s" world/waited
        tried sh -c 'echo more >>mount/first'
        cat upper/second
        exec 3>&-
        varve umount "$BASE/mount"
        echo >"$BASE/world/end"
        wait $other
        tail -n 1 upper/.varve/lock
        varve mount -o no_local "$BASE/upper" "$BASE/mount" && ls mount && varve umount "$BASE/mount"
        """)
      #expect(
        output == """
          varve mount: BASE/upper: the volume is mounted already, by process N
          refused
          refused
          refused
          first
          more
          readOnly: yes
          lock: lost: ...; nothing is changed, unmount and mount again
          1
          refused
          second
          ended
          first
          open
          second

          """)
    }
  }
}
