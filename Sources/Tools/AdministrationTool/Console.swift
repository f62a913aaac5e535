// What a verb says: results on standard output, complaints on standard error.

import LinuxFiles
import LinuxPrograms

/// The output of one verb, and the count of what went wrong.
final class Console {
  /// `varve chmod`: what every complaint begins with.
  private let name: String
  /// Failures are neither printed nor counted (`-f`).
  var isSilent = false
  private(set) var failures = 0
  private var waiting: [UInt8] = []

  init(_ name: String) {
    self.name = name
  }

  func print(_ text: String) {
    print(Array(text.utf8))
  }

  func print(_ bytes: [UInt8]) {
    waiting += bytes
    if waiting.count > 32_768 { flush() }
  }

  /// Writes what is waiting.
  ///
  /// A reader that has gone away ends the program without a word: `varve ls | head` is no failure.
  func flush() {
    guard !waiting.isEmpty else { return }
    let bytes = waiting
    waiting = []
    do throws(Errno) {
      try StandardStream.output.write(bytes)
    } catch .brokenPipe {
      ThisProgram.exit(1)
    } catch {
      fail("standard output: \(error)")
      ThisProgram.exit(1)
    }
  }

  /// Says what went wrong with a file.
  func complain(_ path: [UInt8], _ error: Errno) {
    complain(path, "\(error)")
  }

  func complain(_ path: [UInt8], _ sentence: String) {
    complain(Array("\(name): ".utf8) + path + Array(": \(sentence)".utf8))
  }

  func complain(_ sentence: String) {
    complain(Array("\(name): \(sentence)".utf8))
  }

  private func complain(_ line: [UInt8]) {
    guard !isSilent else { return }
    failures += 1
    flush()
    write(line)
  }

  /// Adds a line that explains a complaint.
  func explain(_ text: String) {
    write(Array(text.utf8))
  }

  private func fail(_ sentence: String) {
    write(Array("\(name): \(sentence)".utf8))
  }

  private func write(_ line: [UInt8]) {
    var line = line
    // A name must not steer the terminal.
    if StandardStream.error.isTerminal {
      line = line.map { ($0 < 0x20 && $0 != 0x0A) || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
    }
    // Standard error is the last place to complain at.
    try? StandardStream.error.write(line + [0x0A])
  }

  /// Writes what is left and answers the exit status.
  func finish() -> Int32 {
    flush()
    return failures == 0 ? 0 : 1
  }
}
