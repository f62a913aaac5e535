// A compressed file by its table: reads of any range.

import CompressedFormat
import LinuxFiles
import Zstandard

/// The frames of one compressed file.
struct FrameFile: Sendable {
  let table: SeekTable
  let cache: FrameCache
  /// For the cache.
  private let number: UInt64
  /// Whether damage is to be written to the log.
  private let isLogged: @Sendable () -> Bool

  /// Reads and checks the table; nothing is allocated for it before what it says fits the file.
  ///
  /// EIO for damage, which is written to the log if `isLogged` says so.
  init(
    _ file: borrowing Descriptor, logicalSize: UInt64, _ cache: FrameCache,
    isLogged: @escaping @Sendable () -> Bool = { true }
  ) throws(Errno) {
    let status = try file.status()
    switch try FrameFile.table(of: file, storedSize: status.size, logicalSize: logicalSize) {
    case .success(let table): self.table = table
    case .failure(let damage):
      if isLogged() {
        Log.damage("inode \(status.inode): the table of the compressed content cannot be used: \(damage)")
      }
      throw .inputOutput
    }
    self.cache = cache
    number = cache.nextFile()
    self.isLogged = isLogged
  }

  /// The same for a caller that has the table, and tells of damage in another way.
  init(_ table: SeekTable, _ cache: FrameCache) {
    (self.table, self.cache) = (table, cache)
    number = cache.nextFile()
    isLogged = { false }
  }

  /// The table at the end of a file, or what is wrong with it.
  static func table(
    of file: borrowing Descriptor, storedSize: UInt64, logicalSize: UInt64
  ) throws(Errno) -> Result<SeekTable, SeekTableDamage> {
    let length = UInt64(SeekTableLayout.footerLength)
    guard storedSize >= length, storedSize <= UInt64(Int64.max) else { return .failure(.length) }
    let end = try file.read(upTo: Int(length), at: try Int64(checking: storedSize - length))
    let footer: SeekTableFooter
    do throws(SeekTableDamage) {
      footer = try SeekTableFooter(end.span, storedSize: storedSize, logicalSize: logicalSize)
    } catch {
      return .failure(error)
    }
    let bytes = try file.read(upTo: footer.tableLength, at: try Int64(checking: footer.tableOffset))
    do throws(SeekTableDamage) {
      return .success(try SeekTable(bytes.span, footer, logicalSize: logicalSize))
    } catch {
      return .failure(error)
    }
  }

  static let longestFrame = SeekTableLayout.longestFrame
  var frameCount: Int { table.frameCount }

  /// Which bytes of the content a frame holds.
  func range(ofFrame index: Int) -> Range<UInt64>? {
    table.frame(index).map { $0.rawOffset..<$0.rawOffset + UInt64($0.rawSize) }
  }

  /// Reads at the end and behind it answer less, or nothing; EIO for a frame that is not what it was.
  func read(
    _ file: borrowing Descriptor, at offset: UInt64, into bytes: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int {
    guard offset < table.logicalSize else { return 0 }
    let count = Int(min(UInt64(bytes.count), table.logicalSize - offset))
    var done = 0
    while done < count {
      guard let frame = table.frame(holding: offset + UInt64(done)) else { throw .inputOutput }
      let start = Int(offset + UInt64(done) - frame.rawOffset)
      let wanted = min(frame.rawSize - start, count - done)
      var part = bytes._mutatingExtracting(done..<count)
      if wanted == frame.rawSize {
        done += try expand(file, from: frame, into: &part)
      } else {
        var piece = part._mutatingExtracting(0..<wanted)
        try expanded(file, frame).copy(from: start, to: &piece)
        done += wanted
      }
    }
    return count
  }

  /// One frame, expanded now or lately.
  private func expanded(
    _ file: borrowing Descriptor, _ frame: SeekTable.Frame
  ) throws(Errno) -> ExpandedFrame {
    let key = FrameCache.Key(file: number, index: frame.index)
    if let known = cache.frame(key) { return known }
    let expander = try cache.takeExpander()
    defer { cache.giveBack(expander) }
    try load(file, frame.storedOffset, frame.storedSize, to: expander)
    guard let expanded = expander.expanded(0..<frame.storedSize, count: frame.rawSize) else {
      throw try damage(file, frame)
    }
    cache.keep(expanded, key)
    return expanded
  }

  /// Whole frames from one on, where they are wanted; how many bytes that made.
  private func expand(
    _ file: borrowing Descriptor, from first: SeekTable.Frame, into bytes: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int {
    let expander = try cache.takeExpander()
    defer { cache.giveBack(expander) }
    // As many as fit into one reading.
    var (stored, raw, last) = (first.storedSize, first.rawSize, first.index)
    while let next = table.frame(last + 1), stored + next.storedSize <= expander.room,
      raw + next.rawSize <= bytes.count
    {
      stored += next.storedSize
      raw += next.rawSize
      last = next.index
    }
    try load(file, first.storedOffset, stored, to: expander)
    for index in first.index...last {
      guard let frame = table.frame(index) else { throw .inputOutput }
      let from = Int(frame.storedOffset - first.storedOffset)
      let to = Int(frame.rawOffset - first.rawOffset)
      var part = bytes._mutatingExtracting(to..<to + frame.rawSize)
      guard expander.expand(from..<from + frame.storedSize, into: &part) else {
        throw try damage(file, frame)
      }
    }
    return raw
  }

  private func load(
    _ file: borrowing Descriptor, _ offset: UInt64, _ count: Int, to expander: FrameExpander
  ) throws(Errno) {
    guard count <= expander.room else { throw .inputOutput }
    let start = try Int64(checking: offset)
    var read = 0
    try expander.load(count) { (space) throws(Errno) in read = try file.readFully(into: &space, at: start) }
    // Cut off since the table was read.
    guard read == count else { throw .inputOutput }
  }

  private func damage(_ file: borrowing Descriptor, _ frame: SeekTable.Frame) throws(Errno) -> Errno {
    guard isLogged() else { return .inputOutput }
    let inode = try file.status().inode
    Log.damage(
      "inode \(inode): bytes \(frame.rawOffset) to \(frame.rawOffset + UInt64(frame.rawSize)) of the compressed "
        + "content are damaged")
    return .inputOutput
  }
}
