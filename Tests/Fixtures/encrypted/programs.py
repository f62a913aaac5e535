"""Programs people use, in an encrypted directory, as a user: programs.py BASE USER PART"""

import os
import sys

from vault import Failure, Vault, run, watch

BEGINNING = """
umask 022
export LC_ALL=C
"""

WORK = r"""
git config --global user.email a@example.org; git config --global user.name A
git init -q -b main repository
cd repository
for d in $(seq 12); do mkdir -p src/part$d; for f in $(seq 8); do seq $((d * f)) > src/part$d/file$f.txt; done; done
git add -A; git commit -qm first
git checkout -qb side; for d in 1 4 7; do echo side >> src/part$d/file1.txt; done; git commit -qam side
git checkout -q main; echo main > main.txt; git add main.txt; git commit -qm main
git merge -q -m merged side; git gc -q --prune=now; git fsck --strict; test -z "$(git status --porcelain)"
cd ..; git clone -q --no-hardlinks file://$PWD/repository copy; diff -r --exclude=.git repository copy

for mode in wal delete; do
  sqlite3 $mode.db "pragma journal_mode=$mode; create table t(w integer, n integer)" > /dev/null
  pids=
  for w in 1 2 3; do
    (for n in $(seq 15); do
      printf '.timeout 20000\nbegin immediate; insert into t values(%s,%s); commit;\n' $w $n
    done | sqlite3 $mode.db) & pids="$pids $!"
  done
  for p in $pids; do wait $p; done
  test "$(sqlite3 $mode.db 'select count(*), count(distinct w*100+n) from t')" = "45|45"
  test "$(sqlite3 $mode.db 'pragma integrity_check')" = ok
done
sqlite3 wal.db 'pragma mmap_size=1000000; vacuum; select count(*) from t' | grep -qx 45

mkdir $HOME/source
for f in $(seq 40); do head -c $((f * 999)) /dev/zero | tr '\0' x > $HOME/source/file$f; done
ln $HOME/source/file2 $HOME/source/hard; ln -s file1 $HOME/source/link
truncate -s 3M $HOME/source/holes; printf end >> $HOME/source/holes
touch -d '2001-02-03 04:05:06.789' $HOME/source/file4
rsync -aH@-1 $HOME/source/ rsync/
test -z "$(rsync -aHi@-1 $HOME/source/ rsync/)" || { echo 'the second rsync copies'; exit 1; }
tar -C rsync --format=posix -S -cf $HOME/tree.tar .; mkdir tar; tar -C tar -S -xpf $HOME/tree.tar
test -z "$(rsync -aHi@-1 $HOME/source/ tar/)" || { echo 'tar has changed something'; exit 1; }
cp -a rsync cp; test -z "$(rsync -aHi@-1 --checksum rsync/ cp/)"
rsync -a cp/ $HOME/back/; diff -r --no-dereference $HOME/source $HOME/back

seq 3000 > edited; sed -i 's/9/nine/g' edited; diff <(seq 3000 | sed 's/9/nine/g') edited
mkdir build; cd build
for n in 1 2 3 4; do printf '#include "all.h"\nint f%s(void) { return %s; }\n' $n $n > f$n.c; echo "int f$n(void);" >> all.h; done
{ echo '#include "all.h"'; echo '#include <stdio.h>'; echo 'int main(void) { printf("%d\n", f1()+f2()+f3()+f4()); return 0; }'; } > main.c
{ printf 'OBJ := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(OBJ)\n\tgcc -o $@ $^\n'
  printf '%%.o: %%.c all.h\n\tgcc -O1 -c $<\n'; } > Makefile
make -j4 > /dev/null; test "$(./prog)" = 10; make | grep -q 'up to date'
touch f3.c; test "$(make -n | grep -c 'gcc -O1')" = 1; make > /dev/null; strip prog; test "$(./prog)" = 10
"""

