import CPrograms
package import LinuxFiles

// Asking for what must not be seen.

/// A terminal, with a person in front of it.
package struct Terminal: ~Copyable {
  private let descriptor: Descriptor

  /// Takes over a descriptor of a terminal.
  package init(_ descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// The terminal this program was started on, wherever its streams lead; ENXIO without one.
  package static func controlling() throws(Errno) -> Terminal {
    Terminal(try Descriptor.open(path: "/dev/tty", .readWrite))
  }

  /// Reads a line that does not show while it is typed; with the newline at its end, unless it is longer than the span.
  ///
  /// A signal that ends or stops the program finds the terminal as it was.
  package borrowing func readHiddenLine(
    prompt: [UInt8], into span: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int {
    let number = descriptor.rawValue
    return try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
      guard let start = bytes.baseAddress else { return 0 }
      return try unsafe withTerminatedText(prompt) { prompt throws(Errno) in
        try retrying { unsafe lv_read_hidden(number, prompt, start, bytes.count) }
      }
    }
  }
}

extension Descriptor {
  package var isTerminal: Bool { lv_is_terminal(rawValue) == 1 }
}
