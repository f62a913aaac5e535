// What administrators are told of the lock for writing where it can get lost, and what the lock file says afterwards.

import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("The lock of a store", .timeLimit(.minutes(2))) struct WriterLeaseLogTests {
    @Test("The log tells when the lock is doubted, confirmed and lost, and a remount waits for an answer")
    func log() throws {
      let world = try World()
      defer { world.remove() }
      // What answers nothing to the point lies over the lock file: a FIFO has no text at an offset.
      let output = try world.output(
        """
        until_true() { for attempt in $(seq 1500); do if "$@" 2>/dev/null; then return; fi; sleep 0.02; done; echo "never: $*"; }
        no() { ! "$@"; }
        writes() { sh -c 'echo more >>mount/file' 2>/dev/null; }
        mkfifo world/wrong
        varve mount --foreground -o no_local "$BASE/upper" "$BASE/mount" 2>world/lines &
        until_true test -e mount/.varve/status
        writes
        mount --bind world/wrong upper/.varve/lock
        until_true no writes
        until_true grep -q 'not confirmed' world/lines
        varve status mount | grep -o 'lock: .*' | sed 's/: */: /; s/(E[A-Z]*)/(E...)/; s/confirmed: [^;]*;/confirmed: ...;/'
        umount upper/.varve/lock
        until_true writes
        varve status mount | grep -o 'lock: .*' | sed 's/: */: /'
        varve remount -o ro mount
        no writes && varve remount -o rw mount
        writes && rm upper/.varve/lock
        until_true no writes
        until_true grep -q 'is lost' world/lines
        varve umount mount
        wait
        grep -v 'changed the options' world/lines | sed 's/confirmed: [^;]*;/confirmed: ...;/'
        """)
      #expect(
        output == """
          lock: not confirmed: ...; nothing is changed until it is
          lock: held
          <3>varved: the writer's lock is not confirmed: ...; nothing is changed until it is
          <5>varved: the writer's lock is confirmed again; changes are allowed
          <3>varved: the writer's lock is lost: the lock file was removed; nothing is changed any more, unmount and mount again

          """)
    }

    @Test("A remount for writing is refused where the lock cannot be kept, and succeeds when it can")
    func remount() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        varve mount -o no_local "$BASE/upper" "$BASE/mount"
        varve umount mount
        mkfifo world/wrong
        varve mount -o ro,no_local "$BASE/upper" "$BASE/mount"
        mount --bind world/wrong upper/.varve/lock
        varve remount -o rw mount 2>/dev/null || echo refused
        touch mount/new 2>&1 | sed 's/.*: //'
        umount upper/.varve/lock
        varve remount -o rw mount && touch mount/new
        varve umount mount
        ls upper
        tail -n 1 upper/.varve/lock
        """)
      #expect(
        output == """
          refused
          Read-only file system
          new
          ended

          """)
    }

    @Test(
      "A daemon that is ended leaves word that the next mount need not wait; a second signal leaves none",
      arguments: [1, 2])
    func signals(_ count: Int) throws {
      let world = try World()
      defer { world.remove() }
      // An open file holds the first one up.
      let output = try world.output(
        """
        varve mount --foreground -o no_local "$BASE/upper" "$BASE/mount" 2>world/lines &
        while ! [ -e mount/.varve/status ]; do sleep 0.01; done
        daemon=$(grep -o '"pid":[0-9]*' mount/.varve/status | tr -dc 0-9)
        [ \(count) = 1 ] || exec 3>mount/open
        kill -TERM $daemon
        while mountpoint -q mount; do sleep 0.01; done
        if [ \(count) = 2 ]; then
          kill -0 $daemon && echo "it still serves"
          echo text >&3
          kill -TERM $daemon
        fi
        wait
        grep -c '^ended$' upper/.varve/lock || true
        cat upper/open 2>/dev/null || true
        """)
      #expect(output == (count == 1 ? "1\n" : "it still serves\n0\ntext\n"))
    }
  }
}
