// Directories for layers, and a shell in which they have names.

import Glibc
import LinuxFiles
import MountSupport

/// `lower`, `lower2`, `upper`, `work`, and the mount points `mount` and `kernel`, in a directory of their own.
final class LayerStage {
  let base: String
  private let scripts: ScriptShell

  /// Each read moves an access time in it.
  ///
  /// `prelude`: what each script begins with.
  init(in place: String? = nil, prelude: String = "") throws {
    scripts = ScriptShell(prelude: "set -e\n" + prelude)
    base = try place ?? TemporaryDirectory.make()
    chmod(base, 0o755)
    try TemporaryDirectory.countReads(in: base)
    try shell("mkdir lower lower2 upper mount work kernel")
  }

  func remove() {
    umount2(base + "/mount", CInt(MNT_DETACH))
    umount2(base + "/kernel", CInt(MNT_DETACH))
    TemporaryDirectory.remove(base)
  }

  @discardableResult
  func shell(_ script: String, exits expected: Int32? = 0) throws -> String {
    let result = try scripts.run(script, in: base)
    if let expected, result.exit != expected {
      throw TestFailure("exit \(result.exit) of:\n\(script)\n\(result.output)")
    }
    return result.output
  }

  /// Everything about a tree that a program can see, but for change times.
  static let look =
    "look() { (cd \"$1\"; find . -path ./.varve -prune -o -printf '%P %y %m %l %s\\n' | sed 's/ [0-9]*$//' | sort; "
    + "find . -path ./.varve -prune -o -type f -print | sort | xargs -r sha1sum); }\n"
}

/// A tree that is a lower of volumes, and has to stay as it is.
enum LowerTree {
  /// Names and all times of a tree that was not to be touched; a mount reads what is in `.varve`.
  static func print(of tree: String) throws -> String {
    try Program.shell("\(ScriptShell.times)times '\(tree)' | sha1sum").output
  }
}

extension MountedVolume {
  /// Unmounts, and makes what is in the volume a lower; where that is.
  func becomeLower(_ number: Int = 0) throws -> String {
    try unmount()
    let lower = "\(base)/lower\(number)"
    guard rename(upper, lower) == 0 else { throw TestFailure("\(lower): \(Errno.current)") }
    return lower
  }

  /// The same, mounted as the lower of an empty volume.
  func lowered(_ options: String = "") throws -> MountedVolume {
    let lower = try becomeLower()
    return try MountedVolume(options.isEmpty ? "lower=\(lower)" : "lower=\(lower),\(options)", base: base)
  }
}
