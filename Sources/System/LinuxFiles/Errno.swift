import CLinux

// The one error of a file-system call, and the one place where interrupted calls are repeated.

/// An error number: the only error that crosses a file-system call.
package struct Errno: Error, Equatable, Hashable, Sendable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// The error of the last failed C call of this thread.
  ///
  /// Read it in the same expression that saw the failure. The calls of this module do not need it:
  /// they answer the number themselves.
  package static var current: Errno { Errno(rawValue: lv_error_number()) }
}

extension Errno: CustomStringConvertible {
  /// The words and the name, as in "No such file or directory (ENOENT)".
  package var description: String {
    guard let name = unsafe lv_error_name(rawValue) else { return words }
    return unsafe "\(words) (\(String(cString: name)))"
  }

  /// The words alone, as in "No such file or directory".
  package var words: String {
    guard let text = unsafe lv_error_text(rawValue) else { return "error \(rawValue)" }
    return unsafe String(cString: text)
  }
}

extension Errno {
  /// The name alone, as in "ENOENT".
  package var name: String {
    guard let name = unsafe lv_error_name(rawValue) else { return "\(rawValue)" }
    return unsafe String(cString: name)
  }
}

/// Runs a call of CLinux until it is not interrupted, and throws the error it answers.
///
/// The only place that treats EINTR. `close` must not come here: Linux has released the number even
/// when it answers EINTR, and another thread may own it by the second attempt.
///
/// `givesUp`: whether an interrupted call is not to be repeated, because the program is to end.
@inline(__always) @discardableResult
package func retrying(unless givesUp: () -> Bool = { false }, _ call: () -> Int) throws(Errno) -> Int {
  while true {
    let result = call()
    if result >= 0 { return result }
    let failure = Errno(rawValue: CInt(truncatingIfNeeded: -result))
    if failure != .interrupted || givesUp() { throw failure }
  }
}

extension Int {
  /// A result of CLinux that is a descriptor or another C int.
  @inline(__always) var asCInt: CInt { CInt(truncatingIfNeeded: self) }
}
