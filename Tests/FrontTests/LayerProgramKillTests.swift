import Faults
import Foundation
import LinuxFiles
import MountSupport
import Randomness
import Testing

// Programs that people run over a lower, and a daemon that is killed meanwhile, again and again: a program that is run once more
// ends with the tree that it makes in a plain directory.

extension FrontTests {
  @Suite(
    "Programs over a lower whose daemon is killed", .timeLimit(.minutes(20)),
    .enabled(if: Machine.canMount, "needs root and /dev/fuse"))
  struct LayerProgramKillTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    /// `work DIRECTORY` does what is interrupted, and can be done again; `same` compares `plain` with `mount`.
    ///
    /// `remembered` makes `plain`, and notes what the lower is; `timed` and `kept` compare its times, and all else, with that.
    /// `checked` checks the upper.
    private static let prelude =
      ScriptShell.look + ScriptShell.times + ScriptShell.sound + ScriptShell.settled + """
        LOWER=lower
        over() { settled varve mount -o lower=$LOWER upper mount; }
        remembered() { cp -a lower plain; look lower > before; times lower > times; work plain; }
        timed() { times lower | diff times -; }
        kept() { look lower | diff before -; }
        checked() { sound "$BASE/lower" upper; }
        # Programs that wait for each other may do so for ever when a mount dies, as rsync does.
        interrupted() {
          set -m; work mount & work=$!; set +m; dead=0
          while kill -0 $work 2>/dev/null; do
            test -e mount/.varve/status || dead=$((dead + 1)); test $dead -lt 20 || kill -KILL -- -$work
            sleep 0.05
          done
        }
        export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        BASE=$PWD

        """

    @Test(
      "Packages are unpacked and configured by a second run after the daemon was killed",
      .enabled(if: Programs.has("dpkg", "dpkg-deb"), "needs dpkg"))
    func packages() throws {
      try killed(
        "dpkg",
        functions: """
          package() {
            mkdir -p tree/DEBIAN
            printf 'Package: sample\\nVersion: %s\\nArchitecture: all\\nMaintainer: nobody <n@example.org>\\nDescription: sample\\n' $1 \\
              > tree/DEBIAN/control
            dpkg-deb -b tree sample-$1.deb > /dev/null
          }
          in_root() { dpkg --root="$BASE/$1" --force-not-root,unsafe-io "${@:2}" > out 2>&1 || { cat out; return 1; }; }
          work() { in_root $1 --unpack sample-2.deb && in_root $1 --configure -a; }
          files() { look $1 | grep -v '^var/lib/dpkg\\|  ./var/lib/dpkg\\|dpkg.log'; }
          same() { diff <(files plain) <(files mount) && in_root mount --verify sample && test ! -s out; }

          """,
        prepare: """
          mkdir -p tree/usr/bin tree/usr/lib/sample/deep tree/usr/share/sample
          for i in $(seq 25); do echo $i > tree/usr/lib/sample/deep/f$i; done
          echo one > tree/usr/bin/sample; chmod 4755 tree/usr/bin/sample; ln tree/usr/bin/sample tree/usr/bin/other
          ln -s deep tree/usr/lib/sample/link; echo gone > tree/usr/share/sample/gone; package 1
          rm tree/usr/share/sample/gone tree/usr/lib/sample/link; mkdir tree/usr/lib/sample/link; echo in > tree/usr/lib/sample/link/in
          for i in $(seq 15); do echo new $i > tree/usr/lib/sample/deep/f$i; done; package 2
          mkdir -p lower/var/lib/dpkg/{info,updates,triggers}; touch lower/var/lib/dpkg/{status,available}
          in_root lower -i sample-1.deb
          """)
    }

    @Test(
      "A version history is checked out and packed by a second run after the daemon was killed",
      .enabled(if: Programs.has("git"), "needs git"))
    func history() throws {
      try killed(
        "git",
        functions: """
          work() {
            (cd $1/repo && find .git -name '*.lock' -delete && git reset -q --hard && git clean -fdq && git checkout -q -f side \\
              && echo more > d/more && git add -A && git commit -q --allow-empty -m more && git gc -q --prune=now && git checkout -q -f main)
          }
          files() { (cd $1/repo && git reset -q --hard && git clean -fdq && git ls-tree -r side | sha1sum && find . -path ./.git -prune -o -printf '%P %y %m\\n' | sort); }
          same() { (cd mount/repo && git fsck --strict) && diff <(files plain) <(files mount); }

          """,
        prepare: """
          git init -q -b main lower/repo; cd lower/repo; mkdir d e
          for i in $(seq 30); do echo $i > d/$i; echo $i > e/$i; done; git add .; git commit -qm one
          git checkout -q -b side; git mv d/1 e/one; git mv d/2 e/two; git mv d/3 d/three; git rm -q d/4 d/5; for i in $(seq 10 20); do echo side > e/$i; done
          git commit -qam two; git checkout -q main; cd $BASE
          """)
    }

