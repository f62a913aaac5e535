import LayerRules
import Testing

@Suite("The text of an item's layers") struct LayerOriginTests {
  static let rows: [(String, LayerOrigin)] = [
    ("upper", LayerOrigin(.upper)), ("copied", LayerOrigin(.copied)), ("lower 64", LayerOrigin(.lower(64))),
    ("merged 0,2,5", LayerOrigin(.merged([0, 2, 5]))), ("upper opaque", LayerOrigin(.upper, isOpaque: true)),
    (
      "merged 0,1 redirect /a b/c\nd", LayerOrigin(.merged([0, 1]), redirect: Array("/a b/c\nd".utf8))
    ),
    ("copied opaque redirect x", LayerOrigin(.copied, isOpaque: true, redirect: [UInt8(ascii: "x")])),
  ]

  @Test("It says what it is made of, and is read back") func both() {
    for (text, origin) in LayerOriginTests.rows {
      #expect(origin.text == Array(text.utf8))
      #expect(LayerOrigin(Array(text.utf8)) == origin)
    }
  }

  @Test("Anything else is not read") func others() {
    for text in [
      "", " ", "uppe", "lower", "lower 0", "lower -1", "lower x", "merged", "merged 1", "merged 1,",
      "merged 1,x",
      "upper redirect", "upper redirect ", "upper opaque x", "upper opaque opaque", "copied 1",
    ] {
      #expect(LayerOrigin(Array(text.utf8)) == nil, "'\(text)'")
    }
  }
}
