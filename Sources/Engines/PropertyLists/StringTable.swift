// What a reader of property lists answers: strings, and nothing else of the list.

/// The strings that stand at the top level of a property list, in the order of the file.
///
/// All are UTF-8. A key may stand there more than once.
package struct StringTable: Sendable {
  /// A piece of `text`.
  struct Piece: Sendable {
    let start: Int
    let end: Int
  }

  private var text: [UInt8] = []
  private var pairs: [(key: Piece, value: Piece)] = []

  package init() {}

  package var count: Int { pairs.count }

  package func key(at index: Int) -> ArraySlice<UInt8> { slice(pairs[index].key) }

  package func value(at index: Int) -> ArraySlice<UInt8> { slice(pairs[index].value) }

  /// The value of a key; of several that are equal byte by byte, the last.
  package func value(of key: [UInt8]) -> ArraySlice<UInt8>? {
    var index = pairs.count
    while index > 0 {
      index -= 1
      if slice(pairs[index].key).elementsEqual(key) { return slice(pairs[index].value) }
    }
    return nil
  }

  private func slice(_ piece: Piece) -> ArraySlice<UInt8> { text[piece.start..<piece.end] }

  // MARK: Building

  /// Where the next byte of text goes.
  var end: Int { text.count }

  mutating func append(_ byte: UInt8) { text.append(byte) }

  mutating func append(_ bytes: ArraySlice<UInt8>) { text.append(contentsOf: bytes) }

  mutating func append(_ scalar: Unicode.Scalar) { text.append(contentsOf: UTF8.encode(scalar) ?? .init()) }

  /// Takes back text that belongs to no pair.
  mutating func cut(to end: Int) { text.removeLast(max(0, text.count - end)) }

  func holds(_ piece: Piece, oneOf keys: [[UInt8]]) -> Bool {
    keys.contains { slice(piece).elementsEqual($0) }
  }

  /// Adds a pair if the limits let its key in; over the number of pairs, the whole file counts as none.
  mutating func add(_ key: Piece, _ value: Piece, within limits: PropertyListLimits) throws(ParseFailure) {
    guard limits.keys.isEmpty || holds(key, oneOf: limits.keys) else { return }
    guard pairs.count < limits.pairs else { throw .tooManyPairs }
    pairs.append((key, value))
  }
}
