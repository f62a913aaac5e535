import MountSupport
import Testing

extension Desk {
  /// A volume over two lowers, `$BASE/one` and `$BASE/two`.
  ///
  /// `prepare` is run in the first of them before the volume is mounted, `script` in the mount.
  static func layered(_ prepare: String, _ script: String = "") throws -> Desk {
    let base = try TemporaryDirectory.make()
    let made = try Program.run(
      "/bin/bash", ["-ec", "mkdir one two upper; cd one\n" + prepare], in: base, environment: ["BASE": base])
    guard made.exit == 0 else { throw TestFailure(made.output) }
    let desk = Desk(try MountedVolume("lower=\(base)/one:\(base)/two", base: base))
    if !script.isEmpty { try desk.run(script, succeeds: true) }
    return desk
  }
}
