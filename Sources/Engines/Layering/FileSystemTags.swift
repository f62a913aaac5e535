// The file systems that held lowers, each with a tag that never means another one. Origins and entries of the index name
// objects by them, because device numbers change with every start of the machine.

/// An inode, with what tells it from a later one of the same number.
package struct InodeMark: Hashable, Sendable {
  package var inode: UInt64
  package var generation: UInt32

  package init(inode: UInt64, generation: UInt32) {
    self.inode = inode
    self.generation = generation
  }

  /// The value of the key `root`: two hexadecimal numbers.
  package var text: String { "\(String(inode, radix: 16)) \(String(generation, radix: 16))" }

  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    var words = WordCursor()
    guard let inode = words.hexadecimal(UInt64.self, of: bytes.span, until: UInt8(ascii: " ")),
      let generation = words.hexadecimal(UInt32.self, of: bytes.span, until: nil)
    else { return nil }
    self.init(inode: inode, generation: generation)
  }
}

extension InodeMark {
  /// What stands for a directory that cannot be told from others of its path: the number of no inode.
  package static let unknown = InodeMark(inode: 0, generation: 0)

  /// The value of the key `lower-roots`.
  package static func text(ofAll marks: [InodeMark]) -> String {
    marks.map(\.text).joined(separator: ":")
  }

  /// Nil if one of them is none.
  package static func marks(of text: String) -> [InodeMark]? {
    var marks: [InodeMark] = []
    for word in text.split(separator: ":", omittingEmptySubsequences: false) where !text.isEmpty {
      guard let mark = InodeMark(String(word)) else { return nil }
      marks.append(mark)
    }
    return marks
  }
}

/// What a file system says it is.
package enum FileSystemIdentifier: Hashable, Sendable {
  /// FS_IOC_GETFSUUID.
  case uuid(high: UInt64, low: UInt64)
  /// `f_fsid` of statfs.
  case number(UInt64)

  /// 32 digits for the one, 16 for the other.
  package var text: String {
    switch self {
    case .uuid(let high, let low): padded(high) + padded(low)
    case .number(let number): padded(number)
    }
  }

  package init?(_ text: String) {
    let digits = Array(text.utf8)
    guard digits.allSatisfy({ isDigit($0) }) else { return nil }
    switch digits.count {
    case 16: self = .number(Self.number(digits[...]))
    case 32: self = .uuid(high: Self.number(digits[..<16]), low: Self.number(digits[16...]))
    default: return nil
    }
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64 {
    digits.reduce(0) { number, digit in
      number << 4
        | UInt64(digit > UInt8(ascii: "9") ? digit - UInt8(ascii: "a") + 10 : digit - UInt8(ascii: "0"))
    }
  }
}

private func isDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
}

private func padded(_ number: UInt64) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: 16 - text.utf8.count) + text
}

/// A line `fs.TAG`: a file system, and the root and path of one lower on it.
package struct FileSystemEntry: Hashable, Sendable {
  package var tag: UInt32
  package var identifier: FileSystemIdentifier
  package var root: InodeMark
  package var path: [UInt8]

  package init(tag: UInt32, _ identifier: FileSystemIdentifier, root: InodeMark, path: [UInt8]) {
    self.tag = tag
    self.identifier = identifier
    self.root = root
    self.path = path
  }

  package static let keyPrefix = "fs."

  package var key: String { FileSystemEntry.keyPrefix + String(tag, radix: 16) }
  package var value: String { "\(identifier.text) \(root.text) \(StoredPath.text(of: path))" }

  /// Nil for any other key or value.
  package init?(key: String, value: String) {
    let name = Array(key.utf8)
    let prefix = Array(FileSystemEntry.keyPrefix.utf8)
    guard name.starts(with: prefix) else { return nil }
    var cursor = WordCursor()
    let digits = Array(name[prefix.count...])
    guard let tag = cursor.hexadecimal(UInt32.self, of: digits.span, until: nil), tag > 0 else { return nil }
    let words = value.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    guard words.count == 4, let identifier = FileSystemIdentifier(words[0]),
      let root = InodeMark("\(words[1]) \(words[2])"), let path = StoredPath.path(of: words[3]), !path.isEmpty
    else { return nil }
    self.init(tag: tag, identifier, root: root, path: path)
  }
}

