// Lowers on the file system of the upper, where that lets files share their blocks: bringing up copies none of them.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Blocks shared with a lower", .timeLimit(.minutes(2)),
    .enabled(if: Programs.has("filefrag"), "needs filefrag of e2fsprogs"))
  struct LayerSharingTests {
    private static func canHave(_ kind: String) -> Bool {
      Machine.knows(fileSystem: kind) && Programs.has("mkfs.\(kind)")
    }

    @Test(
      "A copy on XFS shares the blocks of its source and keeps its holes, and only the copy changes",
      .enabled(if: canHave("xfs"), "needs XFS and its mkfs"))
    func onXFS() throws { try share("xfs") }

    @Test(
      "A copy on btrfs shares the blocks of its source and keeps its holes, and only the copy changes",
      .enabled(if: canHave("btrfs"), "needs btrfs and its mkfs"))
    func onBtrfs() throws { try share("btrfs") }

    /// `free` prints the KiB that are free, `own` the blocks that a file shares with no other one.
    private static let functions = """
      free() { sync -f disk; df -k --output=avail disk | tail -n 1; }
      extents() { sync $1; filefrag -v $1 | sed -n 's/^ *[0-9]*: *\\([0-9]*\\)\\.\\. *\\([0-9]*\\):.*: *\\([a-z_,]*\\)$/\\1 \\2 \\3/p'; }
      own() { extents $1 | awk '{ all++; if ($3 !~ /shared/) n += $2 - $1 + 1 } END { print all ? n + 0 : "no extents" }'; }
      most() { test "$1" -le $2 || { echo "$1, not at most $2"; return 1; }; }

      """

    private func share(_ kind: String) throws {
      let stage = try LayerStage()
      defer {
        umount2(stage.base + "/mount", CInt(MNT_DETACH))
        umount2(stage.base + "/disk", CInt(MNT_DETACH))
        stage.remove()
      }
      try stage.shell(
        LayerSharingTests.functions + """
          mkdir disk; truncate -s 400M image; mkfs.\(kind) -q image > said; mount -o loop image disk
          low=disk/lower up=disk/upper; mkdir $low $up
          # 8 MiB, a hole of 24, and 4 MiB.
          head -c 8M /dev/urandom > $low/big; truncate -s 32M $low/big; head -c 4M /dev/urandom >> $low/big
          head -c 4M /dev/urandom > $low/one; ln $low/one $low/two
          for name in cut gone; do head -c 6M /dev/urandom > $low/$name; done
          sync -f disk; sha1sum $low/* > before
          varve mount -o lower=$low $up mount
          first=$(free)
          printf X | dd of=mount/big bs=1 seek=1000 conv=notrunc status=none
          chmod 600 mount/two; truncate -s 5M mount/cut; mv mount/gone mount/moved
          # What was not shared would take 27 MiB.
          most $((first - $(free))) 3000
          # The block that was written to, and what XFS reserves around it.
          most "$(own $up/big)" 64; for name in two cut moved; do most "$(own $up/$name)" 0; done
          most "$(stat -c %b $up/big)" $(($(stat -c %b $low/big) + 1024))
          test "$(stat -c %s mount/big)" = $((36 << 20)); test "$(stat -c %s mount/cut)" = $((5 << 20))
          test "$(cmp -l $low/big mount/big | wc -l)" -le 1; cmp -i 1001 $low/big mount/big
          cmp $low/one mount/one; cmp -n 5M $low/cut mount/cut; cmp $low/gone mount/moved
          # Blocks that are still shared are written to, freed, and zeroed.
          head -c 2M /dev/urandom > new; dd if=new of=mount/big bs=1M seek=2 conv=notrunc status=none
          fallocate -p -o 5M -l 1M mount/big; dd if=new of=mount/one bs=1M conv=notrunc status=none
          truncate -s 1M mount/moved; cat new >> mount/cut
          sync -f disk; sha1sum $low/* | diff before -
          cmp -n 2M -i 2M:0 mount/big new; cmp -n 2M mount/two new; cmp -i 5M:0 mount/cut new; cmp -n 1M $low/gone mount/moved
          varve umount mount; sha1sum $low/* | diff before -; varve check --lower $PWD/$low $up; umount disk
          """)
    }
  }
}
