// Damaged records and lists of items that lie in a lower: nothing is guessed, the item is closed and stays below, and a check of
// that lower names it.

import Glibc
import MountSupport
import Testing

extension CommandTests {
  @Suite("Damage in lowers", .timeLimit(.minutes(1))) struct LowerDamageTests {
    /// A lower with a damaged record, a damaged list, one that is missing, and a directory with a damaged record.
    private static let prelude = """
      mkdir lower mount upper; varve mount lower mount; mkdir mount/d mount/dir; echo in > mount/dir/in
      for name in record list lost fine; do echo $name > mount/d/$name; done
      for path in d/record d/list d/lost d/fine dir; do varve chmod +a 'user:7001 deny write' mount/$path; varve chflags nodump mount/$path; done
      varve umount mount
      # Turns round a bit of the last byte but four.
      flip() { v=$(getfattr -n $2 -e hex $1 | sed -n 's/.*=0x//p'); n=$((${#v} - 10)); b=$(printf %02x $((0x${v:n:2} ^ 4))); setfattr -n $2 -v 0x${v:0:n}$b${v:n+2} $1; }
      flip lower/d/record trusted.varve.m; flip lower/d/list trusted.varve.acl; setfattr -x trusted.varve.acl lower/d/lost; flip lower/dir trusted.varve.m
      refused() { if said=$("$@" 2>&1); then echo "done: $*"; elif [[ $said != *"Input/output error"* && $said != *"(EIO)"* ]]; then echo "$*: $said"; fi; }
      as_other() { refused setpriv --reuid 7001 --clear-groups "$@"; }
      append() { bash -c 'echo more >> "$1"' append "$1"; }

      """

    @Test(
      "A check of an upper directory names the damaged items of its lowers, where they lie, and repairs nothing there",
      .enabled(if: Machine.canMount && Programs.has("setfattr"), "needs root, /dev/fuse and setfattr"))
    func named() throws {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      let said = try ScriptShell(prelude: ScriptShell.look + ScriptShell.times + LowerDamageTests.prelude)
        .must(
          """
          check() { varve check "$@" > out 2>&1 || echo $?; sed "s,$PWD,BASE,; s/its checksum[^;]*/.../; s/ it is in lower 2, and a check of that directory can repair it/ BELOW/" out; }
          mkdir first; ln lower/d/record lower/d/twin
          # Nothing is copied; the lower with damage is the second.
          varve mount -o lower=first:lower upper mount; varve umount mount; check upper
          # What was moved is named by its path in the lower.
          flip lower/d/fine trusted.varve.m; times lower > before
          varve mount -o lower=first:lower upper mount; mv mount/d mount/moved; varve umount mount
          check --repair -y --lower first:lower upper; varve check --json upper | grep -o '"findings": *[0-9]*'
          # What the volume does not show is no business of its check.
          rm -r upper/moved; check upper; times lower | diff before -
          """, in: base)
      let (dir, others) = (
        "BASE/lower/dir: record: the record of flags and owner is damaged: ...; BELOW\n",
        """
        BASE/lower/d/list: list: the access list is damaged: ...; BELOW
        BASE/lower/d/lost: list: the access list is missing; BELOW
        BASE/lower/d/record: record: the record of flags and owner is damaged: ...; BELOW

        """
      )
      let fine = "BASE/lower/d/fine: record: the record of flags and owner is damaged: ...; BELOW\n"
      #expect(
        said == "1\n\(dir)\(others)1\n\(dir)\(fine)\(others)\"findings\": 5\n1\n\(dir)")
    }

    @Test(
      "An item of a lower whose record or list is damaged is closed and not copied, and a check of the lower names it",
      .enabled(
        if: Machine.canMount && Programs.has("setfattr", "setpriv"),
        "needs root, /dev/fuse, setfattr and setpriv"))
    func closed() throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      let said = try ScriptShell(prelude: ScriptShell.look + ScriptShell.times + LowerDamageTests.prelude)
        .must(
          """
          times lower > before; varve mount -o lower=lower upper mount
          for path in d/record d/list d/lost dir; do
            refused chmod 600 mount/$path; refused mv mount/$path mount/moved; refused setfattr -n user.x -v x mount/$path; refused varve chflags hidden mount/$path
            as_other cat mount/$path; as_other ls mount/$path/
          done 2>&1 | grep -v 'Not a directory' || true
          for name in record list lost; do refused append mount/d/$name; refused ln mount/d/$name mount/new; done
          refused cat mount/d/record; refused rm mount/d/record; refused ls mount/dir; refused cat mount/dir/in; refused touch mount/dir/new; refused rmdir mount/dir
          # None of that has copied anything, and what is sound beside it is as before.
          ls -A upper; stat -c '%n %s' mount/d/* | sort; append mount/d/fine; cat mount/d/fine; rm mount/d/fine
          varve umount mount; times lower | diff before -; varve check lower | sort | sed "s,$PWD,BASE,; s/its checksum.*//" || true
          """, in: base)
      #expect(
        said == """
          .varve
          mount/d/fine 5
          mount/d/list 5
          mount/d/lost 5
          mount/d/record 7
          fine
          more
          BASE/lower/d/list: list: the access list is damaged:\(" ")
          BASE/lower/d/lost: list: the access list is missing
          BASE/lower/d/record: record: the record of flags and owner is damaged:\(" ")
          BASE/lower/dir: record: the record of flags and owner is damaged:\(" ")

          """)
    }
  }
}
