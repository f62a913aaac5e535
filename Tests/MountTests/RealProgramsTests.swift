import Glibc
import LinuxFiles
import MountSupport
import Testing

// Programs people use, run as an ordinary user on the mount. Each is judged by its own check of its work and
// by a comparison with what is in the upper directory.

/// A volume whose root belongs to an ordinary user, and a home of that user beside it.
private struct Desk {
  let volume: MountedVolume
  static let user = TestUser(1001, group: 2001)

  init(_ options: String = "") throws {
    volume = try MountedVolume(options)
    try #require(Glibc.mkdir(volume.base + "/home", 0o755) == 0)
    for path in [volume.path, volume.base + "/home"] {
      try #require(Glibc.chown(path, Desk.user.user, Desk.user.group) == 0)
    }
  }

  /// Runs a script as the user, in the mount; `$HOME` is a plain directory.
  func run(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let words = [
      "--reuid=\(Desk.user.user)", "--regid=\(Desk.user.group)", "--clear-groups", "timeout", "120",
      "/bin/bash",
      "-euo", "pipefail", "-c", "umask 022\n" + script,
    ]
    let result = try Program.run(
      "/usr/bin/setpriv", words, in: volume.path,
      environment: ["HOME": volume.base + "/home", "LC_ALL": "C", "TMPDIR": volume.base + "/home"])
    if result.exit != 0 {
      Issue.record("exit \(result.exit):\n\(result.output.suffix(3000))", sourceLocation: sourceLocation)
    }
  }

  /// Nothing unfinished is left, and the volume goes away cleanly.
  func end() throws {
    #expect(try Program.shell("ls -A '\(volume.upper)/.varve/work'").output == "")
    try volume.unmount()
  }
}