    @Test(
      "A tree is synchronised, with links and attributes, by a second run after the daemon was killed",
      .enabled(if: Programs.has("rsync", "setfattr"), "needs rsync and setfattr"))
    func synchronised() throws {
      try killed(
        "rsync",
        functions: """
          work() { rsync -aHAX --delete other/ $1/t/ && rsync -aHAX --delete source/ $1/t/; }
          same() { test -z "$(rsync -aHAXnic --delete source/ mount/t/)" && diff <(look source) <(look mount/t); }

          """,
        prepare: """
          mkdir -p lower/t/a/b lower/t/c; for i in $(seq 20); do echo $i > lower/t/a/b/f$i; echo $i > lower/t/c/f$i; done
          ln lower/t/a/b/f1 lower/t/c/linked; ln lower/t/a/b/f2 lower/t/two; ln -s c lower/t/link; mkfifo lower/t/fifo
          setfattr -n user.k -v v lower/t/a lower/t/a/b/f1; cp -a lower/t source; cp -a lower/t other; mv other/c other/d; echo x > other/x
          (cd source; for i in $(seq 10); do echo other $i > a/b/f$i; done; rm -r c; mv a/b c; mkdir a/b; ln c/f11 a/b/again
            setfattr -n user.k -v w a; setfattr -x user.k c/f1; chmod 700 c; chown 7001:7002 c/f12; rm link; echo file > link)
          """)
    }

    @Test("A tree is removed and made again by a second run after the daemon was killed")
    func madeAgain() throws {
      try killed(
        "rm and cp",
        functions: """
          work() { rm -rf $1/t && cp -a source $1/t; }
          same() { diff <(look source) <(look mount/t) && test "$(ls mount)" = t; }

          """,
        prepare: """
          mkdir -p lower/t/a/b/c lower/t/d; for i in $(seq 25); do echo $i > lower/t/a/b/c/f$i; echo $i > lower/t/d/f$i; done
          ln lower/t/d/f1 lower/t/a/one; ln -s a lower/t/link; cp -a lower/t source
          (cd source; rm -r d; mkdir -p d/f3 d/new; echo file > a/b/d; rm link; mkdir link; mv a/b/c link)
          """)
    }

    @Test(
      "Trees are put aside, replaced and taken back by renames that a second run ends after the daemon was killed"
    )
    func modules() throws {
      try killed(
        "renames",
        functions: """
          work() { bash -e manager $1/app; }
          same() { diff <(look plain) <(look mount); }

          """,
        prepare: """
          # What was put aside comes back unless the new one is complete, as npm does it; from then on it goes away.
          cat > manager <<'END'
          back() {
            if test -d .old$p/p; then rm -rf p$p; mv -T .old$p/p p$p; fi
            if test -d .old$p/q; then rm -rf @s/q$p; mv -T .old$p/q @s/q$p; fi
            rmdir .old$p
          }
          finish() {
            if [ $((p % 3)) = 2 ]; then
              if test -d .done$p/p; then mv -T .done$p/p @s/q$p/nested; fi
              if test -d @s/q$p/nested/lib/deep; then mv -T @s/q$p/nested/lib/deep @s/q$p/deep; fi
            fi
            rm -rf .done$p
          }
          cd $1; test -d node_modules || mv -T modules node_modules
          cd node_modules; test -d @s || mv -T @t @s; if test -d q3; then mv -T q3 @s/q3; fi
          for p in $(seq 6); do
            if test -d .done$p; then finish; continue; fi
            if test -d .old$p; then back; fi
            if test -e p$p/lib/version; then continue; fi
            rm -rf .staging; mkdir .staging .old$p; cp -a p$p .staging/p; echo 2 > .staging/p/lib/version
            mv -T p$p .old$p/p; mv -T .staging/p p$p; mv -T @s/q$p .old$p/q; mkdir @s/q$p; echo new > @s/q$p/new
            if [ $((p % 3)) = 0 ]; then back; else mv -T .old$p .done$p; finish; fi
          done
          mv -T @s @t; mv -T @t/q3 q3; mv -T q3 @t/q3; mv -T @t @s; rm -rf .staging
          cd ..; mv -T node_modules modules; mv -T modules node_modules
          END
          for p in $(seq 6); do
            mkdir -p lower/app/node_modules/p$p/lib/deep lower/app/node_modules/@s/q$p
            for i in 1 2 3; do echo $p $i > lower/app/node_modules/p$p/lib/deep/$i; echo $i > lower/app/node_modules/@s/q$p/$i; done
            ln -s ../p$p lower/app/node_modules/@s/link$p; ln lower/app/node_modules/p$p/lib/deep/1 lower/app/node_modules/p$p/linked
          done
          """)
    }

