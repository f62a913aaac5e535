import Foundation
import Glibc
import MountSupport
import Testing

/// What an administrator does with mount(8), systemd and fstab, really done.
@Suite(.serialized, .enabled(if: World.canBeMade, "needs root, /dev/fuse, overlayfs and unshare"))
struct FrontTests {}

/// A place where mount(8) finds our helper and nobody else notices: a mount namespace with an /sbin of its own.
struct World {
  static let canBeMade =
    Machine.canMount && access("/usr/bin/unshare", X_OK) == 0 && access("/usr/bin/mount", X_OK) == 0

  let base: String

  /// Makes the directories `upper`, `other`, `mount` and `second`.
  init() throws {
    base = try TemporaryDirectory.make()
    _ = chmod(base, 0o755)
    for name in ["upper", "other", "mount", "second"] { mkdir("\(base)/\(name)", 0o755) }
  }

  /// Runs a script in a new namespace, in the base directory, which it also finds as $BASE.
  ///
  /// `fstab TEXT` makes a text the /etc/fstab; `as_user SCRIPT` runs a script as nobody.
  func run(_ script: String, environment: [String: String] = [:]) throws -> ProgramResult {
    let helpers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("mount-helpers").path
    let prologue = """
      set -e
      sbin=$(readlink -f /sbin)
      mkdir -p "$BASE/world" && mount -t tmpfs -o mode=755 tmpfs "$BASE/world"
      mkdir -m 755 "$BASE/world/upper" "$BASE/world/work"
      mount -t overlay -o "lowerdir=$sbin,upperdir=$BASE/world/upper,workdir=$BASE/world/work" overlay "$sbin"
      cp '\(Program.built("varve"))' '\(Program.built("varved"))' '\(helpers)/mount.varve' '\(helpers)/umount.fuse.varve' "$sbin"
      # The machine may have one.
      ln -sfn mount.varve "$sbin/mount.fuse.varve"
      chmod 755 "$sbin/varve" "$sbin/varved" "$sbin/mount.varve" "$sbin/umount.fuse.varve"
      export PATH=/usr/sbin:/usr/bin:/sbin:/bin
      fstab() { printf '%s\\n' "$1" >"$BASE/world/fstab"; mount --bind "$BASE/world/fstab" /etc/fstab; }
      as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups /bin/bash -ec "$1"; }
      status_of() { local status=0; "$@" 2>&1 || status=$?; echo "status $status"; }
      cleanup() {
        for name in mount second; do umount -l "$BASE/$name" 2>/dev/null || true; done
      }
      trap cleanup EXIT
      cd "$BASE"

      """
    return try Program.run(
      "/usr/bin/unshare",
      ["--mount", "--propagation", "private", "/bin/bash", "-c", prologue + script + " 2>&1"],
      in: base, environment: environment.merging(["BASE": base, "LC_ALL": "C"]) { $1 })
  }

  /// What a script prints, with the base written as BASE; the script has to succeed.
  func output(
    _ script: String, environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let result = try run("{\n\(script)\n}", environment: environment)
    #expect(result.exit == 0, "\(result.output)", sourceLocation: sourceLocation)
    return result.output.replacing(base, with: "BASE")
  }

  func remove() {
    for name in ["mount", "second"] { umount2("\(base)/\(name)", CInt(MNT_DETACH)) }
    TemporaryDirectory.remove(base)
  }
}
