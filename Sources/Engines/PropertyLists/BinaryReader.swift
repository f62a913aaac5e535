// Property lists in binary: `bplist00`, objects, a table of their offsets, and 32 bytes that say where that is.
//
// Every object is looked at once before anything is believed. Objects that lie over each other are refused: with them a
// small file could stand for a huge one.

struct BinaryReader {
  static let magic = Array("bplist00".utf8)
  private static let trailerSize = 32

  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let top: Int
  /// Where the table of offsets begins, and so the objects end.
  private let table: Int

  static func read(_ bytes: [UInt8], within limits: PropertyListLimits) throws(ParseFailure) -> StringTable {
    let reader = try BinaryReader(bytes)
    try reader.checkObjects()
    try reader.checkNesting()
    return try reader.strings(within: limits)
  }

  private init(_ bytes: [UInt8]) throws(ParseFailure) {
    let end = bytes.count - BinaryReader.trailerSize
    guard end > BinaryReader.magic.count else { throw .malformed }
    self.bytes = bytes
    offsetSize = Int(bytes[end + 6])
    referenceSize = Int(bytes[end + 7])
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize,
      let count = bytes.number(at: end + 8, size: 8), let top = bytes.number(at: end + 16, size: 8),
      let table = bytes.number(at: end + 24, size: 8)
    else { throw .malformed }
    (self.count, self.top, self.table) = (count, top, table)
    // The table fills what is between the objects and the end, to the byte.
    guard table > BinaryReader.magic.count, table < end, top < count, count <= end,
      count * offsetSize == end - table
    else { throw .malformed }
  }

  // MARK: Objects

  private enum Kind {
    case other
    case ascii
    case utf16
    case array
    case dictionary
  }

  private struct Object {
    var kind: Kind
    var start: Int
    /// Characters, or what a list or dictionary holds.
    var count = 0
    var size: Int

    var isString: Bool { kind == .ascii || kind == .utf16 }
    /// How many references follow.
    var references: Int {
      switch kind {
      case .array: count
      case .dictionary: 2 * count
      default: 0
      }
    }
  }

  /// An object, of which all bytes are there.
  private func object(_ index: Int) throws(ParseFailure) -> Object {
    guard let start = bytes.number(at: table + index * offsetSize, size: offsetSize),
      start >= BinaryReader.magic.count, start < table
    else { throw .malformed }
    var object = try header(at: start)
    guard object.size <= table - object.start else { throw .malformed }
    object.size += object.start - start
    return object
  }

  private func header(at start: Int) throws(ParseFailure) -> Object {
    let marker = bytes[start]
    let low = Int(marker & 0x0F)
    switch marker >> 4 {
    case 0x0 where [0x0, 0x8, 0x9, 0xF].contains(low): return plain(start, 0)
    case 0x1 where low <= 4: return plain(start, 1 << low)
    case 0x2 where low == 2 || low == 3: return plain(start, 1 << low)
    case 0x3 where low == 3: return plain(start, 8)
    case 0x4: return try counted(.other, start, low, unit: 1)
    case 0x5: return try counted(.ascii, start, low, unit: 1)
    case 0x6: return try counted(.utf16, start, low, unit: 2)
    case 0x8 where low < 8: return plain(start, low + 1)
    case 0xA: return try counted(.array, start, low, unit: referenceSize)
    case 0xD: return try counted(.dictionary, start, low, unit: 2 * referenceSize)
    default: throw .malformed
    }
  }

  private func plain(_ start: Int, _ size: Int) -> Object {
    Object(kind: .other, start: start + 1, size: size)
  }

  /// An object with a count: in its marker, or as a number behind that.
  private func counted(_ kind: Kind, _ start: Int, _ low: Int, unit: Int) throws(ParseFailure) -> Object {
    guard low == 0x0F else { return Object(kind: kind, start: start + 1, count: low, size: low * unit) }
    guard start + 1 < table, bytes[start + 1] & 0xF0 == 0x10 else { throw .malformed }
    let size = 1 << Int(bytes[start + 1] & 0x0F)
    guard size <= 8, start + 2 + size <= table, let count = bytes.number(at: start + 2, size: size) else {
      throw .malformed
    }
    return Object(kind: kind, start: start + 2 + size, count: count, size: count * unit)
  }

