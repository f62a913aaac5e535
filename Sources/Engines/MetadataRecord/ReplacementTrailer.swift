// The end of a work file: what is needed to finish a replacement of content that a crash interrupted.
//
// A work file is the new bytes of a file, as they are to be stored, and behind them this trailer. Nobody needs a key, or
// the directory the file is in, to copy the one over the other. The layout is described in docs/FORMATS.md.

/// What a work file says about the file whose content it replaces.
package struct ReplacementTrailer: Hashable, Sendable {
  /// The form in which the new bytes are stored.
  package enum Body: UInt8, Hashable, Sendable {
    // On disk since format 1. Never renumber.
    case plain = 1
    case encrypted = 2
    case compressed = 3
  }

  /// Why a trailer cannot be believed.
  package enum Damage: Error, Hashable, Sendable {
    /// The length at the end is none that a trailer has, or the file is shorter.
    case length
    case magic
    case checksum
    /// Written by a later version.
    case version(UInt16)
    case field(Field)
    case record(RecordFormat.Damage)
  }

  /// A field whose rules are broken.
  package enum Field: Hashable, Sendable {
    case body
    case mode
    case time
    case reserved
    /// The lengths of the parts do not make up the trailer, or that of the body not the file.
    case lengths
    /// The record does not go with the form of the body.
    case form
  }

  package var body: Body
  /// The inode number of the file, and what tells two owners of that number apart.
  package var inode: UInt64
  package var generation: UInt32
  /// The low 12 bits: writing can take the set-id bits away.
  package var mode: UInt16
  /// Set-id bits and a capability are given back to the file of this owner only.
  package var user: UInt32
  package var group: UInt32
  package var modified: CoreRecord.BirthTime
  /// How long the file is afterwards.
  package var storedSize: UInt64
  /// The size that programs see then.
  package var size: UInt64
  /// The record of the file afterwards.
  package var record: CoreRecord
  /// The value of `security.capability`, which every write takes away; empty if there is none.
  package var capability: [UInt8]
  /// Where the file was, from the root of the volume; empty if that is not known.
  package var path: [UInt8]

  package init(
    _ body: Body, inode: UInt64, generation: UInt32, mode: UInt16, user: UInt32, group: UInt32,
    modified: CoreRecord.BirthTime, storedSize: UInt64, size: UInt64, record: CoreRecord,
    capability: [UInt8] = [], path: [UInt8]
  ) {
    (self.body, self.inode, self.generation, self.mode) = (body, inode, generation, mode)
    (self.modified, self.storedSize, self.size, self.record) = (modified, storedSize, size, record)
    (self.capability, self.path, self.user, self.group) = (capability, path, user, group)
  }
}

extension ReplacementTrailer {
  // On disk since format 1. Never renumber.
  private static let magic: UInt64 = 0x1A0A_0D31_5052_5689
  private static let version: UInt16 = 1
  private static let headSize = 80
  private static let checksumOffset = 8
  /// At the end stands how long all of it is.
  package static let footSize = 4
  private static let longestCapability = 1024
  private static let longestRecord = 1024
  package static let longestPath = 4095
  /// A reader that begins at the end of a file needs no more of it.
  package static let longest = headSize + longestRecord + longestCapability + longestPath + footSize

  /// The trailer as it is stored; nil where a part is too long or the parts do not fit each other.
  package func encoded() -> [UInt8]? {
    let record = self.record.isVoid ? [] : self.record.encoded()
    guard record.count <= Self.longestRecord, capability.count <= Self.longestCapability,
      path.count <= Self.longestPath, mode <= 0o7777, modified.nanoseconds < 1_000_000_000, isConsistent
    else { return nil }
    let count = Self.headSize + record.count + capability.count + path.count + Self.footSize
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    bytes.append(littleEndian: Self.magic)
    bytes.append(littleEndian: UInt32(0))
    bytes.append(littleEndian: Self.version)
    bytes.append(body.rawValue)
    bytes.append(UInt8(0))
    bytes.append(littleEndian: inode)
    bytes.append(littleEndian: generation)
    bytes.append(littleEndian: mode)
    bytes.append(littleEndian: UInt16(0))
    bytes.append(littleEndian: modified.seconds)
    bytes.append(littleEndian: modified.nanoseconds)
    bytes.append(littleEndian: UInt16(record.count))
    bytes.append(littleEndian: UInt16(capability.count))
    bytes.append(littleEndian: storedSize)
    bytes.append(littleEndian: size)
    bytes.append(littleEndian: UInt16(path.count))
    bytes.append(contentsOf: [0, 0, 0, 0, 0, 0])
    bytes.append(littleEndian: user)
    bytes.append(littleEndian: group)
    bytes.append(contentsOf: record)
    bytes.append(contentsOf: capability)
    bytes.append(contentsOf: path)
    bytes.append(littleEndian: UInt32(count))
    bytes.seal(at: Self.checksumOffset)
    return bytes
  }

