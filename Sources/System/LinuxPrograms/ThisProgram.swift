import CPrograms
package import LinuxFiles

// What a program knows about itself, and how it ends.

/// The running program.
package enum ThisProgram {
  /// The words of the command line as bytes, the program's name first.
  ///
  /// `CommandLine.arguments` would repair what is not UTF-8, and then name another file.
  package static var words: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      guard let word = unsafe CommandLine.unsafeArgv[index] else { return nil }
      return unsafe Array(UnsafeRawBufferPointer(start: word, count: length(of: word)))
    }
  }

  private static func length(of word: UnsafePointer<CChar>) -> Int {
    var count = 0
    while unsafe word[count] != 0 { count += 1 }
    return count
  }

  /// A version, and the commit the program was built from if that is known: `0.1.0 (3a4093f1c2d4)`.
  package static func versionText(_ version: String) -> String {
    let commit = unsafe String(cString: lv_commit())
    return commit.isEmpty ? version : "\(version) (\(commit))"
  }

  /// The mask new files are made with.
  package static var umask: UInt32 { lv_umask() }

  /// Makes the three streams safe to use: writing fails where nobody reads, and where a stream is closed.
  package static func prepareStreams() {
    lv_prepare_streams()
  }

  /// Whether a broken pipe is a failure like others to the program that started this one (`trap '' PIPE`).
  package static var wantsBrokenPipesTold: Bool { lv_broken_pipes_were_ignored() != 0 }

  /// Ends the program as a write to a pipe that nobody reads ends others.
  package static func endByBrokenPipe() -> Never {
    lv_end_by_broken_pipe()
  }

  package static func exit(_ status: Int32) -> Never {
    lv_exit(status)
  }

  /// Keeps a descriptor open for the program that this one becomes.
  package static func keepForNext(_ descriptor: borrowing Descriptor) throws(Errno) {
    let number = descriptor.rawValue
    try retrying { lv_keep_for_next(number) }
  }

  /// Keeps what this program inherited under a number from the program that it becomes.
  package static func closeForNext(inherited number: CInt) throws(Errno) {
    try retrying { lv_close_for_next(number) }
  }

  /// Becomes another program; returns only to throw.
  package static func become(_ program: [UInt8], words: [[UInt8]]) throws(Errno) {
    _ = try unsafe withTerminatedText(program) { program throws(Errno) in
      try unsafe withTerminated(words) { joined throws(Errno) in
        try retrying { unsafe lv_execute(program, joined, words.count) }
      }
    }
  }
}
