// A program that is started and waited for. For the tools: editors, mount helpers, and questions to a daemon that may never
// answer (`VolumePlaceTests`).

import CPrograms
package import LinuxFiles

// Starting other programs.

/// A program started by this one.
package struct ChildProcess: Sendable {
  /// Where the new program's three streams lead.
  package struct Streams: Sendable {
    /// Nil: /dev/null.
    package var input: CInt?
    package var output: CInt?
    package var error: CInt?
    /// A descriptor that appears as number 3.
    package var extra: CInt?
    /// Another one, beside it: number 4.
    package var second: CInt?

    package init(
      input: CInt? = nil, output: CInt? = nil, error: CInt? = nil, extra: CInt? = nil, second: CInt? = nil
    ) {
      self.input = input
      self.output = output
      self.error = error
      self.extra = extra
      self.second = second
    }
  }

  package let id: CInt

  /// Starts `program`, a path; `words` begin with its name for itself.
  ///
  /// - Parameters:
  ///   - program: The path of the program; PATH is not looked at.
  ///   - words: The command line.
  ///   - streams: Where its streams lead.
  ///   - inNewSession: Whether it is cut off from the terminal.
  /// - Throws: What posix_spawn answers, ENOENT for a program that is not there.
  package init(
    _ program: [UInt8], words: [[UInt8]], _ streams: Streams = Streams(), inNewSession: Bool = false
  ) throws(Errno) {
    let numbers = lv_streams(
      input: streams.input ?? -1, output: streams.output ?? -1, error: streams.error ?? -1,
      extra: streams.extra ?? -1, second: streams.second ?? -1)
    let id = try unsafe withTerminatedText(program) { program throws(Errno) in
      try unsafe withTerminated(words) { joined throws(Errno) in
        try retrying {
          unsafe lv_spawn(
            program, joined, words.count, numbers, inNewSession ? 1 : 0)
        }
      }
    }
    self.id = CInt(truncatingIfNeeded: id)
  }

  /// Waits for its end and answers the exit status, or 128 and the signal that ended it.
  package func wait() throws(Errno) -> Int {
    try retrying { lv_wait(id) }
  }
}
