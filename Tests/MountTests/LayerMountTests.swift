// Layers on real mounts: programs, the kernel's own overlayfs, and what a mount refuses.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Layers on a mount") struct LayerMountTests {
    @Test("A tree over a lower is filled, changed and emptied as any other, and the lower stays as it is")
    func programs() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        LayerStage.look + """
          mkdir -p lower/tree/deep/er; for i in $(seq 40); do echo $i > lower/tree/deep/f$i; done
          ln -s deep lower/tree/link; mkfifo lower/tree/fifo; cp -a lower/tree lower/other
          look lower > before
          varve mount -o lower=lower upper mount
          cp -a mount/tree mount/copy; diff <(look mount/tree) <(look mount/copy)
          mv mount/tree mount/moved; diff <(look mount/moved) <(look lower/tree)
          tar -C mount -cf - moved | tar -C upper -tf - > /dev/null
          sed -i s/1/one/ mount/moved/deep/f1; grep -q one mount/moved/deep/f1
          rm -rf mount/moved mount/other mount/copy; test -z "$(ls mount)"
          cp -a lower/tree mount/tree; diff <(look mount/tree) <(look lower/tree)
          varve umount mount; varve mount -o lower=lower upper mount
          diff <(look mount/tree) <(look lower/tree); test "$(ls mount)" = tree
          varve umount mount
          look lower | diff before -
          """)
    }

    @Test("A version history lives over a lower", .enabled(if: Programs.has("git"))) func history() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        """
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git init -q lower/repo; cd lower/repo; mkdir d; for i in 1 2 3; do echo $i > d/$i; git add .; git commit -qm $i; done
        cd ../..; varve mount -o lower=lower upper mount; cd mount/repo
        test -z "$(git status --short)"; git checkout -q HEAD~1; git checkout -qb other; git mv d e; git commit -qm moved
        git gc -q; git fsck --strict; test "$(git log --oneline | wc -l)" = 3; test "$(ls e | wc -l)" = 2
        """)
    }

    @Test("Whoever follows a file sees what is written to it after it was brought up") func followed() throws
    {
      let stage = try LayerStage()
      defer { stage.remove() }
      let seen = try stage.shell(
        """
        echo first > lower/log; varve mount -o lower=lower upper mount
        tail -n +1 -f mount/log > seen & tail=$!
        for i in $(seq 100); do grep -q first seen && break; sleep 0.1; done
        echo second >> mount/log
        for i in $(seq 100); do grep -q second seen && break; sleep 0.1; done
        kill $tail; cat seen
        """)
      #expect(seen.contains("first\nsecond\n"), "\(seen)")
    }

    @Test("Many who write to one file of a lower at once bring it up once") func together() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        """
        for i in $(seq 20); do head -c 100000 /dev/zero > lower/f$i; done
        varve mount -o lower=lower upper mount
        for p in 1 2 3 4 5 6 7 8; do (for i in $(seq 20); do echo line >> mount/f$i; done) & done; wait
        for i in $(seq 20); do test "$(tail -c +100001 mount/f$i | wc -l)" = 8; done
        """)
    }

    @Test(
      "On a read-only volume the kernel reads files of lowers itself; once it is writable they are changed when they are closed",
      .enabled(if: Machine.passesThrough, "this kernel passes no files through"))
    func handedOver() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        """
        mkdir lower/d lower/e; echo kept > lower/d/kept
        head -c 2000000 /dev/urandom > lower/f; cp lower/f expected; times=$(stat -c %X.%x lower/f)
        reads() { sed 's/.*"requests":{//' mount/.varve/status | grep -o '"read":[0-9]*' | grep -o '[0-9]*$' || echo 0; }
        varve mount -o ro,lower=lower upper mount
        before=$(reads); cmp mount/f expected; cmp mount/f expected
        test $(($(reads) - before)) -le 4
        test "$times" = "$(stat -c %X.%x lower/f)"
        exec 5< mount/f 6< mount/d/kept; head -c 10 <&5 > /dev/null
        varve remount -o rw mount
        ! printf X | dd of=mount/f conv=notrunc status=none 2> said; grep -q busy said
        cmp mount/f expected
        for move in mv ln; do ! $move mount/d/kept mount/e/new 2> said; grep -q busy said; done
        ! ls -d upper/d upper/e 2> /dev/null
        exec 5<&- 6<&-
        for i in $(seq 50); do printf X | dd of=mount/f conv=notrunc status=none 2> said && break; sleep 0.1; done
        test "$(head -c 1 mount/f)" = X; cmp -i 1 mount/f expected; cmp lower/f expected
        """)
    }

    @Test("A read-only volume over lowers makes nothing in its upper directory, and needs nothing there")
    func readOnly() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        mkdir upper/d lower/d lower2/d; echo upper > upper/d/a; echo lower > lower/d/a; echo b > lower/d/b; echo c > lower2/d/c
        all() { find upper -printf '%p %i %m %n %T@ %C@\\n'; }
        all > before; varve mount -o ro,lower=lower:lower2 upper mount; cat mount/d/*
        refused() { if "$@" 2> said; then exit 1; fi; grep -q 'Read-only file system' said; }
        refused touch mount/new; refused rm mount/d/b; refused chmod 600 mount/d/c; refused mv mount/d mount/e
        varve umount mount; all | diff before -
        """)
      #expect(said == "upper\nb\nc\n")
    }

    @Test("A signal ends a copy, also for who waits for it, and nothing of it is left") func interrupted()
      throws
    {
      let stage = try LayerStage()
      defer { stage.remove() }
      // Sparse files are copied fast: this one has data in each piece. Where blocks are shared there is no copy to end. A copy
      // under way is a file without a name; the daemon has other deleted files, whose names begin otherwise.
      let said = try stage.shell(
        """
        head -c 600000000 /dev/zero | tr '\\0' x > lower/big
        if cp --reflink=always lower/big work/probe 2> said; then echo shares blocks; exit 0; fi; rm -f work/probe
        look() { stat -c '%s %Y %Z %h' mount/big mount; ls -A upper upper/.varve/work; }
        for round in 1 2 3 4 5; do
          rm -rf upper; mkdir upper; varve mount -o lower=lower upper mount
          daemon=$(sed 's/.*"pid":\\([0-9]*\\).*/\\1/' mount/.varve/status | head -1)
          look > before
          (exec 5>> mount/big) & one=$!; (exec 5>> mount/big) & two=$!; seen=
          for i in $(seq 500); do ls -l /proc/$daemon/fd | grep -q '#[0-9]* (deleted)' && seen=yes && break; sleep 0.005; done
          kill $two $one || true; wait $one || true; wait $two || true
          test -n "$seen" && test ! -e upper/big && break
          # The copy was faster than this shell.
          varve umount mount
        done
        test -n "$seen" && test ! -e upper/big; look | diff before -
        echo more >> mount/big; test "$(tail -c 5 mount/big)" = more
        test "$(stat -c %s mount/big)" = 600000005; echo ended
        """)
      #expect(said.contains("ended") || said.contains("shares blocks"), "\(said)")
    }

    @Test("Nothing of the layers can be written to but the upper") func sealed() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        echo x > lower/f; varve mount -o lower=lower upper mount
        daemon=$(sed 's/.*"pid":\\([0-9]*\\).*/\\1/' mount/.varve/status | head -1)
        exec 5< mount/f; head -c 1 <&5 > /dev/null
        same() { [ "$(stat -L -c %i $1 2>/dev/null)" = "$(stat -c %i $2)" ]; }
        refused() { if "$@" 2> said; then echo "done: $*"; else grep -q 'Read-only file system' said || cat said; fi; }
        for fd in /proc/$daemon/fd/*; do
          if same $fd lower; then
            refused touch $fd/new; refused rm $fd/f; refused mv $fd/f $fd/g; refused chmod 700 $fd/; refused setfattr -n user.x -v x $fd/f
            echo directory
          elif same $fd lower/f; then
            refused sh -c "echo y >> $fd"; refused truncate -s 0 $fd; refused chmod 600 $fd; refused setfattr -n user.x -v x $fd
            echo file
          fi
        done | sort -u
        exec 5<&-; cat lower/f
        """)
      #expect(said == "directory\nfile\nx\n", "\(said)")
    }

    @Test("On a volume of root's no access time of a lower moves, those of links included") func accessTimes()
      throws
    {
      let stage = try LayerStage()
      defer {
        for name in ["mount", "lower"] { umount2("\(stage.base)/\(name)", CInt(MNT_DETACH)) }
        stage.remove()
      }
      let said = try stage.shell(
        """
        mount -t tmpfs -o strictatime tmpfs lower; mkdir -p lower/d/e
        echo text > lower/d/f; ln -s f lower/d/link; echo more > lower/d/e/g; echo control > lower/control
        chown -hR 7001 lower/d/link lower/d/e
        times() { stat -c '%n %x' lower lower/d lower/d/e lower/d/f lower/d/link lower/d/e/g; }
        before=$(stat -c %x lower/control); sleep 0.05; grep -q control lower/control; test "$before" != "$(stat -c %x lower/control)"
        times > before; sleep 0.05; varve mount -o lower=lower upper mount
        ls -lR mount > seen; cat mount/d/f mount/d/e/g; readlink mount/d/link; grep -r text mount/d/link
        echo changed >> mount/d/f; chmod 600 mount/d/e/g; mv mount/d mount/moved; mv mount/moved/link mount/link
        varve umount mount; times | diff before -
        """)
      #expect(said == "text\nmore\nf\ntext\n")
    }

    @Test("What cannot be a layer is refused in a line that says why")
    func refusals() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell("mkdir lower/inner; : > file")
      for (lower, upper, words) in [
        ("upper", "upper", "is the layer"), ("lower:lower/inner", "upper", "is inside the layer"),
        ("lower/inner:lower", "upper", "holds the layer"), ("missing", "upper", "cannot open"),
        ("lower::lower2", "upper", "'::'"), ("/proc", "upper", "where the kernel shows itself"),
      ] {
        let said = try stage.shell("varve mount -o 'lower=\(lower)' \(upper) mount", exits: nil)
        #expect(said.contains(words) && said.split(separator: "\n").count == 1, "\(lower): \(said)")
      }
      try stage.shell("varve mount -o lower=lower upper mount; rm -r mount/inner; varve umount mount")
      let said = try stage.shell("varve mount upper mount", exits: nil)
      #expect(said.contains("lower="), "\(said)")
      try stage.shell("varve mount -o lower= upper mount; test -z \"$(ls mount)\"; varve umount mount")
    }

    @Test("A volume that is a layer of another is not mounted for writing") func inUse() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        "varve mount lower kernel; touch kernel/f; varve umount kernel; varve mount -o lower=lower upper mount"
      )
      #expect(try stage.shell("ls mount").contains("f"))
      for words in ["", "-f"] {
        let said = try stage.shell("varve mount \(words) lower kernel", exits: nil)
        #expect(said.contains("it is a layer of a volume that is mounted; unmount that one first"), "\(said)")
      }
      let repaired = try stage.shell("varve check --repair -y lower", exits: nil)
      #expect(repaired.contains("is mounted, by another volume that has it as a layer"), "\(repaired)")
      try stage.shell("varve umount mount; varve mount lower kernel")
      let refused = try stage.shell("varve mount -o lower=lower upper mount", exits: nil)
      #expect(refused.contains("mounted for writing"), "\(refused)")
    }

    @Test("A tree that is a layer of a volume is not mounted for writing, and becomes no volume")
    func shown() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell("touch lower/f; varve mount -o lower=lower upper mount")
      for words in ["", "-f"] {
        let said = try stage.shell("varve mount \(words) lower kernel", exits: nil)
        #expect(said.contains("is a layer of a volume that is mounted, by process"), "\(said)")
      }
      try stage.shell(
        "test ! -e lower/.varve; varve mount -o ro lower kernel; test -e kernel/f; varve umount kernel")
      // A lock by anybody else is no layer.
      try stage.shell(
        "varve umount mount; chmod 755 lower; "
          + "setpriv --reuid 65534 --regid 65534 --clear-groups flock -s --no-fork lower sleep 30 & sleep=$!; "
          + "until grep -q FLOCK /proc/locks; do sleep 0.1; done; varve mount lower kernel; varve umount kernel; "
          + "kill $sleep")
    }

    @Test(
      "The kernel's own overlayfs reads and continues what was made here, and the other way round",
      .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
    func agreement() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(
        LayerStage.look + """
          mkdir -p lower/d/e lower2/d lower2/g; for i in 1 2 3 4; do echo $i > lower/d/e/$i; echo $i > lower2/d/$i; done
          echo g > lower2/g/g
          kernel() { mount -t overlay -o redirect_dir=on,index=off,metacopy=off,lowerdir=lower:lower2,upperdir=upper,workdir=work overlay kernel; }
          ours() { varve mount -o lower=lower:lower2 upper mount; }
          ours; rm mount/d/1; mv mount/d mount/moved; mkdir mount/d; mv mount/g mount/moved/g; rm mount/moved/e/2
          echo changed >> mount/moved/e/3; look mount > one; varve umount mount
          kernel; look kernel | diff one -
          mv kernel/moved/e kernel/out; rm -r kernel/moved/g; mkdir kernel/moved/g; echo new > kernel/moved/g/new
          look kernel > two; umount kernel
          ours; look mount | diff two -; mv mount/out mount/d/out; look mount > three; varve umount mount
          kernel; look kernel | diff three -
          """)
    }

    @Test(
      "The kernel's overlayfs shows what its marks have no words for as the layers have it",
      .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
    func exceptions() throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        mkdir lower/d; echo x > lower/d/x; echo one > lower/a; ln lower/a lower/b
        look() { ls "$1/d"; cat "$1/a"; echo /; cat "$1/b"; echo $(($(stat -c %s "$1/zeros") == 100000)); }
        varve mount -o lower=lower upper mount
        varve chflags opaque mount/d; echo two >> mount/a; head -c 100000 /dev/zero > mount/zeros; varve compress mount/zeros
        look mount; varve umount mount
        mount -t overlay -o redirect_dir=on,index=off,metacopy=off,lowerdir=lower,upperdir=upper,workdir=work overlay kernel
        echo; look kernel
        """)
      #expect(
        said == """
          one
          two
          /
          one
          two
          1

          x
          one
          two
          /
          one
          0

          """)
    }
  }
}
