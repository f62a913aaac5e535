import CUnicodeText

/// Normalisation form C, by ICU.
package enum Normalisation {
  /// Appends the NFC of a text; what is no UTF-8 is appended as it is.
  package static func appendNFC(of text: Span<UInt8>, to result: inout [UInt8]) {
    let start = result.count
    let room = 3 * text.count
    guard text.count > 0, let count = Int32(exactly: text.count), let capacity = Int32(exactly: room) else {
      return
    }
    result.append(contentsOf: repeatElement(0, count: room))
    let size = unsafe text.withUnsafeBufferPointer { text in
      unsafe result.withUnsafeMutableBufferPointer { result in
        guard let source = text.baseAddress, let target = result.baseAddress else {
          return Int32(-1)
        }
        return unsafe lv_nfc(source, count, target + start, capacity)
      }
    }
    if size > 0 {
      result.removeLast(room - Int(size))
    } else {
      for index in text.indices { result[start + index] = text[index] }
      result.removeLast(room - text.count)
    }
  }
}
