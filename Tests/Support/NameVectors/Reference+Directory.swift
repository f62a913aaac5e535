// Who gets which name, by comparing everybody with everybody.

extension Reference {
  /// What each of the items of a directory is shown as, and how that was found; nil for what is hidden.
  package func names(_ entries: [Entry]) -> [Shown?] {
    let real = entries.map(\.name)
    let shown = entries.indices.filter { !entries[$0].isHidden }
    let escaped = entries.map { Array(Reference.text(Reference.normal(Reference.glyphs($0.name))).utf8) }
    func isReal(_ name: [UInt8]) -> Bool { real.contains(name) }

    var plain = escaped
    var tagged: [Int] = []
    for index in shown where escaped[index] != real[index] {
      let isShared = shown.contains { $0 != index && escaped[$0] == escaped[index] }
      if escaped[index].count > 255 || isReal(escaped[index]) || isShared { tagged.append(index) }
    }
    var digits = [Int: Int](uniqueKeysWithValues: tagged.map { ($0, 6) })
    while true {
      for index in tagged { plain[index] = tag(entries[index].name, digits[index] ?? 6) }
      let taken = tagged.filter { index in
        isReal(plain[index]) || shown.contains { $0 != index && plain[$0] == plain[index] }
      }
      if taken.isEmpty { break }
      for index in taken { digits[index, default: 6] += 2 }
    }

    let wishes = entries.map { entry in entry.isHidden ? nil : wish(entry).map { (Array($0.0.utf8), $0.1) } }
    return entries.indices.map { index in
      guard shown.contains(index) else { return nil }
      let usual = Shown(plain[index], plain[index] == real[index] ? "=" : "X")
      guard let (text, letter) = wishes[index] else { return usual }
      if text == plain[index] { return Shown(text, letter) }
      let isTaken = shown.contains { $0 != index && (plain[$0] == text || wishes[$0]?.0 == text) }
      return text.count > 255 || isReal(text) || isTaken ? usual : Shown(text, letter)
    }
  }

  /// The name with a tag of so many digits, cut where it may be cut.
  private func tag(_ name: [UInt8], _ digits: Int) -> [UInt8] {
    let suffix = Reference.suffix(name)
    let stem = Reference.normal(Reference.glyphs(Array(name.dropLast(suffix.utf8.count))))
    let digest = sha256(name).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let number = digits > 64 ? "-\((digits - 64) / 2)" : ""
    let end = " [" + digest.prefix(digits) + number + "]" + suffix
    var count = stem.count
    while true {
      let text = Reference.text(Array(stem.prefix(count))) + end
      let isWhole = count == stem.count || count == 0
      let isAllowed =
        isWhole || !stem[count].isMark && !stem[count].isJoiner && !stem[count - 1].isJoiner
      if text.utf8.count <= 255, isAllowed { return Array(text.utf8) }
      count -= 1
    }
  }
}
