import Faults
import Foundation
import LinuxFiles
import MountSupport
import Testing

// The daemon killed in the place of each system call that changes something, on a real mount: what is there after the next
// mount is what was before or what is after, nothing is left over, and a check has nothing to say that a repair does not mend.

extension FrontTests {
  @Suite(
    "A daemon over layers that is killed at each step", .timeLimit(.minutes(10)),
    .enabled(
      if: Machine.canMount && Programs.has("python3", "setfattr"),
      "needs root, /dev/fuse, python3 and setfattr")
  )
  struct LayerKillTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    /// A shell line before, without faults, and the one that is killed.
    private static let deeds = [
      ("", "printf A | dd of=mount/d/f conv=notrunc status=none"),
      ("", "printf A | dd of=mount/one conv=notrunc status=none"),
      ("printf A | dd of=mount/one conv=notrunc status=none", "mv mount/d/third mount/new"),
      ("", "rm mount/two"), ("printf A > mount/d/f", "rm mount/d/f"), ("rm mount/d/f", "mkdir mount/d/f"),
      ("rm mount/d/f", "ln mount/lone mount/d/f"), ("rm -r mount/d/*", "rmdir mount/d"),
      ("", "mv mount/d mount/moved"), ("rm -r mount/d/*", "mv -T mount/empty mount/d"),
      ("rm mount/lone", "mv -T mount/d mount/lone"), ("", "chmod 600 mount/d/f"),
      ("", "ln -s x mount/d/link"),
      ("", "exchange mount/d mount/empty"), ("", "exchange mount/d/f mount/lone"),
      ("", "exchange mount/d mount/lone"),
      ("rm mount/d/f", ": > mount/d/f"), ("rm mount/d/f", "ln -s x mount/d/f"),
      ("", "ln mount/lone mount/d/new"),
      ("", "nameless mount/d/inner/new"), ("rm mount/d/f", "nameless mount/d/f"),
      ("", "chmod 700 mount/d/inner"),
      ("", "chmod 600 mount/two"), ("rm mount/d/f", "mv mount/lone mount/d/f"),
      ("mv mount/d mount/moved", "mv mount/moved/inner mount/moved/other"), ("", "ln mount/two mount/d/new"),
      ("mkdir mount/fresh; rm mount/lone", "mv -T mount/fresh mount/lone"),
      ("", ": > mount/two"), ("rm mount/one", "perl -e 'truncate(\"mount/two\", 3) or die'"),
    ]

    /// Those of which every call is killed in CI too, over one lower.
    private static let whole: Set<Int> = [1, 5, 7, 8, 9, 13, 16, 19, 20, 21, 27]

    /// What is below the upper; each shows what the deeds are about.
    struct Lowers: Sendable, CustomTestStringConvertible {
      let testDescription: String
      /// The topmost first.
      let list: String
      fileprivate let script: String

      static let one = Lowers(
        testDescription: "one lower", list: "lower",
        script: """
          mkdir -p lower/d/inner lower/empty; echo file > lower/d/f; echo x > lower/d/inner/x; echo lone > lower/lone
          echo several > lower/one; ln lower/one lower/two; ln lower/one lower/d/third

          """)

      /// Directories of several lowers merge, and files and a whiteout hide what is below them.
      static let three = Lowers(
        testDescription: "three lowers", list: "top:middle:bottom",
        script: """
          mkdir -p top/d/inner top/empty middle/d bottom/d/inner bottom/d/third bottom/empty bottom/lone bottom/two
          echo file > top/d/f; echo hidden > middle/d/f; echo x > bottom/d/inner/x; echo hidden > bottom/lone/hidden
          mknod top/empty/hidden c 0 0; echo hidden > bottom/empty/hidden; echo lone > middle/lone
          echo several > middle/one; ln middle/one middle/two; ln middle/one middle/d/third

          """)

      /// The first call that a daemon is killed in the place of.
      func first(ofDeed number: Int) -> Int { list == Lowers.one.list || isLong ? 0 : number % 2 }

      /// How many calls pass until the next one: with `LONG=1` none.
      func step(ofDeed number: Int, after: Int) -> Int {
        guard !isLong else { return 1 }
        if list != Lowers.one.list { return 8 + (number + after) % 3 }
        return whole.contains(number) ? 1 : 4 + (number + after) % 3
      }
    }

