// Programs that people run over lowers, each held against the same work in a plain directory.

import MountSupport
import Testing

extension MountTests {
  @Suite("Real programs over a lower", .timeLimit(.minutes(3))) struct LayerProgramTests {
    private func run(_ script: String) throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      try stage.shell(LayerStage.look + LayerProgramTests.prelude + script)
    }

    /// `package VERSION` makes a Debian package of what is in `tree`; `sound` ends a mount and checks what it has left, and that no
    /// time of the lower has moved.
    private static let prelude =
      ScriptShell.times + """
        package() {
          mkdir -p tree/DEBIAN
          printf 'Package: sample\\nVersion: %s\\nArchitecture: all\\nMaintainer: nobody <n@example.org>\\nDescription: sample\\n' $1 \\
            > tree/DEBIAN/control
          dpkg-deb -b tree sample-$1.deb > /dev/null
        }
        over() { test -e times || times lower > times; varve mount -o lower=lower${1:+,$1} upper mount; }
        sound() { varve umount mount; test -z "$(ls -A upper/.varve/work | grep -v '^wh$' || true)"; varve check --lower "$BASE/lower" upper; times lower | diff times -; }
        BASE=$PWD

        """

    @Test(
      "A package is installed, replaced and purged over a lower as in a plain directory",
      .enabled(if: Programs.has("dpkg")))
    func packages() throws {
      try run(
        """
        mkdir -p tree/usr/bin tree/usr/lib/sample/deep tree/usr/share/sample tree/etc
        for i in $(seq 60); do echo $i > tree/usr/lib/sample/deep/f$i; done
        echo one > tree/usr/bin/sample; chmod 4755 tree/usr/bin/sample; ln tree/usr/bin/sample tree/usr/bin/other
        ln -s deep tree/usr/lib/sample/link; echo conf > tree/etc/sample.conf; echo gone > tree/usr/share/sample/gone
        echo dir > tree/usr/share/sample/kind; echo /etc/sample.conf > conffiles
        mkdir -p tree/DEBIAN; cp conffiles tree/DEBIAN; package 1
        rm tree/usr/share/sample/gone tree/usr/share/sample/kind tree/usr/lib/sample/link
        mkdir tree/usr/share/sample/kind tree/usr/lib/sample/link; echo in > tree/usr/share/sample/kind/in
        echo two > tree/usr/bin/sample; for i in $(seq 30); do echo new $i > tree/usr/lib/sample/deep/f$i; done
        echo conf 2 > tree/etc/sample.conf; package 2
        in_root() { dpkg --root="$BASE/$1" --force-not-root,unsafe-io "${@:2}" > out 2>&1 || { cat out; false; }; }
        mkdir -p lower/var/lib/dpkg/{info,updates,triggers}; touch lower/var/lib/dpkg/{status,available}
        in_root lower -i sample-1.deb; cp -a lower plain; look lower > before
        over
        for where in plain mount; do
          in_root $where -i sample-2.deb; in_root $where --verify sample; test ! -s out
          dpkg --root="$BASE/$where" -s sample | grep -q 'Version: 2'
        done
        diff <(look plain) <(look mount); varve umount mount; over; diff <(look plain) <(look mount)
        for where in plain mount; do in_root $where -P sample; in_root $where -i sample-1.deb; done
        diff <(look plain) <(look mount)
        sound; look lower | diff before -
        """)
    }

    @Test(
      "rsync makes a tree over a lower what it is elsewhere, links and attributes included",
      .enabled(if: Programs.has("rsync", "setfattr")))
    func rsync() throws {
      try run(
        """
        mkdir -p lower/t/a/b lower/t/c; for i in $(seq 50); do echo $i > lower/t/a/b/f$i; echo $i > lower/t/c/f$i; done
        ln lower/t/a/b/f1 lower/t/c/linked; ln lower/t/a/b/f2 lower/t/two; ln -s c lower/t/link; mkfifo lower/t/fifo
        setfattr -n user.k -v v lower/t/a lower/t/a/b/f1; look lower > before
        cp -a lower/t source; cd source; for i in $(seq 20); do echo other $i > a/b/f$i; done; rm -r c; mv a/b c; mkdir a/b
        ln c/f30 a/b/again; setfattr -n user.k -v w a; setfattr -x user.k c/f1; chmod 700 c; chown 7001:7002 c/f40; rm link; echo file > link
        cd ..; cp lower/t/a/b/f3 source/a/b/kept; touch -d 2001-02-03 source/c source/a/b/kept
        over
        rsync -aHAX --delete source/ mount/t/
        test -z "$(rsync -aHAXnic --delete source/ mount/t/)"; diff <(look source) <(look mount/t)
        test "$(stat -c %i mount/t/c/f30)" = "$(stat -c %i mount/t/a/b/again)"; test "$(stat -c %h mount/t/c/f30)" = 2
        rsync -aHAX mount/t/ out/; test -z "$(rsync -aHAXnic --delete source/ out/)"
        varve umount mount; over; test -z "$(rsync -aHAXnic --delete source/ mount/t/)"
        sound; look lower | diff before -
        """)
    }

