import Faults
import Foundation
import LinuxFiles
import MountSupport
import Randomness
import Testing

// The power fails while files of a lower are brought up and changed: the daemon ends at a random call, and the file system
// below stops as if its machine had lost its power, once with all of its journal on the disk and once with what is there anyway.
// Data that nobody has synced is lost in both. btrfs cannot be stopped so: it goes on with what its device has at that moment.

extension FrontTests {
  @Suite(
    "The power fails while items of a lower are changed", .timeLimit(.minutes(10)),
    .enabled(if: Machine.canMount, "needs root and /dev/fuse"))
  struct LayerPowerCutTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private static func canHave(_ kind: String) -> Bool {
      Machine.knows(fileSystem: kind) && Programs.has("mkfs.\(kind)")
    }

    @Test(
      "On ext4 each item is what it was or what it became, and what was synced is there",
      .enabled(if: canHave("ext4"), "needs ext4 and its mkfs"))
    func onExt4() throws { try cut("ext4", "48M", lower: "disk/lower") }

    @Test(
      "On XFS, with shared blocks, each item is what it was or what it became, and what was synced is there",
      .enabled(if: canHave("xfs"), "needs XFS and its mkfs"))
    func onXFS() throws { try cut("xfs", "320M", lower: "disk/lower") }

    @Test(
      "On XFS, with a lower elsewhere, each item is what it was or what it became, and what was synced is there",
      .enabled(if: canHave("xfs"), "needs XFS and its mkfs"))
    func onXFSFromElsewhere() throws { try cut("xfs", "320M", lower: "lower") }

    @Test(
      "On btrfs each item has its old or its new content, what was moved perhaps both names, and a repair mends the rest",
      .enabled(if: canHave("btrfs"), "needs btrfs and its mkfs"))
    func onBtrfs() throws { try cut("btrfs", "160M", lower: "disk/lower") }

    private static let prelude =
      ScriptShell.sound + ScriptShell.settled + """
        attach() { mount -o loop now disk && settled varve mount -o lower=$LOWER disk/upper mount; }
        lower() { (cd $LOWER; find . -printf '%P %y %m %U %G %s %n %T@ %C@\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha1sum); }

        """

    private let scripts = ScriptShell(prelude: prelude)

