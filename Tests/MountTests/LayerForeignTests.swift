// Lowers on file systems that cannot say which they are: those of programs (FUSE), and NFS, have no identifier that lasts.

import Glibc
import MountSupport
import Testing

extension MountTests.LayerMountTests {
  @Test(
    "A file with several names in a lower on FUSE is read and removed, and not changed; others are changed",
    .enabled(if: Programs.has("bindfs"), "needs bindfs"))
  func onFuse() throws {
    let stage = try LayerStage()
    defer {
      umount2(stage.base + "/mount", CInt(MNT_DETACH))
      umount2(stage.base + "/lower", CInt(MNT_DETACH))
      stage.remove()
    }
    try stage.shell(
      """
      mkdir lower2/d; echo one > lower2/a; ln lower2/a lower2/b; echo solo > lower2/solo; echo x > lower2/d/x; ln lower2/a lower2/d/y
      apart bindfs lower2 lower; varve mount -o lower=lower upper mount
      test "$(stat -c %i mount/a)" = "$(stat -c %i mount/b)"; test "$(cat mount/b)" = one
      refused() { if "$@" 2> said; then exit 1; fi; grep -q "not supported" said; }
      refused sh -c "echo more >> mount/a"; refused mv mount/a mount/c; refused chmod 600 mount/b; refused ln mount/a mount/c
      refused mv mount/d/y mount/d/z; refused ln mount/d/y mount/d/z; refused chmod 600 mount/d/y
      test -z "$(ls upper)"
      rm mount/b; test ! -e mount/b; test "$(cat mount/a)" = one; test "$(stat -c %h mount/a)" = 3; rm mount/d/y
      number=$(stat -c %i mount/solo); echo more >> mount/solo; mv mount/d mount/moved
      test "$(stat -c %i mount/solo)" = $number; test "$(cat mount/moved/x)" = x
      varve umount mount; varve mount -o lower=lower upper mount
      test "$(cat mount/solo)" = "$(printf 'solo\\nmore')"; test "$(cat mount/moved/x)" = x; test ! -e mount/b
      varve umount mount; test "$(cat lower2/solo lower2/a lower2/b)" = "$(printf 'solo\\none\\none')"
      """)
  }
}
