import Glibc
import MountSupport

/// A datagram socket that a test reads: a service manager's, or the system log's.
final class Mailbox {
  private let descriptor: CInt

  /// Binds to a path; one that begins with @ is an abstract name.
  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count < 100 else { throw TestFailure("too long: \(path)") }
    if path.hasPrefix("@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let bound = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard bound == 0 else { throw TestFailure("cannot bind \(path): \(errno)") }
    chmod(path, 0o666)
  }

  /// The messages that are there or come, until one holds `text` or twenty seconds are over.
  func messages(until text: String) -> [String] {
    var all: [String] = []
    let deadline = time(nil) + 20
    while time(nil) < deadline {
      var question = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&question, 1, 500) > 0 else { continue }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { continue }
      all.append(String(decoding: buffer[..<count], as: UTF8.self))
      if all.last?.contains(text) == true { return all }
    }
    return all
  }

  deinit { close(descriptor) }
}