VIM = r"""
edit() { vim.tiny -u NONE -i NONE -N -es --cmd 'set backupskip=' "$@" < /dev/null; }
seq 5000 > want
for backup in nobackup backup; do
  for copy in yes no auto; do
    name=$backup-$copy
    seq 5000 > $name; chmod 640 $name; ln $name $name-linked
    edit -c "set $backup backupcopy=$copy" -c '%s/7/seven/g' -c wq $name
    diff <(sed 's/7/seven/g' want) $name; test "$(stat -c %a $name)" = 640
    # With a new file in its place the other name keeps what was there.
    if [ $copy = no ]; then diff want $name-linked; else diff $name $name-linked; fi
    if [ $backup = backup ]; then diff want $name~; else test ! -e $name~; fi
  done
done
seq 5000 > target; ln -s target link; edit -c '%s/7/seven/g' -c wq link
test -L link; diff <(sed 's/7/seven/g' want) target
# By way of the swap file, which a kill leaves.
cp want swapped
mkfifo $HOME/commands
vim.tiny -u NONE -i NONE -N -es --cmd 'set directory=. updatecount=1' swapped < $HOME/commands & editor=$!
exec 5> $HOME/commands
printf '%s\n' '1,4000d' preserve '1w! preserved' >&5
for n in $(seq 1500); do if [ -s preserved ]; then break; fi; sleep 0.02; done
kill -9 $editor; wait $editor 2> /dev/null || true; exec 5>&-
edit -c 'set directory=.' -c recover -c 'wq! recovered' swapped || true
diff <(seq 4001 5000) recovered; diff want swapped; rm .swapped.swp
# Appending, filtering through programs, and a file of many megabytes.
seq 3 > small; edit -c '1,2w >> small' -c q! small; test "$(echo $(cat small))" = '1 2 3 1 2'
edit -c '%!sort -rn' -c wq small; test "$(echo $(cat small))" = '3 2 2 1 1'
seq 1000000 > large; edit -c '500000,$d' -c '%s/^1/one/' -c wq large
diff <(seq 499999 | sed 's/^1/one/') large
"""

FIO = r"""
check() { fio --size=4M --verify=crc32c --do_verify=1 --fsync=50 --thread --numjobs=2 --output=fio.out "$@" || { cat fio.out; exit 1; }; }
for mode in write randwrite randrw; do
  check --name=$mode --rw=$mode --bsrange=512-64k --bs_unaligned
  check --name=$mode-mapped --rw=$mode --ioengine=mmap --bsrange=4k-64k
done
check --name=direct --rw=randrw --direct=1 --bs=4k
"""

# nano wants a terminal; it saves when it is left.
EDITORS = r"""
type() {
  keys=$1; shift; touch $HOME/running
  { printf "$keys"; for n in $(seq 999); do sleep 0.02; [ -e $HOME/running ] || break; done; } |
    TERM=xterm timeout 20 script -qec "stty rows 24 cols 80; nano -I -t $*; rm $HOME/running" /dev/null > /dev/null
}
seq 5000 > want
for backup in '' -B; do
  seq 5000 > nano$backup; chmod 640 nano$backup; ln nano$backup linked$backup
  type 'first \030' $backup nano$backup
  diff <(sed '1s/^/first /' want) nano$backup; test "$(stat -c %a nano$backup)" = 640; cmp nano$backup linked$backup
  if [ $backup ]; then diff want nano$backup~; else test ! -e nano~; fi
done
# Shorter than before, empty, and new.
type '\013\013\013\030' nano; diff <(seq 4 5000) nano
echo x > short; type '\013\030' short; test ! -s short
type 'words\030' new; test "$(cat new)" = words

seq 5000 > edited; ln edited also
printf '%s\n' 1,4000d ,s/7/seven/g w q | ed -s edited
diff <(seq 4001 5000 | sed s/7/seven/g) edited; cmp edited also
printf '%s\n' 1,2p '1,2W edited' '1,3w part' q | ed -s want > /dev/null
diff <(tail -n 2 edited) <(seq 2); diff part <(seq 3)
printf '%s\n' '0r !seq 100000' '1,90000m$' w q | ed -s edited
test $(wc -l < edited) = 101002; diff <(head -n 10000 edited) <(seq 90001 100000); diff want <(seq 5000)
"""

PARTS = {"work": WORK, "vim": VIM, "editors": EDITORS, "fio": FIO}


def main():
    guard = watch(240)
    base, user, part = sys.argv[1:]
    with Vault(base) as vault:
        home = f"{base}/home"
        os.mkdir(home)
        work = f"{vault.path}/c/work"
        os.mkdir(work)
        for path in (home, work):
            os.chown(path, int(user), int(user))
        environment = os.environ | {"HOME": home}
        words = ["--reuid", user, "--regid", user, "--clear-groups"]
        ran = run("setpriv", *words, "/bin/bash", "-euo", "pipefail", "-c", BEGINNING + PARTS[part], cwd=work, check=False, env=environment)
        if ran.returncode:
            raise Failure(f"exit {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
        for place, _, names in os.walk(f"{vault.upper}/c/work"):
            for name in names:
                path = f"{place}/{name}"
                if os.path.islink(path) or os.path.getsize(path) == 0:
                    continue
                with open(path, "rb") as file:
                    if file.read(8) != b"\x89EAR1\r\n\x1a":
                        raise Failure(f"{path} is not encrypted")
    guard.cancel()


if __name__ == "__main__":
    main()