  /// What a list or dictionary refers to; in a dictionary the keys come first.
  private func reference(_ index: Int, of object: Object) throws(ParseFailure) -> Int {
    let start = object.start + index * referenceSize
    guard let reference = bytes.number(at: start, size: referenceSize), reference < count else {
      throw .malformed
    }
    return reference
  }

  // MARK: Checks

  /// Looks at every object once, and makes sure that they have room beside each other.
  private func checkObjects() throws(ParseFailure) {
    var room = table - BinaryReader.magic.count
    for index in 0..<count {
      let object = try object(index)
      room -= object.size
      guard room >= 0 else { throw .malformed }
      switch object.kind {
      case .ascii:
        for offset in object.start..<object.start + object.count where bytes[offset] >= 0x80 {
          throw .wrongEncoding
        }
      case .utf16:
        var units = units(of: object)
        while try units.next(in: bytes) != nil {}
      case .array, .dictionary:
        for index in 0..<object.references {
          let target = try reference(index, of: object)
          // Keys are strings.
          guard object.kind == .dictionary, index < object.count else { continue }
          guard try self.object(target).isString else { throw .malformed }
        }
      case .other: break
      }
    }
  }

  /// Follows all references from the top: nothing is inside itself, and nothing too deep.
  private func checkNesting() throws(ParseFailure) {
    /// How many levels are in an object, itself counted; nil as long as it is being looked at.
    var levels = [UInt8?](repeating: 0, count: count)
    var way: [(index: Int, object: Object, next: Int, levels: UInt8)] = []
    guard try object(top).kind == .dictionary else { throw .malformed }
    way.append((top, try object(top), 0, 1))
    levels[top] = nil
    while let last = way.last {
      guard last.next < last.object.references else {
        way.removeLast()
        levels[last.index] = last.levels
        if let above = way.indices.last { try way[above].levels.hold(last.levels) }
        continue
      }
      way[way.count - 1].next += 1
      let child = try reference(last.next, of: last.object)
      guard let known = levels[child] else { throw .malformed }
      if known > 0 {
        try way[way.count - 1].levels.hold(known)
        continue
      }
      let object = try object(child)
      guard object.kind == .array || object.kind == .dictionary else { continue }
      guard way.count < PropertyListLimits.depth else { throw .tooDeep }
      way.append((child, object, 0, 1))
      levels[child] = nil
    }
  }

  // MARK: Strings

  private func strings(within limits: PropertyListLimits) throws(ParseFailure) -> StringTable {
    var result = StringTable()
    // A string may be used often. Its text is made once, so that the result is not larger than the file.
    var made = [StringTable.Piece?](repeating: nil, count: count)
    let dictionary = try object(top)
    for index in 0..<dictionary.count {
      let key = try reference(index, of: dictionary)
      let value = try reference(dictionary.count + index, of: dictionary)
      guard try object(value).isString else { continue }
      try result.add(
        try text(of: key, &made, &result), try text(of: value, &made, &result), within: limits)
    }
    return result
  }

  private func text(
    of index: Int, _ made: inout [StringTable.Piece?], _ result: inout StringTable
  ) throws(ParseFailure) -> StringTable.Piece {
    if let piece = made[index] { return piece }
    let object = try object(index)
    let start = result.end
    if object.kind == .ascii {
      result.append(bytes[object.start..<object.start + object.count])
    } else {
      var units = units(of: object)
      while let scalar = try units.next(in: bytes) { result.append(scalar) }
    }
    let piece = StringTable.Piece(start: start, end: result.end)
    made[index] = piece
    return piece
  }

  private func units(of object: Object) -> UnitReader {
    UnitReader(offset: object.start, end: object.start + 2 * object.count, isBigEndian: true)
  }
}

extension UInt8 {
  /// Becomes one more than what is inside, if it was less.
  fileprivate mutating func hold(_ inner: UInt8) throws(ParseFailure) {
    guard inner < PropertyListLimits.depth else { throw .tooDeep }
    self = Swift.max(self, inner + 1)
  }
}

extension [UInt8] {
  /// A big-endian number, if it is not larger than any size or count in the file can be.
  fileprivate func number(at start: Int, size: Int) -> Int? {
    guard start >= 0, size <= 8, size <= count - start else { return nil }
    var value: UInt64 = 0
    for offset in start..<start + size { value = value << 8 | UInt64(self[offset]) }
    return value <= UInt64(count) ? Int(truncatingIfNeeded: value) : nil
  }
}
