import Glibc
import LinuxFiles
import MountSupport
import Testing

// What lies below and above a volume whose files are passed through.

extension MountTests {
  @Suite(
    "Passthrough over and under other file systems",
    .enabled(if: Machine.passesThrough, "this kernel passes no files through"))
  struct PassthroughPlacesTests {
    private static let work = """
      cp /bin/true program && ./program
      head -c 300000 /dev/urandom > a && cp a b && cmp a b && echo more >> b && test $(stat -c %s b) = 300005
      dd if=a of=b bs=4096 oflag=direct conv=notrunc count=4 2> /dev/null || true
      sync a b; rm a b program
      """

    /// Runs a script in mounts of its own, which end with it.
    private func inOwnWorld(_ script: String) throws -> ProgramResult {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let prologue = """
        set -e
        export PATH='\(try Self.folder(of: "varve"))':/usr/sbin:/usr/bin:/sbin:/bin
        passes() { varve status "$1" | grep -q 'passthrough: *on'; }
        work() { (cd "$1"; \(Self.work)); }

        """
      return try Program.run(
        "/usr/bin/unshare", ["--mount", "--propagation", "private", "/bin/bash", "-c", prologue + script],
        in: base)
    }

    private static func folder(of program: String) throws -> String {
      let path = Program.built(program)
      return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }

    private static func canHave(_ kind: String) -> Bool {
      Machine.knows(fileSystem: kind) && Programs.has("mkfs.\(kind)")
    }

    @Test("The backing may be tmpfs") func overMemory() throws { try workOver("tmpfs") }

    @Test("The backing may be ext4", .enabled(if: canHave("ext4"), "needs ext4 and its mkfs"))
    func overExt4() throws { try workOver("ext4") }

    @Test("The backing may be XFS", .enabled(if: canHave("xfs"), "needs XFS and its mkfs"))
    func overXFS() throws { try workOver("xfs") }

    @Test("The backing may be btrfs", .enabled(if: canHave("btrfs"), "needs btrfs and its mkfs"))
    func overBtrfs() throws { try workOver("btrfs") }

    private func workOver(_ kind: String) throws {
      let result = try inOwnWorld(
        """
        mkdir disk mount
        case \(kind) in
          tmpfs) mount -t tmpfs -o mode=755 none disk ;;
          *) truncate -s 400M image && mkfs.\(kind) -q image && mount -o loop image disk ;;
        esac
        mkdir disk/upper
        varve mount disk/upper mount
        passes mount
        work mount
        varve umount mount
        umount disk
        """)
      #expect(result.exit == 0, "\(kind): \(result.output)")
    }

    @Test(
      "Over overlayfs, and under it", .enabled(if: Machine.knows(fileSystem: "overlay"), "needs overlayfs"))
    func overlay() throws {
      let result = try inOwnWorld(
        """
        mkdir tmp && mount -t tmpfs -o mode=755 none tmp && cd tmp
        mkdir l u w over mount && mount -t overlay -o lowerdir=l,upperdir=u,workdir=w none over
        mkdir over/upper && varve mount over/upper mount
        passes mount
        work mount
        varve umount mount
        mkdir plain lower2 u2 w2 over2 && varve mount plain mount
        echo text > mount/file
        mount -t overlay -o lowerdir=mount,upperdir=u2,workdir=w2 none over2
        grep -q text over2/file && echo more >> over2/file && grep -q more over2/file && ! grep -q more mount/file
        umount over2 && varve umount mount
        """)
      #expect(result.exit == 0, "\(result.output)")
    }

    @Test("Over another FUSE file system", .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func fuse() throws {
      let result = try inOwnWorld(
        """
        mkdir tree over mount && apart bindfs -o attr_timeout=0 tree over
        varve mount over mount
        work mount
        varve umount mount && umount over
        """)
      #expect(result.exit == 0, "\(result.output)")
    }

    @Test(
      "A user's own mount does without, and says so",
      .enabled(if: UserMountTests.hasTools, "needs fusermount3 and setpriv"))
    func unprivileged() throws {
      let result = try inOwnWorld(
        """
        mkdir bin && cp \(Program.built("varve")) \(Program.built("varved")) bin && chmod -R a+rX bin
        mkdir upper mount && mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        chown 65534:65534 upper mount && chmod 0755 .
        setpriv --reuid 65534 --regid 65534 --clear-groups /bin/bash -ec '
          export PATH=$PWD/bin:$PATH
          varve mount upper mount
          varve status mount | grep "passthrough: *off: .*root"
          cd mount; \(Self.work); cd ..
          varve umount mount'
        """)
      #expect(result.exit == 0, "\(result.output)")
    }
  }
}