  /// Reads the trailer from the last bytes of a work file: `longest` of them, or all if there are fewer.
  ///
  /// `fileSize`: how long the whole file is.
  package init(decodingEndOf end: Span<UInt8>, fileSize: UInt64) throws(Damage) {
    guard end.count >= Self.headSize + Self.footSize else { throw .length }
    let count = Int(Self.word(UInt32.self, of: end, at: end.count - Self.footSize))
    guard count >= Self.headSize + Self.footSize, count <= min(end.count, Self.longest),
      UInt64(count) <= fileSize
    else { throw .length }
    let bytes = end.extracting(end.count - count..<end.count)
    guard Self.word(UInt64.self, of: bytes, at: 0) == Self.magic else { throw .magic }
    // A later version is called by its name, and not damaged.
    let version = Self.word(UInt16.self, of: bytes, at: 12)
    guard version == Self.version else { throw .version(version) }
    let sum = Self.word(UInt32.self, of: bytes, at: Self.checksumOffset)
    guard sum == CRC32C.of(bytes, withoutField: Self.checksumOffset) else { throw .checksum }
    guard let body = Body(rawValue: bytes[14]) else { throw .field(.body) }
    guard bytes[15] == 0, Self.word(UInt16.self, of: bytes, at: 30) == 0,
      Self.word(UInt32.self, of: bytes, at: 66) == 0, Self.word(UInt16.self, of: bytes, at: 70) == 0
    else { throw .field(.reserved) }
    let mode = Self.word(UInt16.self, of: bytes, at: 28)
    guard mode <= 0o7777 else { throw .field(.mode) }
    let modified = CoreRecord.BirthTime(
      seconds: Self.word(Int64.self, of: bytes, at: 32),
      nanoseconds: Self.word(UInt32.self, of: bytes, at: 40))
    guard modified.nanoseconds < 1_000_000_000 else { throw .field(.time) }
    let parts = try Self.parts(of: bytes)
    self.init(
      body, inode: Self.word(UInt64.self, of: bytes, at: 16),
      generation: Self.word(UInt32.self, of: bytes, at: 24), mode: mode,
      user: Self.word(UInt32.self, of: bytes, at: 72), group: Self.word(UInt32.self, of: bytes, at: 76),
      modified: modified,
      storedSize: Self.word(UInt64.self, of: bytes, at: 48),
      size: Self.word(UInt64.self, of: bytes, at: 56),
      record: try Self.record(bytes.extracting(parts.record)),
      capability: Self.copy(bytes.extracting(parts.capability)),
      path: Self.copy(bytes.extracting(parts.path)))
    guard storedSize == fileSize - UInt64(count) else { throw .field(.lengths) }
    guard isConsistent else { throw .field(.form) }
  }

  /// Whether record, body and sizes tell of the same form.
  private var isConsistent: Bool {
    guard !record.isReplacing else { return false }
    switch body {
    case .plain: return storedSize == size && !record.isCompressed && !record.isProtected
    case .encrypted:
      return storedSize > 0 && storedSize % 4096 == 0 && size > 0 && record.marks.contains(.encrypted)
        && record.protectionClass != .none && !record.isCompressed
    case .compressed:
      return storedSize > 0 && size > 0 && record.logicalSize == size && !record.isProtected
    }
  }

