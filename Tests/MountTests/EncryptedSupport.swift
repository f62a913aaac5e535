// Programs of Tests/Fixtures/encrypted, run against real mounts with encrypted directories.

import Foundation
import Glibc
import MountSupport
import Testing

/// A base directory, and programs that mount volumes with encrypted directories below it.
struct EncryptedStage {
  /// The system's own: a launcher of versions lives in somebody's home.
  static let hasPython = access("/usr/bin/python3", X_OK) == 0
  /// What the reader of Tests/Fixtures needs.
  static let hasCryptography =
    (try? Program.run("/usr/bin/python3", ["-c", "import cryptography"]))?.exit == 0
  static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(components: "Fixtures", "encrypted").path

  let base: String

  init(in base: String? = nil) throws {
    self.base = try base ?? TemporaryDirectory.make()
    _ = chmod(self.base, 0o755)
  }

  func remove() {
    umount2("\(base)/mount", CInt(MNT_DETACH))
    TemporaryDirectory.remove(base)
  }

  /// A directory on a small file system of its own, which can be frozen.
  static func diskOfItsOwn() throws -> String {
    let base = try TemporaryDirectory.make()
    try Program.shell(
      "truncate -s 64M \(base).image; mkfs.ext4 -q \(base).image; mount -o loop \(base).image \(base)")
    return base
  }

  static func removeDisk(_ base: String) {
    _ = try? Program.shell("fsfreeze -u \(base)")
    umount2("\(base)/mount", CInt(MNT_DETACH))
    umount2(base, CInt(MNT_DETACH))
    unlink(base + ".image")
    TemporaryDirectory.remove(base)
  }

  /// How often something is done: a few times, or with `LONG=1` many times.
  static func times(_ few: Int, _ many: Int) -> String { String(isLong ? many : few) }

  /// Runs a program, which prints its seed and ends with 0.
  func run(_ program: String, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    let result = try Program.run(
      "/usr/bin/python3", ["\(EncryptedStage.folder)/\(program).py", base] + words,
      environment: ["VARVE": Program.built("varve"), "PYTHONDONTWRITEBYTECODE": "1"])
    if EncryptedStage.isLong || result.exit != 0 { print(result.output) }
    if result.exit != 0 {
      Issue.record("exit \(result.exit):\n\(result.output.suffix(3000))", sourceLocation: sourceLocation)
    }
  }
}
