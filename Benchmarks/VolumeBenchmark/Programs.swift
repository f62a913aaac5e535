// Running programs, and being interrupted meanwhile.

import Foundation
import Glibc
import LinuxPrograms
import Synchronization

/// Something that went wrong, with the sentence for people.
struct Failure: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

/// Ctrl-C was pressed.
struct Interruption: Error {}

private let signals = Atomic<Int>(0)
// The program that runs now: it has a session of its own, so that a terminal's Ctrl-C does not reach it.
private let running = Atomic<Int32>(0)

enum Programs {
  /// Lets Ctrl-C and other signals end the run between two measurements, with everything unmounted.
  static func listenForSignals() {
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number) { number in
        signals.add(1, ordering: .relaxed)
        let child = running.load(ordering: .relaxed)
        if child > 0 { kill(-child, number) }
      }
    }
  }

  static var isInterrupted: Bool { signals.load(ordering: .relaxed) > 0 }

  /// The path of a program, or nil; a word with a slash is a path.
  static func find(_ name: String) -> String? {
    if name.contains("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders =
      path.split(separator: ":").map(String.init) + [
        "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin",
      ]
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program to its end and answers what it printed.
  ///
  /// `evenWhenInterrupted` is for cleaning up.
  @discardableResult
  static func run(_ words: [String], evenWhenInterrupted: Bool = false) throws -> String {
    if isInterrupted, !evenWhenInterrupted { throw Interruption() }
    guard let program = find(words[0]) else { throw Failure("\(words[0]) is not installed") }
    // A file and not a pipe: a daemon that keeps the pipe would keep us waiting, as Foundation's `Process` does.
    let path = "/dev/shm/.volume-benchmark-output-\(getpid())"
    try Data().write(to: URL(fileURLWithPath: path))
    // It is in memory: one that stays does no harm.
    defer { try? FileManager.default.removeItem(atPath: path) }
    guard let output = FileHandle(forUpdatingAtPath: path) else { throw Failure("cannot write \(path)") }
    let streams = ChildProcess.Streams(output: output.fileDescriptor, error: output.fileDescriptor)
    let child = try ChildProcess(
      Array(program.utf8), words: words.map { Array($0.utf8) }, streams, inNewSession: true)
    running.store(child.id, ordering: .relaxed)
    let status = try child.wait()
    running.store(0, ordering: .relaxed)
    let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    if isInterrupted, !evenWhenInterrupted { throw Interruption() }
    guard status == 0 else {
      throw Failure("`\(words.joined(separator: " "))` failed (\(status)): \(text.suffix(400))")
    }
    return text
  }
}

/// Says something to the person who watches, apart from the results.
func say(_ message: String) {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
}
