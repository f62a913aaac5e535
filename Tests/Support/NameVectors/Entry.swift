// Items of a directory as tests describe them, and what it takes to name them.

package import DisplayNames
import Foundation
package import ItemKinds
package import PropertyLists
import UnicodeText

package let tools = NameTools(
  normalise: { text, result in Normalisation.appendNFC(of: text, to: &result) },
  digest: { bytes in
    var copy: [UInt8] = []
    for index in bytes.indices { copy.append(bytes[index]) }
    let digest = sha256(copy)
    var result = NameDigest(repeating: 0)
    for index in result.indices { result[index] = digest[index] }
    return result
  })

package let kinds = KindTables()

private let primes = (2..<320).filter { number in (2..<number).allSatisfy { number % $0 != 0 } }.prefix(64)

private func fraction(_ root: Double) -> UInt32 { UInt32((root - root.rounded(.down)) * 4_294_967_296) }

/// SHA-256 straight from its description.
package func sha256(_ message: [UInt8]) -> [UInt8] {
  let constants = primes.map { fraction(cbrt(Double($0))) }
  var state = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
  var padded = message + [0x80]
  while padded.count % 64 != 56 { padded.append(0) }
  padded += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
  func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
  for block in stride(from: 0, to: padded.count, by: 64) {
    var words = (0..<16).map { index in
      (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(padded[block + index * 4 + $1]) }
    }
    for index in 16..<64 {
      let (early, late) = (words[index - 15], words[index - 2])
      let low = turn(early, 7) ^ turn(early, 18) ^ early >> 3
      let high = turn(late, 17) ^ turn(late, 19) ^ late >> 10
      words.append(words[index - 16] &+ low &+ words[index - 7] &+ high)
    }
    var v = state
    for index in 0..<64 {
      let sum = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)
      let choice = v[4] & v[5] ^ ~v[4] & v[6]
      let first = v[7] &+ sum &+ choice &+ constants[index] &+ words[index]
      let other = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)
      let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2]
      v = [first &+ other &+ majority] + v[0..<3] + [v[3] &+ first] + v[4..<7]
    }
    for index in 0..<8 { state[index] = state[index] &+ v[index] }
  }
  return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - $0 * 8)) } }
}

/// An item of a directory as tests describe it, with the files that its name comes from.
package struct Entry: Sendable {
  package enum Inside: Sendable {
    case nothing
    /// Values by tag, under a key.
    case localizations(key: String, [String: String])
    case marker
    /// `Info.plist`, and the strings by tag.
    case bundle([String: String], [String: [String: String]])
  }

  package var name: [UInt8]
  package var facts: ItemFacts
  package var inside = Inside.nothing
  package var isHidden = false

  package init(_ name: [UInt8], _ kind: FileKind = .regular) {
    self.name = name
    facts = ItemFacts(kind)
  }

  package init(_ name: String, _ kind: FileKind = .regular) { self.init(Array(name.utf8), kind) }

  package func with(_ change: (inout Entry) -> Void) -> Entry {
    var copy = self
    change(&copy)
    return copy
  }

  package var isStartable: Entry { with { $0.facts.isExecutable = true } }
  package var withBit: Entry {
    with { $0.facts.state = ExtensionState(finder: .extensionHidden, recordShows: false) }
  }
  package var withShow: Entry { with { $0.facts.state = ExtensionState(finder: [], recordShows: true) } }
  package var hidden: Entry { with { $0.isHidden = true } }

  /// A directory with `.localized`, its values under its own stem unless another key is given.
  package static func localized(_ name: String, _ values: [String: String] = [:], key: String? = nil) -> Entry
  {
    let stem = String(name.unicodeScalars.dropLast(".localized".count))
    return Entry(name, .directory).with { $0.inside = .localizations(key: key ?? stem, values) }
  }

  package static func marked(_ name: String) -> Entry { Entry(name, .directory).with { $0.inside = .marker } }

  /// A bundle that calls itself so, and the same in other languages.
  package static func bundle(_ name: String, _ own: String, _ values: [String: String] = [:]) -> Entry {
    Entry(name, .directory).with {
      $0.inside = .bundle(["CFBundleName": own], values.mapValues { ["CFBundleName": $0] })
    }
  }

  /// Reads the files in the order that the rules ask for, as the volume does.
  package func found(_ rules: NameRules) -> ItemFacts {
    var facts = facts
    switch inside {
    case .nothing: break
    case .marker: facts.finding = .marker
    case .localizations(let key, let values):
      let value = rules.tried.lazy.compactMap { values[$0] }
        .compactMap { rules.localizedValue(in: strings([key: $0]), forDirectory: name) }.first
      facts.finding = .localizations(value)
    case .bundle(let information, let values):
      let information = strings(information)
      guard rules.isNamed(name, by: information) else { break }
      let value = rules.tried(in: information).lazy.compactMap { values[$0] }
        .compactMap { rules.bundleValue(in: strings($0)) }.first
      facts.finding = .bundle(value)
    }
    return facts
  }
}

/// A strings file with these pairs, read.
package func strings(_ pairs: [String: String]) -> StringTable {
  func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
  let text = pairs.map { "\(quoted($0)) = \(quoted($1));" }.joined()
  return (try? PropertyList.strings(in: Array(text.utf8))) ?? StringTable()
}

package func rules(_ languages: String = "en", _ policy: ExtensionPolicy = .known) -> NameRules {
  NameRules(
    languages: LanguageList(languages, separator: "+") ?? LanguageList(), extensions: policy, kinds: kinds,
    tools: tools)
}

/// A name and how it was found; nil for what is hidden.
package struct Shown: Equatable, CustomStringConvertible {
  package let name: [UInt8]
  package let letter: Character

  package init(_ name: [UInt8], _ letter: Character) {
    self.name = name
    self.letter = letter
  }

  package init(_ name: String, _ letter: Character) { self.init(Array(name.utf8), letter) }

  package var text: String { String(decoding: name, as: UTF8.self) }
  package var description: String { "\(text.debugDescription) \(letter)" }
}

/// The names of a directory with these items.
package func names(_ entries: [Entry], _ rules: NameRules, isRaw: Bool = false) -> [Shown?] {
  var directory = DirectoryNames(isRaw: isRaw)
  for entry in entries {
    guard directory.add(entry.name.span, entry.found(rules), isShown: !entry.isHidden, rules) else {
      return []
    }
  }
  directory.settle(rules)
  return entries.indices.map { index in
    directory.shownName(at: index).map { Shown(Array($0), directory.nameClass(at: index).letter) }
  }
}
