import Faults
import Foundation
import LinuxFiles
import MountSupport
import Testing

// The daemon killed in the place of each system call that changes something, while a file is compressed, expanded or written to:
// after the next mount it has its old or its new content, whole, and `zstd -d` makes the same of the backing file.

extension FrontTests {
  @Suite(
    "A daemon that is killed at each step of a compression", .timeLimit(.minutes(10)),
    .enabled(if: Machine.canMount && Programs.has("zstd"), "needs root, /dev/fuse and zstd")
  )
  struct CompressedKillTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    /// Whether the file is compressed before, and the shell line that is killed.
    private static let deeds = [
      (false, "form zstd mount/f"), (true, "form none mount/f"),
      (true, "printf NEW | dd of=mount/f bs=1 seek=100000 conv=notrunc status=none"),
      (true, "truncate -s 70000 mount/f"), (true, "truncate -s 0 mount/f"), (true, ": > mount/link"),
    ]

    private static let prelude = """
      form() { setfattr -n system.varve.compression -v $1 $2; }
      stored() { getfattr --only-values -n system.varve.compression mount/f | cut -d ' ' -f 1; }
      # What a program sees, and what anybody makes of the backing file without us.
      look() { stat -c '%h %a %U %s' mount/f; sha1sum < mount/f; cmp mount/f mount/link; \
      if [ $(stored) = zstd ]; then zstd -dcq upper/f; else cat upper/f; fi | cmp - mount/f; }
      \(ScriptShell.settled)
      fresh() { rm -rf upper; mkdir upper; cp content upper/f; ln upper/f upper/link; varve mount upper mount; \
      if [ $1 = true ]; then settled form zstd mount/f; fi; }

      """

    private let scripts = ScriptShell(prelude: CompressedKillTests.prelude)

    @Test("It has its old or its new content, for programs and for zstd -d", arguments: deeds.indices)
    func killed(number: Int) throws {
      let (isCompressed, deed) = CompressedKillTests.deeds[number]
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      // Hardly longer than it needs to be for several frames: each round makes it anew.
      _ = try scripts.must(
        """
        mkdir mount; seq 40000 > content; fresh \(isCompressed); look > old; settled \(deed); look > new; varve umount mount
        """, in: base)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      var (killed, after) = (0, 0)
      while true {
        _ = try scripts.must(
          "fresh \(isCompressed); look | cmp old -; varve umount mount; varve mount upper mount", in: base,
          faults.environment)
        faults.begin(Fault.killing(.changes, after: after))
        _ = try scripts.run(
          "for i in $(seq 50); do \(deed) 2>said; grep -q 'resource busy' said || break; sleep 0.05; done",
          in: base)
        let hits = faults.end()
        umount2(base + "/mount", CInt(MNT_DETACH))
        guard hits > 0 else { break }
        killed += 1
        let seen = try scripts.run(
          """
          settled varve mount upper mount && look > now
          cmp -s old now || cmp -s new now || { cat now; exit 1; }
          test "$(ls -A upper/.varve/work | wc -l)" = 0 || exit 2
          if test -s mount/f; then settled form zstd mount/f && settled form none mount/f || exit 3; fi
          look | cmp - now && varve umount mount || exit 4
          """, in: base)
        #expect(seen.exit == 0, "killed at call \(after) of '\(deed)': \(seen.exit) \(seen.output)")
        guard seen.exit == 0 else { break }
        after += CompressedKillTests.isLong ? 1 : 6 + (number + after) % 5
      }
      #expect(killed > 0)
    }
  }
}