    @Test(
      "Whole trees of a lower are put aside, replaced and taken back by renames, as package managers of languages do"
    )
    func trees() throws {
      try run(
        """
        for p in $(seq 12); do
          mkdir -p lower/node_modules/p$p/lib/deep lower/node_modules/@s/q$p
          for i in 1 2 3 4; do echo $p $i > lower/node_modules/p$p/lib/deep/$i; echo $i > lower/node_modules/@s/q$p/$i; done
          ln -s ../p$p lower/node_modules/@s/link$p
        done
        cp -a lower plain; look lower > before
        over
        for where in plain mount; do
          cd $BASE/$where/node_modules
          for p in $(seq 12); do
            # As npm does it: away, the new one in its place, and the old one removed at the end or taken back.
            mkdir -p .staging; cp -a p$p .staging/p$p; echo 2 > .staging/p$p/lib/version; mv p$p .p$p-old; mv .staging/p$p p$p
            mv @s/q$p .q$p; mkdir @s/q$p; echo new > @s/q$p/new
            case $((p % 3)) in
              0) rm -rf p$p; mv .p$p-old p$p; rm -r @s/q$p; mv .q$p @s/q$p ;;
              1) rm -rf .p$p-old .q$p ;;
              2) mv .p$p-old @s/q$p/nested; mv @s/q$p/nested/lib/deep @s/q$p/deep; rm -rf .q$p ;;
            esac
          done
          mv @s @t; mv @t/q3 q3; mv q3 @t/q3; mv @t @s; cd ..; mv node_modules modules; mv modules node_modules; rmdir node_modules/.staging
          cd $BASE
        done
        diff <(look plain) <(look mount); varve umount mount; over; diff <(look plain) <(look mount)
        rm -rf mount/node_modules; test -z "$(ls mount)"; cp -a plain/node_modules mount; diff <(look plain) <(look mount)
        sound; look lower | diff before -
        """)
    }

    @Test(
      "The root itself is a lower, with the upper in memory: programs run in it, and it does not change",
      .enabled(if: Machine.hasOtherMemory, "needs a /dev/shm apart from the root"))
    func root() throws {
      let stage = try LayerStage(in: try TemporaryDirectory.makeInMemory())
      defer { stage.remove() }
      try stage.shell(
        """
        varve mount -o lower=/ upper mount
        test ! -e mount$PWD; test -z "$(ls mount/proc)"
        cmp mount/bin/bash /bin/bash; name=varve-test-$$
        chroot mount /bin/bash -c "echo in > /usr/$name; mv /usr/share/doc /usr/share/$name; rm -r /usr/share/$name/bash; mkdir /usr/share/doc
          chmod 700 /bin/ls; sed -i s/root/ROOT/ /etc/passwd"
        test "$(cat mount/usr/$name)" = in; test ! -e /usr/$name; test ! -e /usr/share/$name; test -d /usr/share/doc/bash
        test ! -e mount/usr/share/$name/bash; test -z "$(ls mount/usr/share/doc)"
        test "$(ls /usr/share/doc | grep -vx bash | wc -l)" = "$(ls mount/usr/share/$name | wc -l)"
        test "$(stat -c %a mount/bin/ls)" = 700; test "$(stat -c %a /bin/ls)" = 755
        grep -q ROOT mount/etc/passwd; if grep -q ROOT /etc/passwd; then exit 1; fi
        test "$(find upper -path upper/.varve -prune -o -type f -print | wc -l)" -le 4
        varve umount mount
        """)
    }
  }
}
