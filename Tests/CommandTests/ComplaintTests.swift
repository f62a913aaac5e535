// Complaints name the file and say what to do, verb by verb.

import MountSupport
import Testing

extension CommandTests {
  @Suite("Complaints") struct ComplaintTests {
    static let tree = #"""
      mkdir -p d/sub closed; : > d/f; : > d/sub/locked; : > closed/x; ln -s gone d/dangling
      varve acl set -e "user:7001 deny delete" d/f; varve chflags uchg d/sub/locked; chmod 700 closed
      mkdir "$BASE/plain"; : > "$BASE/plain/a"
      """#

    /// One line, as `uniq -c` counts it.
    private static let lost =
      "      1 Transport endpoint is not connected (ENOTCONN); the daemon of this volume is gone; 'varve umount BASE/mount' "
      + "removes the mount"

    @Test("A dead mount is complained about once, whatever is asked of it") func dead() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        daemon=$(varve status --json . | sed -n 's/.*"pid": \([0-9]*\),/\1/p'); cd "$BASE"
        kill -9 $daemon; while kill -0 $daemon 2>/dev/null; do sleep 0.01; done
        for verb in "ls -R" "chmod -R 600" "chflags uchg" "acl get -R" "acl strip" "access read" "find -flags uchg" check; do
          varve $verb mount/d mount/closed mount/none 2>&1 | sed 's/.*: //' | uniq -c
        done
        varve umount mount; varve remount -o ro /proc; echo $?; varve umount /proc; echo $?
        """#,
        prints: #"""
          \#(Self.lost)
          \#(Self.lost)
          \#(Self.lost)
          \#(Self.lost)
          \#(Self.lost)
                1 the daemon of this volume is gone; 'varve umount BASE/mount' removes the mount
          \#(Self.lost)
          \#(Self.lost)
          varve remount: /proc: a mount of type proc, not of Varve; mount(8) is for it
          32
          varve umount: /proc: a mount of type proc, not of Varve; umount(8) is for it
          1

