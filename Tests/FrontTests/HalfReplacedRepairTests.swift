import Faults
import Foundation
import LinuxFiles
import MountSupport
import Testing

// The daemon killed in the place of a system call that changes something, while a file is compressed or expanded: a repair of the
// volume finishes what the next mount would, and changes nothing else of the file.

extension FrontTests {
  @Suite(
    "A repair after a daemon was killed while it replaced content", .timeLimit(.minutes(10)),
    .enabled(if: Machine.canMount && Programs.has("zstd"), "needs root, /dev/fuse and zstd")
  )
  struct HalfReplacedRepairTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private static let prelude = """
      form() { setfattr -n system.varve.compression -v $1 mount/f; }
      \(ScriptShell.settled)
      fresh() { rm -rf upper; mkdir upper; cp content upper/f; ln upper/f upper/link; chmod 4750 upper/f; \\
      touch -d '2001-02-03 04:05:06.789' upper/f; varve mount upper mount; \\
      if [ $1 = none ]; then settled form zstd; fi; look > before; }
      # Without a mount.
      look() { stat -c '%i %h %a %U %y' upper/f; }
      refused() { varve check --repair -y upper 2>&1 | grep -q ': not repaired: it is in use (EBUSY): process [0-9]* (bash) has it open.*; close it there, and repair again$'; }
      content() { zstd -dcq upper/f 2>/dev/null || cat upper/f; }
      # Another first byte, which makes the record of the file unreadable.
      damage() { setfattr -n trusted.varve.m -v 0xa8$(getfattr --absolute-names -e hex -n trusted.varve.m upper/f | \\
      sed -n 's/^[^=]*=0xa7//p') upper/f; }

      """

    private let scripts = ScriptShell(prelude: HalfReplacedRepairTests.prelude)

    @Test("It finishes the file, in place, and the volume is sound then", arguments: ["zstd", "none"])
    func killed(form: String) throws {
      var (finished, refused) = (0, 0)
      try forEachKill(form) { base, after in
        let seen = try scripts.run(
          """
          # Who reads a file that is expanded is in nobody's way.
          if [ \(form) = zstd ] && varve check upper | grep -q ': interrupted: '; then
            exec 3< upper/f; settled refused || exit 8; exec 3<&-; echo refused
          fi
          settled varve check --repair -y upper > found || exit 1
          varve check upper || exit 2
          look | cmp before - || exit 3
          content | cmp content - || exit 4
          varve mount -o ro upper mount && cmp content mount/f && cmp content mount/link || exit 5
          varve umount mount && varve mount upper mount && varve umount mount || exit 6
          test "$(ls -A upper/.varve/work | wc -l)" = 0 || exit 7
          grep -c 'upper/[a-z]*: interrupted: .*; repaired$' found
          exit 0
          """, in: base)
        #expect(seen.exit == 0, "killed at call \(after) of '\(form)': \(seen.exit) \(seen.output)")
        if seen.output.hasSuffix("1\n") { finished += 1 }
        if seen.output.hasPrefix("refused\n") { refused += 1 }
        return seen.exit == 0
      }
      #expect(finished > 1 && (refused > 0 || form == "none"))
    }

    @Test("With a damaged record as well, both are named and both are repaired", arguments: ["zstd", "none"])
    func damagedRecord(form: String) throws {
      var both = 0
      try forEachKill(form) { base, after in
        let seen = try scripts.run(
          """
          varve check upper | grep -q ': interrupted: ' || exit 9
          damage || exit 1
          varve check upper > found; test $? = 1 || exit 2
          test "$(sed 's/^[^ ]* //; s/:.*//' found | sort | tr '\\n' ' ')" = 'interrupted record record ' ||
            { cat found; exit 3; }
          # A mount cannot finish it, and keeps the new content.
          varve mount upper mount && varve umount mount && test "$(ls -A upper/.varve/work | wc -l)" = 1 || exit 4
          settled varve check --repair -y upper > found || exit 5
          test "$(sed 's/^[^ ]* //; s/:.*;/:/' found | tr '\\n' ' ')" = 'record: repaired interrupted: repaired ' ||
            { cat found; exit 6; }
          varve check upper || exit 7
          look | cmp before - || exit 8
          content | cmp content - || exit 10
          varve mount upper mount && cmp content mount/f && test "$(varve ls -lO mount/f | grep -c schg)" = 1 || exit 11
          varve umount mount && test "$(ls -A upper/.varve/work | wc -l)" = 0 || exit 12
          """, in: base)
        if seen.exit == 0 { both += 1 }
        // Not half replaced, where it was killed.
        #expect(
          seen.exit == 0 || seen.exit == 9,
          "killed at call \(after) of '\(form)': \(seen.exit) \(seen.output)")
        return seen.exit == 0 || seen.exit == 9
      }
      #expect(both > 1)
    }

    /// For each call at which the daemon is killed while it gives the file a form, with nothing mounted afterwards; until
    /// `look` answers false.
    private func forEachKill(_ form: String, _ look: (_ base: String, _ after: Int) throws -> Bool) throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      _ = try scripts.must("mkdir mount; seq 40000 > content", in: base)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      var after = 0
      while true {
        _ = try scripts.must(
          "fresh \(form); varve umount mount; varve mount upper mount", in: base, faults.environment)
        faults.begin(Fault.killing(.changes, after: after))
        _ = try scripts.run(
          "for i in $(seq 50); do form \(form) 2>said; grep -q 'resource busy' said || break; sleep 0.05; done",
          in: base)
        let hits = faults.end()
        umount2(base + "/mount", CInt(MNT_DETACH))
        guard hits > 0, try look(base, after) else { break }
        after += HalfReplacedRepairTests.isLong ? 1 : 2
      }
    }
  }
}
