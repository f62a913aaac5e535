import Glibc
import MountSupport
import Testing

/// Runs the built `varve` on real mounts, and compares what it says with what was reviewed.
@Suite(.serialized, .enabled(if: Machine.canMount, "needs root and /dev/fuse")) struct CommandTests {}

/// A mounted volume with a shell in it, where `varve` is the built one.
struct Desk {
  let volume: MountedVolume

  /// A volume that is mounted already.
  init(_ volume: MountedVolume) { self.volume = volume }

  init(_ options: String = "", _ script: String = "") throws {
    volume = try MountedVolume(options)
    if !script.isEmpty { try run(script, succeeds: true) }
  }

  /// Runs a script in the mount; what fails does not end it, and statuses are printed by the script itself.
  ///
  /// `terminal COMMAND` runs a command on a terminal, of 80 columns if WIDTH says nothing else.
  @discardableResult
  func run(
    _ script: String, succeeds: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let prelude = #"""
      varve() { '\#(Program.built("varve"))' "$@"; }
      export -f varve
      umask 022
      terminal() { TERM=xterm script -qec "stty cols ${WIDTH:-80}; $1" /dev/null | tr -d '\r'; }

      """#
    let result = try Program.run(
      "/bin/bash", ["-c", prelude + (succeeds ? "set -e\n" : "") + script], in: volume.path,
      environment: [
        "LC_ALL": "C", "TMPDIR": volume.base, "BASE": volume.base, "TZ": "UTC", "VISUAL": "", "EDITOR": "",
        "NO_COLOR": "",
      ])
    if succeeds, result.exit != 0 {
      Issue.record("exit \(result.exit):\n\(result.output)", sourceLocation: sourceLocation)
    }
    return result.output
  }

  /// Compares what a script prints, both streams in the order they came.
  func expect(
    _ script: String, prints expected: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let output = try run(script).replacing(volume.base, with: "BASE")
    #expect(output == expected, sourceLocation: sourceLocation)
  }

  func end() throws {
    try volume.unmount()
  }
}