extension MountTests {
  @Suite("Real programs") struct RealProgramsTests {
    @Test("git: commit, branch, merge, clone, gc, fsck", .enabled(if: Programs.has("git"), "needs git"))
    func git() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        git config --global user.email a@example.org
        git config --global user.name A
        git init -q -b main repository
        cd repository
        for d in $(seq 30); do
          mkdir -p src/part$d
          for f in $(seq 12); do seq $((d * f)) > src/part$d/file$f.txt; done
        done
        ln -s src/part1/file1.txt link
        printf '#!/bin/sh\\necho run\\n' > run.sh
        chmod +x run.sh
        git add -A
        git commit -qm first
        git checkout -qb side
        for d in $(seq 1 3 30); do echo side >> src/part$d/file1.txt; done
        git rm -rq src/part30
        git mv src/part29 src/moved
        git commit -qam side
        git checkout -q main
        test -d src/part30 -a ! -d src/moved
        echo main > main.txt
        git add main.txt
        git commit -qm main
        git merge -q -m merged side
        git gc -q --prune=now
        git fsck --strict
        test -z "$(git status --porcelain)"
        cd ..
        git clone -q repository copy
        git clone -q --no-hardlinks file://$PWD/repository bare
        diff -r --exclude=.git repository copy
        git -C copy fsck --strict
        git -C copy stash list
        git -C copy checkout -q HEAD~1
        git -C copy checkout -q main
        git -C copy worktree add -q ../tree HEAD~1
        git -C copy reset -q --hard HEAD~1
        test "$(./copy/run.sh)" = run
        rm -rf copy tree bare
        """)
      try desk.end()
    }

    @Test(
      "SQLite: writers at once in a write-ahead log", .enabled(if: Programs.has("sqlite3"), "needs sqlite3"))
    func sqlite() throws {
      for options in ["", "cache=exclusive"] {
        let desk = try Desk(options)
        defer { desk.volume.remove() }
        try desk.run(
          """
          sqlite3 wal.db 'pragma journal_mode=wal; create table t(w integer, n integer)' > /dev/null
          sqlite3 old.db 'pragma journal_mode=delete; create table t(w integer, n integer)' > /dev/null
          for db in wal.db old.db; do
            pids=
            for w in 1 2 3 4; do
              (for n in $(seq 25); do
                printf '.timeout 20000\\nbegin immediate; insert into t values(%s,%s); commit;\\n' $w $n
              done | sqlite3 $db) & pids="$pids $!"
            done
            for p in $pids; do wait $p; done
            test "$(sqlite3 $db 'select count(*), count(distinct w*100+n) from t')" = "100|100"
            test "$(sqlite3 $db 'pragma integrity_check')" = ok
          done
          sqlite3 wal.db 'pragma mmap_size=1000000; vacuum; select count(*) from t' | grep -qx 100
          """)
        try desk.end()
      }
    }

    @Test(
      "Python: sqlite, file locks, temporary files, shutil",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func python() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      // A launcher of versions lives in root's home; the user needs a python of the system.
      try desk.run(
        """
        python=$(PATH=/usr/bin:/bin command -v python3) || { echo 'only a python in a home'; exit 0; }
        $python - <<'END'
        import fcntl, mmap, os, shutil, sqlite3, tempfile
        db = sqlite3.connect('py.db')
        db.execute('create table t(x)')
        db.executemany('insert into t values(?)', [(i,) for i in range(1000)])
        db.commit()
        assert db.execute('select sum(x) from t').fetchone() == (499500,)
        one, two = open('lock', 'w'), open('lock', 'w')
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise SystemExit('a second lock')
        except BlockingIOError:
            pass
        fcntl.lockf(one, fcntl.LOCK_EX)
        if os.fork() == 0:
            try:
                fcntl.lockf(open('lock', 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)
                os._exit(1)
            except (BlockingIOError, PermissionError):
                os._exit(0)
        assert os.wait()[1] == 0
        with tempfile.TemporaryFile(dir='.') as f:
            f.write(b'x' * 100000)
            f.flush()
            m = mmap.mmap(f.fileno(), 0)
            assert m[99999] == ord('x')
        with tempfile.NamedTemporaryFile(dir='.') as f:
            os.replace(f.name, 'kept')
            open(f.name, 'w').close()
        os.makedirs('a/b/c')
        open('a/b/c/file', 'w').write('text')
        shutil.copytree('a', 'copy')
        shutil.move('copy', 'a/moved')
        found = sorted(d for d, _, _ in os.walk('a'))
        assert found == ['a', 'a/b', 'a/b/c', 'a/moved', 'a/moved/b', 'a/moved/b/c'], found
        shutil.rmtree('a')
        END
        """)
      try desk.end()
    }

    @Test(
      "tar and rsync carry a tree there and back",
      .enabled(if: Programs.has("tar", "rsync", "getfattr"), "needs tar, rsync, attr"))
    func archives() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        mkdir $HOME/source
        cd $HOME/source
        for d in a b c d; do
          mkdir -p $d/inner
          for f in $(seq 40); do head -c $((f * 257)) /dev/zero | tr '\\0' $d > $d/inner/file$f; done
        done
        ln -s a/inner/file1 link
        ln a/inner/file2 hard
        mkfifo fifo
        truncate -s 3M holes
        printf end >> holes
        chmod 600 a/inner/file3
        chmod 1777 b
        touch -d '2001-02-03 04:05:06.789' c/inner/file4
        setfattr -n user.note -v hello d/inner/file5
        setfattr -n user.dir -v there d
        printf x > "$(printf 'odd \\377\\n name')"
        # -@-1: to the nanosecond; else rsync lets times of the same second be.
        # A directory has as many links and bytes as its file system likes.
        list() { (cd $1 && find . ! -type d -printf '%P %y %m %n %s %T@ %l\\n' | sort
                  find . -type d -printf '%P %m %T@\\n' | sort; getfattr -R -d -m user . | sort); }
        cd -
        tar -C $HOME/source --xattrs --xattrs-include='user.*' -S -cf $HOME/tree.tar .
        mkdir tar
        tar -C tar --xattrs --xattrs-include='user.*' -S -xpf $HOME/tree.tar
        rsync -aXH@-1 $HOME/source/ rsync/
        rsync -aXH@-1 rsync/ $HOME/back/
        cp -a $HOME/source cp
        cp -a cp cp2
        cp -a --reflink=auto cp2 $HOME/cp3
        tar -C rsync --xattrs --xattrs-include='user.*' -S -cf $HOME/again.tar .
        mkdir $HOME/again
        tar -C $HOME/again --xattrs --xattrs-include='user.*' -S -xpf $HOME/again.tar
        for copy in tar rsync $HOME/back cp cp2 $HOME/cp3 $HOME/again; do
          diff -r --no-dereference -x fifo $HOME/source $copy
          diff <(list $HOME/source) <(list $copy) || { echo in $copy; exit 1; }
        done
        test -z "$(rsync -aXHni@-1 $HOME/source/ rsync/)"
        """)
      try desk.end()
    }

