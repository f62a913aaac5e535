// Names in the order in which a view lists them.

import Foundation

/// Rows of names; of each whether the collator holds it for equal to the one before, so that bytes decide.
package enum NameOrders {
  package typealias Row = [(name: String, isEqual: Bool)]

  /// Without a language.
  package static let root: [Row] =
    [
      "a < B < c < D", "file < file 3 < file_5 < file-4 < file.6 < File1 < file2 < file9 < file10",
      "001 = 01 = 1 < 1a < 2 < 10 < A1 = a01 = a1",
      "Arger < Ärger = ärger < Ol < Öl < strasse < straße < strasze < Zebra",
      "cafe < CAFÉ = café < cafè < cafe1 < caff",
      "report < ελλάδα < отчет < отчёт < תיעוד < 보고서 < れぽーと = レポート < 報告",
      "IMG_9.jpeg < IMG_009.jpg = IMG_09.jpg = IMG_9.jpg = img_9.JPG < IMG_10.jpg",
      "v1.2 < v1.2-rc1 < v1.2.0 < v1.2.9 < v1.2.10 < v1.10.0", "x1 < x٢ < x3 < x４ < x৫",
      "co op < CO-OP = co-op < coop", "Resume = resume < resumé < Résumé = résumé",
      "→ < ☃ < 😀 < € < 5 < a", "-1 < -2 < 1 < 2",
      "99999999999999999999999 < 100000000000000000000000", "ﬁ = fi", "Ａ = a", "e\u{301} = é",
    ].map(names) + [
      // Those that hold signs of the notation, or blanks.
      [
        " x", "_x", "-x", ",x", ";x", ":x", "!x", ".x", "'x", "\"x", "(x)", "[x]", "{x}", "@x", "&x", "#x",
        "+x", "=x", "~x", "$x", "0x", "x",
      ].map { ($0, false) },
      [
        ("a", false), ("a ", false), ("a  b", false), ("a b", false), ("a\u{A0}b", true), ("a_b", false),
        ("a-b", false), ("a.b", false), ("aB", false), ("ab", true),
      ],
    ]

  /// Of languages with an order of their own.
  package static let languages: [(tag: String, row: Row)] = [
    ("sv", "a < o < z < å < ä < æ < ö"), ("da", "z < æ < ä < ö < å"), ("cs", "d < h < ch < i"),
    ("tr", "ı < i"), ("de", "a < å < ä < æ < c"), ("", "a < å < ä < æ < o < ö < z"),
  ].map { ($0.0, names($0.1)) }

  /// Reads names between `<` and `=`.
  package static func names(_ row: String) -> Row {
    row.components(separatedBy: " < ").flatMap { group in
      group.components(separatedBy: " = ").enumerated().map { ($0.element, $0.offset > 0) }
    }
  }
}
