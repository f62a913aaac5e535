// Programs that are run at the doors, by whoever a test says.

import Glibc
import LinuxFiles
import MountSupport

extension MountedVolume {
  /// Runs a program in the mount as somebody; the exit status and what it said.
  ///
  /// `varve` is the built one once ``publishTool()`` was called.
  func run(_ words: String, as user: TestUser = .root) throws -> ProgramResult {
    let groups =
      user.groups.isEmpty
      ? "--clear-groups" : "--groups \(user.groups.map { "\($0)" }.joined(separator: ","))"
    return try Program.run(
      "/bin/bash",
      ["-c", "exec setpriv --reuid \(user.user) --regid \(user.group) \(groups) \(words)"], in: path,
      environment: ["PATH": "\(base):/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TMPDIR": base])
  }

  /// Puts the built tool where every user can run it.
  func publishTool() throws {
    try Program.run("/bin/cp", [Program.built("varve"), base])
  }

  /// The letters lsattr shows of a name in the mount.
  func letters(_ name: String) throws -> String {
    let output = try run("lsattr -d \(name)").output
    return output.prefix { $0 != " " }.filter { $0 != "-" }
  }

  /// The entries nfs4_getfacl shows of a name in the mount.
  func nfsEntries(_ name: String) throws -> [String] {
    try run("nfs4_getfacl \(name)").output.split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }
}
