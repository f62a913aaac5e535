// What is said while a mount waits: for a former holder of the lock, or for a store that does not answer.

import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("Waiting for a store", .timeLimit(.minutes(2))) struct WriterWaitTests {
    @Test("A mount says at once that it waits for a former holder, and a signal ends it")
    func signal() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        varve mount -o no_local "$BASE/upper" "$BASE/mount"
        kill -KILL $(varve status --json "$BASE/mount" | sed -n 's/^ *"pid": \\([0-9]*\\).*/\\1/p')
        umount -l "$BASE/mount"
        : >said
        varve mount -o no_local "$BASE/upper" "$BASE/mount" 2>said & tool=$!
        SECONDS=0
        until grep -q "waiting 15 s" said || [ $SECONDS -gt 12 ]; do sleep 0.05; done
        [ $SECONDS -lt 10 ] && echo told
        pkill -TERM -f "ready-fd.*$BASE/mount"
        status=0; wait $tool || status=$?
        echo $status; [ $SECONDS -lt 13 ] && echo ended
        tail -n 1 said | sed "s|$BASE|BASE|"
        tail -n 1 upper/.varve/lock
        """)
      #expect(
        output == """
          told
          32
          ended
          varve mount: BASE/upper: it was asked to stop while it waited
          waits

          """)
    }

    @Test(
      "While its store does not answer a mount tells so of itself",
      .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func hungStore() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        trap 'kill -CONT ${bindfs-} 2>/dev/null || true; cleanup; umount -l "$BASE/store" 2>/dev/null || true' EXIT
        mkdir store; apart bindfs -o attr_timeout=0,entry_timeout=0 upper store
        varve mount "$BASE/store" "$BASE/mount"; echo text >mount/file
        varve status "$BASE/mount" | grep -c "lock: *held$"
        bindfs=$(pgrep -f "bindfs .* store$")
        kill -STOP $bindfs
        sleep 13
        varve status "$BASE/mount" 2>&1 | sed "s|$BASE|BASE|"
        varve status | grep "$BASE/mount" | grep -o "it waits for the file system of its upper directory"
        kill -CONT $bindfs
        for attempt in $(seq 200); do varve status "$BASE/mount" | grep -q "lock: *held$" && break; sleep 0.1; done
        echo more >>mount/file; cat mount/file
        varve umount "$BASE/mount"; umount store
        """)
      #expect(
        output == """
          1
          varve status: BASE/mount: it waits for the file system of its upper directory, and goes on when that does; \
          the lock for writing: not confirmed: the store does not answer; nothing is changed until it is
          it waits for the file system of its upper directory
          text
          more

          """)
    }
  }
}
