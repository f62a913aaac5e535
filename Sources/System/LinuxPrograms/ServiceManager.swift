import LinuxFiles

// What a service manager wants to hear (sd_notify(3)), without its library.

/// The service manager that started this process, if it asked to be told.
package struct ServiceManager: Sendable {
  private let socket: [UInt8]

  /// Nil where nobody asked.
  package init?() {
    guard let path = environment("NOTIFY_SOCKET"), let first = path.first,
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
    else { return nil }
    socket = path
  }

  /// Says some things at once: `READY=1`, `STATUS=...`.
  package func tell(_ assignments: String...) {
    // A line end within one would begin another.
    let lines = assignments.map { $0.replacing("\n", with: " ") }
    // A manager that has gone away is no reason to stop.
    try? sendDatagram(Array(lines.joined(separator: "\n").utf8), to: socket)
  }
}
