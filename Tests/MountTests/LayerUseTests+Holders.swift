// Files of a lower that are open, mapped, locked, followed and watched while others change, rename, replace and remove them.

import Foundation
import Glibc
import MountSupport
import Testing

extension MountTests.LayerUseTests {
  @Test(
    "Descriptors, mappings, locks, watches and tail -f of a lower's file go on, whatever is done to it first",
    .enabled(if: Programs.has("python3")),
    arguments: ["", "passthrough=off", "cache=none", "cache=exclusive"])
  func held(options: String) throws {
    let stage = try LayerStage()
    defer { stage.remove() }
    let program = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(components: "Fixtures", "layered", "inuse.py").path
    let said = try stage.shell(
      """
      inuse() { python3 '\(program)' "$PWD" "$@"; }
      inuse make; varve mount -o lower=lower\(options.isEmpty ? "" : "," + options) upper mount
      inuse || echo "exit $?"; varve umount mount; varve check --lower "$PWD/lower" upper
      """)
    #expect(said == "", "\(said)")
  }
}