    @Test(
      "make and gcc build a program, and do nothing the second time",
      .enabled(if: Programs.has("make", "gcc"), "needs make, gcc"))
    func compile() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        for n in $(seq 12); do printf '#include "all.h"\\nint f%s(void) { return %s; }\\n' $n $n > f$n.c; done
        for n in $(seq 12); do echo "int f$n(void);"; done > all.h
        { echo '#include "all.h"'; echo '#include <stdio.h>'; echo 'int main(void) { int n = 0;'
          for n in $(seq 12); do echo "n += f$n();"; done; echo 'printf("%d\\n", n); return 0; }'; } > main.c
        { printf 'OBJ := $(patsubst %%.c,%%.o,$(wildcard *.c))\\n'
          printf 'prog: $(OBJ)\\n\\tgcc -o $@ $^\\n%%.o: %%.c all.h\\n\\tgcc -O1 -c $<\\n'; } > Makefile
        make -j4 > /dev/null
        test "$(./prog)" = 78
        make | grep -q 'up to date'
        touch f3.c
        test "$(make -n | grep -c 'gcc -O1')" = 1
        make -j4 > /dev/null
        install -m 750 prog installed
        test "$(stat -c %a installed)" = 750
        ./installed > /dev/null
        strip installed
        ./installed > /dev/null
        ar rc all.a f*.o
        gcc -o other main.o all.a
        ./other | grep -qx 78
        """)
      try desk.end()
    }

    @Test("Editors: write aside, sync, rename, keep a backup") func editors() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        echo 'line 0' > text
        for n in $(seq 30); do
          cp -p text .text.swp
          echo "line $n" >> .text.swp
          sync .text.swp
          ln -f text text~
          mv .text.swp text
          sync .
        done
        test "$(wc -l < text)" = 31 -a "$(wc -l < text~)" = 30
        sed -i 's/line/row/' text
        test "$(grep -c row text)" = 31
        """)
      try desk.end()
    }

    @Test(
      "vim: a new file in its place, or the same again",
      .enabled(if: Programs.has("vim.tiny"), "needs vim-tiny"))
    func vim() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        edit() { vim.tiny -u NONE -i NONE -N -es --cmd 'set backupskip=' "$@" < /dev/null; }
        seq 31 | sed 's/^/row /' > text
        cp text want
        ln text linked
        edit -c 'set backup backupcopy=no' -c '%s/row/verse/' -c wq text
        cmp text~ want
        cmp linked want
        ln -f text linked
        edit -c 'set backup backupcopy=yes' -c '%s/verse/rhyme/' -c wq text
        test "$(grep -c rhyme text)" = 31
        cmp text linked
        grep -q verse text~
        """)
      try desk.end()
    }

    @Test("find, grep, mv, rm and their kind") func fileTools() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        """
        for d in $(seq 20); do
          mkdir -p tree/$d/deep
          for f in $(seq 20); do echo "needle $d $f" > tree/$d/deep/$f; done
        done
        test "$(find tree -type f | wc -l)" = 400
        test "$(grep -r needle tree | wc -l)" = 400
        test "$(grep -rl 'needle 7 ' tree | wc -l)" = 20
        test "$(du --apparent-size -s -B1 tree/1/deep | wc -l)" = 1
        test "$(find tree -newer tree/1/deep/1 -name 20 | wc -l)" -ge 1
        mv tree forest
        mv forest/1 forest/2/one
        find forest -name 3 -type f -delete
        test "$(find forest -type f | wc -l)" = 380
        find forest -type f -print0 | xargs -0 chmod 640
        test "$(find forest -type f -perm 640 | wc -l)" = 380
        mv forest $HOME/forest
        mv $HOME/forest wood
        test "$(find wood -type f | wc -l)" = 380
        ln -s wood link
        test "$(realpath link/2)" = "$(realpath wood)/2"
        split -n 7 $(command -v bash) part-
        cat part-* | cmp - $(command -v bash)
        dd if=/dev/zero of=zero bs=1M count=20 conv=fsync status=none
        dd if=zero of=direct bs=1M oflag=direct iflag=direct status=none
        cmp zero direct
        mkdir -p tmp && mktemp -p tmp > /dev/null
        sort -T . -S 1M zero > /dev/null
        gzip -k part-aa && gunzip -c part-aa.gz | cmp - part-aa
        rm -rf wood part-* tmp link
        test "$(ls)" = "$(printf 'direct\\nzero')"
        """)
      try desk.end()
    }
  }
}
