import CLinux
import Glibc

// Facts about this process, its standard error, and numbers nobody can guess.

/// This process.
package enum CurrentProcess {
  package static var identifier: Int32 { getpid() }

  /// Whether files can be made in other people's names.
  package static var isRoot: Bool { geteuid() == 0 }

  package static var user: UInt32 { geteuid() }

  /// Cuts this process off from its terminal and process group.
  package static func leaveSession() {
    // Fails for a process that leads a group of its own, which no terminal's keys reach either.
    _ = lv_new_session()
  }

  /// How many processors the calling thread may run on: a container or a service often has fewer than the machine.
  package static var usableProcessors: Int { max(1, lv_usable_processors()) }

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

extension StandardError {
  /// What this process, and programs it starts, write to standard error during `work`, which then writes nothing there.
  ///
  /// Nobody else may be writing meanwhile. Without room for it, everything is written as ever.
  package static func caught<Value>(during work: () -> Value) -> (Value, text: String) {
    var kept: CInt = -1
    guard let number = try? retrying({ unsafe lv_catch_errors(&kept) }) else { return (work(), "") }
    let file = Descriptor(adopting: CInt(truncatingIfNeeded: number))
    let value = work()
    lv_stop_catching_errors(kept)
    // What cannot be read back is lost.
    let bytes = (try? file.read(upTo: 4_096)) ?? []
    return (value, String(decoding: bytes, as: UTF8.self))
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

/// The system's log.
package enum SystemLog {
  /// `priority`: as in syslog(3), 3 is an error, 5 a notice.
  package static func write(priority: CInt, _ text: String) {
    unsafe text.withCString { unsafe lv_system_log(priority, $0) }
  }
}

/// The signals that ask a daemon to end.
package enum StopSignals {
  /// Keeps them from interrupting this thread and every thread it starts.
  package static func block() { lv_block_stop_signals() }

  /// Whether one has come that nobody has waited for yet.
  package static var isPending: Bool { lv_is_stop_signal_pending() != 0 }

  /// Waits for the next one.
  package static func wait() { lv_wait_stop_signal() }
}

extension Descriptor {
  /// Writes to a pipe or terminal, where there are no offsets.
  package borrowing func writeToStream(_ bytes: [UInt8]) throws(Errno) {
    try LinuxFiles.writeToStream(bytes, number: rawValue)
  }
}

/// Writes to an open descriptor from front to back, all of it.
package func writeToStream(_ bytes: [UInt8], number: CInt) throws(Errno) {
  var done = 0
  while done < bytes.count {
    let rest = bytes[done...]
    done += try retrying { unsafe rest.withUnsafeBytes { unsafe lv_write(number, $0.baseAddress, $0.count) } }
  }
}