/// All the file systems a volume knows.
package struct FileSystemTable: Hashable, Sendable {
  /// More than anybody has; a volume is not to grow with every removable disk it meets.
  package static let most = 100

  /// By tag, the lowest and so oldest first.
  package private(set) var entries: [FileSystemEntry]

  package init(_ entries: [FileSystemEntry] = []) {
    var seen: Set<UInt32> = []
    self.entries = entries.sorted { $0.tag < $1.tag }.filter { seen.insert($0.tag).inserted }
  }

  /// A lower that is about to be mounted.
  package struct Lower: Hashable, Sendable {
    package var identifier: FileSystemIdentifier
    /// Tells two file systems apart that say they are the same: a snapshot beside its original.
    package var device: UInt64
    package var root: InodeMark
    package var path: [UInt8]

    package init(_ identifier: FileSystemIdentifier, device: UInt64, root: InodeMark, path: [UInt8]) {
      self.identifier = identifier
      self.device = device
      self.root = root
      self.path = path
    }
  }

  /// The tag of each of these lowers; what is new enters the table.
  ///
  /// Lowers of one device have one tag. Nil where no tag is left: the lower's objects get no origin.
  package mutating func tags(of lowers: [Lower]) -> [UInt32?] {
    var tags: [UInt64: UInt32] = [:]
    var used: Set<UInt32> = []
    for find in [Self.byIdentifier, Self.byPath] {
      for lower in lowers where tags[lower.device] == nil {
        guard let place = find(self)(lower, lowers, used) else { continue }
        // Some file systems say another thing after each start.
        entries[place].identifier = lower.identifier
        tags[lower.device] = entries[place].tag
        used.insert(entries[place].tag)
      }
    }
    for lower in lowers where tags[lower.device] == nil {
      guard let tag = add(lower, keeping: used) else { continue }
      tags[lower.device] = tag
      used.insert(tag)
    }
    while entries.count > FileSystemTable.most,
      let oldest = entries.dropLast().firstIndex(where: { !used.contains($0.tag) })
    {
      entries.remove(at: oldest)
    }
    return lowers.map { tags[$0.device] }
  }

  private func byIdentifier(_ lower: Lower, _ lowers: [Lower], _ used: Set<UInt32>) -> Int? {
    let isShared = lowers.contains { $0.identifier == lower.identifier && $0.device != lower.device }
    // Once there were two that said they are the same, only the path can tell.
    let same = entries.indices.filter { entries[$0].identifier == lower.identifier }
    guard !isShared, same.count == 1, !used.contains(entries[same[0]].tag) else { return nil }
    return same[0]
  }

  private func byPath(_ lower: Lower, _ lowers: [Lower], _ used: Set<UInt32>) -> Int? {
    let free = entries.indices.filter {
      entries[$0].path == lower.path && entries[$0].root == lower.root && !used.contains(entries[$0].tag)
    }
    return free.first { entries[$0].identifier == lower.identifier } ?? free.first
  }

  private mutating func add(_ lower: Lower, keeping used: Set<UInt32>) -> UInt32? {
    let (tag, overflows) = (entries.last?.tag ?? 0).addingReportingOverflow(1)
    guard !overflows else { return nil }
    // A file that another program wrote may have more.
    while entries.count >= FileSystemTable.most {
      // Never the last one: its tag says which the next is.
      guard let oldest = entries.dropLast().firstIndex(where: { !used.contains($0.tag) }) else { return nil }
      entries.remove(at: oldest)
    }
    entries.append(FileSystemEntry(tag: tag, lower.identifier, root: lower.root, path: lower.path))
    return tag
  }
}