          """#)
    }

    @Test("What is missing is named, with the part of the path that is") func missing() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        changing=("chflags hidden" "chmod 600" "chmod -N" "chown 1" "acl set -e everyone:allow:read" "acl strip" "acl sort" "acl explicit"
          "acl inherit" "acl propagate" "acl copy d/f")
        for verb in ls "${changing[@]}" "acl get" "acl check" "acl restore" check "why read" "access read"; do
          varve $verb d/gone 2>&1 | tail -1
        done
        for verb in ls "${changing[@]}" "acl get" "acl check" "acl restore" "access read"; do varve $verb d/none/x 2>&1 | tail -1; done
        for path in d/f/x d/dangling ""; do varve chmod 600 "$path"; varve acl inherit "$path"; varve access read "$path"; done
        for path in d/dangling/x d/dangling/ d/f/x/y d/f/ d/none/; do varve acl get "$path"; done
        varve ls -L d/dangling; varve acl copy d/gone d/f; varve acl set -F d/gone d/f; varve acl set -e "everyone allow read" --undo none/undo d/f
        varve mount "$BASE/none/x" "$BASE/plain"; varve mount "$BASE/plain/a" "$BASE/plain"; varve umount d/f; varve remount -o ro d/f
        """#,
        prints: #"""
          varve ls: d/gone: No such file or directory (ENOENT)
          varve chflags: d/gone: No such file or directory (ENOENT)
          varve chmod: d/gone: No such file or directory (ENOENT)
          varve chmod: d/gone: No such file or directory (ENOENT)
          varve chown: d/gone: No such file or directory (ENOENT)
          varve acl set: d/gone: No such file or directory (ENOENT)
          varve acl strip: d/gone: No such file or directory (ENOENT)
          varve acl sort: d/gone: No such file or directory (ENOENT)
          varve acl explicit: d/gone: No such file or directory (ENOENT)
          varve acl inherit: d/gone: No such file or directory (ENOENT)
          varve acl propagate: d/gone: No such file or directory (ENOENT)
          varve acl copy: d/gone: No such file or directory (ENOENT)
          varve acl get: d/gone: No such file or directory (ENOENT)
          varve acl check: d/gone: No such file or directory (ENOENT)
          varve acl restore: d/gone: No such file or directory (ENOENT)
          varve check: d/gone: No such file or directory (ENOENT)
            d/gone: does not exist (ENOENT)
          varve access: d/gone: does not exist (ENOENT)
          varve ls: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve chflags: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve chmod: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve chmod: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve chown: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl set: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl strip: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl sort: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl explicit: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl inherit: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl propagate: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl copy: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl get: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl check: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve acl restore: d/none/x: No such file or directory (ENOENT); there is no d/none
          varve access: d/none/x: d/none: does not exist (ENOENT)
          varve chmod: d/f/x: Not a directory (ENOTDIR); d/f is not a directory
          varve acl inherit: d/f/x: Not a directory (ENOTDIR); d/f is not a directory
          read        -    d/f: is not a directory (ENOTDIR)
          varve chmod: d/dangling: No such file or directory (ENOENT); it is a link to gone
          varve acl inherit: d/dangling: No such file or directory (ENOENT); it is a link to gone
          varve access: d/dangling: d/gone: does not exist (ENOENT)
          varve chmod: '': No such file or directory (ENOENT)
          varve acl inherit: '': No such file or directory (ENOENT)
          varve access: '': an empty path names nothing (ENOENT)
          varve acl get: d/dangling/x: No such file or directory (ENOENT); d/dangling is a link to nowhere
          varve acl get: d/dangling/: No such file or directory (ENOENT); it is a link to gone
          varve acl get: d/f/x/y: Not a directory (ENOTDIR); d/f is not a directory
          varve acl get: d/f/: Not a directory (ENOTDIR)
          varve acl get: d/none/: No such file or directory (ENOENT)
          d/dangling
          varve acl copy: 'd/gone': No such file or directory (ENOENT)
          varve acl set: 'd/gone': No such file or directory (ENOENT)
          varve acl set: 'none/undo': No such file or directory (ENOENT); there is no none
          varve mount: BASE/none/x: the source does not exist (ENOENT); there is no BASE/none; make it with: mkdir -p BASE/none/x
          varve mount: BASE/plain/a: the source is not a directory (ENOTDIR)
          varve umount: d/f: not a mount point; 'varve status' lists the volumes
          varve remount: d/f: not a mount point; 'varve status' lists the volumes

          """#)
      try desk.end()
    }

    @Test("What is not permitted names the right, or the way to the rule") func rights() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        cp "$(declare -f varve | sed -n "s/^ *'\(.*\)' .*/\1/p")" "$BASE/varve"; chmod 755 "$BASE/varve" .
        other() { setpriv --reuid 7001 --regid 7001 --clear-groups "$BASE/varve" "$@"; }
        changing=("chflags hidden" "chmod 600" "chmod -N" "chown 1" "acl set -e everyone:allow:read" "acl strip" "acl sort" "acl explicit"
          "acl inherit" "acl propagate" "acl copy d/f")
        for verb in "${changing[@]:0:7}" "acl copy d/f"; do other $verb d/f; done 2>&1 | sed 's/d\/f: d\/f/d\/f/'
        for verb in ls "chmod 600" "acl get" "acl strip" "acl check"; do other $verb closed/x; done
        other ls closed; other remount -o noacl .; other umount .
        other why --last 1 | sed -E 's/^[-0-9T:.Z]+ //'
        """#,
        prints: #"""
          varve chflags: d/f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve chmod: d/f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve chmod: d/f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve chown: d/f: Operation not permitted (EPERM): only root can give an item to another user
          varve acl set: d/f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve acl strip: d/f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve ls: closed/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve chmod: closed/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve acl get: closed/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve acl strip: closed/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve acl check: closed/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve ls: closed: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          varve remount: .: only root and the owner of the mount may change its options
          varve umount: .: it was mounted by root; only root takes it away
          user 7001: list BASE/mount/closed denied by its mode (other ---) (EACCES)

