// Items of an upper directory that the file system below protects, with chattr(1) and without the volume: nothing of a lower
// is brought up into them or hidden in them, and who is refused leaves nothing behind.

import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite(
    "Items of the upper that the file system below protects", .timeLimit(.minutes(3)),
    .enabled(
      if: Machine.canMount && Machine.knows(fileSystem: "ext4")
        && Programs.has("mkfs.ext4", "chattr", "setfattr", "python3"),
      "needs root, /dev/fuse, python3, ext4 and its programs"))
  struct FrozenUpperTests {
    private static let prelude =
      ScriptShell.look + ScriptShell.settled + """
        mounted() { settled varve mount -o lower=lower disk/upper mount; }
        # What is shown, with all times, and what the upper has for it.
        state() {
          look mount; for tree in mount disk/upper; do
            find $tree -path $tree/.varve -prune -o -printf '%p %y %m %n %s %T@ %C@\\n' | sort
          done
          ls -A disk/upper/.varve/work | sed '/^wh$/d'; find disk/upper/.varve -path '*/index/*'
        }
        frozen() { chattr +$1 $2; item=$2; flag=$1; state > before; }
        refused() {
          if said=$("$@" 2>&1); then echo "done: $*"; elif [[ $said != *"Operation not permitted"* ]]; then echo "$*: $said"; fi
          state | diff before - || echo "after: $*"
        }
        exchange() { python3 -c 'import ctypes,sys;a,b=map(str.encode,sys.argv[1:]);c=ctypes.CDLL(None,use_errno=True);c.renameat2(-100,a,-100,b,2) and sys.exit(__import__("os").strerror(ctypes.get_errno()))' $1 $2; }
        add() { bash -c 'echo more >> "$1"' add "$1"; }
        replace() { bash -c 'echo other > "$1"' replace "$1"; }
        over() { dd if=/dev/zero of="$1" bs=1 count=1 conv=notrunc status=none; }
        thawed() {
          chattr -$flag $item; look mount > shown; varve umount mount; varve check --lower lower disk/upper
          mounted; look mount | diff shown -
        }
        ended() { varve umount mount; varve check --lower lower disk/upper; umount disk; }

        """

    private let scripts = ScriptShell(prelude: prelude)

    /// Runs a script where `disk/upper` on ext4 is mounted over `lower`; what it says.
    private func said(_ script: String, over lower: String) throws -> String {
      let stage = try DiskStage()
      defer { stage.remove() }
      return try scripts.must(
        """
        mkdir lower; truncate -s 48M image; mkfs.ext4 -q image; mount -o loop image disk; mkdir disk/upper
        \(lower)
        mounted
        \(script)
        """, in: stage.base)
    }

    @Test(
      "In a protected directory of the upper nothing is brought up, hidden or moved, and the refusal leaves nothing",
      arguments: ["i", "a"])
    func directory(flag: String) throws {
      let said = try said(
        """
        frozen \(flag) disk/upper/d
        refused add mount/d/file; refused replace mount/d/file; refused over mount/d/linked; refused add mount/d/full/in
        refused chmod 600 mount/d/file; refused setfattr -n user.note -v x mount/d/file; refused touch mount/d/full
        refused mv mount/d/file mount/file; refused mv mount/d/sub mount/sub; refused mv mount/d/full mount/full
        refused mv mount/d mount/moved
        refused ln mount/d/file mount/d/again; refused ln mount/d/file mount/again
        refused rm -r mount/d/full; refused rm mount/d/own; refused chmod 700 mount/d
        refused rm -f mount/d/file; refused rm -f mount/d/linked; refused rmdir mount/d/sub
        refused mv -fT mount/up mount/d/file; refused mv -fT mount/out mount/d/file
        refused mv mount/out mount/d/out; refused ln mount/out mount/d/again
        refused mv mount/far/off/in mount/d/full/new; refused ln mount/far/off/in mount/d/full/new
        refused exchange mount/far/off/in mount/d/full/in; refused exchange mount/out mount/d/file
        # In an append-only directory new names can be made.
        if [ \(flag) = i ]; then
          refused touch mount/d; refused touch mount/d/new; refused mkdir mount/d/new; refused ln -s x mount/d/new
          refused mv -T mount/up mount/d/up; refused ln mount/up mount/d/up
        else
          touch mount/d/new; mkdir mount/d/dir; ln mount/up mount/d/up
        fi
        thawed; rm -rf mount/d/new mount/d/dir mount/d/up
        add mount/d/file; rm mount/d/linked; rmdir mount/d/sub; mv mount/d/full mount/full; mv mount/d mount/moved
        cat mount/moved/file mount/full/in; ls mount mount/moved; ended
        """,
        over: """
          mkdir -p disk/upper/d lower/d/sub lower/d/full lower/far/off; echo far > lower/far/off/in; for name in up d/own; do echo own > disk/upper/$name; done
          for name in d/file d/full/in out; do echo $name > lower/$name; done; ln lower/d/file lower/d/linked
          """)
      #expect(
        said == "d/file\nmore\nd/full/in\nmount:\nfar\nfull\nmoved\nout\nup\n\nmount/moved:\nfile\nown\n")
    }

    @Test(
      "A protected file of the upper stays as it is, whether a lower has its name or not",
      arguments: ["i", "a"])
    func file(flag: String) throws {
      let said = try said(
        """
        for name in both alone; do
          file=mount/$name; frozen \(flag) disk/upper/$name
          refused replace $file; refused over $file; refused truncate -s 1 $file; refused chmod 600 $file
          refused setfattr -n user.note -v x $file; refused varve chflags uchg $file; refused mv $file mount/moved
          refused mv -fT mount/up $file; refused ln $file mount/again; refused rm -f $file
          if [ \(flag) = i ]; then refused add $file; refused touch $file; fi
          refused mv -fT mount/out $file; refused mv -fT mount/far/off/in $file; refused exchange mount/far/off/in $file
          refused ln $file mount/far/off/new; refused mv $file mount/far/off/new; cat $file; thawed
          add $file; cat $file; mv $file mount/moved; test ! -e $file; rm mount/moved
        done
        ls mount; ended
        """,
        over: """
          for name in both alone up; do echo own > disk/upper/$name; done
          mkdir -p lower/far/off; for name in both out far/off/in; do echo low > lower/$name; done
          """)
      #expect(said == "own\nown\nmore\nown\nown\nmore\nfar\nout\nup\n")
    }
  }
}