  private static func parts(
    of bytes: Span<UInt8>
  ) throws(Damage) -> (record: Range<Int>, capability: Range<Int>, path: Range<Int>) {
    let record = headSize..<headSize + Int(word(UInt16.self, of: bytes, at: 44))
    let capability = record.upperBound..<record.upperBound + Int(word(UInt16.self, of: bytes, at: 46))
    let path = capability.upperBound..<capability.upperBound + Int(word(UInt16.self, of: bytes, at: 64))
    guard record.count <= longestRecord, capability.count <= longestCapability, path.count <= longestPath,
      path.upperBound == bytes.count - footSize
    else { throw .field(.lengths) }
    return (record, capability, path)
  }

  private static func record(_ bytes: Span<UInt8>) throws(Damage) -> CoreRecord {
    guard !bytes.isEmpty else { return CoreRecord() }
    do throws(RecordFormat.Damage) {
      let record = try CoreRecord(decoding: bytes)
      // One that says nothing is not stored.
      guard !record.isVoid else { throw .tooShort }
      return record
    } catch {
      throw .record(error)
    }
  }

  /// The caller has seen to it that the bytes are there.
  private static func word<Number: FixedWidthInteger>(
    _ type: Number.Type, of bytes: Span<UInt8>, at offset: Int
  ) -> Number {
    var cursor = ByteCursor(offset: offset)
    return (try? cursor.next(type, of: bytes)) ?? 0
  }

  private static func copy(_ bytes: Span<UInt8>) -> [UInt8] {
    var copy: [UInt8] = []
    copy.reserveCapacity(bytes.count)
    for index in bytes.indices { copy.append(bytes[index]) }
    return copy
  }
}

extension ReplacementTrailer {
  /// What tells two files apart that had one inode number after each other: CRC-32C of the birth time, 0 without one.
  package static func generation(ofBirth birth: CoreRecord.BirthTime?) -> UInt32 {
    guard let birth else { return 0 }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: birth.seconds)
    bytes.append(littleEndian: birth.nanoseconds)
    return CRC32C.of(bytes.span)
  }

  /// `r-INODE-GENERATION`, both hexadecimal: inode without leading zeros, generation with eight digits.
  package static func name(inode: UInt64, generation: UInt32) -> [UInt8] {
    name("r", inode, generation)
  }

  package var name: [UInt8] { Self.name(inode: inode, generation: generation) }

  /// The same with a `c`: the name of a trailer alone, which notes what a change of class takes away.
  package var nameOfNote: [UInt8] { Self.name("c", inode, generation) }

  private static func name(_ kind: String, _ inode: UInt64, _ generation: UInt32) -> [UInt8] {
    let digits = String(generation, radix: 16)
    let padded = String(repeating: "0", count: 8 - digits.count) + digits
    return Array("\(kind)-\(String(inode, radix: 16))-\(padded)".utf8)
  }

  /// Whether a name in the workshop is one of a replacement.
  package static func isName(_ name: [UInt8]) -> Bool { name.starts(with: "r-".utf8) }

  /// Whether it is one of a note.
  package static func isNote(_ name: [UInt8]) -> Bool { name.starts(with: "c-".utf8) }
}

extension CoreRecord {
  /// The record with what `other` says of the form of the content, and nothing of what it says else.
  ///
  /// So a change of flags or lists that came while the content was replaced is not undone.
  package func withForm(of other: CoreRecord) -> CoreRecord {
    var record = self
    record.replaced = nil
    record.marks.remove(.encrypted)
    if other.marks.contains(.encrypted) { record.marks.insert(.encrypted) }
    record.protectionClass = other.protectionClass
    record.noteCompressed(size: other.logicalSize)
    return record
  }

  /// Whether the content is being replaced.
  package var isReplacing: Bool { replaced != nil }

  /// The same, its content being replaced: what programs see of it stays.
  package func whileReplacing(by trailer: ReplacementTrailer) -> CoreRecord {
    var record = self
    record.replaced = ReplacedContent(size: trailer.size, modified: trailer.modified)
    return record
  }

  /// A record of an encrypted file of a class, `none` that of a plain one.
  package func protected(by protection: ProtectionClass) -> CoreRecord {
    var record = self
    record.protectionClass = protection
    if protection == .none { record.marks.remove(.encrypted) } else { record.marks.insert(.encrypted) }
    return record
  }
}
