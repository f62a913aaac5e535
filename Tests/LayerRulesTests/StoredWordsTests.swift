// What is stored as text or in a name: golden spellings, what is refused, and any bytes at all.

import LayerRules
import Randomness
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

// A span cannot stand inside an expectation.

private func indexName(_ text: [UInt8]) -> IndexName? { IndexName(text.span) }
private func redirect(_ stored: [UInt8]) -> Redirect? { Redirect(stored.span) }
private func lowerPath(_ stored: [UInt8]) -> LowerPath? { LowerPath(stored.span) }
private func child(_ name: [UInt8], of path: LowerPath) -> LowerPath? { path.appending(name.span) }
private func isReserved(_ name: [UInt8]) -> Bool { Marks.isReserved(name.span) }

private func isClosed(_ mark: [UInt8]?) -> Bool? {
  guard let mark else { return Marks.isClosed(byMark: nil) }
  return Marks.isClosed(byMark: mark.span)
}

private func path(of name: [UInt8], in parent: LowerPath?, _ redirect: Redirect?) -> LowerPath? {
  Redirect.lowerPath(of: name.span, in: parent, redirect)
}

extension Dice {
  /// Bytes of which many mean something.
  fileprivate mutating func bytes(_ longest: Int, of alphabet: [UInt8]) -> [UInt8] {
    (0..<below(longest + 1)).map { _ in once(in: 6) ? UInt8(truncatingIfNeeded: next()) : pick(alphabet) }
  }
}

@Suite("Names of index entries") struct IndexNameTests {
  @Test("Golden") func golden() {
    let name = IndexName(tag: 1, inode: 0x12AB, generation: 0xFFFF_FFFF)
    #expect(name.bytes == bytes("1-12ab-ffffffff"))
    #expect(indexName(name.bytes) == name)
    #expect(indexName(bytes("0-0-0")) == IndexName(tag: 0, inode: 0, generation: 0))
  }

  @Test(
    "Any other spelling is none",
    arguments: [
      "", "1", "1-2", "1-2-3-4", "-1-2", "1--2", "1-2-", "01-2-3", "1-02-3", "1-2-00", "1-2-A", "1-2-3 ",
      " 1-2-3",
      "1_2_3", "100000000-2-3", "1-10000000000000000-3", "1-2-100000000", "+1-2-3", "1-2-3\n", "1-2-g",
    ])
  func refused(_ text: String) {
    #expect(indexName(bytes(text)) == nil)
  }

  @Test("Whatever is read is spelled the same, and nothing traps") func fuzz() {
    var dice = Dice(for: "index names")
    var read = 0
    for _ in 0..<200_000 {
      let text = dice.bytes(12, of: bytes("0123456789abcdef--"))
      guard let name = indexName(text) else { continue }
      read += 1
      #expect(name.bytes == text)
    }
    #expect(read > 1000)
  }
}

@Suite("Redirects") struct RedirectTests {
  @Test("Paths and names are read") func read() throws {
    #expect(redirect(bytes("/a"))?.stored == bytes("/a"))
    let path = try #require(lowerPath(bytes("/a/b c/...")))
    #expect(path.parts == [bytes("a"), bytes("b c"), bytes("...")])
    #expect(redirect(bytes("name")) == .oneName(bytes("name")))
    #expect(redirect(bytes("..x")) == .oneName(bytes("..x")))
    #expect(redirect(path.bytes) == .absolute(path))
  }

  @Test(
    "What could leave the tree, or mean two things, is none",
    arguments: [
      "", "/", "//a", "/a//b", "/a/", "/.", "/a/..", "/../a", "/a/./b", ".", "..", "a/b", "a/", "\0", "/a\0b",
    ])
  func refused(_ text: String) {
    #expect(redirect(bytes(text)) == nil)
  }