    private func cut(_ kind: String, _ size: String, lower: String) throws {
      let stage = try DiskStage()
      defer { stage.remove() }
      let base = stage.base
      let environment = ["LOWER": "\(base)/\(lower)"]
      _ = try scripts.must(
        """
        truncate -s \(size) before; mkfs.\(kind) -q before
        mount -o loop before disk; mkdir disk/upper $LOWER
        """, in: base, environment)
      // Where a sync of one file writes its names to a log, others that were given or taken with them may stay away.
      let isOrdered = kind != "btrfs"
      let check =
        isOrdered
        ? "sound" : "varve check -y --repair --lower $LOWER disk/upper >/dev/null 2>&1; varve check --lower"
      let items = CutItem.all
      for item in items { try item.make(in: "\(base)/\(lower)") }
      _ = try scripts.must("lower > was; umount disk", in: base, environment)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      let started = environment.merging(faults.environment) { $1 }
      var dice = Dice(for: "power cuts over layers: \(kind) \(lower)")
      func begin() throws {
        _ = try scripts.must(
          "cp --sparse=always before now; rm -f synced; touch synced; attach", in: base, started)
      }
      try begin()
      let script = items.map(\.script).joined(separator: "\n")
      let calls = try faults.count(.changes) { _ = try scripts.must(script, in: base) }
      _ = try scripts.must("varve umount mount; umount disk", in: base)
      var (old, new) = (0, 0)
      for round in 0..<(LayerPowerCutTests.isLong ? 400 : 6) {
        try begin()
        let after = dice.below(calls + 1)
        let flushes = round.isMultiple(of: 2)
        faults.begin(Fault.killing(.changes, after: after))
        _ = try scripts.run(
          items.shuffled(using: &dice).map(\.script).joined(separator: "\n"), in: base)
        faults.end()
        if isOrdered {
          try losePower(of: base + "/disk", withJournal: flushes)
        } else {
          _ = try scripts.must("cp --sparse=always now cut", in: base)
        }
        umount2(base + "/mount", CInt(MNT_DETACH))
        _ = try scripts.must(
          "settled umount disk; if [ -e cut ]; then mv cut now; fi; attach", in: base, environment)
        let synced = try Text.read(base + "/synced")
        let story = "cut at call \(after), \(flushes ? "with" : "without") the journal"
        for item in items {
          let state = item.state(
            in: base + "/mount", isSynced: synced.contains("\(item.name)\n"), isOrdered: isOrdered)
          switch state {
          case .old: old += 1
          case .new: new += 1
          case .wrong(let what): Issue.record("\(story): \(item.name): \(what)")
          }
        }
        let seen = try scripts.run(
          """
          test "$(ls -A disk/upper/.varve/work | grep -v '^wh$' | wc -l)" = 0 || exit 2
          touch mount/goes-on && rm mount/goes-on && varve umount mount || exit 3
          \(check) $LOWER disk/upper || exit 4
          lower | diff was - || exit 5
          umount disk || exit 6
          """, in: base, environment)
        #expect(seen.exit == 0, "\(story): \(seen.exit) \(seen.output)")
        if seen.exit != 0 { break }
      }
      print("\(kind), \(lower): \(calls) calls; \(old) items as before, \(new) changed")
      #expect(old > 0 && new > 0)
    }

    @Test(
      "A copy has its content after a power cut if its directory was synced, whatever blocks it shares",
      .enabled(if: canHave("btrfs"), "needs btrfs and its mkfs"), arguments: ["disk/lower", "lower"])
    func syncedDirectory(lower: String) throws {
      let stage = try DiskStage()
      defer { stage.remove() }
      // A sync of a directory logs the names in it, and of what they lead to the metadata alone.
      _ = try scripts.must(
        """
        truncate -s 160M before; mkfs.btrfs -q before; mount -o loop before disk
        mkdir disk/upper $LOWER
        for name in mode move cut link few; do seq 50000 > $LOWER/$name; done; seq 100 > $LOWER/few
        ln $LOWER/link $LOWER/second; sync; lower > was; umount disk
        change() { case $1 in mode | few) chmod 600 mount/$1;; move) mv mount/move mount/moved;; link) chmod 600 mount/second;;
          cut) perl -e 'truncate("mount/cut", 100000) or die';; esac; }
        content() { case $1 in cut) seq 50000 | head -c 100000;; few) seq 100;; *) seq 50000;; esac; }
        for deed in mode move cut link few; do
          cp --sparse=always before now; attach; sync -f disk
          change $deed; sync mount
          cp --sparse=always now cut; varve umount mount; settled umount disk; mv cut now; attach
          file=mount/$deed; if [ $deed = move ]; then file=mount/moved; fi
          content $deed | cmp - $file || { ls -l mount disk/upper; exit 1; }
          varve umount mount; lower | diff was -; settled umount disk
        done
        """, in: stage.base, ["LOWER": "\(stage.base)/\(lower)"])
    }

    /// What is not on the disk by now will never be; `withJournal`: the journal is.
    private func losePower(of disk: String, withJournal: Bool) throws {
      let root = Glibc.open(disk, O_RDONLY | O_DIRECTORY)
      defer { close(root) }
      // FS_IOC_SHUTDOWN, with the flags of XFS that ext4 has taken over.
      var flags: UInt32 = withJournal ? 1 : 2
      guard ioctl(root, 0x8004_587D, &flags) == 0 else { throw TestFailure("no shutdown: \(Errno.current)") }
    }
  }
}
