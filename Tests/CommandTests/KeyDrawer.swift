import Foundation
import Glibc
import KeyFixture
import MountSupport
import Testing

/// A directory with keyfiles, and a shell in it where `varve` is the built one.
///
/// `UPPER` is the upper directory of a volume that is mounted nowhere; its keybag opens with the keyfiles `raw`, and
/// `closed`, whose passphrase is in the file `word`.
struct KeyDrawer {
  static let isRoot = geteuid() == 0

  let base: String

  init() throws {
    base = try TemporaryDirectory.make()
    _ = chmod(base, 0o755)
    try write(StoredKeys.rawKeyfile, "raw")
    try write(StoredKeys.scryptKeyfile, "closed")
    try write(StoredKeys.passphrase + [0x0A], "word")
    mkdir("\(base)/upper", 0o755)
    mkdir("\(base)/upper/.varve", 0o700)
    try write(StoredKeys.keybag, "upper/.varve/keybag")
    try write(StoredKeys.keybag, "upper/.varve/keybag.copy")
    try Data(KeyDrawer.terminal.utf8).write(to: URL(fileURLWithPath: "\(base)/terminal.py"))
  }

  private func write(_ bytes: [UInt8], _ name: String) throws {
    let path = "\(base)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    _ = chmod(path, 0o400)
  }

  /// Takes away what a script that failed left mounted on `vol` or `more`, and then everything.
  func remove() {
    for name in ["vol", "more"] { umount2("\(base)/\(name)", CInt(MNT_DETACH)) }
    TemporaryDirectory.remove(base)
  }

  /// Compares what a script prints, both streams in the order they came.
  ///
  /// `typing SCRIPT TEXT...` runs a script on a terminal and types a text whenever something asks for it; `as_user` runs
  /// a command as a user without privileges; `alone SCRIPT` runs one that sees no volume but ours; `states MOUNT` prints which classes of a volume are open.
  func expect(
    _ script: String, prints expected: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let prelude = #"""
      varve() { '\#(Program.built("varve"))' "$@"; }
      export -f varve
      export VARVE='\#(Program.built("varve"))'
      umask 022
      alone() {
        [ $(id -u) = 0 ] || { bash -c "$1"; return; }
        # The control sockets of others are found as well; $SOCKETS are those that no mount leads to.
        unshare --mount --propagation private bash -c 'mkdir -p /run/varve run; chmod 711 run
          keep() { [ -S "$1" ] || return 0; touch "run/${1##*/}"; mount --bind "$1" "run/${1##*/}"; }
          for s in $SOCKETS; do keep "$s"; done
          findmnt -rno TARGET,MAJ:MIN -t fuse.varve | while read -r m d; do
            case $m in "$BASE"/*) for s in /run/varve/$d.*.sock; do keep "$s"; done ;; *) umount -l "$m" ;; esac
          done; mount --rbind run /run/varve; '"$1"
      }
      typing() { python3 "$BASE/terminal.py" "$@"; }
      states() { varve status --json $1 | grep -A4 classes | grep -o '": "[a-z]*' | tr -d '": ' | tr '\n' ' '; echo; }
      as_user() { setpriv --reuid 7001 --regid 7001 --clear-groups /bin/bash -c "$1"; }

      """#
    let result = try Program.run(
      "/bin/bash", ["-c", prelude + script], in: base,
      environment: ["LC_ALL": "C", "BASE": base, "UPPER": "\(base)/upper", "NO_COLOR": ""])
    let output = result.output.replacing(base, with: "BASE").replacing(/[0-9a-f]{32}/, with: "N")
    #expect(output == expected, sourceLocation: sourceLocation)
  }

  /// Types a text and the Enter key at each prompt, and tells of a prompt at which what is typed would show.
  ///
  /// `^C`, `^Z`, `^\` and `^D` are these keys.
  private static let terminal = #"""
    import os, pty, select, sys, termios, time
    script, *texts = sys.argv[1:]
    process, terminal = pty.fork()
    if process == 0:
        os.execv("/bin/bash", ["bash", "-c", script])
    shows = lambda: bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    keys = {"^C": b"\x03", "^Z": b"\x1a", "^D": b"\x04", "^\\": b"\x1c"}
    seen, answered, deadline = b"", 0, time.monotonic() + 30
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]: continue
        try: piece = os.read(terminal, 4096)
        except OSError: break
        if not piece: break
        seen += piece
        if seen[answered:].endswith(b": ") and texts:
            if shows(): print("what is typed shows at a prompt")
            text = texts.pop(0)
            answered = len(seen)
            os.write(terminal, keys.get(text, text.encode() + b"\n"))
    else:
        os.kill(process, 9)
        print("nothing happened")
    status = os.waitpid(process, 0)[1]
    sys.stdout.write(seen.decode(errors="replace").replace("\r", ""))
    if texts: print("never asked for:", texts)
    print("=", os.waitstatus_to_exitcode(status))
    """#
}