          """#)
      try desk.end()
    }

    @Test("A directory that is closed and on no volume is said to be closed, by every verb") func closed()
      throws
    {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        cp "$(declare -f varve | sed -n "s/^ *'\(.*\)' .*/\1/p")" "$BASE/varve"; chmod 755 "$BASE/varve"
        mkdir -m 700 "$BASE/shut"
        for verb in ls "chmod 600" "chmod +a everyone:allow:read" "chflags hidden" "chown -R 1" "acl get" "acl propagate" "why read" access \
          status check umount "remount -o ro" "mount $BASE/plain"; do
          setpriv --reuid 7001 --regid 7001 --clear-groups "$BASE/varve" $verb "$BASE/shut/x" 2>&1 |
            sed "s/^varve [a-z ]*: BASE//; s|^varve [^/]*: $BASE/|$BASE/|; s/the mount point cannot be reached: //"
          echo ${PIPESTATUS[0]}
        done | sort | uniq -c | sed 's/^ *//'
        rm -r "$BASE/shut"
        """#,
        prints: #"""
          14 BASE/shut/x: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          9 1
          3 2
          2 32

          """#)
      try desk.end()
    }

    @Test("An option behind the paths that is not the name of a file is refused, and nothing is done")
    func late() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        for line in "chmod 700 d/f -n" "chmod -R 700 d --dry-run" "chown 1:1 d/f --dry-run" "chown 1 d/f -n" "chflags uchg d/f -n"; do
          varve $line 2>&1 | head -1; echo ${PIPESTATUS[0]}; done
        stat -c '%a %u' d/f; varve ls -lO d/f | grep -c uchg
        touch ./-n; varve chmod 640 d/f -n; stat -c %a d/f ./-n
        """#,
        prints: #"""
          varve chmod: '-n' comes after the operands, so it is a file name, and that file does not exist; write options before everything else
          2
          varve chmod: '--dry-run' comes after the operands, so it is a file name, and that file does not exist; write options before everything else
          2
          varve chown: '--dry-run' comes after the operands, so it is a file name, and that file does not exist; write options before everything else
          2
          varve chown: '-n' comes after the operands, so it is a file name, and that file does not exist; write options before everything else
          2
          varve chflags: '-n' comes after the operands, so it is a file name, and that file does not exist; write options before everything else
          2
          644 0
          0
          640
          640

          """#)
      try desk.end()
    }

    @Test("A flag in the way is named, with the command that clears it") func flags() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        changing=("chflags hidden" "chmod 600" "chmod -N" "chown 1" "acl set -e everyone:allow:read" "acl strip" "acl sort" "acl explicit"
          "acl inherit" "acl propagate" "acl copy d/f")
        for verb in "${changing[@]:1:4}" "chmod +a everyone:allow:read"; do varve $verb d/sub/locked; done
        varve chflags schg d/f; varve chmod 600 d/f; varve acl strip -R d; echo $?
        """#,
        prints: #"""
          varve chmod: d/sub/locked: is locked by uchg; clear it first: varve chflags nouchg d/sub/locked (EPERM)
          varve chown: d/sub/locked: is locked by uchg; clear it first: varve chflags nouchg d/sub/locked (EPERM)
          varve acl set: d/sub/locked: is locked by uchg; clear it first: varve chflags nouchg d/sub/locked (EPERM)
          varve chmod: d/sub/locked: is locked by uchg; clear it first: varve chflags nouchg d/sub/locked (EPERM)
          varve chmod: d/f: is locked by schg; clear it first, as root: varve chflags noschg d/f (EPERM)
          varve acl strip: d/f: is locked by schg; clear it first, as root: varve chflags noschg d/f (EPERM)
          1

