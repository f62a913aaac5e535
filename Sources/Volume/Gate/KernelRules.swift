// Settings of the kernel that are rules of the volume, too.

import LinuxFiles

/// Read anew at each question.
enum KernelRules {
  /// `fs.protected_hardlinks`.
  @Sendable static func protectsLinks() -> Bool {
    let setting = try? Descriptor.open(path: "/proc/sys/fs/protected_hardlinks", .readOnly).read(upTo: 8)
    return setting?.first != UInt8(ascii: "0")
  }
}
