// The forms that content can be given: how the bytes of the work file are made from the file as it is.

import Ciphers
import CompressedFormat
import LinuxFiles
import RecordFormat
import SealedFormat

/// A form of content, and what making it takes.
enum NewBody {
  /// A plain file becomes an encrypted one, under a key of its own that it has never had before.
  ///
  /// Its slots name the session that runs. If that does not end in order the file is in doubt afterwards, and readable:
  /// all of it was on the disk before it was anybody's content.
  case encrypting(any SealedSurroundings, IndexBudget)
  /// An encrypted file becomes a plain one.
  ///
  /// The node's own opening of it, if there is one, has written its last slot before, and is let go of afterwards.
  case decrypting(any SealedSurroundings, IndexBudget)
  /// A plain file becomes a compressed one.
  case compressing(level: Int)
  /// A compressed file becomes a plain one; others may go on reading it meanwhile.
  case expanding(FrameFile)

  var form: ReplacementTrailer.Body {
    switch self {
    case .encrypting: .encrypted
    case .compressing: .compressed
    case .decrypting, .expanding: .plain
    }
  }

  /// Whether nobody else may have the file meanwhile: bytes that the kernel itself reads, or maps, must not change under it.
  ///
  /// What is compressed was never handed over.
  var needsFileAlone: Bool {
    switch self {
    case .encrypting, .decrypting, .compressing: true
    case .expanding: false
    }
  }

  /// Whether a file with this record has the form that is to be replaced.
  func replaces(_ record: CoreRecord) -> Bool {
    guard !record.isReplacing else { return false }
    switch self {
    case .encrypting: return !record.isEncrypted && !record.isCompressed
    case .decrypting: return record.isEncrypted && !record.isCompressed
    case .compressing: return !record.isEncrypted && !record.isCompressed
    case .expanding: return !record.isEncrypted && record.isCompressed
    }
  }

  /// Writes the bytes; answers how many they are, and the size that programs see.
  func write(
    from source: SharedDescriptor, size: UInt64, to work: SharedDescriptor, _ watch: ReplacementWatch
  ) throws(Errno) -> (stored: UInt64, seen: UInt64) {
    switch self {
    case .encrypting(let surroundings, let budget):
      let sealed = try SealedFile(
        BackingStore(work), in: surroundings, budget: budget)
      try encrypt(source.descriptor, size, to: sealed, on: work.descriptor, watch)
      return (try sealed.settleForGood(), sealed.size)
    case .decrypting(let surroundings, let budget):
      let sealed = try SealedFile(BackingStore(source), in: surroundings, budget: budget)
      try decrypt(sealed, to: work.descriptor, watch)
      return (sealed.size, sealed.size)
    case .compressing(let level):
      let stored = try FrameWriting.compress(
        source.descriptor, size, level: level, to: work.descriptor, watch)
      return (stored, size)
    case .expanding(let frames):
      try FrameWriting.expand(source.descriptor, frames, to: work.descriptor, watch)
      return (frames.table.logicalSize, frames.table.logicalSize)
    }
  }

  private func encrypt(
    _ source: borrowing Descriptor, _ size: UInt64, to sealed: SealedFile<BackingStore>,
    on work: borrowing Descriptor, _ watch: ReplacementWatch
  ) throws(Errno) {
    // Nothing to encrypt is no content of a work file.
    guard size > 0 else { throw .invalid }
    var buffer = [UInt8](repeating: 0, count: Int(min(size, 256 << 10)))
    var bytes = buffer.mutableSpan
    defer { bytes.wipe() }
    var position: UInt64 = 0
    var written = WriteBack()
    while let data = try SparseCopy.data(in: source, from: position, to: size) {
      // Whole blocks: a block that is written twice would have an old version.
      position = max(position, data.lowerBound / UInt64(Block.size) * UInt64(Block.size))
      let end = min(size, Block.count(data.upperBound) * UInt64(Block.size))
      while position < end {
        try watch.report(position, of: size)
        let count = Int(min(UInt64(bytes.count), end - position))
        var part = bytes._mutatingExtracting(0..<count)
        let offset = try Int64(checking: position)
        // Who changes it meanwhile is told apart by its change time, or here.
        guard try source.readFully(into: &part, at: offset) == count else { throw .busy }
        _ = try sealed.write(&part, at: .offset(offset))
        position += UInt64(count)
        try written.add(count, of: work)
      }
    }
    if sealed.size < size { try sealed.truncate(to: size) }
    try watch.report(size, of: size)
  }

  private func decrypt(
    _ sealed: SealedFile<BackingStore>, to work: borrowing Descriptor, _ watch: ReplacementWatch
  ) throws(Errno) {
    let size = sealed.size
    var scratch = try SecretBytes.make(count: 64 << 10)
    try scratch.withMutableBytes { (bytes) throws(Errno) in
      var position: UInt64 = 0
      var written = WriteBack()
      while let data = try NewBody.data(in: sealed, from: position) {
        position = data.lowerBound
        while position < data.upperBound {
          try watch.report(position, of: size)
          let count = Int(min(UInt64(bytes.count), data.upperBound - position))
          var part = bytes._mutatingExtracting(0..<count)
          guard try sealed.read(at: position, into: &part) == count else { throw .inputOutput }
          try work.writeAll(part.span, at: try Int64(checking: position))
          position += UInt64(count)
          try written.add(count, of: work)
        }
      }
    }
    try work.truncate(to: size)
    try watch.report(size, of: size)
  }

  private static func data(
    in sealed: SealedFile<BackingStore>, from position: UInt64
  ) throws(Errno) -> Range<UInt64>? {
    guard position < sealed.size else { return nil }
    do throws(Errno) {
      let start = try sealed.seek(from: position, .data)
      return start..<(try sealed.seek(from: start, .hole))
    } catch .noDevice {
      return nil
    }
  }
}

/// Brings a work file to the disk while it is written: an fsync at the end that takes a minute could not be interrupted.
struct WriteBack {
  private var waiting = 0

  mutating func add(_ count: Int, of work: borrowing Descriptor) throws(Errno) {
    waiting += count
    guard waiting >= 32 << 20 else { return }
    waiting = 0
    try work.sync(dataOnly: true)
  }
}

extension SealedFile {
  /// Commits everything, and lets the last slot say so; how long the backing file is then.
  ///
  /// So damage is damage afterwards, also while the session counts as one that did not end: nothing in such a file was
  /// ever not synced. The slot itself needs a sync still.
  fileprivate func settleForGood() throws(Errno) -> UInt64 {
    try commit()
    _ = try changing { (cipher) throws(Errno) -> Bool? in
      try writeSlot(&cipher)
      return true
    }
    _ = try close()
    return try store.size()
  }
}
