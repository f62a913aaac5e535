// Lowers on file systems that are made of others: those of programs (FUSE), which have no identifier that lasts, and overlayfs, where
// the devices of a directory and of what is in it differ.

import Glibc
import MountSupport
import Testing

extension MountTests.LayerMountTests {
  @Test(
    "A file with several names in a lower on FUSE is read and removed, and not changed; others are changed",
    .enabled(if: Programs.has("bindfs"), "needs bindfs"))
  func onFuse() throws {
    let stage = try LayerStage()
    defer {
      umount2(stage.base + "/mount", CInt(MNT_DETACH))
      umount2(stage.base + "/lower", CInt(MNT_DETACH))
      stage.remove()
    }
    try stage.shell(
      """
      mkdir lower2/d; echo one > lower2/a; ln lower2/a lower2/b; echo solo > lower2/solo; echo x > lower2/d/x; ln lower2/a lower2/d/y
      apart bindfs lower2 lower; varve mount -o lower=lower upper mount
      test "$(stat -c %i mount/a)" = "$(stat -c %i mount/b)"; test "$(cat mount/b)" = one
      refused() { if "$@" 2> said; then exit 1; fi; grep -q "not supported" said; }
      refused sh -c "echo more >> mount/a"; refused mv mount/a mount/c; refused chmod 600 mount/b; refused ln mount/a mount/c
      refused mv mount/d/y mount/d/z; refused ln mount/d/y mount/d/z; refused chmod 600 mount/d/y
      test -z "$(ls upper)"
      rm mount/b; test ! -e mount/b; test "$(cat mount/a)" = one; test "$(stat -c %h mount/a)" = 3; rm mount/d/y
      number=$(stat -c %i mount/solo); echo more >> mount/solo; mv mount/d mount/moved
      test "$(stat -c %i mount/solo)" = $number; test "$(cat mount/moved/x)" = x
      varve umount mount; varve mount -o lower=lower upper mount
      test "$(cat mount/solo)" = "$(printf 'solo\\nmore')"; test "$(cat mount/moved/x)" = x; test ! -e mount/b
      varve umount mount; test "$(cat lower2/solo lower2/a lower2/b)" = "$(printf 'solo\\none\\none')"
      """)
  }

  @Test(
    "A lower on a file system without attributes has no records and no marks, and is brought up as any other")
  func withoutAttributes() throws {
    let stage = try LayerStage()
    defer {
      for name in ["mount", "lower"] { umount2("\(stage.base)/\(name)", CInt(MNT_DETACH)) }
      stage.remove()
    }
    let isMounted = Glibc.mount("ramfs", stage.base + "/lower", "ramfs", 0, nil) == 0
    try #require(isMounted)
    try stage.shell(
      """
      mkdir lower/d; echo one > lower/a; echo x > lower/d/x; ln -s a lower/link; truncate -s 1M lower/hollow; echo gone > lower/gone
      varve mount -o lower=lower upper mount
      test "$(cd mount; echo * d/*)" = "a d gone hollow link d/x"; test "$(cat mount/link)" = one; cmp mount/hollow lower/hollow
      echo more >> mount/a; echo more >> mount/hollow; echo new > mount/d/new; mv mount/d mount/moved; rm mount/gone
      varve umount mount; varve check upper; varve mount -o lower=lower upper mount
      test "$(cd mount; echo * moved/*)" = "a hollow link moved moved/new moved/x"; test "$(cat mount/a)" = "$(printf 'one\\nmore')"
      varve umount mount; test "$(cat lower/a lower/gone)" = "$(printf 'one\\ngone')"
      """)
  }

