import ItemKinds

// A name that cannot be shown as it is gets a tag: `café [81ef06].txt`.

/// A name cut and tagged, as often as it takes.
struct TaggedName {
  /// What is in front of the tag: where it may be cut, and where each of these cuts ends.
  private let stem: [UInt8]
  private let cuts: [Int]
  private let suffix: [UInt8]
  private let digits: [UInt8]

  /// Nil if there is no digest of the name.
  init?(_ name: Span<UInt8>, _ tools: NameTools) {
    guard let digest = tools.digest(name) else { return nil }
    let end = FileExtension.dot(in: name) ?? name.count
    suffix = (end..<name.count).map { name[$0] }
    (stem, cuts) = TaggedName.stem(name, end, tools)
    var digits: [UInt8] = []
    for index in digest.indices {
      for value in [digest[index] >> 4, digest[index] & 0xF] {
        digits.append(value < 10 ? 0x30 + value : 0x61 + value - 10)
      }
    }
    self.digits = digits
  }

  /// The name with a tag of six digits, or two more with each attempt; when there are no more digits, with a number.
  func text(attempt: Int) -> [UInt8] {
    let count = 6 + 2 * attempt
    var tag = [UInt8(ascii: " "), UInt8(ascii: "[")] + digits.prefix(count)
    if count > digits.count { tag += Array("-\((count - digits.count) / 2)".utf8) }
    tag.append(UInt8(ascii: "]"))
    let room = NameRules.longest - tag.count - suffix.count
    let cut = stem.count <= room ? stem.count : cuts.last { $0 <= room } ?? 0
    return stem[..<cut] + tag + suffix
  }

  /// The escaped stem in NFC, and where it may end if it is too long.
  ///
  /// Not inside an escape or a flag, not in front of a mark or joiner, not behind a joiner.
  private static func stem(_ name: Span<UInt8>, _ end: Int, _ tools: NameTools) -> ([UInt8], [Int]) {
    var stem: [UInt8] = []
    var cuts: [Int] = []
    var run: [UInt8] = []
    func finishRun() {
      let text = tools.normalised(run)
      var index = 0
      while index < text.count, let (code, length) = character(in: text.span, at: index, end: text.count) {
        // The cut in front of this character falls away.
        if code.isJoiner || code.isMark, cuts.last == stem.count { cuts.removeLast() }
        stem += text[index..<index + length]
        index += length
        if !code.isJoiner { cuts.append(stem.count) }
      }
      run.removeAll()
    }
    var walk = EscapeWalk(0..<end)
    var last = 0
    while let step = walk.next(name) {
      if case .kept = step {
        for index in last..<walk.index { run.append(name[index]) }
      } else {
        finishRun()
        switch step {
        case .flag: for index in last..<walk.index { stem.append(name[index]) }
        case .escaped(let code): NameScratch.write(code, to: &stem)
        case .byte(let byte): NameScratch.write(byte, to: &stem)
        case .kept: break
        }
        cuts.append(stem.count)
      }
      last = walk.index
    }
    finishRun()
    return (stem, cuts)
  }
}
