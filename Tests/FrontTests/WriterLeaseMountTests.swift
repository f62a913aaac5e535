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
        varve why write mount/first | grep -o "the lock for writing.* why" | sort -u
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
          the lock for writing is not confirmed; 'varve status' says why
          1
          refused
          second
          ended
          first
          open
          second

          """)
    }

    @Test("Who reads elsewhere sees changes: content, names, lists and closed directories")
    func reader() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        holds() { [ "$(cat "$1")" = "$2" ]; }
        no() { ! "$@"; }
        flagged() { varve ls -lO "$1" | grep -q uchg; }
        seen() {
          local what=$1
          shift
          for attempt in $(seq 500); do
            if "$@" 2>/dev/null; then echo "$what"; return; fi
            sleep 0.02
          done
          echo "$what: never"
        }
        varve mount "$BASE/upper" "$BASE/mount"
        varve mount -o ro,cache=shared "$BASE/upper" "$BASE/second"
        echo one >mount/file
        mkdir -m 755 mount/directory && echo x >mount/directory/inner
        seen "a file" holds second/file one
        seen "a file below" as_user 'cat second/directory/inner >/dev/null'
        echo two >mount/file && seen content holds second/file two
        touch mount/new && seen "a new name" test -e second/new
        rm mount/new && seen "a name that is gone" no test -e second/new
        varve chmod +a 'user:65534 deny read' mount/file && seen "an entry" no as_user 'cat second/file >/dev/null'
        chmod 700 mount/directory && seen "a closed directory" no as_user 'cat second/directory/inner >/dev/null'
        varve chflags uchg mount/file && seen "a flag" flagged second/file
        touch second/own 2>&1 | sed 's/.*: //'
        varve umount "$BASE/mount"
        cat second/file
        varve mount "$BASE/upper" "$BASE/mount" && varve umount "$BASE/mount"
        varve umount "$BASE/second"
        """)
      #expect(
        output == """
          a file
          a file below
          content
          a new name
          a name that is gone
          an entry
          a closed directory
          a flag
          Read-only file system
          two

          """)
    }
  }
}
