// Nothing in a shown name is invisible: what could deceive is written out, as `\u202E` or `\xFF`.

/// Goes through the characters of a name, and says of each whether it is shown or written out.
struct EscapeWalk {
  enum Step {
    /// A character that stays.
    case kept(CharacterCode)
    /// The flag of a region, made of several characters.
    case flag
    case escaped(CharacterCode)
    /// No character at all.
    case byte(UInt8)
  }

  private enum Behind: Equatable {
    case start
    case escape
    case kept(CharacterCode)
  }

  /// Where the next step begins.
  private(set) var index: Int
  private let end: Int
  private var behind = Behind.start

  init(_ range: Range<Int>) {
    index = range.lowerBound
    end = range.upperBound
  }

  @inline(__always)
  mutating func next(_ name: Span<UInt8>) -> Step? {
    guard index < end else { return nil }
    guard let (code, length) = character(in: name, at: index, end: end) else {
      let byte = name[index]
      index += 1
      behind = .escape
      return .byte(byte)
    }
    index += length
    if code.isPlain || code == 0x20 {
      behind = .kept(code)
      return .kept(code)
    }
    if code == .blackFlag, let length = flag(name) {
      index += length
      behind = .kept(.tagEnd)
      return .flag
    }
    let isKept = isKept(code)
    behind = isKept ? .kept(code) : .escape
    return isKept ? .kept(code) : .escaped(code)
  }

  private func isKept(_ code: CharacterCode) -> Bool {
    if code.isJoiner {
      guard case .kept(let last) = behind else { return false }
      return last >= 0x590 || code == 0xFE0F && EscapeWalk.takesStyle(last)
    }
    if code.isDeceptive { return false }
    guard code.isMark else { return true }
    if case .kept = behind { return true }
    return false
  }

  /// The few characters of old that have a coloured form.
  private static func takesStyle(_ code: CharacterCode) -> Bool {
    0x30...0x39 ~= code || code == 0x23 || code == 0x2A || code == 0xA9 || code == 0xAE
  }

  /// How long the tags behind a black flag are, if they are complete.
  private func flag(_ name: Span<UInt8>) -> Int? {
    var position = index
    while position < end, let (code, length) = character(in: name, at: position, end: end) {
      position += length
      // One tag at least.
      if code == .tagEnd { return position - index > length ? position - index : nil }
      guard code.isTag else { return nil }
    }
    return nil
  }
}

/// What escaping did to a name.
enum Escaped {
  case same
  case normalised(Range<Int>)
  case escaped(Range<Int>)
}

/// Memory for the texts of names, to be used again and again.
package struct NameScratch: Sendable {
  /// Text that is not yet normalised.
  private var rough: [UInt8] = []
  /// Texts that were made; ranges of names are ranges of this.
  package private(set) var text: [UInt8] = []

  package init() {}

  package mutating func clear() { text.removeAll(keepingCapacity: true) }

  mutating func append(_ byte: UInt8) { text.append(byte) }

  mutating func append(_ bytes: some Collection<UInt8>) { text.append(contentsOf: bytes) }

  mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for index in range { text.append(bytes[index]) }
  }

  mutating func cut(to end: Int) { text.removeLast(max(0, text.count - end)) }

  /// Escapes a name and brings it to NFC; writes nothing if that changes nothing.
  mutating func escape(_ name: Span<UInt8>, _ tools: NameTools) -> Escaped {
    var isEscaped = false
    var isRough = false
    var walk = EscapeWalk(0..<name.count)
    while let step = walk.next(name) {
      switch step {
      case .kept(let code): isRough = isRough || code >= 0x300 && !code.isPlain
      case .flag: break
      case .escaped, .byte: isEscaped = true
      }
    }
    guard isEscaped || isRough else { return .same }
    let start = text.count
    write(name, isRough, tools)
    let range = start..<text.count
    if isEscaped { return .escaped(range) }
    guard text.count - start != name.count || !holds(name, at: start) else {
      cut(to: start)
      return .same
    }
    return .normalised(range)
  }

  private mutating func write(_ name: Span<UInt8>, _ isRough: Bool, _ tools: NameTools) {
    var walk = EscapeWalk(0..<name.count)
    rough.removeAll(keepingCapacity: true)
    var last = 0
    while let step = walk.next(name) {
      switch step {
      case .kept, .flag: for index in last..<walk.index { rough.append(name[index]) }
      case .escaped(let code): NameScratch.write(code, to: &rough)
      case .byte(let byte): NameScratch.write(byte, to: &rough)
      }
      last = walk.index
    }
    guard isRough else { return text.append(contentsOf: rough) }
    // Lending one array while the other grows takes two variables.
    var result: [UInt8] = []
    swap(&result, &text)
    tools.normalise(rough.span, &result)
    swap(&result, &text)
  }

  private func holds(_ name: Span<UInt8>, at start: Int) -> Bool {
    for index in name.indices where text[start + index] != name[index] { return false }
    return true
  }

  /// `\uHHHH`, or `\u{HHHHH}` where four digits are too few.
  static func write(_ code: CharacterCode, to text: inout [UInt8]) {
    text += [UInt8(ascii: "\\"), UInt8(ascii: "u")]
    guard code > 0xFFFF else { return write(code, digits: 4, to: &text) }
    text.append(UInt8(ascii: "{"))
    write(code, digits: code > 0xFFFFF ? 6 : 5, to: &text)
    text.append(UInt8(ascii: "}"))
  }

  static func write(_ byte: UInt8, to text: inout [UInt8]) {
    text += [UInt8(ascii: "\\"), UInt8(ascii: "x")]
    write(UInt32(byte), digits: 2, to: &text)
  }

  private static func write(_ code: UInt32, digits: Int, to text: inout [UInt8]) {
    for digit in (0..<digits).reversed() {
      let value = UInt8(truncatingIfNeeded: code >> (UInt32(digit) * 4) & 0xF)
      text.append(value < 10 ? 0x30 + value : 0x41 + value - 10)
    }
  }
}
