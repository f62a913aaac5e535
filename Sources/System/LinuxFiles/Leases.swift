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
