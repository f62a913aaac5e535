import CLinux
import Glibc

// Facts about this process, its standard error, and numbers nobody can guess.

/// This process.
package enum CurrentProcess {
  package static var identifier: Int32 { getpid() }

  /// Whether files can be made in other people's names.
  package static var isRoot: Bool { geteuid() == 0 }

  package static var user: UInt32 { geteuid() }

  package static var processors: Int { max(1, Int(sysconf(CInt(_SC_NPROCESSORS_ONLN)))) }
}

/// Where a daemon says things.
package enum StandardError {
  /// Writes a text in one piece; a text that cannot be written is lost.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(2, bytes.baseAddress, bytes.count) }
  }
}

/// Identifiers nobody else has.
package enum RandomIdentifier {
  /// 128 random bits in the form of a UUID, version 4.
  package static func make() -> String {
    var bytes: [UInt8] = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let hex = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    return [hex[0..<4], hex[4..<6], hex[6..<8], hex[8..<10], hex[10..<16]].map { $0.joined() }
      .joined(separator: "-")
  }
}
