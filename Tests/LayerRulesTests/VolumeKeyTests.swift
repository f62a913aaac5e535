// The keys of the file `volume` that layers add.

import LayerRules
import Randomness
import Testing

@Suite("Paths in the volume file") struct StoredPathTests {
  @Test("Golden") func golden() {
    #expect(StoredPath.text(of: Array("/a b/c".utf8)) == "/a b/c")
    #expect(StoredPath.text(of: Array("/a:b\\c\nd".utf8)) == #"/a\:b\\c\nd"#)
    #expect(StoredPath.text(of: Array("/Größe".utf8)) == "/Größe")
    #expect(StoredPath.text(of: [47, 0xFF, 0x0D, 0x20]) == #"/\xff\x0d\x20"#)
    #expect(StoredPath.text(ofAll: [Array("/a".utf8), Array("/b:".utf8)]) == #"/a:/b\:"#)
    #expect(StoredPath.paths(of: "") == [])
    #expect(StoredPath.paths(of: "/a:/b")?.count == 2)
  }

  @Test(
    "What is no path is none",
    arguments: [#"/a\"#, #"/a\q"#, #"/a\x1"#, #"/a\xgg"#, #"/a\xAB"#, "/a:", ":/a", "/a::/b"])
  func refused(_ text: String) {
    #expect(StoredPath.paths(of: text) == nil)
    #expect(StoredPath.path(of: text) == nil)
  }

  @Test("Any bytes come back, and keep to one line without blanks at its ends") func fuzz() {
    var dice = Dice(for: "paths in the volume file")
    let alphabet = Array("/a b:\\\n\r\t =é\u{85}\u{2028}\u{301}".utf8)
    for _ in 0..<20_000 {
      let paths = (0...dice.below(3)).map { _ in
        (0...dice.below(10)).map { _ in
          dice.once(in: 4) ? UInt8.random(in: 1...255, using: &dice) : dice.pick(alphabet)
        }
      }
      let text = StoredPath.text(ofAll: paths)
      #expect(StoredPath.paths(of: text) == paths)
      // As the volume file is read: by characters, which may be several letters joined.
      let line = "lower = \(text)"
      #expect(line.split(whereSeparator: \.isNewline).count == 1)
      let value = line.split(separator: "=", maxSplits: 1)[1]
      #expect(value.first == " " && value.dropFirst() == text[...])
      #expect(text.first != " " && text.last != " ")
    }
    for _ in 0..<50_000 {
      let text = String(decoding: (0..<dice.below(10)).map { _ in dice.pick(alphabet) }, as: UTF8.self)
      _ = StoredPath.paths(of: text)
    }
  }
}

@Suite("File systems in the volume file") struct FileSystemTableTests {
  private static let uuid = FileSystemIdentifier.uuid(high: 0x0123_4567_89AB_CDEF, low: 2)

  private static func lower(
    _ identifier: FileSystemIdentifier, device: UInt64, root: UInt64 = 2, path: String = "/l"
  ) -> FileSystemTable.Lower {
    .init(identifier, device: device, root: InodeMark(inode: root, generation: 7), path: Array(path.utf8))
  }

  private func expect(
    _ table: inout FileSystemTable, _ lowers: [FileSystemTable.Lower], _ wanted: [UInt32?],
    _ place: SourceLocation = #_sourceLocation
  ) {
    let tags = table.tags(of: lowers)
    #expect(tags == wanted, sourceLocation: place)
  }

  @Test("Golden") func golden() throws {
    let entry = FileSystemEntry(
      tag: 26, Self.uuid, root: InodeMark(inode: 0x80, generation: 0xAB), path: Array("/srv/base image".utf8))
    #expect(entry.key == "fs.1a")
    #expect(entry.value == "0123456789abcdef0000000000000002 80 ab /srv/base image")
    #expect(FileSystemEntry(key: entry.key, value: entry.value) == entry)
    let number = FileSystemEntry(tag: 1, .number(9), root: InodeMark(inode: 1, generation: 0), path: [47])
    #expect(number.value == "0000000000000009 1 0 /")
    #expect(FileSystemEntry(key: "fs.1", value: number.value) == number)
    #expect(InodeMark("80 ab") == entry.root)
  }

  @Test(
    "What is not an entry counts as none",
    arguments: [
      ("fs.0", "0000000000000009 1 0 /"), ("fs.", "0000000000000009 1 0 /"),
      ("fs.01", "0000000000000009 1 0 /"),
      ("gs.1", "0000000000000009 1 0 /"), ("fs.1", "9 1 0 /"), ("fs.1", "0000000000000009 1 0"),
      ("fs.1", "0000000000000009 1 0 "), ("fs.1", "0000000000000009  1 0 /"), ("fs.1", ""),
      ("fs.1", "0000000000000009 1 0 /a:/b"), ("fs.1", "000000000000000G 1 0 /"),
      ("fs.100000000", "0000000000000009 1 0 /"),
    ])
  func refused(_ key: String, _ value: String) {
    #expect(FileSystemEntry(key: key, value: value) == nil)
  }

  @Test("A file system keeps its tag, and no other gets it") func tags() {
    var table = FileSystemTable()
    expect(&table, [Self.lower(.number(5), device: 1), Self.lower(Self.uuid, device: 2)], [1, 2])
    // Another order, and one more.
    expect(
      &table,
      [
        Self.lower(Self.uuid, device: 9), Self.lower(.number(6), device: 8),
        Self.lower(.number(5), device: 7),
      ], [2, 3, 1])
    // Two lowers on one file system share its tag.
    expect(&table, [Self.lower(Self.uuid, device: 3), Self.lower(Self.uuid, device: 3, path: "/m")], [2, 2])
  }

  @Test("A file system that says another thing after a start is known by its path and root") func renamed() {
    var table = FileSystemTable()
    expect(&table, [Self.lower(.number(5), device: 1)], [1])
    expect(&table, [Self.lower(.number(6), device: 1)], [1])
    #expect(table.entries.map(\.identifier) == [.number(6)])
    expect(&table, [Self.lower(.number(7), device: 1, root: 3)], [2])
  }

  @Test("Two file systems that say they are the same are known by their paths") func twins() {
    var table = FileSystemTable()
    expect(&table, [Self.lower(Self.uuid, device: 1, path: "/a")], [1])
    let both = [Self.lower(Self.uuid, device: 2, path: "/b"), Self.lower(Self.uuid, device: 1, path: "/a")]
    expect(&table, both, [2, 1])
    expect(&table, both, [2, 1])
    expect(&table, both.reversed(), [1, 2])
    // Alone, too, each is itself.
    expect(&table, [both[0]], [2])
    expect(&table, [both[1]], [1])
  }

  @Test("Of a hundred the oldest that is not in use goes, and its tag with it") func bounded() {
    var table = FileSystemTable()
    for number in 1...100 {
      _ = table.tags(of: [Self.lower(.number(UInt64(number)), device: 1, path: "/\(number)")])
    }
    #expect(table.entries.count == 100)
    let used = Self.lower(.number(1), device: 5, path: "/1")
    expect(&table, [used, Self.lower(.number(500), device: 6, path: "/500")], [1, 101])
    #expect(table.entries.count == 100 && table.entries.map(\.tag).contains(1))
    #expect(!table.entries.map(\.tag).contains(2))
    // The file system that went comes back as a new one.
    expect(&table, [Self.lower(.number(2), device: 1, path: "/2")], [102])
  }

  @Test("A file that names more than a hundred is cut down to them, the oldest first") func crowded() {
    var table = FileSystemTable(
      (1...150).map { number in
        FileSystemEntry(
          tag: UInt32(number), .number(UInt64(number)), root: InodeMark(inode: 1, generation: 0),
          path: Array("/\(number)".utf8))
      })
    expect(&table, [Self.lower(.number(3), device: 1, path: "/3")], [3])
    #expect(table.entries.map(\.tag) == [3] + (52...150).map { UInt32($0) })
    expect(&table, [Self.lower(.number(900), device: 1, path: "/900")], [151])
    #expect(table.entries.count == 100)
  }

  @Test("Without tags left a lower has none") func exhausted() {
    var table = FileSystemTable([
      FileSystemEntry(tag: .max, .number(1), root: InodeMark(inode: 1, generation: 0), path: [47])
    ])
    expect(&table, [Self.lower(.number(2), device: 1)], [nil])
    expect(&table, [Self.lower(.number(1), device: 1)], [.max])
  }

  @Test("Whatever is read is written the same, and nothing traps") func fuzz() {
    var dice = Dice(for: "keys of the volume file")
    let entry = FileSystemEntry(
      tag: 3, Self.uuid, root: InodeMark(inode: 0x80, generation: 0xAB), path: Array("/a:b\\".utf8))
    var read = 0
    for _ in 0..<100_000 {
      var value = Array(entry.value.utf8)
      for _ in 0...dice.below(2) {
        let place = dice.below(value.count)
        switch dice.below(3) {
        case 0: value[place] = UInt8(truncatingIfNeeded: dice.next())
        case 1: value.remove(at: place)
        default: value.insert(dice.pick(Array("0a: \\x".utf8)), at: place)
        }
      }
      let text = String(decoding: value, as: UTF8.self)
      guard let found = FileSystemEntry(key: "fs.3", value: text) else { continue }
      read += 1
      #expect(FileSystemEntry(key: found.key, value: found.value) == found)
    }
    #expect(read > 1000)
  }
}
