// FUSE over io_uring, which the kernel's administrator switches on.

import Glibc
import LinuxFiles

extension Machine {
  private static let ringSwitch = "/sys/module/fuse/parameters/enable_uring"

  /// Whether the kernel can do it: from Linux 6.14, if it was built so, and if we may switch it on.
  package static let offersRing = canMount && access(ringSwitch, R_OK | W_OK) == 0

  /// The ways requests can come on this machine, as mount options.
  package static let transports = ["transport=dev"] + (offersRing ? ["transport=uring"] : [])

  /// Runs `body` with the ring switched on or off, and puts the switch back.
  ///
  /// It matters while a volume is being mounted and not after that.
  package static func withRing<Result>(_ isOn: Bool, _ body: () throws -> Result) throws -> Result {
    guard offersRing else { return try body() }
    let former = try Text.read(ringSwitch)
    try set(isOn ? "Y" : "N")
    defer { try? set(former) }
    return try body()
  }

  private static func set(_ text: String) throws {
    let file = open(ringSwitch, O_WRONLY)
    guard file >= 0 else { throw TestFailure("\(ringSwitch): \(Errno.current)") }
    defer { close(file) }
    guard write(file, text, text.utf8.count) > 0 else { throw TestFailure("\(ringSwitch): \(Errno.current)") }
  }
}
