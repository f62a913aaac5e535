import MountSupport
import Testing

extension MountTests.UserMountTests {
  @Test(
    "Files are encrypted and locked without root", .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func encrypted() throws {
    let result = try inOwnWorld(
      """
      as_user '
      mkdir keys; varve key create keys/key
      varve mount upper mount
      varve key slot add mount keys/key
      varve unlock mount keys/key
      mkdir mount/inner; setfattr -n system.varve.class -v complete mount/inner
      echo "the canary sings" > mount/inner/file
      if grep -q canary upper/inner/file; then exit 10; fi
      varve lock mount
      if cat mount/inner/file 2> refusal; then exit 11; fi
      grep -q "Required key not available" refusal
      test "$(stat -c %s mount/inner/file)" = 17
      varve unlock mount keys/key
      grep -q canary mount/inner/file
      varve umount mount
      varve mount -o keyfile=keys/key upper mount
      echo "and again" >> mount/inner/file
      test "$(cat mount/inner/file)" = "$(printf "the canary sings\\\\nand again")"
      varve umount mount
      '
      """)
    #expect(result.exit == 0, "\(result.output)")
  }

  @Test(
    "Without enough locked memory an unlock says so, and changes nothing",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func lockedMemory() throws {
    let result = try inOwnWorld(
      """
      as_user '
      mkdir keys; varve key create keys/key
      varve mount upper mount
      varve key slot add mount keys/key
      varve umount mount
      (ulimit -l 1024; varve mount upper mount)
      if varve unlock mount keys/key 2> refusal; then exit 10; fi
      grep -q "need 2048 KiB of locked memory, and the limit is 1024 KiB" refusal
      if setfattr -n system.varve.class -v complete mount 2> /dev/null; then exit 11; fi
      echo plain > mount/file
      test "$(cat mount/file)" = plain
      if varve unlock mount keys/key 2> /dev/null; then exit 12; fi
      varve umount mount
      varve mount upper mount
      varve unlock mount keys/key
      setfattr -n system.varve.class -v complete mount
      varve umount mount
      '
      """)
    #expect(result.exit == 0, "\(result.output)")
  }
}
