// Upper directories that take no more: full (ENOSPC), over a quota (EDQUOT), or on a file system that has become read-only
// (EROFS). Whatever is tried is refused so, the view stays, and nothing is left behind.

import Foundation
import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Uppers that take no more", .timeLimit(.minutes(2))) struct LayerFullDiskTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private static let prelude =
      ScriptShell.look + """
        # What is shown, what the upper has, with all times, and how much is in use, where that moves with what is done alone.
        state() {
          look mount; find disk/upper -path disk/upper/.varve -prune -o -printf '%p %y %m %n %s %T@ %C@\\n' | sort
          ls -A disk/upper/.varve/work | sed '/^wh$/d'; find disk/upper/.varve -path '*/index/*'
          test $(stat -f -c %T disk) = btrfs || df --output=iused,used disk | tail -1
        }
        # The words that have to be in a refusal.
        no='No space left on device'
        refused() {
          if said=$("$@" 2>&1); then echo "done: $*"; elif [[ ! $said =~ $no ]]; then echo "$*: $said"; fi
          state | diff before - || echo "after: $*"
        }
        append() { bash -c 'echo more >> "$1"' append "$1"; }
        made() { look lower > low; mkdir -p disk/upper; varve mount -o lower=lower disk/upper mount; }
        ended() { varve umount mount; varve check --lower lower disk/upper; look lower | diff low -; }

        """
    private let scripts = ScriptShell(prelude: prelude)

    private func said(_ script: String) throws -> String {
      let stage = try DiskStage()
      defer { stage.remove() }
      return try scripts.must(script, in: stage.base)
    }

    private static let disks = [
      "mount -t tmpfs -o size=4M tmpfs disk",
      "truncate -s 6M image; mkfs.ext4 -q -m 0 image; mount -o loop image disk",
    ]
    /// The upper directory is a subvolume.
    private static let btrfs =
      "truncate -s 300M image; mkfs.btrfs -q image > said 2>&1; mount -o loop image disk; btrfs subvolume create disk/upper > said"
    private static let quota =
      "\(btrfs); btrfs quota enable disk; btrfs qgroup limit 6M disk/upper; no='Disk quota exceeded'"
    private static let hasBtrfs =
      Machine.knows(fileSystem: "btrfs") && Programs.has("btrfs", "mkfs.btrfs", "setfattr")

    @Test(
      "A file that finds no room is not brought up, whatever asks for it, and smaller ones still are",
      .enabled(if: Programs.has("mkfs.ext4", "setfattr"), "needs ext4's programs and setfattr"),
      arguments: disks)
    func bytes(disk: String) throws { try expectNoRoom(on: disk) }

    @Test(
      "A file for which a quota leaves no room is not brought up, and the refusal names the quota (EDQUOT)",
      .enabled(if: hasBtrfs, "needs btrfs, its programs and setfattr"))
    func quota() throws { try expectNoRoom(on: LayerFullDiskTests.quota) }

    private func expectNoRoom(on disk: String) throws {
      let said = try said(
        """
        mkdir -p lower/d lower/e; head -c 8M /dev/urandom > lower/d/big; ln lower/d/big lower/e/again; head -c 8M /dev/urandom > lower/alone; cp lower/alone lower/other
        echo small > lower/small; \(disk); made
        # The directories are up: what is tried then brings up nothing at all.
        touch mount/d/own mount/e/own; rm mount/d/own mount/e/own; state > before
        refused append mount/d/big; refused chmod 600 mount/d/big; refused truncate -s 7M mount/d/big; refused perl -e 'truncate("mount/d/big", 7 << 20) or die $!'; refused setfattr -n user.x -v x mount/d/big
        refused varve chflags uchg mount/d/big; refused touch mount/d/big; refused ln mount/d/big mount/linked; refused mv mount/d/big mount/moved
        refused dd if=/dev/zero of=mount/e/again bs=1 count=1 conv=notrunc status=none; refused mv mount/alone mount/d/alone; refused append mount/alone
        refused mv -T mount/alone mount/small
        # What needs less is done.
        append mount/small; perl -e 'truncate("mount/alone", 1 << 20) or die'; : > mount/other; rm mount/d/big; mv mount/small mount/d/moved
        cat mount/d/moved; stat -c '%n %s' mount/alone mount/other; ls mount mount/d mount/e; ended
        """)
      #expect(
        said == """
          small
          more
          mount/alone 1048576
          mount/other 0
          mount:
          alone
          d
          e
          other

          mount/d:
          moved

          mount/e:
          again

          """)
    }

    @Test("Where there is room for no further item nothing is brought up, made or hidden")
    func items() throws {
      try expectNoItems(
        on: "mount -t tmpfs -o nr_inodes=60 tmpfs disk",
        filling:
          "n=0; while : > disk/fill$n; do n=$((n + 1)); done 2> /dev/null; test $n -gt 10; rm -f disk/fill$n",
        emptying: "rm disk/fill*")
    }

    @Test("Where there is room for no further item a volume over a lower is mounted, to make room in it")
    func itemsAtMount() throws {
      let said = try said(
        """
        mkdir lower; echo small > lower/small; mount -t tmpfs -o nr_inodes=40 tmpfs disk; made; echo up > mount/up; varve umount mount
        while : > disk/upper/fill$((n += 1)); do :; done 2> /dev/null
        varve mount -o lower=lower disk/upper mount; cat mount/small mount/up; state > before; refused touch mount/new
        rm mount/fill*; echo more >> mount/small; rm mount/up; cat mount/small; ended
        """)
      #expect(said == "small\nup\nsmall\nmore\n", "\(said)")
    }

    @Test(
      "Where a quota leaves room for no item nothing is brought up, made or hidden, in merged directories as well",
      .enabled(if: hasBtrfs, "needs btrfs, its programs and setfattr"))
    func quotaOfItems() throws {
      try expectNoItems(
        on: LayerFullDiskTests.quota,
        filling: "! dd if=/dev/zero of=mount/fill bs=4k 2> said; sync -f disk; ! touch mount/fill2 2> said",
        emptying: "rm mount/fill; sync -f disk")
    }

    private func expectNoItems(on disk: String, filling: String, emptying: String) throws {
      let said = try said(
        """
        mkdir -p lower/d/e lower/far; echo small > lower/d/small; echo two > lower/d/two; ln lower/d/two lower/d/linked; echo in > lower/d/e/in
        ln -s x lower/d/link; echo off > lower/far/off
        \(disk); made
        chmod 750 mount/d; \(filling); state > before
        refused append mount/d/small; refused chmod 600 mount/d/small; refused mv mount/d/small mount/moved; refused ln mount/d/small mount/again
        refused mv mount/d/two mount/moved; refused ln mount/d/two mount/again; refused append mount/d/linked
        refused mv mount/d/link mount/moved; refused chmod 700 mount/d/e; refused mv mount/d/e mount/moved; refused append mount/d/e/in; refused append mount/far/off
        refused touch mount/d/new; refused mkdir mount/d/new; refused ln -s x mount/d/new; refused mkfifo mount/d/new
        \(emptying); append mount/far/off; mv mount/d/e mount/moved; ls mount/d mount/moved; cat mount/far/off; ended
        """)
      #expect(said == "mount/d:\nlink\nlinked\nsmall\ntwo\n\nmount/moved:\nin\noff\nmore\n")
    }

    /// How a file system becomes read-only under a mounted volume, and how it is mended.
    ///
    /// The kernel refuses a plain remount for as long as the daemon has the volume's lock open (EBUSY).
    private static let frozen: [(disk: String, freeze: String, mend: String)] = {
      var all: [(disk: String, freeze: String, mend: String)] = []
      if hasBtrfs {
        all.append(
          (
            btrfs, "btrfs property set -ts disk/upper ro true", "btrfs property set -ts disk/upper ro false"
          ))
      }
      if Machine.knows(fileSystem: "ext4"), Programs.has("mkfs.ext4", "setfattr") {
        // As after an error of the disk.
        all.append(
          (
            "truncate -s 64M image; mkfs.ext4 -q image; mount -o loop image disk",
            "mount -o remount,abort disk",
            "varve umount mount; umount disk; mount -o loop image disk; varve mount -o lower=lower disk/upper mount"
          ))
      }
      return all
    }()

    @Test(
      "Where the file system of the upper has become read-only every change is EROFS, in merged directories as well, and the view stays",
      .enabled(
        if: !frozen.isEmpty && Programs.has("perl", "python3"),
        "needs btrfs or ext4, their programs, setfattr, perl and python3"),
      arguments: frozen.indices.filter { isLong || $0 == 0 })
    func readOnly(index: Int) throws {
      let (disk, freeze, mend) = LayerFullDiskTests.frozen[index]
      let said = try said(
        """
        mkdir -p lower/d/empty lower/d/full lower/d/emptied lower/other lower/low; for name in f gone copied linked over full/x emptied/x; do echo $name > lower/d/$name; done
        ln lower/d/linked lower/other/again; echo in > lower/low/in; \(disk); made; no='Read-only file system|[(]EROFS[)]'
        touch mount/d/own mount/other/own; append mount/d/copied; rm mount/d/gone mount/d/emptied/x; mkdir mount/d/pure; mv mount/low mount/moved
        sync -f disk; \(freeze); state > before; d=mount/d
        to() { test $1 = $2 || refused perl -e 'rename($ARGV[0], $ARGV[1]) or die $!' $1 $2; }
        for name in f copied linked own; do
          refused append $d/$name; refused bash -c ': > "$1"' cut $d/$name; refused perl -e 'truncate($ARGV[0], 2) or die $!' $d/$name
          refused chmod 600 $d/$name; refused chown 7001 $d/$name; refused touch $d/$name; refused setfattr -n user.x -v x $d/$name
          refused varve chflags uchg $d/$name; refused varve chmod +a "user:7001 deny read" $d/$name
          refused ln $d/$name $d/new; refused ln -T $d/$name $d/gone; refused rm -f $d/$name
          for to in $d/new $d/gone $d/over $d/linked mount/other/own mount/other/new; do to $d/$name $to; done
        done
        for name in empty full emptied pure; do
          refused chmod 700 $d/$name; refused varve chflags opaque $d/$name; refused mkdir $d/$name/new; refused touch $d/$name/new
          for to in $d/new $d/gone $d/emptied mount/other/new; do to $d/$name $to; done
        done
        for name in new gone; do refused mkdir $d/$name; refused touch $d/$name; refused ln -s x $d/$name; refused mkfifo $d/$name; done
        refused rmdir $d/empty; refused rmdir $d/emptied; refused rmdir $d/pure; refused append $d/full/x; refused append mount/moved/in
        refused mv -T mount/moved mount/low; refused mv $d mount/else
        refused python3 -c 'import os; os.open("mount/d", os.O_TMPFILE | os.O_RDWR)'
        refused python3 -c 'import ctypes, os, sys
        if ctypes.CDLL(None, use_errno=True).renameat2(-100, b"mount/d/f", -100, b"mount/d/full", 2): sys.exit(os.strerror(ctypes.get_errno()))'
        cat $d/f $d/copied; \(mend)
        append $d/f; mv $d/full mount/other/new; rmdir $d/emptied; mkdir $d/gone; ls mount/other; ended
        """)
      #expect(said == "f\ncopied\nmore\nagain\nnew\nown\n")
    }
  }
}