          """#)
      try desk.end()
    }

    @Test("Of many locked files ten are named with the command that helps, and the others are counted")
    func manyLocked() throws {
      let desk = try Desk("", #"mkdir d; touch d/{1..6} d/"a "{1..6}; varve chflags uchg d/*"#)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve chmod -R 700 d 2> $BASE/said; echo $?
        grep -Ec '^varve chmod: d/(a )?(.): is locked by uchg; clear it first: varve chflags nouchg .?d/(a )?\2.? \(EPERM\)$' $BASE/said
        grep -v ': d/' $BASE/said
        varve chmod 700 d/[1-5] d/a* 2>&1 | tail -1
        varve chflags nouchg d/*; varve acl dump d > $BASE/dump; rm d/*; varve acl restore -q $BASE/dump 2>&1 | tail -1
        """#,
        prints: #"""
          1
          10
          varve chmod: 2 more: each is locked by uchg; clear it first: varve chflags nouchg PATH (EPERM)
          varve chmod: 1 more: is locked by uchg; clear it first: varve chflags nouchg PATH (EPERM)
          varve acl restore: 2 more: each is gone (ENOENT)

          """#)
      try desk.end()
    }

    @Test("A volume that is read-only, or keeps no lists, says how to change that") func readOnly() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        changing=("chflags hidden" "chmod 600" "chmod -N" "chown 1" "acl set -e everyone:allow:read" "acl strip" "acl sort" "acl explicit"
          "acl inherit" "acl propagate" "acl copy d/f")
        varve remount -o ro .
        for verb in "${changing[@]:0:6}"; do varve $verb d/f; done
        varve remount -o rw,noacl .; varve acl set -e "everyone allow read" d/f; varve chmod +a "everyone allow read" d/f
        """#,
        prints: #"""
          varve chflags: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve chmod: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve chmod: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve chown: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve acl set: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve acl strip: d/f: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          varve acl set: d/f: the volume is mounted with noacl and takes no access lists (ENOTSUP); 'varve remount -o acl' at its mount point changes that
          varve chmod: d/f: the volume is mounted with noacl and takes no access lists (ENOTSUP); 'varve remount -o acl' at its mount point changes that

          """#)
      try desk.end()
    }

    @Test("A mistake in a word names the word and, where it helps, the right one") func words() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve chmod +a "nobody-here allow read" d/f; varve chmod +a "user:nobody-here allow read" d/f
        varve chmod +a "everyone alow read" d/f; varve chmod +a "everyone allow reed" d/f; varve chmod 888 d/f; varve chmod u+q d/f
        varve chflags uhcg d/f; varve chflags no d/f; varve chown nobody-here d/f; varve chown :nobody-here d/f
        varve why raed d/f; varve why add_file d; varve why --as nobody-here read d/f; varve access read,wriet d/f
        varve acl set --format nfs4 -e "A::nobody-here:r" d/f; varve acl set --format nfs4 -e "A:r" d/f
        varve acl set --format zfs -e "x" d/f; varve acl set --format json -e "{" d/f; varve acl set --format xml -e x d/f
        varve ls --jsno d/f 2>&1 | head -1; varve sttaus 2>&1 | head -1; varve acl gte 2>&1 | head -1; varve help lss 2>&1 | head -1
        varve mount -o noaccl "$BASE/plain" "$BASE/plain"; varve remount -o noaccl .; varve completion tcsh
        varve acl set -e "everyone allow read" --resume d/f 2>&1 | head -1
        """#,
        prints: #"""
          varve chmod: 'nobody-here' is neither a user nor a group; a number will do, such as user:1001
          varve chmod: no user is called 'nobody-here'; a number will do, such as user:1001
          varve chmod: expected 'allow' or 'deny', found 'alow'; did you mean 'allow'?
          varve chmod: 'reed' is not a right and not an inheritance word; did you mean 'read'?
          varve chmod: '888' is neither a mode nor a form such as +a
          varve chmod: 'u+q' is neither a mode nor a form such as +a
          varve chflags: unknown flag 'uhcg'; did you mean 'uchg'?
          varve chflags: unknown flag 'no'; 'varve help chflags' lists them
          varve chown: there is no user 'nobody-here'; a number will do
          varve chown: there is no group 'nobody-here'; a number will do
          varve why: 'raed' is not an operation; did you mean 'read'?
          varve why: 'add_file' is a right and not an operation; ask about 'create'
          varve why: there is no user 'nobody-here'; a number will do
          varve access: no such operation 'wriet'; did you mean 'write'?
          varve acl set: no user is called 'nobody-here'; a number will do, such as user:1001
          varve acl set: TYPE:FLAGS:WHO:RIGHTS was expected: 'A:r'
          varve acl set: WHO:RIGHTS:FLAGS:TYPE was expected: 'x'
          varve acl set: this is not JSON
          varve acl set: 'xml' is not a format: macos, nfs4, zfs and json are
          varve ls: unknown option '--jsno'; did you mean '--json'?
          varve: unknown verb 'sttaus'; did you mean 'status'?
          varve acl: unknown verb 'gte'; did you mean 'get'?
          varve: unknown verb 'lss'; did you mean 'ls'?
          varve mount: BASE/plain: unknown mount option 'noaccl'; did you mean 'noacl'?
          varve remount: .: unknown mount option 'noaccl'; did you mean 'noacl'?
          varve completion: 'tcsh' is not a shell known here: bash, zsh and fish are
          varve acl set: --resume goes with --undo FILE

