// Layers on file systems that have limits or parts of their own: little room for attributes, subvolumes, mounts inside.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Layers on special stores", .timeLimit(.minutes(3))) struct LayerStoreTests {
    private static func canHave(_ kind: String) -> Bool {
      Machine.knows(fileSystem: kind) && Programs.has("mkfs.\(kind)")
    }

    private func remove(_ stage: LayerStage) {
      for name in ["mount", "store/low/inner", "store"] {
        umount2("\(stage.base)/\(name)", CInt(MNT_DETACH))
      }
      stage.remove()
    }

    @Test(
      "A directory of lowers whose path finds no room in an attribute is EXDEV, unchanged, and can be copied",
      .enabled(if: canHave("ext4"), "needs ext4 and its mkfs"))
    func longPaths() throws {
      let stage = try LayerStage()
      defer { remove(stage) }
      let name = String(repeating: "n", count: 255)
      func deep(_ levels: Int) -> String { Array(repeating: name, count: levels).joined(separator: "/") }
      try stage.shell(
        """
        # The attributes of an inode have less than 2 KiB there.
        truncate -s 32M image; mkfs.ext4 -q -b 2048 -O ^has_journal,^ea_inode image
        mkdir store; mount -o loop image store; mkdir -p store/upper lower/\(deep(8))/d
        echo 4 > lower/\(deep(4))/file; echo 7 > lower/\(deep(7))/file; echo 8 > lower/\(deep(8))/file
        echo inner > lower/\(deep(8))/d/inner; varve mount -o lower=lower store/upper mount
        """)
      let (mount, moved) = (stage.base + "/mount", stage.base + "/mount/moved")
      for levels in [4, 7] {
        // The longest that always finds room has 1,024 bytes.
        try #require(rename("\(mount)/\(deep(levels))", moved) == 0, "\(levels): \(Errno.current)")
        #expect(try Text.read(moved + "/file") == "\(levels)\n")
        try #require(rename(moved, "\(mount)/\(deep(levels))") == 0, "\(levels): \(Errno.current)")
      }
      let look = LayerStage.look + "look mount; "
      let before = try stage.shell(look)
      for flags: UInt32 in [0, 1] {
        let result = lt_renameat2(AT_FDCWD, "\(mount)/\(deep(8))", AT_FDCWD, moved, flags)
        #expect(result == -EXDEV, "\(flags)")
      }
      try stage.shell("mkdir mount/other")
      #expect(
        lt_renameat2(AT_FDCWD, "\(mount)/\(deep(8))", AT_FDCWD, mount + "/other", 2) == -EXDEV)
      #expect(
        try stage.shell("rmdir mount/other; test ! -e store/upper/\(deep(8)); " + look) == before
      )
      let said = try stage.shell(
        """
        mv mount/\(deep(8)) mount/moved
        for i in 1 2; do
          cat mount/moved/file mount/moved/d/inner; test ! -e mount/\(deep(8)); cat mount/\(deep(7))/file
          varve umount mount; varve check store/upper; varve mount -o lower=lower store/upper mount
        done
        """)
      #expect(said == "8\ninner\n7\n8\ninner\n7\n")
    }

    @Test(
      "A file that has all the names there can be gets no further one, and no directory is brought up for it",
      .enabled(if: canHave("ext4"), "needs ext4 and its mkfs"))
    func mostNames() throws {
      let stage = try LayerStage()
      defer { remove(stage) }
      let said = try stage.shell(
        """
        truncate -s 48M image; mkfs.ext4 -q -O ^has_journal image; mkdir store lower/d; mount -o loop image store
        mkdir -p store/upper/names; touch store/upper/f
        perl -e 'for (1..64998) { link("store/upper/f", "store/upper/names/$_") or die $! }'
        varve mount -o lower=lower store/upper mount
        ln mount/f mount/last; stat -c %h mount/f; ! ln mount/f mount/d/new 2> said; grep -o 'Too many links' said
        test ! -e store/upper/d; rm mount/last; ln mount/f mount/d/new; ls mount/d
        """)
      #expect(said == "65000\nToo many links\nnew\n")
    }

    @Test(
      "A subvolume in a lower is served with numbers of its own, and what is mounted in a lower is not part of it",
      .enabled(if: canHave("btrfs"), "needs btrfs and its mkfs"), arguments: ["store/upper", "upper"])
    func subvolumes(_ upper: String) throws {
      let stage = try LayerStage()
      defer { remove(stage) }
      try stage.shell(
        """
        truncate -s 128M image; mkfs.btrfs -q image >/dev/null 2>&1; mkdir store; mount -o loop image store
        btrfs subvolume create store/low >/dev/null; btrfs subvolume create store/low/sub >/dev/null; mkdir -p store/upper
        cd store/low; mkdir d inner sub/e; echo d > d/f; echo top > top; ln top hard; echo below > inner/below
        echo s > sub/f; echo two > sub/two; ln sub/two sub/again; echo g > sub/e/g; ln -s f sub/link; mkfifo sub/pipe
        mount -t tmpfs tmpfs inner; echo above > inner/above
        """)
      let lower = try LowerTree.print(of: stage.base + "/store/low")
      let prelude = """
        mounted() { varve mount -o lower=store/low \(upper) mount; }
        numbers() { (cd mount; find . -path ./.varve -prune -o -printf '%P %y %i\\n' | sort); }
        refused() { if said=$("$@" 2>&1); then echo "$* was done"; fi; [[ $said == *"Operation not supported" ]] || echo "$*: $said"; }

        """
      let said = try stage.shell(
        prelude + """
          mounted; numbers > before; cut -d' ' -f3 before | sort | uniq -d | wc -l; ls mount/inner
          find mount -path mount/.varve -prune -o -printf '%D\\n' | sort -u | wc -l
          # What listings say, too.
          (cd mount/sub; ls -1i | while read -r number name; do test $number = $(stat -c %i "$name"); done)
          varve umount mount; mounted; numbers | diff before -
          cd mount; echo more >> sub/f; cat sub/f; refused chmod 600 sub/two; refused mv sub/two sub/three; refused ln sub/two sub/four
          rm sub/again; test ! -e sub/again; cat sub/two; mv sub moved; echo x >> moved/e/g; mv moved/e e; cat e/g moved/f
          test ! -e moved/e; mv moved/pipe moved/fifo; test -p moved/fifo; mv moved/link moved/other; readlink moved/other
          mkdir sub; ls sub; echo x >> top; cat hard; cd ..; varve umount mount; varve check \(upper)
          mounted; (cd mount; find . -path ./.varve -prune -o -type f -print | sort); cat mount/e/g mount/moved/f; rm -r mount/moved; ls mount
          """)
      #expect(
        said == """
          2
          below
          1
          s
          more
          two
          g
          x
          s
          more
          f
          top
          x
          ./d/f
          ./e/g
          ./hard
          ./inner/below
          ./moved/f
          ./moved/two
          ./top
          g
          x
          s
          more
          d
          e
          hard
          inner
          sub
          top

          """)
      #expect(try LowerTree.print(of: stage.base + "/store/low") == lower)
    }
  }
}
