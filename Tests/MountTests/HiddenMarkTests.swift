// The attributes in which layers, and the kernel's overlayfs, keep what they are to one another: volumes with lowers, volumes that had
// some, and volumes that never did.

import Glibc
import MountSupport
import Testing

extension MountTests.LayerMountTests {
  /// Sets, reads, lists and removes such attributes of an item that has them below, and of one that has none.
  private static let program = """
    import errno, os
    def number(call):
        try: return call()
        except OSError as e: return errno.errorcode[e.errno]
    for name in ['trusted.overlay.opaque', 'trusted.overlay.of-nobody', 'user.overlay.redirect', 'user.overlay.', 'user.overlay', 'user.overlayed', 'trusted.overlaid.x']:
        for path in ['mount/has', 'mount/none']:
            said = [number(lambda: os.getxattr(path, name)), number(lambda: os.setxattr(path, name, b'new')),
                    number(lambda: os.setxattr(path, name, b'new', os.XATTR_REPLACE)), name in os.listxattr(path), number(lambda: os.removexattr(path, name))]
            print(name, path[6:], *[word.decode() if type(word) == bytes else word for word in said])
    """

  @Test(
    "With lowers, and where there were some, attributes of overlayfs are not shown and not changed; without them they are a program's",
    .enabled(if: Programs.has("python3"), "needs python3"), arguments: ["lower=lower", "lower=", "rw"])
  func hiddenMarks(options: String) throws {
    let stage = try LayerStage()
    defer { stage.remove() }
    let said = try stage.shell(
      """
      cat > ask.py <<'END'
      \(Self.program)
      END
      if [ \(options) != rw ]; then varve mount -o lower=lower upper mount; varve umount mount; fi
      : > upper/has; : > upper/none
      for name in trusted.overlay.opaque trusted.overlay.of-nobody user.overlay.redirect user.overlay. user.overlay user.overlayed trusted.overlaid.x; do
        setfattr -n $name -v old upper/has; done
      getfattr -d -m overla upper/has > before
      # It is told that there were other lowers the last time.
      varve mount -o \(options) upper mount 2> warned; python3 ask.py; varve umount mount
      if [ \(options) != rw ]; then getfattr -d -m 'overlay\\.' upper/has | diff <(grep -v 'overlay=\\|overlayed\\|overlaid' before) -; fi
      """)
    func lines(_ name: String, isHidden: Bool) -> [String] {
      isHidden
        ? ["has", "none"].map { "\(name) \($0) ENODATA EPERM EPERM False EPERM" }
        : ["\(name) has old None None True None", "\(name) none ENODATA None None True None"]
    }
    let isHidden = options != "rw"
    let hidden = [
      "trusted.overlay.opaque", "trusted.overlay.of-nobody", "user.overlay.redirect", "user.overlay.",
    ]
    let wanted =
      hidden.flatMap { lines($0, isHidden: isHidden) }
      + ["user.overlay", "user.overlayed", "trusted.overlaid.x"].flatMap { lines($0, isHidden: false) }
    #expect(said.split(separator: "\n").map(String.init) == wanted)
  }

  @Test(
    "The kernel's overlayfs has its lower on a layered volume, and cannot have its upper there",
    .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
  func overlayAbove() throws {
    let stage = try LayerStage()
    defer { stage.remove() }
    let said = try stage.shell(
      """
      mkdir lower/d; echo x > lower/d/x; mkdir outer; varve mount -o lower=lower upper mount; mkdir mount/upper mount/work
      mount -t overlay -o lowerdir=lower2,upperdir=mount/upper,workdir=mount/work overlay kernel 2> refused && echo mounted
      mount -t overlay -o lowerdir=mount,upperdir=lower2,workdir=work overlay kernel
      echo more >> kernel/d/x; cat kernel/d/x mount/d/x; umount kernel
      """)
    #expect(said == "x\nmore\nx\n")
  }
}
