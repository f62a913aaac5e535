import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  /// A volume that an ordinary user mounts through fusermount3: records in `user.` attributes, no privilege.
  @Suite("A user's own mount") struct UserMountTests {
    static let hasTools = Programs.has("fusermount3", "setpriv")

    /// Runs a script as root in mounts of its own, where everybody may open /dev/fuse, as is usual; `as_user` runs
    /// a script as nobody: fusermount3 wants a user with an account.
    func inOwnWorld(_ script: String) throws -> ProgramResult {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      // A copy of the programs: the folder they were built in may be closed to users.
      let prologue = """
        set -e
        mkdir bin && cp \(Program.built("varve")) \(Program.built("varved")) bin && chmod -R a+rX bin
        export PATH=$PWD/bin:/usr/sbin:/usr/bin:/sbin:/bin
        mkdir upper mount && mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        chown 65534:65534 . upper mount && chmod 0755 .
        as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups /bin/bash -ec "$1"; }

        """
      return try Program.run(
        "/usr/bin/unshare", ["--mount", "--propagation", "private", "/bin/bash", "-c", prologue + script],
        in: base)
    }

    @Test(
      "Flags and lists work without root, and are enforced",
      .enabled(if: hasTools, "needs fusermount3 and setpriv"))
    func withoutPrivilege() throws {
      let result = try inOwnWorld(
        """
        as_user '
        varve mount upper mount
        echo text > mount/file
        varve chflags uchg mount/file
        if echo more 2> /dev/null >> mount/file; then exit 10; fi
        varve ls -lO mount/file | grep -q uchg
        varve chflags nouchg mount/file
        echo more >> mount/file
        mkdir mount/inner
        varve chmod +a "everyone allow read,file_inherit,directory_inherit" mount/inner
        echo child > mount/inner/child
        varve ls -le mount/inner/child | grep -q "inherited allow"
        ln -s file mount/link && mkfifo mount/fifo && mv mount/file mount/inner/file
        if varve chflags -h hidden mount/link 2> /dev/null; then exit 11; fi
        varve status mount > /dev/null
        varve remount -o ro,noexec mount
        varve status | grep "$PWD/mount (ro,.*,noexec)"
        varve status --json | grep -c "ro,.*,noexec"
        varve remount -o rw,exec mount
        touch mount/mine; varve chmod -n 0 mount/mine | grep -q -e "-> 0100400"
        varve chmod -vv 0 mount/mine | grep -q -e "-> 0100400"; varve chmod --json 0 mount/mine | grep -q "unchanged.: 1"
        varve umount mount
        varve mount -o twins upper mount
        echo text > mount/closed; chmod 0444 mount/closed
        varve chflags hidden mount/closed; varve chflags nohidden mount/closed
        cp -a mount/closed mount/copy; test ! -w mount/copy
        varve umount mount
        test -e upper/inner/file
        ' 2>&1
        """)
      #expect(result.exit == 0, "\(result.output)")
    }

    @Test(
      "Items without write or read bits keep their flags and lists, and stay within reach",
      .enabled(if: hasTools, "needs fusermount3 and setpriv"))
    func narrowModes() throws {
      let result = try inOwnWorld(
        """
        as_user '
        varve mount upper mount
        cd mount
        echo text > file && chmod 0444 file
        varve chflags uchg file && varve ls -lO file | grep -q uchg && varve chflags nouchg file
        stat -c %a file | grep -qx 444
        mkdir team && varve chmod +a "everyone deny chown,file_inherit,directory_inherit" team
        (umask 0777; echo > team/narrow; mkdir team/closed)
        varve ls -le team | grep -c "inherited deny" | grep -qx 2
        mkdir inner && echo secret > inner/secret && chmod 0200 inner/secret
        echo more >> inner/secret && chmod 0 inner && chmod 0755 inner && chmod 0600 inner/secret
        grep -q more inner/secret
        rm -rf inner team
        cd .. && varve umount mount
        ' 2>&1
        """)
      #expect(result.exit == 0, "\(result.output)")
    }

    @Test(
      "Nobody but the mounter enters, root included",
      .enabled(if: hasTools, "needs fusermount3 and setpriv"))
    func closedToOthers() throws {
      let result = try inOwnWorld(
        """
        as_user 'varve mount upper mount'
        if ls mount 2> complaint; then exit 10; fi
        grep -q 'Permission denied' complaint
        as_user 'touch mount/file'
        closed='only user 65534 may use this mount, and not even root'
        for words in 'status mount' 'why read mount/file' 'access mount/file' 'chmod 600 mount/file' 'ls mount'; do
          varve $words 2>&1 | grep "$closed"
        done
        as_user 'varve why read mount/file' && varve why --as nobody read mount/file
        as_user 'varve umount mount; rm -r upper/.varve; varve mount -o ro upper mount' 2>&1 | grep 'set XDG_RUNTIME_DIR'
        as_user 'varve why read mount/file' 2>&1 | grep 'no control socket.* with XDG_RUNTIME_DIR set a new mount'
        varve why read mount/file 2>&1 | grep "$closed"
        other() { setpriv --reuid 1002 --regid 2009 --clear-groups "$@"; }
        other varve umount mount 2>&1 | grep 'it was mounted by nobody; only nobody and root take it away'
        as_user 'varve umount mount'
        """)
      #expect(result.exit == 0, "\(result.output)")
    }
  }
}
