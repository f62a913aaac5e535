// Files of a lower that are in use while others change, replace and remove them: databases, libraries, programs.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Files of lowers in use", .timeLimit(.minutes(2))) struct LayerUseTests {
    private static let routes = ["", "passthrough=off", "cache=none"]

    @Test(
      "A reader of a database keeps its lock and its mapping when a writer brings the file up",
      .enabled(if: Programs.has("sqlite3", "python3")),
      arguments: routes)
    func database(options: String) throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        sqlite3 lower/db 'create table t(x); with recursive n(i) as (select 1 union all select i+1 from n where i < 20000) insert into t select i from n'
        sha1sum lower/db > before
        varve mount -o lower=lower\(options.isEmpty ? "" : "," + options) upper mount
        cat > reader.py <<'END'
        import sqlite3, subprocess, sys
        def write(text):
            code = 'import sqlite3, sys\\nc = sqlite3.connect("mount/db", timeout=0)\\n' \\
                'try:\\n  c.execute(sys.argv[1]); c.commit(); print("done")\\nexcept sqlite3.OperationalError as e: print(e)'
            return subprocess.run([sys.executable, '-c', code, text], capture_output=True, text=True, check=True).stdout.strip()
        db = sqlite3.connect('file:mount/db?mode=ro', uri=True, isolation_level=None)
        db.execute('pragma mmap_size=10000000')
        count = lambda: db.execute('select count(*), sum(x) from t').fetchone()
        db.execute('begin')
        print(*count())
        print(write('insert into t values(1000000)'))
        print(*count())
        db.execute('commit')
        print(write('insert into t values(1000000)'))
        print(*count())
        print(write('update t set x = x + 1'))
        print(*count(), db.execute('pragma integrity_check').fetchone()[0])
        END
        python3 reader.py; test -e upper/db; sha1sum -c --quiet before
        """)
      #expect(
        said == """
          20000 200010000
          database is locked
          20000 200010000
          done
          20001 201010000
          done
          20001 201030001 ok

          """)
    }

    @Test(
      "Readers of a database go on while it is replaced, removed, renamed, and written with a log beside it",
      .enabled(if: Programs.has("sqlite3", "python3")),
      arguments: routes)
    func databases(options: String) throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        make() { sqlite3 $1 "pragma journal_mode=$2; create table t(x); with recursive n(i) as (select 1 union all select i+1 from n where i < 20000) insert into t select i from n" > said; }
        for name in replaced removed moved; do make lower/$name delete; done; make lower/wal wal; make other delete; sqlite3 other 'delete from t where x > 10'
        sha1sum lower/* > before; ls -A lower > names
        varve mount -o lower=lower\(options.isEmpty ? "" : "," + options) upper mount
        cat > reader.py <<'END'
        import os, shutil, sqlite3, subprocess, sys
        def opened(name, words='?mode=ro'):
            db = sqlite3.connect('file:mount/' + name + words, uri=True, isolation_level=None, timeout=0)
            db.execute('pragma mmap_size=10000000')
            return db
        def run(name, text):
            code = 'import sqlite3, sys\\nc = sqlite3.connect("mount/" + sys.argv[1], timeout=0, isolation_level=None)\\nprint(c.execute(sys.argv[2]).fetchall())'
            return subprocess.run([sys.executable, '-c', code, name, text], capture_output=True, text=True, check=True).stdout.strip()
        def count(db): return db.execute('select count(*), sum(x) from t').fetchone()
        def sound(db): return db.execute('pragma integrity_check').fetchone()[0]
        for name, change in [('replaced', lambda: (shutil.copy('other', 'mount/new'), os.rename('mount/new', 'mount/replaced'))),
                             ('removed', lambda: os.unlink('mount/removed')), ('moved', lambda: os.rename('mount/moved', 'mount/elsewhere'))]:
            # One in a transaction, one that has read its schema, and one that has read nothing yet.
            held, idle, fresh = opened(name), opened(name), opened(name)
            held.execute('begin'); count(held); idle.execute('select * from sqlite_master').fetchall()
            change()
            print(name, [(count(db), sound(db)) == ((20000, 200010000), 'ok') for db in (held, idle, fresh)], os.path.exists('mount/' + name))
            held.execute('commit')
            if name == 'replaced': print(count(opened(name)))
            if name == 'moved':
                print(run('elsewhere', 'insert into t values(1000000)'), count(held), count(idle), sound(idle))
        reader = opened('wal', '')
        reader.execute('begin'); count(reader)
        run('wal', 'insert into t values(1000000)'); print(count(reader)); reader.execute('commit'); print(count(reader))
        reader.execute('begin'); count(reader)
        run('wal', 'update t set x = x + 1'); print(count(reader), run('wal', 'pragma wal_checkpoint')[:3], sound(reader))
        reader.execute('commit'); print(count(reader), sound(reader), run('wal', 'pragma wal_checkpoint(truncate)'), sound(reader))
        END
        python3 reader.py; varve umount mount; sha1sum -c --quiet before; ls -A lower | diff names -
        """)
      #expect(
        said == """
          replaced [True, True, True] True
          (10, 55)
          removed [True, True, True] False
          moved [True, True, True] False
          [] (20001, 201010000) (20001, 201010000) ok
          (20000, 200010000)
          (20001, 201010000)
          (20001, 201010000) [(0 ok
          (20001, 201030001) ok [(0, 0, 0)] ok

          """, "\(said)")
    }

    /// `library NUMBER FILE` and `program FILE` make what runs: a program that has the sum of its own table and of a library's
    /// ready whenever it is asked, which `ask` does of the one that is `P`.
    private static let running = """
      # Four megabytes each, of which nothing is read before it is asked for.
      cat > table.c <<'END'
      #define N 1000000
      __asm__(".pushsection .rodata\\n.balign 4096\\ntable: .fill 1000000, 4, " VALUE "\\n.popsection");
      extern const unsigned table[] __attribute__((visibility("hidden")));
      unsigned long sum(void) { unsigned long s = 0; for (long i = 0; i < N; i += 512) s += table[i]; return s; }
      END
      cat > program.c <<'END'
      #include <dlfcn.h>
      #include <stdio.h>
      #define N 1000000
      __asm__(".pushsection .rodata\\n.balign 4096\\nown: .fill 1000000, 4, 5\\n.popsection");
      extern const unsigned own[] __attribute__((visibility("hidden")));
      int main(int count, char **words) {
        void *library = dlopen(words[1], RTLD_NOW);
        if (!library) { puts(dlerror()); return 1; }
        unsigned long (*sum)(void) = (unsigned long (*)(void)) dlsym(library, "sum");
        char line[9];
        puts("runs"); fflush(stdout);
        while (fgets(line, sizeof line, stdin)) {
          unsigned long s = 0;
          for (long i = 0; i < N; i += 512) s += own[i];
          printf("%lu %lu\\n", sum(), s); fflush(stdout);
        }
        return 0;
      }
      END
      library() { gcc -O1 -shared -fPIC -DVALUE='"'$1'"' -o $2 table.c; }
      program() { gcc -O1 -o $1 program.c -ldl; }
      ask() { echo >&${P[1]}; read -t 20 line <&${P[0]}; echo "$line"; }

      """

    @Test(
      "A mapped library and a running program go on while they are changed, replaced and removed",
      .enabled(if: Programs.has("gcc")),
      arguments: routes)
    func mapped(options: String) throws {
      let stage = try LayerStage(prelude: LayerUseTests.running)
      defer { stage.remove() }
      let said = try stage.shell(
        """
        library 3 lower/lib.so; library 4 new.so; program lower/program; cp -a lower kept
        varve mount -o lower=lower\(options.isEmpty ? "" : "," + options) upper mount
        coproc P { exec mount/program "$PWD/mount/lib.so"; }
        read -t 20 line <&${P[0]}; echo "$line"
        # In the upper from now on, while their first pages are in use.
        chmod 711 mount/program; echo end >> mount/lib.so; test -e upper/program -a -e upper/lib.so
        (echo >> mount/program) 2>&1 | grep -o 'Text file busy'
        ask
        cp new.so mount/new.so; mv mount/new.so mount/lib.so; ask
        rm mount/program mount/lib.so; ask
        exec {P[1]}>&-; wait $P_PID; test -z "$(ls mount)"; cp kept/program kept/lib.so mount
        echo | mount/program "$PWD/mount/lib.so"
        cmp lower/lib.so kept/lib.so; cmp lower/program kept/program
        """)
      #expect(
        said == """
          runs
          Text file busy
          5862 9770
          5862 9770
          5862 9770
          runs
          5862 9770

          """)
    }

    @Test(
      "A mapped library and a running program go on when they, or what they are in, are renamed first",
      .enabled(if: Programs.has("gcc")),
      arguments: routes)
    func renamed(options: String) throws {
      let stage = try LayerStage(prelude: LayerUseTests.running)
      defer { stage.remove() }
      let said = try stage.shell(
        """
        mkdir -p lower/{files,directory,both}/in; library 3 lib.so; program program
        for d in files directory both; do cp lib.so program lower/$d/in; done; cp -a lower kept; rm lib.so
        varve mount -o lower=lower\(options.isEmpty ? "" : "," + options) upper mount
        cd mount
        for d in files directory both; do
          echo $d; coproc P { exec $d/in/program $d/in/lib.so; }
          read -t 20 line <&${P[0]}; number=$(stat -c %i $d/in/program)
          # Nothing of the tables has been read yet.
          case $d in
            files) mv $d/in/program $d/in/run; mv $d/in/lib.so $d/in/map; mv $d/in $d/moved ;;
            directory) mv $d/in $d/moved; ask; mv $d/moved/program $d/moved/run; mv $d/moved/lib.so $d/moved/map ;;
            both) mv $d/in/program $d/run; mv $d $d-moved; d=$d-moved; mv $d/in/lib.so map; ask
              mv $d/in $d/moved; mv $d/run map $d/moved ;;
          esac
          ask; test $(stat -c %i $d/moved/run) = $number; test $(stat -L -c %i /proc/$P_PID/exe) = $number
          (echo >> $d/moved/run) 2>&1 | grep -o 'Text file busy'
          chmod 711 $d/moved/run; echo end >> $d/moved/map; ask
          cp ../program $d/new; mv $d/new $d/moved/run; rm -r $d; ask
          exec {P[1]}>&-; wait $P_PID
        done
        cd ..; test -z "$(ls mount)"; varve umount mount; diff -r lower kept
        """)
      let sums = "5862 9770\n"
      #expect(
        said == "files\n\(sums)Text file busy\n\(sums)\(sums)"
          + ["directory", "both"].map { "\($0)\n\(sums)\(sums)Text file busy\n\(sums)\(sums)" }.joined(),
        "\(said)")
    }

    @Test(
      "A file of 10 GiB with 1 MiB of data is brought up at once, and its holes stay holes",
      arguments: [10, 100])
    func sparse(gibibytes: Int) throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        head -c 1048576 /dev/urandom > data; truncate -s \(gibibytes)G lower/big; dd if=data of=lower/big bs=1M seek=7777 conv=notrunc status=none
        varve mount -o lower=lower upper mount
        start=$(date +%s%N); printf end >> mount/big; took=$((($(date +%s%N) - start) / 1000000))
        test $took -lt 5000 || echo took $took ms
        test $(stat -c %s mount/big) = $(((\(gibibytes) << 30) + 3)); dd if=mount/big bs=1M skip=7777 count=1 status=none | cmp - data
        test "$(tail -c 3 mount/big)" = end; test $(du -k upper/big | cut -f1) -le $(($(du -k lower/big | cut -f1) + 64)) || du -k upper/big lower/big
        test "$(dd if=mount/big bs=1M skip=7000 count=20 status=none | tr -d '\\0' | wc -c)" = 0
        varve umount mount; cmp -n 1048576 -i 8154775552 upper/big lower/big
        """)
      #expect(said == "")
    }
  }

  @Suite("How much lowers may hold", .timeLimit(.minutes(10))) struct LayerLimitTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    @Test("64 lowers are merged, and one more is refused in a line, before anything is made") func most()
      throws
    {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        for i in $(seq 65); do mkdir -p many/$i/d; echo $i > many/$i/d/$i; echo $i > many/$i/top; done
        lowers() { seq -f "$PWD/many/%g" -s : $1; }
        varve mount -o lower=$(lowers 65) upper mount || echo $?
        varve mount -f -o lower=$(lowers 65) upper mount > /dev/null 2>&1 && echo accepted
        test ! -e upper/.varve
        varve mount -o lower=$(lowers 64) upper mount; ls mount/d | wc -l; cat mount/top mount/d/64; mv mount/d mount/e; ls mount/e | wc -l
        """)
      let lines = said.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(
        lines.first?.contains("64") == true && lines.first?.hasPrefix("varve mount: ") == true, "\(said)")
      #expect(lines.dropFirst().elementsEqual(["1", "64", "1", "64", "64", ""]), "\(said)")
    }

    /// `LONG=1`: a million items, and 1,024 descriptors.
    @Test("A lower with many more items than the daemon may have descriptors is listed, read and changed")
    func items() throws {
      let (directories, files, descriptors) = LayerLimitTests.isLong ? (1_000, 1_000, 1_024) : (60, 60, 256)
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        for d in $(seq \(directories)); do mkdir lower/$d; (cd lower/$d; seq \(files) | xargs touch; echo $d > 1); done
        (ulimit -n \(descriptors); varve mount -o lower=lower upper mount)
        daemon=$(sed 's/.*"pid":\\([0-9]*\\).*/\\1/' mount/.varve/status | head -1)
        grep 'open files' /proc/$daemon/limits | tr -s ' ' | cut -d' ' -f5
        find mount -path mount/.varve -prune -o -type f -printf '%s\\n' | wc -l
        find mount -name 1 -type f -print0 | xargs -0 cat | wc -l
        # All at once, and each in a directory of its own.
        exec {tail}< <(tail -q -n 1 -f mount/{1..50}/2 & echo $!; wait)
        read pid <&$tail
        for d in $(seq \(directories)); do echo more >> mount/$d/1; done; cat mount/*/1 | wc -l; kill $pid
        find mount -path mount/.varve -prune -o -type f -printf '%s\\n' | wc -l
        test $(ls /proc/$daemon/fd | wc -l) -le \(descriptors)
        test $(grep VmRSS /proc/$daemon/status | tr -dc 0-9) -le 300000 || grep VmRSS /proc/$daemon/status
        test "$(find lower -type f -size +0 | wc -l)" = \(directories); rm -r mount/[0-9]*; test -z "$(ls mount)"
        """)
      let all = directories * files
      #expect(said == "\(descriptors)\n\(all)\n\(directories)\n\(2 * directories)\n\(all)\n")
    }
  }
}
