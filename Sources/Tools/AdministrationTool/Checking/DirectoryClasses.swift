// Which directories of a volume have lost their class: told by what is in them.

import Arguments
import LinuxFiles
import SealedFormat

/// Directories whose files are all of one class, and that may have lost theirs.
struct DirectoryClasses {
  private struct Seen {
    /// Nil where there are several, or a plain file.
    var protection: StaticSector.ProtectionClass?
    var hasLost: Bool

    mutating func add(_ other: Seen) {
      if protection != other.protection { protection = nil }
      hasLost = hasLost || other.hasLost
    }
  }

  /// A directory that is to get a class.
  struct Lost {
    let directory: Word
    let protection: StaticSector.ProtectionClass
    /// Not only directories, and empty files of which nothing tells the class.
    let holdsFiles: Bool
    /// Files in it without bytes and without a record, which may have lost their class with it.
    let empty: [Word]
  }

  private var unrecorded: [Word] = []
  private var empty: [Word: [Word]] = [:]
  private var seen: [Word: Seen] = [:]
  private var root: Word = []

  mutating func add(_ protection: StaticSector.ProtectionClass?, _ item: VisitedItem, isLost: Bool) {
    // What is encrypted and has another name may be at home there.
    guard item.depth > 0, protection == nil || item.status.linkCount == 1 else { return }
    root = item.location.root
    let directory = DirectoryClasses.directory(of: item)
    let file = Seen(protection: protection, hasLost: isLost)
    if seen[directory]?.add(file) == nil { seen[directory] = file }
  }

  /// A file that has nothing which tells what it was.
  mutating func addEmpty(_ item: VisitedItem) {
    guard item.depth > 0, item.status.linkCount == 1 else { return }
    empty[DirectoryClasses.directory(of: item), default: []].append(item.path)
  }

  /// A directory without a record.
  mutating func addBare(_ directory: VisitedItem) { unrecorded.append(directory.path) }

  /// Those of them with no file of a known class in them or below them: nothing tells what theirs was.
  var bare: [Word] {
    let holders = holders
    return unrecorded.filter { seen[$0] == nil && holders[$0] == nil }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  private static func directory(of item: VisitedItem) -> Word {
    let location = item.location
    return location.above.isEmpty ? location.root : joined(location.root, location.above)
  }

  /// In the order of their names.
  var lost: [Lost] {
    let found = seen.merging(holders) { own, _ in own }
    return found.compactMap { directory, entry in
      // Files may have kept, or got back, the marks that their directory has lost.
      let holdsFiles = seen[directory] != nil
      return entry.hasLost || holdsFiles
        ? entry.protection.map {
          Lost(
            directory: directory, protection: $0, holdsFiles: holdsFiles,
            empty: entry.hasLost ? empty[directory] ?? [] : [])
        } : nil
    }.sorted { $0.directory.lexicographicallyPrecedes($1.directory) }
  }

  /// The directories below the root that hold directories alone, by all that is below them.
  private var holders: [Word: Seen] {
    var holders: [Word: Seen] = [:]
    for (directory, entry) in seen {
      var above = directory
      while let end = above.lastIndex(of: slash), end > root.count {
        above = Word(above[..<end])
        if holders[above]?.add(entry) == nil { holders[above] = entry }
      }
    }
    return holders
  }
}
