// Writes binary property lists, good and bad ones: straight from the description of the format.

indirect enum BinaryForm {
  case ascii(String)
  case utf16(String)
  case bytes([UInt8])
  case array([BinaryForm])
  case dictionary([[BinaryForm]])

  /// A complete list with a dictionary of these pairs at the top.
  static func list(_ pairs: [[BinaryForm]]) -> [UInt8] {
    var objects: [[UInt8]] = []
    let top = BinaryForm.dictionary(pairs).add(to: &objects)
    return file(objects, top: top)
  }

  /// Pairs of which all share one long value.
  static func sharing(keys: Int, of size: Int) -> [UInt8] {
    var objects = [header(0x5, size) + [UInt8](repeating: 0x61, count: size)]
    for index in 0..<keys { objects.append(header(0x5, 4) + Array(String(1000 + index).utf8)) }
    let values = [UInt8](repeating: 0, count: 2 * keys)
    objects.append(header(0xD, keys) + (1...keys).flatMap { number($0) } + values)
    return file(objects, top: keys + 1)
  }

  static func number(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

  static func header(_ kind: UInt8, _ count: Int) -> [UInt8] {
    if count < 15 { return [kind << 4 | UInt8(count)] }
    return [kind << 4 | 0xF, 0x12] + [0, UInt8(count >> 16)] + number(count & 0xFFFF)
  }

  /// References and offsets of two and four bytes.
  static func file(_ objects: [[UInt8]], top: Int) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += [0, UInt8(bytes.count >> 16)] + number(bytes.count & 0xFFFF)
      bytes += object
    }
    let table = bytes.count
    bytes += offsets
    return bytes + trailer(offset: 4, reference: 2, count: objects.count, top: top, table: table)
  }

  static func trailer(offset: Int, reference: Int, count: Int, top: Int, table: Int) -> [UInt8] {
    let numbers = [count, top, table].flatMap { value in
      (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    return [0, 0, 0, 0, 0, 0, UInt8(offset), UInt8(reference)] + numbers
  }

  /// The number of the object, after those that it refers to.
  private func add(to objects: inout [[UInt8]]) -> Int {
    switch self {
    case .ascii(let text): objects.append(BinaryForm.header(0x5, text.utf8.count) + Array(text.utf8))
    case .utf16(let text):
      let units = Array(text.utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
      objects.append(BinaryForm.header(0x6, units.count / 2) + units)
    case .bytes(let bytes): objects.append(bytes)
    case .array(let items):
      let references = items.flatMap { BinaryForm.number($0.add(to: &objects)) }
      objects.append(BinaryForm.header(0xA, items.count) + references)
    case .dictionary(let pairs):
      let keys = pairs.flatMap { BinaryForm.number($0[0].add(to: &objects)) }
      let values = pairs.flatMap { BinaryForm.number($0[1].add(to: &objects)) }
      objects.append(BinaryForm.header(0xD, pairs.count) + keys + values)
    }
    return objects.count - 1
  }
}
