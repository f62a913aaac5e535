// A real Samba on loopback, in namespaces of its own: no port, account or configuration of the machine is touched.

import Glibc
import MountSupport

/// A file server for one volume, and what a conversation with it came to.
///
/// A conversation is one script in a process namespace of its own: whatever happens, nothing of it stays behind.
struct SambaStage {
  /// Accounts that exist for one conversation alone; the password of each is `pw`.
  static let accounts: [(name: String, user: TestUser)] = [
    ("varve-ann", .alice), ("varve-bob", .bob), ("varve-eve", TestUser(1005, group: 2010)),
  ]

  let volume: MountedVolume
  /// Lines of the share `team`, which shows the whole volume.
  let share: [String]

  /// As docs/doors.md recommends it.
  static let recommended = [
    "inherit permissions = yes", "vfs objects = nfs4acl_xattr", "nfs4acl_xattr:encoding = nfs",
    "nfs4acl_xattr:version = 40", "nfs4acl_xattr:nfs4_id_numeric = yes", "store dos attributes = yes",
    "map readonly = no", "map archive = no", "map hidden = no", "map system = no",
  ]

  private var home: String { volume.base + "/samba" }

  /// Runs commands one after the other while the server runs; the status and output of each.
  ///
  /// `smb USER COMMANDS` is smbclient, `acls USER PATH …` is smbcacls, `become UID GID …` runs a program as somebody,
  /// `varve` is the built tool.
  func converse(_ commands: [String]) throws -> [ProgramResult] {
    guard mkdir(home, 0o755) == 0 else { throw TestFailure("\(home) is there already") }
    try write("smb.conf", configuration)
    for (index, command) in commands.enumerated() { try write("command-\(index)", command + "\n") }
    try write("script", script(count: commands.count))
    let result = try Program.run(
      "/usr/bin/timeout",
      [
        "-k", "5", "60", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
        "bash", home + "/script",
      ], in: volume.path, environment: ["LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
    guard result.exit == 0 else {
      throw TestFailure("the conversation ended with \(result.exit): \(result.output)")
    }
    return try commands.indices.map { index in
      let status = try Text.read("\(home)/status-\(index)").prefix { $0.isNumber }
      return ProgramResult(exit: Int32(status) ?? -1, output: try Text.read("\(home)/output-\(index)"))
    }
  }

  private func write(_ name: String, _ text: String) throws {
    if let error = Calls.write("\(home)/\(name)", text) { throw TestFailure("\(home)/\(name): \(error)") }
  }

  private var configuration: String {
    var lines = [
      "[global]", "server role = standalone server", "interfaces = lo", "bind interfaces only = yes",
      "smb ports = 445", "disable netbios = yes", "load printers = no", "disable spoolss = yes",
      "map to guest = never", "passdb backend = smbpasswd:\(home)/smbpasswd", "log file = \(home)/log",
    ]
    for place in ["private dir", "lock directory", "state directory", "cache directory", "pid directory"] {
      lines.append("\(place) = \(home)/\(place.prefix { $0 != " " })")
    }
    lines.append("ncalrpc dir = \(home)/ncalrpc")
    lines += ["[team]", "path = \(volume.path)", "read only = no"] + share
    return lines.joined(separator: "\n") + "\n"
  }

  private func script(count: Int) -> String {
    let users = Self.accounts.map { "\($0.name):x:\($0.user.user):\($0.user.group)::/:/bin/false" }
    let groups = Set(Self.accounts.map(\.user.group)).sorted().map { "varve-\($0):x:\($0):" }
    return """
      set -eu
      home='\(home)'
      ip link set lo up
      for place in private lock state cache pid ncalrpc; do mkdir -p "$home/$place"; done
      { cat /etc/passwd; printf '%s\\n' \(users.joined(separator: " ")); } >"$home/passwd"
      { cat /etc/group; printf '%s\\n' \(groups.joined(separator: " ")); } >"$home/group"
      mount --bind "$home/passwd" /etc/passwd
      mount --bind "$home/group" /etc/group
      for user in \(Self.accounts.map(\.name).joined(separator: " ")); do
        printf 'pw\\npw\\n' | smbpasswd -c "$home/smb.conf" -s -a "$user" >"$home/added" 2>&1
      done
      smb() { smbclient -s "$home/smb.conf" -U "varve-$1%pw" //127.0.0.1/team -c "$2"; }
      acls() { local user=$1; shift; smbcacls -s "$home/smb.conf" -U "varve-$user%pw" //127.0.0.1/team "$@"; }
      become() { local user=$1 group=$2; shift 2; setpriv --reuid "$user" --regid "$group" --clear-groups "$@"; }
      varve() { '\(Program.built("varve"))' "$@"; }
      smbd -s "$home/smb.conf" -D
      tries=0
      until smbclient -s "$home/smb.conf" -N -L 127.0.0.1 >"$home/ready" 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ]; then cat "$home/ready" "$home/log" >&2; exit 1; fi
        sleep 0.1
      done
      set +e
      index=0
      while [ "$index" -lt \(count) ]; do
        ( . "$home/command-$index" ) >"$home/output-$index" 2>&1
        echo $? >"$home/status-$index"
        index=$((index + 1))
      done
      exit 0

      """
  }
}