    /// Nothing of it is timed, for the programs that run are in it; a check reads all of it.
    @Test(
      "Programs that run in a root of which the lower is `/` end by a second run after the daemon was killed",
      .enabled(if: Machine.hasOtherMemory, "needs a /dev/shm apart from the root"))
    func root() throws {
      try killed(
        "the root", in: try TemporaryDirectory.makeInMemory(),
        functions: """
          LOWER=/ NAME=${BASE##*/}
          state() {
            ls -A /usr /usr/bin /usr/share /usr/share/doc
            sha1sum /bin/bash /bin/ls /usr/bin/env; stat -L -c '%n %a %h %Y' /bin/bash /bin/ls /usr/bin/env
          }
          remembered() { state > before; ls -A /usr/share/doc > documents; }
          timed() { true; }
          checked() { \(LayerProgramKillTests.isLong ? "sound / upper" : "true"); }
          sizes() { (cd $1; find . -name 'b*' -prune -o -printf '%P %y %m %s %l\\n' | sed 's/\\(d [0-7]*\\) [0-9]* /\\1/' | sort); }
          kept() { state | diff before -; }
          work() { chroot $1 /bin/bash -e -c "$(cat inside)" inside $NAME; }
          same() {
            diff <(grep '^b' documents) <(ls -A mount/usr/share/doc | grep -vx new) || return
            diff <(grep -v '^b' documents) <(ls -A mount/usr/share/$NAME) && diff <(sizes /usr/share/doc) <(sizes mount/usr/share/$NAME) || return
            for name in $(grep '^b' documents | grep -vx bash); do
              diff -rq --no-dereference /usr/share/doc/$name mount/usr/share/doc/$name || return
            done
            test "$(ls -A mount/usr/share/doc/bash)" = own && test "$(cat mount/usr/share/doc/new/* | wc -l)" = 20 || return
            test $(stat -c %a mount/bin/ls) = 700 && test ! -e mount/usr/bin/env && cmp mount/usr/$NAME/env /usr/bin/env || return
            tail -c 4 mount/usr/$NAME/bash | diff - <(echo end) && cmp -n $(stat -c %s /bin/bash) mount/usr/$NAME/bash /bin/bash
          }

          """,
        prepare: """
          cat > inside <<'END'
          cd /usr/share; mkdir -p ../$1
          test -d $1 || mv -T doc $1
          mkdir -p doc/new; for name in $1/b*; do if test -e $name || test -L $name; then mv $name doc; fi; done
          rm -rf doc/bash; mkdir doc/bash; echo own > doc/bash/own; for i in $(seq 20); do echo $i > doc/new/$i; done
          chmod 700 /bin/ls; if test -e ../bin/env; then ln -f ../bin/env ../$1/env; rm ../bin/env; fi
          test -e ../$1/bash || { cp /bin/bash ../$1/new; echo end >> ../$1/new; mv ../$1/new ../$1/bash; }
          END
          """)
    }

    private func killed(
      _ name: String, in place: String? = nil, functions: String, prepare: String
    ) throws {
      let base = try place ?? TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try TemporaryDirectory.countReads(in: base)
      let scripts = ScriptShell(prelude: LayerProgramKillTests.prelude + functions)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      _ = try scripts.must(
        "mkdir lower upper mount\n\(prepare)\nremembered; over", in: base, faults.environment)
      // Without a kill it is right.
      let calls = try faults.count(.changes) { _ = try scripts.must("work mount && same", in: base) }
      _ = try scripts.must("varve umount mount", in: base)
      var dice = Dice(for: "kills during \(name)")
      var killed = 0
      for round in 0..<(LayerProgramKillTests.isLong ? 100 : 4) {
        // A fresh one now and then; else what the kills before have left.
        let fresh = round % 4 == 0 ? "rm -rf upper; mkdir upper\n" : ""
        _ = try scripts.must(fresh + "over", in: base, faults.environment)
        let after = dice.below(calls)
        faults.begin(Fault.killing(.changes, after: after))
        _ = try scripts.run("interrupted", in: base)
        killed += faults.end()
        umount2(base + "/mount", CInt(MNT_DETACH))
        let last = round % 4 == 3 ? "work mount && same || exit 4" : "true"
        let seen = try scripts.run(
          """
          over || exit 1
          test "$(ls -A upper/.varve/work | grep -v '^wh$' | wc -l)" = 0 || exit 2
          \(last)
          varve umount mount; checked || exit 3
          timed || exit 5
          """, in: base)
        #expect(
          seen.exit == 0, "\(name), round \(round), killed at call \(after): \(seen.exit) \(seen.output)")
        guard seen.exit == 0 else { break }
      }
      print("\(name): \(calls) calls, killed \(killed) times")
      #expect(killed > 0)
      _ = try scripts.must("kept", in: base)
    }
  }
}
