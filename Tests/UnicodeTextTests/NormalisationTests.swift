import Foundation
import Randomness
import Testing
import UnicodeText

private func nfc(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = [7]
  Normalisation.appendNFC(of: bytes.span, to: &result)
  return Array(result.dropFirst())
}

@Suite("NFC") struct NormalisationTests {
  @Test func examples() {
    let rows = [
      ("", ""), ("abc", "abc"), ("cafe\u{301}", "caf\u{E9}"), ("\u{958}", "\u{915}\u{93C}"),
      ("\u{212B}", "\u{C5}"),
      ("\u{1100}\u{1161}\u{11A8}", "\u{AC01}"),
      ("\u{AC00}\u{11A8}", "\u{AC01}"), ("a\u{323}\u{307}", "\u{1EA1}\u{307}"),
      ("a\u{307}\u{323}", "\u{1EA1}\u{307}"), ("😀", "😀"),
    ]
    for (text, normal) in rows { #expect(nfc(Array(text.utf8)) == Array(normal.utf8), "\(text)") }
    #expect(nfc([0x61, 0xFF, 0x65, 0xCC, 0x81]) == [0x61, 0xFF, 0x65, 0xCC, 0x81], "no text, no change")
  }

  @Test("Long texts, and those that grow most") func long() {
    for text in ["\u{958}", "e\u{301}", "\u{1D160}", "\u{FB2C}", "a"] {
      for count in [1, 80, 341, 342, 1024, 1025, 9000] {
        let whole = String(repeating: text, count: count)
        #expect(nfc(Array(whole.utf8)) == Array(whole.precomposedStringWithCanonicalMapping.utf8))
      }
    }
  }

  @Test("Every character, and random texts, as Foundation has it") func foundation() {
    var different: [UInt32] = []
    for value in UInt32(0)..<0x30000 {
      guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned else {
        continue
      }
      let text = "a" + String(scalar)
      if nfc(Array(text.utf8)) != Array(text.precomposedStringWithCanonicalMapping.utf8) {
        different.append(value)
      }
    }
    #expect(different.isEmpty, "\(different.prefix(20))")
    var dice = Dice(for: "normalisation")
    // Without syllables of two letters: Foundation forgets to join a third to them.
    let pieces = [
      "e", "\u{301}", "\u{323}", "\u{307}", "\u{1100}", "\u{1161}", "\u{11A8}", "\u{915}",
      "\u{93C}",
      "\u{344}", "\u{200D}", "\u{212A}", "ß", "名",
    ]
    for _ in 0..<50_000 {
      let text = (0..<dice.below(9)).map { _ in dice.pick(pieces) }.joined()
      #expect(nfc(Array(text.utf8)) == Array(text.precomposedStringWithCanonicalMapping.utf8))
    }
  }
}
