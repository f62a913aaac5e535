// Lists of strings that are broken, in each of the places where a name may come from.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// A file that says nothing, whatever it seems to say.
private struct BrokenList {
  let what: String
  let bytes: [UInt8]

  private init(_ what: String, _ bytes: [UInt8]) { (self.what, self.bytes) = (what, bytes) }

  private init(_ what: String, _ text: String) { self.init(what, Array(text.utf8)) }

  private static func wide(_ text: String) -> [UInt8] {
    [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
  }

  private static func xml(_ key: String, _ value: String, more: String = "", head: String = "") -> String {
    "\(head)<plist><dict><key>\(key)</key><string>\(value)</string>\(more)</dict></plist>"
  }

  /// A dictionary with one pair, and what else is said to be in it.
  ///
  /// `others`: objects behind these three, and which of them are a further pair.
  private static func binary(
    _ key: String, _ value: String, others: [[UInt8]] = [], pair: (UInt8, UInt8)? = nil
  ) -> [UInt8] {
    func text(_ text: String) -> [UInt8] { [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }
    let top: [UInt8] = pair.map { [0xD2, 1, $0.0, 2, $0.1] } ?? [0xD1, 1, 2]
    var file = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in [top, text(key), text(value)] + others {
      offsets.append(UInt8(file.count))
      file += object
    }
    let table = UInt8(file.count)
    func number(_ value: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, value] }
    return file + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + number(UInt8(offsets.count)) + number(0)
      + number(table)
  }

  /// Those that are read: without one of these the rest would show nothing.
  static func whole(_ key: String, _ value: String) -> [BrokenList] {
    [
      BrokenList("old style", "\"\(key)\" = \"\(value)\";"),
      BrokenList("UTF-16", wide("\"\(key)\" = \"\(value)\";")), BrokenList("XML", xml(key, value)),
      BrokenList("XML with levels", xml(key, value, more: levels(63))),
      BrokenList("binary", binary(key, value)),
      BrokenList(
        "binary with a list", binary(key, value, others: [[0x51, 0x78], [0xA1, 2]], pair: (3, 4))),
    ]
  }

  private static func levels(_ count: Int) -> String {
    "<key>x</key>" + String(repeating: "<array>", count: count) + String(repeating: "</array>", count: count)
  }

  static func all(_ key: String, _ value: String, size: Int) -> [BrokenList] {
    let old = "\"\(key)\" = \"\(value)\";"
    let short = binary(key, value)
    let listed: [[UInt8]] = [[0x51, 0x78]]
    return [
      BrokenList("truncated, old style", String(old.dropLast(2))),
      BrokenList("truncated behind the pair", old + " \"x\""), BrokenList("a brace too many", old + "}"),
      BrokenList("an open comment", old + "/* "), BrokenList("NUL", old + "\0"),
      BrokenList("half of a pair", old + "\"x\" = \"\\UD800\";"),
      BrokenList("the other half", old + "\"x\" = \"\\UDC00\";"),
      BrokenList("an escape that is none", old + "\"x\" = \"\\q\";"),
      BrokenList("Latin-1", Array(old.utf8) + Array("\"x\" = \"".utf8) + [0xE9] + Array("\";".utf8)),
      BrokenList("UTF-16 with half a unit", wide(old) + [0]),
      BrokenList(
        "UTF-16 with half of a pair", wide(old + "\"x\" = \"") + [0xD8, 0] + wide("\";").dropFirst(2)),
      BrokenList("over the size", old + String(repeating: " ", count: size)),
      BrokenList("truncated XML", String(xml(key, value).dropLast(8))),
      BrokenList(
        "an entity of its own", xml(key, "&v;", head: "<!DOCTYPE plist [<!ENTITY v \"\(value)\">]>")),
      BrokenList("an unknown entity", xml(key, value, more: "<key>x</key><string>&v;</string>")),
      BrokenList(
        "half of a pair as an entity", xml(key, value, more: "<key>x</key><string>&#xD800;</string>")),
      BrokenList(
        "another encoding than is said", xml(key, value, head: "<?xml version=\"1.0\" encoding=\"UTF-16\"?>")),
      BrokenList("too deep", xml(key, value, more: levels(64))),
      BrokenList("truncated binary", Array(short.dropLast())),
      BrokenList(
        "a number of objects as large as can be",
        short.dropLast(24) + [UInt8](repeating: 0xFF, count: 8) + short.suffix(16)),
      BrokenList("an offset behind the end", Array(short.dropLast(33)) + [0xF0] + short.suffix(32)),
      BrokenList("a list in itself", binary(key, value, others: listed + [[0xA1, 4]], pair: (3, 4))),
      BrokenList("the dictionary in itself", binary(key, value, others: listed, pair: (3, 0))),
      BrokenList(
        "a huge count",
        binary(
          key, value, others: listed + [[0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],
          pair: (3, 4))),
      BrokenList("a reference to nothing", binary(key, value, others: listed, pair: (3, 200))),
      BrokenList("a key that is no text", binary(key, value, others: listed + [[0x09]], pair: (4, 3))),
      BrokenList(
        "half of a pair in binary", binary(key, value, others: listed + [[0x61, 0xD8, 0x00]], pair: (3, 4))),
    ]
  }
}

@Suite("Lists of strings that are broken") struct BrokenListTests {
  /// What a directory with one item is shown as, with each of these files at a path in it.
  private func shown(
    _ lists: [BrokenList], at path: String, in view: String = "fr",
    with make: (String) throws -> Void = { _ in }
  ) throws -> [(what: String, names: [String])] {
    let tree = try Tree {}
    for (number, list) in lists.enumerated() {
      let place = "\(tree.path)/\(number)"
      try make(place)
      try write(list.bytes, "\(place)/\(path)")
    }
    return try lists.indices.map { (lists[$0].what, try tree.shown(view, "\($0)")) }
  }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    let file = URL(fileURLWithPath: path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
  }

  @Test("A broken list of strings leaves a directory its own name, and the next language its turn")
  func directories() throws {
    let path = "A.localized/.localized/fr.strings"
    for (what, names) in try shown(BrokenList.whole("A", "Un"), at: path) {
      #expect(names == ["Un"], "\(what)")
    }
    let tooMany = (0..<1024).map { "k\($0) = v;" }.joined() + "A = Un;"
    let broken = BrokenList.all("A", "Un", size: 64 << 10) + [BrokenList(pairs: tooMany)]
    for (what, names) in try shown(broken, at: path) { #expect(names == ["A"], "\(what)") }
    let next = try shown(broken, at: path, in: "fr+de") {
      try write(Array("A = Ein;".utf8), "\($0)/A.localized/.localized/de.strings")
    }
    for (what, names) in next { #expect(names == ["Ein"], "\(what)") }
  }

  @Test("So does a broken list of a bundle, or of its translations")
  func bundles() throws {
    let (information, strings) = (
      "Notes.app/Contents/Info.plist", "Notes.app/Contents/Resources/fr.lproj/InfoPlist.strings"
    )
    let key = "CFBundleName"
    let rows: [(path: String, other: String, value: String, size: Int)] = [
      (information, strings, "Notes", 256 << 10), (strings, information, "Carnet", 64 << 10),
    ]
    for (path, other, value, size) in rows {
      let text = Array("\(key) = \(value == "Notes" ? "Carnet" : "Notes");".utf8)
      for (what, names) in try shown(
        BrokenList.whole(key, value), at: path, with: { try write(text, "\($0)/\(other)") })
      {
        #expect(names == ["Carnet"], "\(path), \(what)")
      }
      let broken = try shown(BrokenList.all(key, value, size: size), at: path) {
        try write(text, "\($0)/\(other)")
      }
      for (what, names) in broken { #expect(names == ["Notes"], "\(path), \(what)") }
    }
  }
}

extension BrokenList {
  fileprivate init(pairs: String) { self.init("1,025 pairs", pairs) }
}
