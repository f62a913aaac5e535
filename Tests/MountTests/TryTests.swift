import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("The demo volume") struct TryTests {
    @Test("make try mounts a volume, and what it says to type does what it says") func typed() throws {
      let base = try TemporaryDirectory.make()
      let demo = base + "/demo"
      defer {
        umount2(demo + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      // Somebody else is to meet what is denied.
      _ = chmod(base, 0o755)
      let root = String(Program.built("varve").dropLast("/.build/release/varve".count))
      let result = try Program.run("/bin/sh", ["scripts/try", demo], in: root)
      try #require(result.exit == 0, "\(result.output)")
      // Twice does no harm.
      let again = try Program.run("/bin/sh", ["scripts/try", demo], in: root)
      #expect(again.exit == 0 && again.output.contains("is mounted already"), "\(again.output)")

      let lines = result.output.split(separator: "\n").filter { $0.hasPrefix("  ") }
      #expect(lines.count > 4)
      let typed = try Program.run(
        "/bin/bash", ["-c", lines.joined(separator: "\n")], in: root, environment: ["LC_ALL": "C"])
      for expected in [
        "rm: cannot remove 'shared/plan.txt'", "group:everyone deny delete_child", "plan.txt",
        "contract.txt: Operation not permitted", "uchg",
      ] {
        #expect(typed.output.contains(expected), "\(expected) in:\n\(typed.output)")
      }
      #expect(typed.exit == 0, "\(typed.output)")
      #expect(access(demo, F_OK) != 0, "the last line takes all of it away")
    }
  }
}