          """#)
      try desk.end()
    }

    @Test("What is wrong is said once, as what it is, and counts once") func once() throws {
      let desk = try Desk("", "mkdir d d/e; touch d/f; ln -s ../gone d/lost")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        gone="$BASE/gone"
        varve why read "$gone"; varve why read "$gone/x/y"; varve status "$gone"; varve remount -o ro "$gone"
        varve acl dump d d d > $BASE/dump; varve acl restore --root "$gone" $BASE/dump
        sed "s|^root .*|root $gone|" $BASE/dump | varve acl restore --json -
        varve remount -v .; varve remount -v -o noexec .
        varve chmod --undo . 600 d/f; varve chmod --undo d --resume 600 d/f
        varve chmod -q -n 600 none d/f d/e/none; varve chmod -q -n -f 600 none
        varve chmod +a 'everyone allow read' d/f; varve chflags uchg d/f
        EDITOR='sed -i s/read/write/' varve acl edit -v d/f
        varve chflags nouchg d/f; varve chmod --help=1 2>&1 | head -1
        """#,
        prints: #"""
          varve why: BASE/gone: No such file or directory (ENOENT)
          varve why: BASE/gone/x/y: No such file or directory (ENOENT); there is no BASE/gone
          varve status: BASE/gone: No such file or directory (ENOENT)
          varve remount: BASE/gone: No such file or directory (ENOENT)
          varve acl restore: BASE/gone: No such file or directory (ENOENT)
          {"changes": [
            {"path": "BASE/gone", "error": "No such file or directory (ENOENT)"}varve acl restore: BASE/gone: No such file or directory (ENOENT)

          ], "dryRun": false, "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          BASE/mount (defaults)
          BASE/mount (noexec)
          varve chmod: '.' is a directory; name a new file, in it or elsewhere
          varve chmod: 'd' is a directory; name a new file, in it or elsewhere
          varve chmod: none: No such file or directory (ENOENT)
          varve chmod: d/e/none: No such file or directory (ENOENT)
          d/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          1 of 3 items would change, 2 would fail
          0 of 1 item would change, 1 would fail
          varve acl edit: d/f: is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)
          varve acl edit: 1 item, 0 changed, 1 failed
          varve chmod: option '--help' takes no value

          """#)
      try desk.end()
    }
  }
}