  /// What the scripts about overlayfs begin with: a tree `kernel` of what its lower has, what its upper has, and what it copied.
  ///
  /// `listed` prints what a listing numbers other than stat does.
  private static let overlay =
    LayerStage.look + """
      tree() {
        mkdir lower2/d lower2/own; for name in a b c; do echo $name > lower2/$name; echo $name > lower2/d/$name; done
        echo deep > lower2/own/deep; ln -s a lower2/d/link; ln lower2/c lower2/d/second; mkdir lower/top
        mount -t overlay -o lowerdir=lower2,upperdir=lower,workdir=work$1 overlay kernel
        echo more >> kernel/b; echo new > kernel/d/new; rm kernel/d/b; mkdir kernel/made; echo x > kernel/made/x; ln kernel/made/x kernel/made/y
        setfattr -n user.note -v kept kernel/a
      }
      over() { varve mount -o lower=kernel upper mount; }
      numbers() { find mount -path mount/.varve -prune -o -print0 | xargs -0 stat -c '%n %i' | sort; }
      listed() { python3 -c '
      import os
      for place, _, _ in os.walk("mount"):
          for entry in os.scandir(place):
              if entry.name != ".varve" and entry.inode() != entry.stat(follow_symlinks=False).st_ino: print(entry.path)'; }

      """

  private func onOverlay(_ script: String) throws {
    let stage = try LayerStage(prelude: Self.overlay)
    defer {
      for name in ["mount", "kernel", "lower2"] { umount2("\(stage.base)/\(name)", CInt(MNT_DETACH)) }
      stage.remove()
    }
    #expect(try stage.shell(script) == "")
  }

  @Test(
    "A tree that overlayfs shows is a lower as any other: read, brought up, moved, and the same after a remount",
    .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"),
    .enabled(if: Programs.has("python3"), "needs python3"))
  func onOverlay() throws {
    try onOverlay(
      """
      tree; look kernel > before; over; look mount | diff before -; numbers > first; listed
      # Of 'c' and of 'made/x' there are two names.
      test "$(cut -d' ' -f2 first | sort | uniq -d | wc -l)" = 2
      for name in a b d/a d/new own/deep; do echo brought >> mount/$name; chmod 600 mount/$name; done; grep -q brought mount/a
      numbers | diff first -; listed; test "$(getfattr --only-values -n user.note mount/a)" = kept
      echo link >> mount/c; test "$(cat mount/d/second)" = "$(printf 'c\\nlink')"
      echo two >> mount/made/y; grep -q two mount/made/x; rm mount/made/x; test "$(cat mount/made/y)" = "$(printf 'x\\ntwo')"
      mv mount/d mount/moved; mv mount/own/deep mount/moved/deep; rm mount/b; look mount > after; numbers > second; listed
      varve umount mount; over; look mount | diff after -; numbers | diff second -; listed
      varve umount mount; varve check --lower kernel upper; look kernel | diff before -
      """)
  }

  @Test(
    "Where overlayfs shows files of several devices, each has one number wherever it is asked for, and those with several names are not changed",
    .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"),
    .enabled(if: Programs.has("python3"), "needs python3"))
  func onOverlayOfSeveral() throws {
    try onOverlay(
      """
      mount -t tmpfs tmpfs lower2; tree ,xino=off; test $(stat -c %d kernel) != $(stat -c %d kernel/a)
      look kernel > before; over; look mount | diff before -; numbers > first; listed
      test "$(cut -d' ' -f2 first | sort | uniq -d | wc -l)" = 2
      for name in a b d/a d/new own/deep; do echo brought >> mount/$name; chmod 600 mount/$name; done; grep -q brought mount/a
      numbers | diff first -; listed; test "$(getfattr --only-values -n user.note mount/a)" = kept
      refused() { if "$@" 2> said; then exit 1; fi; grep -q "not supported" said; }
      refused sh -c "echo more >> mount/c"; refused mv mount/d/second mount/d/third; refused ln mount/made/x mount/made/z; rm mount/made/x
      mv mount/d mount/moved; mv mount/own/deep mount/moved/deep; rm mount/b; look mount > after; listed
      varve umount mount; over; look mount | diff after -; listed
      varve umount mount; varve check --lower kernel upper; look kernel | diff before -
      """)
  }

