import CLinux

// Leases (fcntl F_SETLEASE): a program is told before its file is opened by another.

/// What the system lets holders of leases do.
package enum Leases {
  /// How long the kernel lets the holder of a lease keep others waiting; read once.
  ///
  /// 0 stands for no limit, which nobody can be made to wait for: then it is the default.
  package static let secondsToBreak: Int = {
    let standard = 45
    guard
      let bytes = try? Descriptor.open(path: "/proc/sys/fs/lease-break-time", .readOnly).read(upTo: 32),
      let number = Int(String(decoding: bytes.prefix { $0 >= 0x30 && $0 <= 0x39 }, as: UTF8.self)),
      (1...3_600).contains(number)
    else { return standard }
    return number
  }()
}

extension Descriptor {
  /// Makes sure that nobody else has the file open or mapped, and that nobody opens it while this descriptor lives;
  /// a process that tries waits for as long as `Leases.secondsToBreak`.
  ///
  /// EAGAIN while a process has it: a mapping counts, also when its descriptor was closed, and a descriptor of this process
  /// counts like a stranger's. Those that only lead to the file (O_PATH) do not. EACCES to all but the owner of the file
  /// and who has CAP_LEASE; EINVAL where the file system has no leases.
  package borrowing func leaseAlone() throws(Errno) {
    try retrying { lv_lease_alone(rawValue) }
  }
}
