import PropertyLists
import Testing

@Suite("Property lists in binary") struct BinaryTests {
  private func value(_ form: BinaryForm) -> [UInt8] { BinaryForm.list([[.ascii("k"), form]]) }

  @Test("Golden bytes") func golden() {
    let bytes =
      Array("bplist00".utf8) + [0xD1, 0x01, 0x02] + [0x51, 0x6B] + [0x61, 0x00, 0xE9] + [0x08, 0x0B, 0x0D]
      + BinaryForm.trailer(offset: 1, reference: 1, count: 3, top: 0, table: 0x10)
    #expect(read(bytes) == .success(Found([["k", "é"]])))
    for length in 1..<bytes.count { #expect((try? read(Array(bytes.prefix(length))).get()) == nil) }
    for (offset, wrong) in [(0, 0x42), (7, 0x31), (25, 9), (25, 0), (26, 0), (26, 9)] as [(Int, UInt8)] {
      var changed = bytes
      changed[offset] = wrong
      #expect((try? read(changed).get()) == nil, "byte \(offset)")
    }
    #expect(read(bytes + [0]) == .failure(.malformed), "a byte too many")
  }

  @Test("All kinds of values are passed over, only strings are kept") func kinds() {
    let others: [[UInt8]] = [
      [0x00], [0x08], [0x09], [0x10, 1], [0x11, 1, 2], [0x12, 1, 2, 3, 4], [0x13, 1, 2, 3, 4, 5, 6, 7, 8],
      [0x14] + [UInt8](repeating: 1, count: 16), [0x22, 0, 0, 0, 0], [0x23] + [UInt8](repeating: 0, count: 8),
      [0x33] + [UInt8](repeating: 0, count: 8), [0x42, 1, 2], [0x80, 1], [0x81, 1, 2], [0xA0], [0xD0],
    ]
    for other in others { #expect(read(value(.bytes(other))) == .success(Found([])), "\(other)") }
    let pairs: [[BinaryForm]] =
      others.enumerated().map { [.ascii("\($0.offset)"), .bytes($0.element)] }
      + [[.utf16("ключ"), .utf16("😀")], [.ascii("d"), .dictionary([[.ascii("k"), .ascii("no")]])]]
    #expect(read(BinaryForm.list(pairs)) == .success(Found([["ключ", "😀"]])))
  }

  @Test("What is no object") func unknown() {
    let wrong: [[UInt8]] = [
      [0x01], [0x0C], [0x15], [0x20], [0x24], [0x30], [0x71, 0x61], [0x90],
      [0x88] + [UInt8](repeating: 0, count: 9), [0xB0], [0xC0], [0xE0], [0xF0],
      [0x5F], [0x5F, 0x20, 1], [0x5F, 0x14] + [UInt8](repeating: 0, count: 16),
      [0x5F, 0x13] + [UInt8](repeating: 0xFF, count: 8),
      [0x5F, 0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7),
      [0xAF, 0x13, 0x20, 0, 0, 0, 0, 0, 0, 0], [0xDF, 0x13, 0x10, 0, 0, 0, 0, 0, 0, 0],
      [0x5E, 0x61], [0xA1], [0xA1, 0xFF, 0xFF], [0xD1, 0, 0],
    ]
    for wrong in wrong { #expect(read(value(.bytes(wrong))) == .failure(.malformed), "\(wrong)") }
    #expect(read(value(.bytes([0x51, 0x80]))) == .failure(.wrongEncoding))
    #expect(read(value(.bytes([0x61, 0xD8, 0x3D]))) == .failure(.wrongEncoding), "half a character")
    #expect(read(value(.bytes([0x62, 0xDE, 0x00, 0xD8, 0x3D]))) == .failure(.wrongEncoding))
  }

  @Test("Keys are strings, at every level") func keys() {
    #expect(read(BinaryForm.list([[.bytes([0x08]), .ascii("v")]])) == .failure(.malformed))
    #expect(read(value(.dictionary([[.array([]), .ascii("v")]]))) == .failure(.malformed))
  }

  @Test("The top is a dictionary") func top() {
    #expect(read(BinaryForm.file([[0x51, 0x61]], top: 0)) == .failure(.malformed))
    #expect(read(BinaryForm.file([[0xA0]], top: 0)) == .failure(.malformed))
    #expect(read(BinaryForm.file([[0xD0]], top: 1)) == .failure(.malformed))
    #expect(read(BinaryForm.file([[0xD0]], top: 0)) == .success(Found([])))
  }

  @Test("Nothing is inside itself") func circles() {
    let key: [UInt8] = [0x51, 0x6B]
    let itself = BinaryForm.file([[0xD1, 0, 1, 0, 0], key], top: 0)
    #expect(read(itself) == .failure(.malformed))
    let twoLists = BinaryForm.file([[0xD1, 0, 1, 0, 2], key, [0xA1, 0, 3], [0xA1, 0, 2]], top: 0)
    #expect(read(twoLists) == .failure(.malformed))
    let twice = BinaryForm.file([[0xD1, 0, 1, 0, 2], key, [0xA2, 0, 3, 0, 3], [0xA0]], top: 0)
    #expect(read(twice) == .success(Found([])), "used twice is no circle")
  }

  @Test("Lists of lists that would be endless as a tree are looked at once") func doubling() {
    var objects: [[UInt8]] = [[0xD1, 0, 1, 0, 2], [0x51, 0x6B]]
    for level in 2..<60 { objects.append([0xA2, 0, UInt8(level + 1), 0, UInt8(level + 1)]) }
    objects.append([0xA0])
    #expect(read(BinaryForm.file(objects, top: 0)) == .success(Found([])))
    for level in 60..<70 { objects[level] = [0xA1, 0, UInt8(level + 1)]; objects.append([0xA0]) }
    #expect(read(BinaryForm.file(objects, top: 0)) == .failure(.tooDeep))
  }

  @Test("Objects that lie over each other") func overlapping() {
    // A thousand strings, each of which begins one byte behind the last and has the rest of the file.
    var bytes = Array("bplist00".utf8)
    bytes += BinaryForm.header(0xD, 500) + (1...1000).flatMap { BinaryForm.number($0) }
    let first = bytes.count
    for _ in 0..<8000 { bytes += [0x5F, 0x11, 0x10, 0x00] }
    let table = bytes.count
    bytes += BinaryForm.number(8) + (0..<1000).flatMap { BinaryForm.number(first + 4 * $0) }
    bytes += BinaryForm.trailer(offset: 2, reference: 2, count: 1001, top: 0, table: table)
    #expect(read(bytes) == .failure(.malformed))
  }
}
