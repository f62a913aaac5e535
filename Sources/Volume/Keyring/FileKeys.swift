// The keys of one file.

package import Ciphers
package import SealedFormat
import Synchronization

/// What a file is encrypted with, in one piece of the secure heap: wiped when the last user lets go of it.
package final class FileKeys: Sendable {
  package let file: Bytes16
  let block: KeyBlock
  // Which segment's key is in the fourth position. Held while that is written or given to a context.
  private let laterSegment = Mutex<UInt64>(0)

  static let ownKey = KeyBlock.Position.first
  private static let seals = KeyBlock.Position.second
  private static let firstSegment = KeyBlock.Position.third
  private static let otherSegment = KeyBlock.Position.fourth

  /// A fresh key for a new file.
  static func random(for file: Bytes16) throws(CipherFailure) -> FileKeys {
    let block = try KeyBlock()
    try block.randomize(ownKey)
    return try FileKeys(file, block)
  }

  /// Derives the keys from the one in the first position.
  init(_ file: Bytes16, _ block: consuming KeyBlock) throws(CipherFailure) {
    let (header, data) = (FileKeys.sealsInfo(file), FileKeys.dataInfo(file, 0))
    try block.expand(FileKeys.ownKey, info: header.span, into: FileKeys.seals)
    try block.expand(FileKeys.ownKey, info: data.span, into: FileKeys.firstSegment)
    self.file = file
    self.block = block
  }

  /// For the seals of slots and index sectors.
  package func useForSeals(_ aead: inout Aead) throws(CipherFailure) {
    try aead.use(block, FileKeys.seals)
  }

  /// For the blocks of one segment of 16384.
  package func use(_ aead: inout Aead, forSegment segment: UInt64) throws(CipherFailure) {
    if segment == 0 { return try aead.use(block, FileKeys.firstSegment) }
    try laterSegment.withLock { present throws(CipherFailure) in
      if present != segment {
        present = 0
        let info = FileKeys.dataInfo(file, segment)
        try block.expand(FileKeys.ownKey, info: info.span, into: FileKeys.otherSegment)
        present = segment
      }
      try aead.use(block, FileKeys.otherSegment)
    }
  }

  // On disk since format 1, in every key. Never change.
  private static let sealsLabel = Array("EAR1/hdr".utf8)
  private static let dataLabel = Array("EAR1/data".utf8)

  private static func sealsInfo(_ file: Bytes16) -> InlineArray<24, UInt8> {
    var info = InlineArray<24, UInt8>(repeating: 0)
    for index in 0..<8 { info[index] = sealsLabel[index] }
    var span = info.mutableSpan
    file.store(in: &span, at: 8)
    return info
  }

  private static func dataInfo(_ file: Bytes16, _ segment: UInt64) -> InlineArray<33, UInt8> {
    var info = InlineArray<33, UInt8>(repeating: 0)
    for index in 0..<9 { info[index] = dataLabel[index] }
    for index in 0..<8 { info[25 + index] = UInt8(truncatingIfNeeded: segment >> UInt64(8 * index)) }
    var span = info.mutableSpan
    file.store(in: &span, at: 9)
    return info
  }
}