  @Test(
    "A volume goes on over a lower that is moved, replaced or unmounted, and shows no more of one that is removed"
  )
  func goingAway() throws {
    let stage = try LayerStage()
    defer {
      for name in ["mount", "lower"] { umount2("\(stage.base)/\(name)", CInt(MNT_DETACH)) }
      stage.remove()
    }
    let said = try stage.shell(
      """
      fill() { mkdir $1/d; for i in 1 2 3 4 5 6; do echo $i > $1/d/$i; done; echo top > $1/top; }
      over() { varve mount -o lower=lower upper mount; }
      again() { varve umount mount; rm -r upper; mkdir upper; }
      # What is read, brought up and moved is of the lower that was mounted, wherever that is now.
      goes_on() { test "$(cat mount/d/$1 mount/top)" = "$(printf $1'\\ntop')"; echo more >> mount/d/$1; test "$(tail -n 1 mount/d/$1)" = more
        mv mount/d/$2 mount/$2; test "$(cat mount/$2)" = $2; test "$(ls mount/d | wc -l)" = $3; }
      fill lower; over; mv lower away; goes_on 1 2 5
      mkdir lower; echo other > lower/top; echo other > lower/3; goes_on 3 4 4; test ! -e mount/3
      varve umount mount; rm -r lower; over 2>&1 | sed "s,$PWD/,,"; mv away lower; over
      (cd mount; echo d/* *)
      rm -r lower/d lower/top; cat mount/d/5 2>&1 | sed 's/.*: //'; cat mount/d/1; echo new > mount/new; mkdir mount/dir; cat mount/new; (cd mount; echo d/* *)
      rm -r mount/*; test -z "$(ls mount)"; again
      mount -t tmpfs tmpfs lower; fill lower; over; umount -l lower; goes_on 1 2 5; again
      """)
    #expect(
      said == """
        varve mount: lower: cannot open this lower directory: No such file or directory (ENOENT); name one that exists; in a path ':' is written '\\:'
        d/1 d/3 d/5 d/6 2 4 d top
        No such file or directory
        1
        more
        new
        d/1 d/3 2 4 d dir new

        """)
  }

  @Test(
    "While the program that a lower is of is gone, what is asked of it is EIO and nothing is made; afterwards all is there",
    .enabled(if: Programs.has("bindfs"), "needs bindfs"))
  func dead() throws {
    let stage = try LayerStage()
    defer {
      for name in ["mount", "lower"] { umount2("\(stage.base)/\(name)", CInt(MNT_DETACH)) }
      stage.remove()
    }
    let said = try stage.shell(
      """
      mkdir lower2/d; for i in 1 2; do echo $i > lower2/d/$i; done; echo top > lower2/top
      serve() { bindfs -f lower2 lower & pid=$!; until mountpoint -q lower; do sleep 0.02; done; varve mount -o lower=lower upper mount; }
      serve; echo more >> mount/d/1; exec 5< mount/d/2; kill -9 $pid; { wait $pid || true; } 2> said
      for words in "cat mount/d/2" "head -c 1 <&5" "ls mount" "ls mount/d" "cat mount/top" "touch mount/new" "chmod 600 mount/top" "mkdir mount/new" \
        "mv mount/top mount/new" "rm mount/top" "ln mount/top mount/new"; do
        if bash -c "$words" 2> said; then echo "$words"; fi; grep -q 'Input/output error' said || cat said; done
      exec 5<&-; varve umount mount; umount -l lower; (cd upper; echo * d/*); serve
      (cd mount; echo * d/*); cat mount/d/1 mount/d/2; varve umount mount; umount lower
      """)
    #expect(said == "d d/1\nd top d/1 d/2\n1\nmore\n2\n", "\(said)")
  }
}
