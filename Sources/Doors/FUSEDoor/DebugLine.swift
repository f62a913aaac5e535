// What `debug` prints: one line per request.

import LayeredVolume
import LinuxFiles

enum DebugLine {
  /// Writes `LOOKUP`-like word, node, caller, name, result and duration to standard error.
  static func write(
    _ opcode: Opcode, _ request: borrowing Request, _ answer: Reply.Answer, bodySize: Int,
    nanoseconds: UInt64
  ) {
    var line = "\(opcode) node=\(request.node) uid=\(request.caller.user) thread=\(request.caller.thread)"
    if opcode.carriesName { line += " name=\(request.describeName())" }
    switch answer {
    case .success: line += " -> \(bodySize) bytes"
    case .failure(let error): line += " -> \(error)"
    case .delayed(let delay): line += " -> waits (\(delay))"
    case .none: break
    }
    StandardError.write("\(line) \(nanoseconds / 1000) us\n")
  }
}
