import Foundation
import ItemKinds
import NameVectors
import Testing
import UnicodeText

@testable import DisplayNames

@Suite("Characters") struct CharacterTests {
  private static let all = (UInt32(0)..<0x110000).compactMap(Unicode.Scalar.init)

  @Test("What is read as UTF-8 is what the standard library reads") func reading() {
    for first in UInt8.min...UInt8.max {
      for second: UInt8 in [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
        for third: UInt8 in [0x00, 0x80, 0xBF, 0xC0] {
          for fourth: UInt8 in [0x7F, 0x80, 0xBF] {
            let bytes = [first, second, third, fourth]
            for end in 1...4 {
              let found = character(in: bytes.span, at: 0, end: end)
              let expected = (1...end).lazy.compactMap { length -> (UInt32, Int)? in
                guard let text = String(validating: bytes[..<length], as: UTF8.self),
                  text.unicodeScalars.count == 1, let scalar = text.unicodeScalars.first
                else { return nil }
                return (scalar.value, length)
              }.first
              if found?.code != expected?.0 || found?.length != expected?.1 {
                Issue.record("\(bytes) \(end)")
              }
            }
          }
        }
      }
    }
    for scalar in CharacterTests.all {
      let bytes = Array(String(scalar).utf8)
      if character(in: bytes.span, at: 0, end: bytes.count)?.code != scalar.value {
        Issue.record("\(scalar.value)")
      }
    }
  }

  @Test("Plain characters are visible, are no marks, and are in NFC in every company") func plain() {
    var parts = Set<UInt32>()
    for scalar in CharacterTests.all where !(0xAC00...0xD7A3).contains(scalar.value) {
      let pieces = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
      for piece in pieces.dropFirst() { parts.insert(piece.value) }
    }
    var count = 0
    for scalar in CharacterTests.all where scalar.value.isPlain {
      count += 1
      let properties = scalar.properties
      let isMark = [.nonspacingMark, .spacingMark, .enclosingMark].contains(properties.generalCategory)
      var normal: [UInt8] = []
      let bytes = Array(String(scalar).utf8)
      Normalisation.appendNFC(of: bytes.span, to: &normal)
      let isFine =
        !isMark && !properties.isDefaultIgnorableCodePoint && !properties.isWhitespace
        && !properties.isNoncharacterCodePoint && properties.generalCategory != .control
        && properties.canonicalCombiningClass == .notReordered && normal == bytes
        && !parts.contains(scalar.value) && !scalar.value.isJoiner && scalar.value != CharacterCode.blackFlag
        && scalar.value != 0x2800
      if !isFine { Issue.record("U+\(String(scalar.value, radix: 16))") }
    }
    #expect(count > 40_000)
  }

  @Test("Marks, blanks and what is escaped, for every character") func properties() {
    for scalar in CharacterTests.all {
      let code = scalar.value
      if code.isMark != Reference.isMark(scalar) { Issue.record("mark \(code)") }
      if code.isBlank != Reference.isBlank(scalar) { Issue.record("blank \(code)") }
      if code.isJoiner != Reference.isJoiner(code) { Issue.record("joiner \(code)") }
      let isPlain = code.isPlain || code == 0x20
      if isPlain ? Reference.mustBeEscaped(scalar) : code.isDeceptive != Reference.mustBeEscaped(scalar) {
        Issue.record("escaped \(code)")
      }
      if code.looksLikeDot != Reference.dots.contains(code) { Issue.record("dot \(code)") }
      if code.looksLatin != Reference.latin.contains(where: { $0.contains(code) }) {
        Issue.record("Latin \(code)")
      }
    }
  }

  @Test("Escaping is final: what it gives, it leaves alone") func final() {
    for scalar in CharacterTests.all {
      for name in [String(scalar), "a" + String(scalar), "名" + String(scalar) + "b"] {
        var scratch = NameScratch()
        let bytes = Array(name.utf8)
        _ = scratch.escape(bytes.span, tools)
        guard !scratch.text.isEmpty else { continue }
        let text = scratch.text
        var again = NameScratch()
        if case .same = again.escape(text.span, tools) { continue }
        Issue.record("U+\(String(scalar.value, radix: 16))")
      }
    }
  }

  @Test("The built-in standard names could all be shown") func standardNames() {
    let all = rules()
    for language in ["de", "fr", "pt-BR", "zh-Hant", "ar", "he", "el"] {
      for key in ["Desktop", "Documents", "Music", "Public", "Trash", "Videos"] {
        let text = all.standard.text(for: Array(key.utf8), tags: [language]) ?? []
        #expect(all.value(text, mayLookLikeDocument: false)?.bytes == text, "\(language) \(key)")
      }
    }
  }

  @Test("An administrator's standard names are held to the same rules") func administrator() {
    var own = rules("fr")
    own.addStandardNames(
      strings(["Library": "Médiathèque", "Music": "Son.mp3", "Cafe\u{301}": "Cafe\u{301} noir"]), tag: "fr")
    func shown(_ name: String) -> [Shown?] { names([.marked(name)], own) }
    #expect(shown("Library") == [Shown("Médiathèque", "S")])
    #expect(shown("Music") == [Shown("Musique", "S")], "it would look like a file")
    #expect(shown("Caf\u{E9}") == [Shown("Caf\u{E9} noir", "S")])
    #expect(shown("Cafe\u{301}") == [Shown("Caf\u{E9} noir", "S")])
  }
}
