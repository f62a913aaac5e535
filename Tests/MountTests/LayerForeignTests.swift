// Lowers on file systems that cannot say which they are: those of programs (FUSE), and NFS, have no identifier that lasts.

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
