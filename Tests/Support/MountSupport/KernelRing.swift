// FUSE over io_uring, which the kernel's administrator switches on.

import Glibc
import LinuxFiles
import Synchronization

extension Machine {
  private static let ringSwitch = "/sys/module/fuse/parameters/enable_uring"

  /// Whether the kernel can do it: from Linux 6.14, if it was built so, and if we may switch it on.
  package static let offersRing = canMount && access(ringSwitch, R_OK | W_OK) == 0

  /// The ways requests can come on this machine, as mount options.
  package static let transports = ["transport=dev"] + (offersRing ? ["transport=uring"] : [])

  /// Above 0 while this process has the switch in its hands.
  private static let switching = Atomic<Int>(0)

  /// Runs `body` with the ring switched on or off, and puts the switch back.
  ///
  /// It matters while a volume is being mounted and not after that. The machine has one switch: other runs of the tests
  /// neither turn it nor mount meanwhile.
  package static func withRing<Result>(_ isOn: Bool, _ body: () throws -> Result) throws -> Result {
    guard offersRing else { return try body() }
    return try holdingSwitch(LOCK_EX) {
      switching.add(1, ordering: .relaxed)
      defer { switching.subtract(1, ordering: .relaxed) }
      let former = try Text.read(ringSwitch)
      try set(isOn ? "Y" : "N")
      defer { try? set(former) }
      return try body()
    }
  }

  /// Runs `body`, which mounts, while no other run of the tests has the ring switched on or off.
  static func withRingAsItIs<Result>(_ body: () throws -> Result) throws -> Result {
    guard offersRing else { return try body() }
    return try holdingSwitch(LOCK_SH, body)
  }

  /// Takes a lock on the switch, unless this process has it already.
  private static func holdingSwitch<Result>(_ lock: CInt, _ body: () throws -> Result) throws -> Result {
    guard switching.load(ordering: .relaxed) == 0 else { return try body() }
    // Closing it releases the lock.
    let file = open(ringSwitch, O_RDONLY | O_CLOEXEC)
    guard file >= 0, flock(file, lock) == 0 else { throw TestFailure("\(ringSwitch): \(Errno.current)") }
    defer { close(file) }
    return try body()
  }

  private static func set(_ text: String) throws {
    let file = open(ringSwitch, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { throw TestFailure("\(ringSwitch): \(Errno.current)") }
    defer { close(file) }
    guard write(file, text, text.utf8.count) > 0 else { throw TestFailure("\(ringSwitch): \(Errno.current)") }
  }
}
