// Upper directories without room for what has to be brought up: ENOSPC, the view stays, and nothing is left behind.

import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Uppers that are full", .timeLimit(.minutes(2))) struct LayerFullDiskTests {
    private static let prelude =
      ScriptShell.look + """
        # What is shown, what the upper has, with all times, and how much is in use.
        state() {
          look mount; find disk/upper -path disk/upper/.varve -prune -o -printf '%p %y %m %n %s %T@ %C@\\n' | sort
          ls -A disk/upper/.varve/work | sed '/^wh$/d'; find disk/upper/.varve -path '*/index/*'; df --output=iused,used disk | tail -1
        }
        full() {
          if said=$("$@" 2>&1); then echo "done: $*"; elif [[ $said != *"No space left on device"* ]]; then echo "$*: $said"; fi
          state | diff before - || echo "after: $*"
        }
        append() { bash -c 'echo more >> "$1"' append "$1"; }
        made() { look lower > low; mkdir disk/upper; varve mount -o lower=lower disk/upper mount; }
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

    @Test(
      "A file that finds no room is not brought up, whatever asks for it, and smaller ones still are",
      .enabled(if: Programs.has("mkfs.ext4", "setfattr"), "needs ext4's programs and setfattr"),
      arguments: disks)
    func bytes(disk: String) throws {
      let said = try said(
        """
        mkdir -p lower/d lower/e; head -c 8M /dev/urandom > lower/d/big; ln lower/d/big lower/e/again; head -c 8M /dev/urandom > lower/alone; cp lower/alone lower/other
        echo small > lower/small; \(disk); made
        # The directories are up: what is tried then brings up nothing at all.
        touch mount/d/own mount/e/own; rm mount/d/own mount/e/own; state > before
        full append mount/d/big; full chmod 600 mount/d/big; full truncate -s 7M mount/d/big; full perl -e 'truncate("mount/d/big", 7 << 20) or die $!'; full setfattr -n user.x -v x mount/d/big
        full varve chflags uchg mount/d/big; full touch mount/d/big; full ln mount/d/big mount/linked; full mv mount/d/big mount/moved
        full dd if=/dev/zero of=mount/e/again bs=1 count=1 conv=notrunc status=none; full mv mount/alone mount/d/alone; full append mount/alone
        full mv -T mount/alone mount/small
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
      let said = try said(
        """
        mkdir -p lower/d/e lower/far; echo small > lower/d/small; echo two > lower/d/two; ln lower/d/two lower/d/linked; echo in > lower/d/e/in
        ln -s x lower/d/link; echo off > lower/far/off
        mount -t tmpfs -o nr_inodes=60 tmpfs disk; made
        chmod 750 mount/d; n=0; while : > disk/fill$n; do n=$((n + 1)); done 2> /dev/null; test $n -gt 10; rm -f disk/fill$n; state > before
        full append mount/d/small; full chmod 600 mount/d/small; full mv mount/d/small mount/moved; full ln mount/d/small mount/again
        full mv mount/d/two mount/moved; full ln mount/d/two mount/again; full append mount/d/linked
        full mv mount/d/link mount/moved; full chmod 700 mount/d/e; full mv mount/d/e mount/moved; full append mount/d/e/in; full append mount/far/off
        full touch mount/d/new; full mkdir mount/d/new; full ln -s x mount/d/new; full mkfifo mount/d/new
        rm disk/fill*; append mount/far/off; mv mount/d/e mount/moved; ls mount/d mount/moved; cat mount/far/off; ended
        """)
      #expect(said == "mount/d:\nlink\nlinked\nsmall\ntwo\n\nmount/moved:\nin\noff\nmore\n")
    }
  }
}
