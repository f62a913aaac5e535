import Foundation
import MountSupport
import Testing

/// A session at a terminal, as manual pages print them.
///
/// A line that begins with `# ` is typed, what follows is what comes back, and a status other than 0 ends it
/// in brackets. `chmod`, `chflags` and `ls` are those of `varve`, and `ls` leaves the line with the total out;
/// `juser` and `guest` run `varve` as these users.
struct Transcript: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// What is typed before anybody looks.
  let before: String
  let lines: String

  init(_ sentence: String, before: String = "", _ lines: String) {
    testDescription = sentence
    self.before = before
    self.lines = lines
  }

  /// Types every line on a fresh volume, and compares what comes back.
  func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let desk = try Desk()
    defer { desk.volume.remove() }
    try accounts(below: desk.volume.base)
    let typed = lines.split(separator: "\n").filter { $0.hasPrefix("# ") }
      .map { "step '\($0.dropFirst(2).replacing("'", with: #"'\''"#))'" }
    if lines.contains("# juser ") || lines.contains("# guest ") {
      // Nobody else gets to where the programs are built.
      try desk.run(
        "cp '\(Program.built("varve"))' \"$BASE/varve\"; chmod 755 \"$BASE/varve\"", succeeds: true)
    }
    let script = [Transcript.prelude, before, "{ \(typed.joined(separator: "\n"))", "} 2>&1", ""]
    try script.joined(separator: "\n")
      .write(toFile: desk.volume.base + "/session", atomically: true, encoding: .utf8)
    let output = try desk.run(#"unshare --mount /bin/bash "$BASE/session""#)
    #expect(output == lines + "\n", sourceLocation: sourceLocation)
    try desk.end()
  }

  /// The people of the manual pages; they exist in the mount namespace of the session alone.
  private func accounts(below base: String) throws {
    let files = [
      "passwd": """
      root:x:0:0::/:/bin/sh
      juser:x:7001:7100::/:/bin/sh
      guest:x:7002:7100::/:/bin/sh
      User 1:x:7003:7100::/:/bin/sh
      backup:x:7004:7100::/:/bin/sh
      both:x:7005:7100::/:/bin/sh

      """,
      "group": """
      root:x:0:
      wheel:x:7100:
      admin:x:7080:
      others:x:7081:
      both:x:7005:

      """,
      "nsswitch.conf": "passwd: files\ngroup: files\n",
    ]
    for (name, text) in files {
      try text.write(toFile: base + "/" + name, atomically: true, encoding: .utf8)
    }
  }

  private static let prelude = """
    for file in passwd group nsswitch.conf; do mount --bind "$BASE/$file" "/etc/$file"; done
    chmod() { varve chmod "$@"; }
    chflags() { varve chflags "$@"; }
    ls() { varve ls "$@" | grep -v '^total '; }
    juser() { setpriv --reuid 7001 --regid 7100 --clear-groups "$BASE/varve" "$@"; }
    guest() { setpriv --reuid 7002 --regid 7100 --clear-groups "$BASE/varve" "$@"; }
    file() { touch -d '2006-04-28 14:06' "$1"; chown juser:wheel "$1"; }
    list() { varve acl set -F - "$1"; }
    step() {
      printf '# %s\\n' "$1"
      eval "$1"
      local status=$?
      [ $status = 0 ] || echo "[$status]"
    }
    """
}
