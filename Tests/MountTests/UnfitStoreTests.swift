// Stores in which something would be lost: refused, with nothing left there.

import Glibc
import MountSupport
import Testing

extension MountTests.StoreFallbackTests {
  @Test(
    "A store that shows a linked file as it was is refused, and works where it does not",
    .enabled(if: Programs.has("bindfs"), "needs bindfs"))
  func outdatedLinks() throws {
    let stage = try LayerStage()
    defer {
      umount2(stage.base + "/mount", CInt(MNT_DETACH))
      umount2(stage.base + "/lower", CInt(MNT_DETACH))
      stage.remove()
    }
    try stage.shell(
      """
      refused() { if varve mount lower mount 2> said; then exit 1; fi; grep -q "shows a linked file as it was" said; }
      apart bindfs lower2 lower; refused; test "$(wc -l < said)" = 1; test -z "$(ls -A lower2)"
      echo x > lower2/x; SECONDS=0; refused; test $SECONDS -lt 5; test "$(ls -A lower2)" = x; umount lower
      apart bindfs -o attr_timeout=0,entry_timeout=0 lower2 lower; rm lower2/x; varve mount lower mount
      for i in 1 2 3 4 5; do echo $i >> mount/log; done; varve umount mount; test "$(echo $(cat lower2/log))" = "1 2 3 4 5"
      # It was a volume under other options.
      umount lower; apart bindfs lower2 lower; refused; test "$(tail -n 1 lower2/.varve/lock)" = ended; umount lower
      """)
  }
}