  @Test("A name has at most 255 bytes and a path at most 65,536") func lengths() throws {
    let longName = [UInt8](repeating: 97, count: 255)
    #expect(redirect(longName) != nil)
    #expect(redirect((longName + [97])) == nil)
    #expect(lowerPath(([47] + longName + [97])) == nil)
    var path = LowerPath.root
    for _ in 0..<256 { path = try #require(child(longName, of: path)) }
    #expect(path.bytes.count == 65_536)
    #expect(child([97], of: path) == nil)
    #expect(lowerPath(path.bytes) == path)
    #expect(child(bytes(".."), of: .root) == nil)
  }

  @Test("The path below follows the redirects of the upper") func paths() {
    let home = lowerPath(bytes("/old/home"))
    let name = bytes("new")
    #expect(path(of: name, in: .root, nil)?.bytes == bytes("/new"))
    #expect(path(of: name, in: home, .oneName(bytes("was")))?.bytes == bytes("/old/home/was"))
    #expect(home.map { path(of: name, in: nil, .absolute($0)) } == home)
    #expect(path(of: name, in: nil, nil) == nil)
  }

  @Test("Whatever is read is stored the same, has only names, and nothing traps") func fuzz() {
    var dice = Dice(for: "redirects")
    var read = 0
    for _ in 0..<200_000 {
      let stored = dice.bytes(9, of: bytes("ab//.."))
      guard let redirect = redirect(stored) else { continue }
      read += 1
      #expect(redirect.stored == stored)
      guard case .absolute(let path) = redirect else { continue }
      #expect(path.parts.allSatisfy { !$0.isEmpty && $0 != [46] && $0 != [46, 46] })
      #expect(path.parts.map { [47] + $0 }.reduce([], +) == stored)
    }
    #expect(read > 1000)
  }
}

@Suite("Marks") struct MarkTests {
  @Test("Only y closes, and what is unknown is not guessed") func opaque() {
    #expect(isClosed(nil) == false)
    #expect(isClosed(bytes("y")) == true)
    for text in ["", "x", "n", "yy", "Y", "y\0"] { #expect(isClosed(bytes(text)) == nil) }
  }

  @Test("Reserved are overlayfs's prefixes with their dots") func reserved() {
    for name in ["trusted.overlay.opaque", "user.overlay.", "trusted.overlay.overlay.x"] {
      #expect(isReserved(bytes(name)))
    }
    for name in [
      "", "user.overlay", "user.overlayfs.x", "trusted.overlayx", "security.overlay.x", "overlay.x",
    ] {
      #expect(!isReserved(bytes(name)))
    }
  }

  @Test("A file with fewer blocks than bytes may have its data elsewhere") func hollow() {
    #expect(Marks.mayBeHollow(size: 1, blocksOf512: 0))
    #expect(!Marks.mayBeHollow(size: 0, blocksOf512: 0))
    #expect(!Marks.mayBeHollow(size: 512, blocksOf512: 1))
    #expect(Marks.mayBeHollow(size: 513, blocksOf512: 1))
    #expect(Marks.mayBeHollow(size: .max, blocksOf512: 0))
    #expect(!Marks.mayBeHollow(size: .max, blocksOf512: .max))
  }
}

@Suite("The option lower=") struct LowerOptionTests {
  private static func read(_ text: String) throws(LowerOption.Problem) -> [String] {
    try LowerOption(bytes(text)).paths.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("Directories, topmost first, with escapes") func read() throws {
    #expect(try Self.read("") == [])
    #expect(try Self.read("/a") == ["/a"])
    #expect(try Self.read("/a:/b:c") == ["/a", "/b", "c"])
    #expect(try Self.read(#"/a\:b:/c\,d:/e\\"#) == ["/a:b", "/c,d", #"/e\"#])
    #expect(try Self.read(#"/a\:\:b"#) == ["/a::b"])
    #expect(try Self.read(#"/\a"#) == ["/a"])
    #expect(
      try LowerOption(bytes(Array(repeating: "/x", count: 64).joined(separator: ":"))).paths.count == 64)
  }

  @Test(
    "What cannot be meant is refused with what to do",
    arguments: [
      (":", LowerOption.Problem.emptyPath), (":/a", .emptyPath), ("/a:", .emptyPath),
      ("/a::/b", .dataOnlyLayers),
      ("/a::", .dataOnlyLayers), (#"/a\"#, .openEscape), ("/a\0", .nul),
      (Array(repeating: "/x", count: 65).joined(separator: ":"), .tooMany(65)),
    ])
  func refused(_ text: String, _ problem: LowerOption.Problem) {
    #expect(throws: problem) { try LowerOption(bytes(text)) }
    #expect(!problem.description.isEmpty && !problem.description.contains("\n"))
  }

  @Test("What is written is read again, and nothing traps") func fuzz() throws {
    var dice = Dice(for: "lower=")
    for _ in 0..<100_000 {
      let text = dice.bytes(12, of: bytes(#"ab/::\\,"#))
      guard let option = try? LowerOption(text) else { continue }
      #expect(option.paths.allSatisfy { !$0.isEmpty })
      #expect(try LowerOption(option.text) == option)
    }
  }
}
