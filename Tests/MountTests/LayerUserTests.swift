// A user's own mount over lowers, which the kernel does not seal for them.

import MountSupport
import Testing

extension MountTests.UserMountTests {
  @Test(
    "A user's volume moves no access time of their lower, and reads what others have in it",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func accessTimes() throws {
    let result = try inOwnWorld(
      """
      mkdir lower && mount -t tmpfs -o strictatime,mode=0755,uid=65534,gid=65534 tmpfs lower
      echo of root > lower/foreign
      as_user '
      mkdir lower/d lower/d/e; echo text > lower/d/f; echo more > lower/d/e/g; echo control > lower/control
      times() { stat -c "%n %x" lower lower/d lower/d/e lower/d/f lower/d/e/g; }
      before=$(stat -c %x lower/control); sleep 0.05; cat lower/control; test "$before" != "$(stat -c %x lower/control)"
      times > before; sleep 0.05
      varve mount -o lower=lower upper mount
      ls -lR mount; cat mount/d/f mount/d/e/g; grep -r text mount
      test "$(cat mount/foreign)" = "of root"
      echo changed >> mount/d/f; chmod 600 mount/d/e/g; mv mount/d mount/moved
      test "$(cat mount/moved/f)" = "$(printf "text\\\\nchanged")"
      varve umount mount
      times | diff before -
      '
      """)
    #expect(result.exit == 0, "\(result.output)")
  }
}
