// The system calls of a running daemon, counted from outside by strace.

import Foundation
import Glibc
import LinuxFiles
import MountSupport

/// The system calls between two marks.
struct CallCount {
  /// Answers to the kernel; what it says without waiting for one (it forgets nodes) is not counted.
  var requests = 0
  /// All other system calls but waiting, by name, and what the kernel is told unasked (`notice`): those that take
  /// requests and give answers are `requests`.
  var others: [String: Int] = [:]

  /// One call takes a request and one answers it.
  var calls: Int { 2 * requests + others.values.reduce(0, +) }

  static func += (count: inout CallCount, more: CallCount) {
    count.requests += more.requests
    count.others.merge(more.others, uniquingKeysWith: +)
  }
}

/// Watches a daemon.
///
/// A mark is a lookup of a name that exists nowhere: it shows in the log where the daemon looks for it, and so
/// after everything that was asked before. The daemon must have a single worker.
final class CallTracer {
  private let program: RunningProgram
  private let log: String
  private let volume: String
  private var marks = 0

  /// Whether this process may watch another one at all.
  static let works: Bool = {
    guard Programs.has("strace"), let strace = Programs.path(of: "strace") else { return false }
    return (try? Program.run(strace, ["-qq", "-o", "/dev/null", "/bin/true"]).exit) == 0
  }()

  /// Watches `daemon`, which serves `volume`; the log is kept in the directory `base`.
  init(_ daemon: Int32, of volume: String, logsIn base: String) throws {
    self.volume = volume
    log = base + "/calls"
    let words = ["-f", "-y", "-qq", "-x", "-s", "40", "-o", log, "-p", "\(daemon)"]
    program = try RunningProgram(Programs.path(of: "strace") ?? "", words, output: base + "/strace")
    let deadline = ContinuousClock.now + .seconds(20)
    while try !hasSeen(mark()) {
      guard program.isRunning, ContinuousClock.now < deadline else {
        program.end()
        let output = (try? Text.read(base + "/strace")) ?? ""
        throw TestFailure("strace does not watch the daemon: \(output)")
      }
      usleep(20_000)
    }
  }

  func end() { program.end() }

  private func mark() -> String {
    marks += 1
    let name = "mark-\(marks)-"
    _ = access(volume + "/" + name, F_OK)
    return "\"\(name)\""
  }

  private func hasSeen(_ mark: String) throws -> Bool { try lines(from: 0).contains { $0.contains(mark) } }

  /// What the log says from a place on.
  private func lines(from place: UInt64) throws -> [Substring] {
    guard let file = FileHandle(forReadingAtPath: log) else { return [] }
    try file.seek(toOffset: place)
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
  }

  private var logSize: UInt64 {
    var status = Glibc.stat()
    return lstat(log, &status) == 0 ? UInt64(status.st_size) : 0
  }

  /// Counts what the daemon does for `body`.
  func count(_ body: () throws -> Void) throws -> CallCount {
    let place = logSize
    let first = mark()
    try body()
    let last = mark()
    // The line is there before the call it tells of goes on.
    let lines = try lines(from: place)
    guard let start = lines.firstIndex(where: { $0.contains(first) }),
      let end = lines.lastIndex(where: { $0.contains(last) }), start < end
    else { throw TestFailure("a mark is missing in \(log)") }
    var count = CallCount()
    for line in lines[(start + 1)..<end] { count.add(line) }
    // The answer to the first mark.
    count.requests -= 1
    return count
  }
}

extension CallCount {
  /// How idle threads wait, what a stopped call goes on as, and how the memory of a thread grows: `AllocationTests` counts that.
  private static let waiting: Set<String> = ["futex", "restart_syscall", "rt_sigtimedwait", "mprotect"]

  /// Calls that are younger than some versions of strace.
  private static let young = [
    "syscall_0x1c4": "fchmodat2", "syscall_0x1cf": "setxattrat", "syscall_0x1d0": "getxattrat",
    "syscall_0x1d1": "listxattrat", "syscall_0x1d2": "removexattrat",
  ]

  /// Whether what is written is about no request: the number behind length and error is 0.
  private static func isNotice(_ call: Substring) -> Bool {
    let bytes = call.drop { $0 != "\"" }.dropFirst()
    return bytes.dropFirst(8 * 4).prefix(8 * 4) == String(repeating: "\\x00", count: 8)
  }

  /// Counts one line: `PID name(arguments) = result`, where `<... name resumed>` is the end of a counted call.
  fileprivate mutating func add(_ line: Substring) {
    let text = line.drop { $0.isNumber || $0 == " " }
    guard let parenthesis = text.firstIndex(of: "("), !text.hasPrefix("<"), !text.hasPrefix("-"),
      !text.hasPrefix("+")
    else { return }
    let word = String(text[..<parenthesis])
    let name = CallCount.young[word] ?? word
    guard !CallCount.waiting.contains(name) else { return }
    let first = text[parenthesis...].prefix { $0 != "," }
    guard first.hasSuffix("</dev/fuse>"), name != "ioctl" else {
      others[name, default: 0] += 1
      return
    }
    // Reads are as many as answers, but for what needs none.
    if name.hasPrefix("write") {
      if CallCount.isNotice(text) { others["notice", default: 0] += 1 } else { requests += 1 }
    } else if !name.hasPrefix("read") {
      others[name, default: 0] += 1
    }
  }
}
