// Running programs, and small help with files.

import Foundation
import Glibc

/// A program that ran to its end.
package struct ProgramResult: Sendable {
  package let exit: Int32
  /// Standard output and standard error, in the order they came.
  package let output: String

  package init(exit: Int32, output: String) {
    self.exit = exit
    self.output = output
  }
}

package enum Program {
  /// A product of this package, beside the tests.
  package static func built(_ name: String) -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return root.appendingPathComponent(".build/release/\(name)").path
  }

  /// What programs of tests find in their environment: the same wherever the tests run.
  ///
  /// Somebody's NO_COLOR or COLUMNS, or a SHELL that is not set, must not decide what is printed. In scripts of bash `apart`
  /// starts a program that runs on after the script: a test waits for all that holds a descriptor of its own.
  fileprivate static let environment: [String: String] = {
    let own = ProcessInfo.processInfo.environment
    return own.filter { $0.key.hasPrefix("VARVE_") }.merging([
      "HOME": own["HOME"] ?? "/root", "PATH": own["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin",
      "LANG": "C.UTF-8", "SHELL": "/bin/bash", "TERM": "xterm",
      "BASH_FUNC_apart%%": """
      () { ( for held in /proc/self/fd/*; do [ ${held##*/} -le 2 ] || eval "exec ${held##*/}>&-"; done; exec "$@" ); }
      """,
    ]) { $1 }
  }()

  /// Runs a program and waits for it.
  @discardableResult
  package static func run(
    _ path: String, _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:]
  ) throws -> ProgramResult {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = Program.environment.merging(environment) { $1 }
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    let pipe = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try withoutBlockedSignals { try process.run() }
    let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return ProgramResult(exit: process.terminationStatus, output: String(decoding: bytes, as: UTF8.self))
  }

  /// Tests run on threads that block signals, and a child inherits that: no alarm would ever reach it.
  fileprivate static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
    var (none, former) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    try body()
  }

  /// Runs a shell script; for real programs in real pipelines.
  @discardableResult
  package static func shell(
    _ script: String, in directory: String? = nil, environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try run("/bin/bash", ["-euo", "pipefail", "-c", script], in: directory, environment: environment)
  }
}

/// A program that runs beside the test until it is told to end.
package final class RunningProgram {
  private let process = Process()

  /// What it says goes to `output`, a file.
  package init(_ path: String, _ arguments: [String], output: String) throws {
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = Program.environment
    process.standardInput = FileHandle.nullDevice
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
    process.standardOutput = file
    process.standardError = file
    try Program.withoutBlockedSignals { try process.run() }
    try file.close()
  }

  package var isRunning: Bool { process.isRunning }

  package func end() {
    process.terminate()
    process.waitUntilExit()
  }
}

package enum Text {
  package static func read(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
  }
}

package enum TemporaryDirectory {
  /// A new directory.
  ///
  /// On a real disk unless `VARVE_TEST_DIRECTORY` names another place.
  package static func make() throws -> String {
    try make(in: ProcessInfo.processInfo.environment["VARVE_TEST_DIRECTORY"] ?? "/var/tmp")
  }

  /// A new directory in the memory of the machine, where that can be.
  package static func makeInMemory() throws -> String {
    try make(in: access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp")
  }

  /// A new directory in a place.
  package static func make(in place: String) throws -> String {
    var template = Array("\(place)/varve-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("no temporary directory in \(place)") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Mounts a directory on itself, so that each read of what is in it moves an access time; until ``remove(_:)``.
  package static func countReads(in path: String) throws {
    let result = try Program.run(
      "/bin/sh", ["-c", "mount --bind \"$1\" \"$1\" && mount -o remount,bind,strictatime \"$1\"", "sh", path])
    guard result.exit == 0 else { throw TestFailure(result.output) }
  }

  /// Removes a tree, whatever its names are: Foundation stops at the first that is not UTF-8.
  package static func remove(_ path: String) {
    umount2(path, CInt(MNT_DETACH))
    _ = try? Program.run("/bin/rm", ["-rf", "--one-file-system", "--", path])
  }
}
