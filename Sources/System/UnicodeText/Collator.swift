import CUnicodeText

// The order of names in views, by ICU.

/// The library that order and normalisation come from.
package enum UnicodeLibrary {
  /// Not where it is missing in the version that this program was made with; the first call loads it.
  package static let isPresent = lv_has_icu()
}

/// The order of one language: digits by their value, punctuation counts, upper and lower case are alike.
///
/// ICU lets many threads use one, because nothing here changes its attributes. A clone costs less than a new one, and
/// shares nothing that is counted. Sort keys are for memory only: another version of ICU makes others.
@safe package struct Collator: ~Copyable, @unchecked Sendable {
  private let handle: UnsafeMutableRawPointer

  /// The order of a language tag; of a language that has none of its own, and of an empty tag, the root order.
  ///
  /// Nil: there is no memory.
  package init?(language tag: String = "") {
    guard let handle = unsafe lv_collator_open(tag) else { return nil }
    unsafe self.handle = handle
  }

  private init(adopting handle: UnsafeMutableRawPointer) { unsafe self.handle = handle }

  deinit { unsafe lv_collator_close(handle) }

  package borrowing func clone() -> Collator? {
    guard let clone = unsafe lv_collator_clone(handle) else { return nil }
    return unsafe Collator(adopting: clone)
  }

  /// Appends the key of a text: keys compare byte by byte as their texts do.
  ///
  /// It ends in a zero byte, which stands nowhere else in it.
  package borrowing func appendKey(of text: Span<UInt8>, to keys: inout [UInt8]) {
    guard let count = Int32(exactly: text.count) else { return }
    // Most keys fit; the few others are made again.
    var room = 2 * text.count + 32
    let start = keys.count
    while true {
      keys.append(contentsOf: repeatElement(0, count: room))
      let size = unsafe text.withUnsafeBufferPointer { text in
        unsafe keys.withUnsafeMutableBufferPointer { keys in
          guard let target = keys.baseAddress else { return Int32(0) }
          // An empty text has no address; nothing is read from this one.
          let source = unsafe text.baseAddress ?? UnsafePointer(target)
          return unsafe lv_sort_key(handle, source, count, target + start, Int32(clamping: room))
        }
      }
      if size <= room {
        keys.removeLast(room - Int(size))
        return
      }
      keys.removeLast(room)
      room = Int(size)
    }
  }
}
