import MountSupport
import Testing

/// Keyfiles as they are made, changed and checked, without any mount.
@Suite("varve key", .enabled(if: KeyDrawer.isRoot, "needs root to change owners")) struct KeyVerbTests {
  @Test("A keyfile is made once, is its owner's alone, and says nothing") func create() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      varve key create new; echo $?; stat -c '%a %s %U' new
      varve key create new; echo $?; varve key create new2; cmp -s new new2; echo $?
      varve key create --json new3; varve key check new3
      umask 000; varve key create open; stat -c %a open
      """,
      prints: """
        0
        400 96 root
        varve key create: new: already exists (EEXIST), and is not replaced; take another name
        1
        1
        {"path": "new3", "keyfile": "N", "passphrase": false}
        new3: a sound keyfile without a passphrase, id N
        400

        """)
  }

  @Test("A passphrase comes from a path, standard input, a descriptor or a credential") func sources() throws
  {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      varve key check --passphrase-file word closed
      varve key check --passphrase-file - closed < word
      varve key check --passphrase-file fd:7 closed 7< word
      varve key check --passphrase-file <(cat word) closed
      mkdir given; cp word given/team; CREDENTIALS_DIRECTORY=$BASE/given varve key check --passphrase-file cred:team closed
      varve key check --json --passphrase-file word closed; varve key check --passphrase-file word raw
      varve key check --passphrase-file fd:3 closed; echo $?
      varve key check --passphrase-file cred:team closed; echo $?
      CREDENTIALS_DIRECTORY=$BASE/given varve key check --passphrase-file cred:none closed; echo $?
      varve key check --passphrase-file none closed; varve key check --passphrase-file . closed; echo $?
      varve key check --passphrase-file cred:../word closed; varve key check --passphrase-file fd:x closed; echo $?
      varve key create --passphrase --passphrase-file word new 2>&1 | head -1; ls new
      """,
      prints: """
        closed: a sound keyfile with a passphrase, id N
        closed: a sound keyfile with a passphrase, id N
        closed: a sound keyfile with a passphrase, id N
        closed: a sound keyfile with a passphrase, id N
        closed: a sound keyfile with a passphrase, id N
        {"path": "closed", "keyfile": "N", "passphrase": true, "sound": true}
        varve key check: raw: has no passphrase; the one that was given is not needed
        raw: a sound keyfile without a passphrase, id N
        varve key check: closed: 'fd:3' is not open; the caller of this program opens it, in a shell with '3<FILE'
        1
        varve key check: closed: 'cred:team': this program was given no credentials ($CREDENTIALS_DIRECTORY is not set); LoadCredential= of a systemd unit gives them
        1
        varve key check: closed: 'cred:none': the credential cannot be opened: No such file or directory (ENOENT); LoadCredential= of the systemd unit gives it
        1
        varve key check: closed: the passphrase file 'none' cannot be opened: No such file or directory (ENOENT)
        varve key check: closed: the passphrase cannot be read from '.': Is a directory (EISDIR)
        1
        varve key check: 'cred:../word' does not name a credential; 'cred:passphrase' does
        varve key check: 'fd:x' does not name a descriptor; 'fd:3' does
        2
        varve key create: --passphrase asks on the terminal, and --passphrase-file does not; give one of them
        ls: cannot access 'new': No such file or directory

        """)
  }

  @Test("A passphrase is set, changed and removed, and the secret stays the same") func passphrase() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      cp -p raw key; echo second > second; chmod 400 second; inode=$(stat -c %i key)
      varve key passphrase --passphrase-file word key; echo $?; stat -c %a key; test $(stat -c %i key) != $inode || echo same
      varve key check --passphrase-file word key; varve key check --passphrase-file second key; echo $?
      cp -p key once; varve key passphrase --json --passphrase-file word --new-passphrase-file second key
      varve key check --passphrase-file second key; varve key check --passphrase-file word key; echo $?
      varve key passphrase --passphrase-file word --new-passphrase-file second once; cmp -s key once; echo $?
      varve key passphrase --remove --passphrase-file word key; echo $?
      varve key passphrase --remove --passphrase-file second key; cmp key raw
      varve key passphrase --remove key; echo $?
      varve key passphrase --remove --new-passphrase-file word key 2>&1 | head -1
      varve key passphrase --passphrase-file - --new-passphrase-file fd:0 key; echo $?; ls -A
      """,
      prints: """
        0
        400
        key: a sound keyfile with a passphrase, id N
        varve key check: key: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        1
        {"path": "key", "keyfile": "N", "passphrase": true}
        key: a sound keyfile with a passphrase, id N
        varve key check: key: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        1
        1
        varve key passphrase: key: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        1
        varve key passphrase: key: has no passphrase to remove; nothing was changed
        1
        varve key passphrase: --remove leaves no passphrase, so --new-passphrase-file is of no use
        varve key passphrase: both passphrases cannot come from one source; name another one for the new passphrase
        2
        closed
        key
        once
        raw
        second
        terminal.py
        upper
        word

        """)
  }

  @Test("A passphrase has 1 to 1,024 bytes, and one newline does not count") func lengths() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      #"""
      : > none; echo > newline; head -c 1024 /dev/zero > most; { cat most; echo; } > line; head -c 1025 /dev/zero > more; chmod 400 *
      for file in none newline more; do varve key create --passphrase-file $file new; echo $?; done
      head -c 100000 /dev/zero | varve key create --passphrase-file - new; echo $?
      varve key create --passphrase-file most new; varve key check --passphrase-file line new
      printf 'a\n\n' | varve key create --passphrase-file - two; printf 'a\n' | varve key check --passphrase-file - two
      printf 'a\n\n' | varve key check --passphrase-file - two
      """#,
      prints: """
        varve key create: new: the passphrase from 'none' is empty; a passphrase has at least one byte
        1
        varve key create: new: the passphrase from 'newline' is empty; a passphrase has at least one byte
        1
        varve key create: new: the passphrase from 'more' is too long; it has 1,024 bytes at most
        1
        varve key create: new: the passphrase from '-' is too long; it has 1,024 bytes at most
        1
        new: a sound keyfile with a passphrase, id N
        varve key check: two: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        two: a sound keyfile with a passphrase, id N

        """)
  }

  @Test("A keyfile that others can get at, or that is none, is not read") func refused() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      ln -s raw link; mkfifo fifo; for mode in 440 404 420 602 666; do cp raw m$mode; chmod $mode m$mode; done
      cp raw theirs; chmod 400 theirs; chown 7001 theirs; cp raw x; chmod 511 x
      for file in link fifo upper none none/raw raw/x m440 m404 m420 m602 m666 theirs x; do
        varve key check $file; echo $?
      done
      varve key passphrase --remove link; varve key passphrase --remove m440; echo $?
      as_user '$VARVE key check raw; $VARVE key check theirs'; varve key check -; echo $?
      """,
      prints: """
        varve key check: link: is a symbolic link to 'raw', which may be exchanged; name the keyfile itself (ELOOP)
        1
        varve key check: fifo: is a FIFO, and a keyfile is a regular file; copy the keyfile to a file, and name that
        1
        varve key check: upper: is a directory, and a keyfile is a regular file; copy the keyfile to a file, and name that
        1
        varve key check: none: No such file or directory (ENOENT)
        1
        varve key check: none/raw: No such file or directory (ENOENT); there is no none
        1
        varve key check: raw/x: Not a directory (ENOTDIR); raw is not a directory
        1
        varve key check: m440: others than its owner may read it (mode 0440); 'chmod 400 m440' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: m404: others than its owner may read it (mode 0404); 'chmod 400 m404' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: m420: others than its owner may write it (mode 0420); 'chmod 400 m420' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: m602: others than its owner may write it (mode 0602); 'chmod 400 m602' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: m666: others than its owner may read and write it (mode 0666); 'chmod 400 m666' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: theirs: belongs to the user 7001, and has to belong to root; root changes that with 'chown', and mounts a stick with FAT with uid=0
        1
        x: a sound keyfile without a passphrase, id N
        0
        varve key passphrase: link: is a symbolic link to 'raw', which may be exchanged; name the keyfile itself (ELOOP)
        varve key passphrase: m440: others than its owner may read it (mode 0440); 'chmod 400 m440' closes it, and a stick with FAT is mounted with fmask=0177
        1
        varve key check: raw: cannot be opened: Permission denied (EACCES)
        theirs: a sound keyfile without a passphrase, id N
        varve key check: a keyfile is a file, not a standard stream; './-' is a file of this name
        2

        """)
  }

  @Test("Damage is told from what is no keyfile") func damage() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      put() { cp $1 bad; chmod 600 bad; printf "$3" | dd of=bad bs=1 seek=$2 conv=notrunc status=none; }
      : > bad; chmod 400 bad; varve key check bad; echo $?; rm bad
      head -c 95 raw > bad; chmod 400 bad; varve key check bad; rm -f bad
      head -c 96 /dev/zero > bad; chmod 400 bad; varve key check bad; rm -f bad
      put raw 60 x; varve key check bad; echo $?
      put raw 8 '\\2'; varve key check bad; put closed 9 '\\31'; varve key check bad; echo $?
      put closed 60 x; varve key check --json --passphrase-file word bad; echo $?
      """,
      prints: """
        varve key check: bad: is not a keyfile, or a damaged one: it has 0 bytes, and a keyfile has 96 (EBADMSG)
        1
        varve key check: bad: is not a keyfile, or a damaged one: it has 95 bytes, and a keyfile has 96 (EBADMSG)
        varve key check: bad: is not a keyfile: it does not begin like one (EBADMSG)
        varve key check: bad: is damaged: its checksum does not fit (EBADMSG); use another copy of it
        1
        varve key check: bad: is damaged, or was made by a later version (EBADMSG); use another copy of it
        varve key check: bad: is damaged, or was made by a later version (EBADMSG); use another copy of it
        1
        varve key check: bad: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        {"path": "bad", "keyfile": "N", "passphrase": true, "error": "the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot"}
        1

        """)
  }

  @Test("Where nothing can be written, nothing is left") func unwritable() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      #"""
      ln -s nowhere hanging; mkdir full closed.d; chmod 755 closed.d
      for file in none/key raw/key hanging . upper upper/ .. '' /dev/stdout; do varve key create "$file"; echo $?; done
      varve key create -; echo $?; as_user '$VARVE key create closed.d/key'; echo $?
      unshare -m /bin/bash -c '
        mount -t tmpfs -o size=12k tmpfs full; cp -p raw full/key; cp -p full/key before
        dd if=/dev/zero of=full/zeros bs=4k status=none 2> /dev/null
        varve key create full/new; echo $?; varve key passphrase --passphrase-file word full/key; echo $?
        ls -A full; cmp full/key before; mount -o remount,ro full
        varve key create full/new; varve key passphrase --passphrase-file word full/key; echo $?'
      """#,
      prints: """
        varve key create: none/key: the directory 'none' does not exist (ENOENT); make it first: mkdir -m 700 none
        1
        varve key create: raw/key: 'raw' is not a directory (ENOTDIR); name another one
        1
        varve key create: hanging: already exists (EEXIST), and is not replaced; take another name
        1
        varve key create: .: names a directory; name a new file in it, such as ./team.key
        1
        varve key create: upper: names a directory; name a new file in it, such as upper/team.key
        1
        varve key create: upper/: names a directory; name a new file in it, such as upper/team.key
        1
        varve key create: ..: names a directory; name a new file in it, such as ../team.key
        1
        varve key create: '': is empty; name a new file, such as team.key
        1
        varve key create: /dev/stdout: already exists (EEXIST), and is not replaced; take another name
        1
        varve key create: a keyfile is a file, not a standard stream; './-' is a file of this name
        2
        varve key create: closed.d/key: cannot be written in 'closed.d': Permission denied (EACCES); nothing was changed
        1
        varve key create: full/new: there is no room left in 'full' (ENOSPC); nothing was changed
        1
        varve key passphrase: full/key: there is no room left in 'full' (ENOSPC); nothing was changed
        1
        key
        zeros
        varve key create: full/new: 'full' is read-only (EROFS); nothing was changed
        varve key passphrase: full/key: 'full' is read-only (EROFS); nothing was changed
        1

        """)
  }

  @Test(
    "Nothing secret is written where a file system gives every file to others",
    .enabled(if: Machine.canMount && Programs.has("bindfs"), "needs /dev/fuse and bindfs"))
  func modeless() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      mkdir stored shown; cp -p raw stored/key; apart bindfs -p 0755 stored shown
      varve key create shown/new; echo $?; varve key check shown/key; umount shown; ls -A stored
      """,
      prints: """
        varve key create: shown/new: the file system lets others read or write what is made in 'shown'; nothing was changed. A stick with FAT is mounted with fmask=0177
        1
        varve key check: shown/key: others than its owner may read it (mode 0755); 'chmod 400 shown/key' closes it, and a stick with FAT is mounted with fmask=0177
        key

        """)
  }

  @Test("Keys need memory that can be locked, and the limit is named") func lockedMemory() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      mkdir -m 777 theirs
      as_user 'ulimit -l 64; $VARVE key create theirs/key; echo $?; ulimit -l 0; $VARVE key create theirs/key'
      as_user 'ulimit -l 2048; $VARVE key create theirs/key && ulimit -l 1024 && $VARVE key check theirs/key'; ls theirs
      """,
      prints: """
        varve key create: theirs/key: keys need 2048 KiB of locked memory, and the limit is 64 KiB (RLIMIT_MEMLOCK); 'ulimit -l 2048' raises it, or LimitMEMLOCK= of a systemd unit
        1
        varve key create: theirs/key: keys need 2048 KiB of locked memory, and the limit is 0 KiB (RLIMIT_MEMLOCK); 'ulimit -l 2048' raises it, or LimitMEMLOCK= of a systemd unit
        varve key check: theirs/key: keys need 2048 KiB of locked memory, and the limit is 1024 KiB (RLIMIT_MEMLOCK); 'ulimit -l 2048' raises it, or LimitMEMLOCK= of a systemd unit
        key

        """)
  }

  @Test(
    "What is written is on the disk before it is told, and replaces the old in one step",
    .enabled(if: Programs.has("strace"), "needs strace"))
  func durable() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      #"""
      calls() { strace -f -y -e trace=openat,rename,renameat,renameat2,linkat,unlinkat,fsync -o log $VARVE "$@"
        sed -nE 's/^[0-9]+ +//; s/[0-9]+<([^>]*)>/<\1>/g; s/varve-key-[-0-9a-f]+/TEMPORARY/g
          s/\) += .*//; s/renameat2(.*), 0$/renameat\1/; /O_CREAT|^(rename|link|unlink|fsync)/p' log; }
      calls key create new
      cp -p raw key; calls key passphrase --passphrase-file word key
      calls key check new
      """#,
      prints: """
        openat(<BASE>, ".TEMPORARY", O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0400
        fsync(<BASE/.TEMPORARY>
        renameat2(<BASE>, ".TEMPORARY", <BASE>, "new", RENAME_NOREPLACE
        fsync(<BASE>
        openat(<BASE>, ".TEMPORARY", O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0400
        fsync(<BASE/.TEMPORARY>
        renameat(<BASE>, ".TEMPORARY", <BASE>, "key"
        fsync(<BASE>
        new: a sound keyfile without a passphrase, id N

        """)
  }
}
