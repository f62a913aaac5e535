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
    private static let prelude =
      ScriptShell.look + ScriptShell.times + ScriptShell.sound + ScriptShell.settled + """
        over() { settled varve mount -o lower=lower upper mount; }
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

    private func killed(_ name: String, functions: String, prepare: String) throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try TemporaryDirectory.countReads(in: base)
      let scripts = ScriptShell(prelude: LayerProgramKillTests.prelude + functions)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      _ = try scripts.must(
        "mkdir lower upper mount\n\(prepare)\ncp -a lower plain; look lower > before; times lower > times; work plain; over",
        in: base, faults.environment)
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
          varve umount mount; sound $BASE/lower upper || exit 3
          times lower | diff times - || exit 5
          """, in: base)
        #expect(
          seen.exit == 0, "\(name), round \(round), killed at call \(after): \(seen.exit) \(seen.output)")
        guard seen.exit == 0 else { break }
      }
      print("\(name): \(calls) calls, killed \(killed) times")
      #expect(killed > 0)
      _ = try scripts.must("look lower | diff before -", in: base)
    }
  }
}
