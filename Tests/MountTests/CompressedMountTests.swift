import Foundation
import Glibc
import MountSupport
import Testing

extension MountTests {
  /// Programs of Tests/Fixtures/compressed, run against real mounts.
  ///
  /// `LONG=1` runs what is random, and what is killed, much longer.
  @Suite(
    "Compressed files on a mount",
    .enabled(if: EncryptedStage.hasPython && Programs.has("zstd"), "needs python3 and zstd"),
    .timeLimit(.minutes(60))
  )
  struct CompressedMountTests {
    private func run(_ program: String, _ words: String...) throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2("\(base)/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(components: "Fixtures", "compressed").path
      let result = try Program.run(
        "/usr/bin/python3", ["\(folder)/\(program).py", base] + words,
        environment: ["VARVE": Program.built("varve"), "PYTHONDONTWRITEBYTECODE": "1"])
      if result.exit != 0 { Issue.record("exit \(result.exit):\n\(result.output.suffix(3000))") }
    }

    @Test(
      "Random operations on a file that is compressed again and again leave the bytes that a model has",
      arguments: ["", "cache=none", "passthrough=off"])
    func mixed(options: String) throws {
      try run("mixed", EncryptedStage.times(3, 100), EncryptedStage.times(120, 1000), options)
    }

    @Test("Killed while files are compressed and expanded, each is old or new, and never half")
    func killed() throws { try run("killed", EncryptedStage.times(8, 500)) }

    @Test("Full disks, sharers, rights, mappings, copies and programs of compressed files")
    func limits() throws { try run("limits") }
  }
}
