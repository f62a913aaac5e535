import MountSupport
import Testing

extension MountTests.UserMountTests {
  /// A mounted volume, unlocked, with a directory of class `complete`.
  private static let unlocked = """
    mkdir keys; varve key create keys/key
    varve mount upper mount
    varve key slot add mount keys/key
    varve unlock mount keys/key
    mkdir mount/inner; setfattr -n system.varve.class -v complete mount/inner
    """

  @Test(
    "Files are encrypted and locked without root", .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func encrypted() throws {
    let result = try inOwnWorld(
      """
      as_user '
      \(Self.unlocked)
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
    "Without root, too, whoever has an encrypted file open goes on when its mode forbids it",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func modeTakenAway() throws {
    let result = try inOwnWorld(
      """
      as_user '
      \(Self.unlocked)
      echo one > mount/inner/file
      varve umount mount
      varve mount -o keyfile=keys/key upper mount
      exec 3< mount/inner/file
      exec 4>> mount/inner/file
      chmod 0444 mount/inner/file
      echo two >&4
      exec 3<&- 4>&-
      test "$(cat mount/inner/file)" = "$(printf "one\\\\ntwo")"
      varve umount mount
      '
      """)
    #expect(result.exit == 0, "\(result.output)")
  }

  @Test(
    "Without root a file with a capability is not written anew, and the refusal names the capability",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func capabilities() throws {
    let result = try inOwnWorld(
      """
      as_user '
      \(Self.unlocked)
      for name in inner/one inner/two plain; do head -c 20000 /dev/zero > mount/$name; done
      '
      for name in inner/one inner/two plain; do
        setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 upper/$name
      done
      as_user '
      cmp -n 20000 mount/inner/one /dev/zero
      for words in "protect until-first-unlock mount/inner/one" "protect none mount/inner/one" \\
        "protect complete mount/plain" "compress mount/plain"; do
        if varve $words 2> refusal; then exit 10; fi
        grep -q "has a capability.*(EPERM).*setcap -r" refusal || { cat refusal; exit 11; }
      done
      if setfattr -n system.varve.class -v until-first-unlock mount/inner/one 2> refusal; then exit 12; fi
      grep -q "Operation not permitted" refusal
      test "$(getfattr --only-values -n system.varve.class mount/inner/one 2> /dev/null)" = complete
      cmp -n 20000 mount/plain /dev/zero
      '
      for name in inner/one plain; do getfattr -n security.capability upper/$name; done
      as_user 'echo more >> mount/inner/two'
      if getfattr -n security.capability upper/inner/two; then exit 13; fi
      setfattr -x security.capability upper/inner/one
      setfattr -x security.capability upper/plain
      as_user '
      varve protect until-first-unlock mount/inner/one
      varve protect none mount/inner/one
      varve protect complete mount/plain
      cmp -n 20000 mount/plain /dev/zero
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