    /// What no program of a shell does.
    private static let calls = """
      exchange() { python3 -c 'import ctypes,sys;a,b=map(str.encode,sys.argv[1:]);sys.exit(ctypes.CDLL(None).renameat2(-100,a,-100,b,2)!=0)' $1 $2; }
      nameless() { python3 -c 'import os,sys;p=sys.argv[1];f=os.open(os.path.dirname(p),os.O_TMPFILE|os.O_RDWR,0o600);os.write(f,b"new");os.link("/proc/self/fd/%d"%f,p,src_dir_fd=f)' $1; }
      # A function, of each lower.
      each() { for lower in ${LOWERS//:/ }; do "$1" $lower; done; }

      """

    private let scripts = ScriptShell(
      prelude: ScriptShell.look + ScriptShell.times + ScriptShell.sound + ScriptShell.settled + calls)

    private static let mount = "varve mount -o lower=$LOWERS upper mount\n"
    private static let fresh =
      "rm -rf upper; mkdir upper\n"

    @Test(
      "It shows the old or the new, goes on, and leaves nothing in its workshop",
      arguments: [Lowers.one, .three])
    func killed(over lowers: Lowers) async throws {
      try await withThrowingTaskGroup { group in
        for number in LayerKillTests.deeds.indices {
          group.addTask { try killed(number: number, over: lowers) }
        }
        var calls = 0
        for try await count in group { calls += count }
        print("\(lowers.testDescription): killed \(calls) times")
      }
    }

    /// How often it was killed.
    private func killed(number: Int, over lowers: Lowers) throws -> Int {
      let (before, deed) = LayerKillTests.deeds[number]
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try TemporaryDirectory.countReads(in: base)
      let environment = ["LOWERS": lowers.list]
      _ = try scripts.must(
        "mkdir mount\n\(lowers.script)each look > before; each times > times", in: base, environment)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      let outcome = try scripts.must(
        LayerKillTests.fresh + LayerKillTests.mount
          + "\(before)\nlook mount > old\n\(deed)\nlook mount > new\ntest -s old\nif cmp -s old new; then exit 9; fi\n"
          + "varve umount mount", in: base, environment)
      #expect(outcome == "")
      var (killed, after) = (0, lowers.first(ofDeed: number))
      while true {
        _ = try scripts.must(
          LayerKillTests.fresh + LayerKillTests.mount
            + "\(before)\nlook mount | diff old -\nvarve umount mount\n"
            + LayerKillTests.mount, in: base, environment.merging(faults.environment) { $1 })
        faults.begin(Fault.killing(.changes, after: after))
        _ = try scripts.run(deed, in: base, environment)
        let hits = faults.end()
        umount2(base + "/mount", CInt(MNT_DETACH))
        guard hits > 0 else { break }
        killed += 1
        let seen = try scripts.run(
          """
          # Checked before anything is mounted again, where a repair leaves nothing to say, and after that, in turn.
          if [ $((\(killed) % 2)) = 0 ]; then
            settled varve check -y --repair --lower $LOWERS upper > found && varve check --lower $LOWERS upper > left 2>&1 && ! test -s left || exit 6
          fi
          settled varve mount -o lower=$LOWERS upper mount || exit 1
          look mount > now; diff -q old now > said || diff new now || exit 1
          # Before the first change there is none.
          test \(after) != 0 || diff old now || exit 5
          test "$(ls -A upper/.varve/work | grep -v '^wh$' | wc -l)" = 0 || exit 2
          touch mount/goes-on && rm mount/goes-on || exit 3
          varve umount mount && each times | diff times - || exit 4
          [ $((\(killed) % 2)) = 0 ] || sound $LOWERS upper || exit 7
          """, in: base, environment)
        #expect(
          seen.exit == 0,
          "\(lowers.testDescription), killed at call \(after) of '\(deed)': \(seen.exit) \(seen.output)")
        guard seen.exit == 0 else { break }
        after += lowers.step(ofDeed: number, after: after)
      }
      print("\(lowers.testDescription), \(deed): killed \(killed) times")
      #expect(killed > 0)
      _ = try scripts.must("each look | diff before -", in: base, environment)
      return killed
    }
  }
}
