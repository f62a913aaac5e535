// A user's own mount over lowers, which the kernel does not seal for them.

import MountSupport
import Testing

extension MountTests.UserMountTests {
  @Test(
    "A user's volume moves no access time of their lower, and reads what others have in it",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func accessTimes() throws {
    let result = try inOwnWorld(
      """
      mkdir lower && mount -t tmpfs -o strictatime,mode=0755,uid=65534,gid=65534 tmpfs lower
      echo of root > lower/foreign
      as_user '
      mkdir lower/d lower/d/e; echo text > lower/d/f; echo more > lower/d/e/g; echo control > lower/control
      times() { stat -c "%n %x" lower lower/d lower/d/e lower/d/f lower/d/e/g; }
      before=$(stat -c %x lower/control); sleep 0.05; cat lower/control; test "$before" != "$(stat -c %x lower/control)"
      times > before; sleep 0.05
      varve mount -o lower=lower upper mount
      ls -lR mount; cat mount/d/f mount/d/e/g; grep -r text mount
      test "$(cat mount/foreign)" = "of root"
      echo changed >> mount/d/f; chmod 600 mount/d/e/g; mv mount/d mount/moved
      test "$(cat mount/moved/f)" = "$(printf "text\\\\nchanged")"
      varve umount mount
      times | diff before -
      '
      """)
    #expect(result.exit == 0, "\(result.output)")
  }

  @Test(
    "To a user a lower is what it is without the volume, and what they may read of it is brought up as theirs",
    .enabled(if: hasTools, "needs fusermount3 and setpriv"))
  func strangeItems() throws {
    let result = try inOwnWorld(
      """
      mkdir -p lower/d/closed lower/m; echo in > lower/d/closed/in; echo mine > lower/d/mine; ln -s mine lower/d/link
      mkfifo lower/d/fifo; echo secret > lower/d/secret; echo others > lower/d/others; mknod lower/d/null c 1 3; cp /bin/true lower/d/suid; cp /bin/true lower/d/own
      chown -hR 65534:65534 lower; chmod 6755 lower/d/own; chown -R 0:0 lower/d/secret lower/d/others lower/d/closed lower/d/suid
      chmod 600 lower/d/secret; chmod 700 lower/d/closed; chmod 4755 lower/d/suid; chmod 666 lower/d/null
      mount -t tmpfs -o mode=777 tmpfs lower/m; echo above > lower/m/above
      look() { find lower -printf '%p %y %m %U %G %n %s %T@ %C@ %l\\n' | sort; }; look > before
      as_user '
      refused() {
        local words=$1; shift
        if said=$("$@" 2>&1); then echo "$* was done"; exit 1; fi
        [[ $said == *"$words"* ]] || { echo "$*: $said"; exit 1; }
      }
      varve mount -o lower=lower upper mount; cd mount
      # Also what they may not open.
      diff <(cd ../lower/d; stat -c "%n %F %a %u %s" *) <(cd d; stat -c "%n %F %a %u %s" *)
      refused "Permission denied" cat d/secret; refused "Permission denied" ls d/closed
      refused "Permission denied" mv d/secret d/elsewhere; refused "Operation not permitted" chmod 600 d/others
      refused "Operation not permitted" mv d/null d/elsewhere; test ! -e d/elsewhere
      # Nothing of all that has brought up the directory.
      test ! -e ../upper/d
      # The kernel seals no lower of a user, so what is mounted there is not hidden.
      refused "Invalid cross-device link" cat m/above; refused "Invalid cross-device link" rmdir m
      mv d/own d/program; stat -c "%u %a" d/program | grep -x "65534 6755"; rm d/program
      mv d/others d/copy; echo more >> d/copy; stat -c "%u %a" d/copy | grep -x "65534 644"
      mv d/suid d/program; stat -c "%u %a" d/program | grep -x "65534 755"
      mv d/link d/moved; test "$(readlink d/moved)" = mine; mv d/fifo d/pipe; test -p d/pipe; chmod 600 d/pipe
      rm -f d/null d/secret; echo new > d/null; test "$(cat d/null)" = new; mkdir d/secret; test -z "$(ls d/secret)"
      mv d e; cd ..; varve umount mount; varve check upper 2>&1 | tee said; if grep cross-device said; then exit 1; fi
      varve mount -o lower=lower upper mount; test ! -e mount/d
      test "$(cat mount/e/copy mount/e/mine mount/e/null)" = "$(printf "others\\nmore\\nmine\\nnew")"; ls mount/e
      varve umount mount
      '
      look | diff before -; umount lower/m
      """)
    #expect(result.exit == 0, "\(result.output)")
  }
}
