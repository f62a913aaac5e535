import Glibc

// Which machine this is, and which process is meant by a number that was written down.

/// What tells this machine from others, between one start of it and the next.
package struct MachineIdentity: Sendable, Equatable {
  package var hostName: String
  /// Another one after each start of the machine; nil where /proc does not tell.
  package var boot: String?
  /// The number of the namespace that numbers of processes count in.
  package var processNamespace: UInt64?

  package init(hostName: String, boot: String?, processNamespace: UInt64?) {
    (self.hostName, self.boot, self.processNamespace) = (hostName, boot, processNamespace)
  }

  /// This one.
  package static let present = MachineIdentity(
    hostName: ownName(), boot: ownBoot(), processNamespace: ownNamespace())

  /// Whether a process of this number may be running; `false` is certain.
  package static func mayRun(_ process: Int32) -> Bool {
    process > 0 && (kill(process, 0) == 0 || Errno.current != .noSuchProcess)
  }

  private static func ownName() -> String {
    var name = utsname()
    guard unsafe uname(&name) == 0 else { return "" }
    return unsafe withUnsafeBytes(of: &name.nodename) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  private static func ownBoot() -> String? {
    guard let file = try? Descriptor.open(path: "/proc/sys/kernel/random/boot_id", .readOnly),
      let text = try? file.read(upTo: 64)
    else { return nil }
    return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  private static func ownNamespace() -> UInt64? {
    try? Descriptor.open(path: "/proc/self/ns/pid", .readOnly).status().inode
  }
}
