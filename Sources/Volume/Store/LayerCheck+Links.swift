// The index of hard links: whether its entries are what they are called after, and count the names that there are.
//
// A count is a sum over names that cannot all be seen: names outside the lower, and those that a layer between or a closed
// directory covers, go on counting. So it is held against the fewest and the most names that there can be.

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat

extension LayerCheck {
  /// An entry that is what it is called after.
  struct Entry {
    let name: IndexName
    let object: SharedDescriptor
    let status: FileStatus
    var record: CoreRecord
    let links: CoreRecord.LinkCount
    /// How many names the lowers show of the item; nil as long as none of them was seen.
    var lowerLinks: UInt32?
    /// Names in lowers that show.
    var shown: UInt32 = 0
    /// Names in lowers in whose place the upper has something, a mark that they were removed or the item itself.
    var covered: UInt32 = 0

    /// It took the item's place, and does not only count.
    var isObject: Bool { links.base == .upper }
    /// The entry is one name of its inode.
    var upperNames: Int64 { isObject ? max(Int64(status.linkCount) - 1, 0) : 0 }
  }

  private static let index = Array(".varve/index".utf8)

  // MARK: What entries are

  mutating func checkIndex(_ found: (LayerFinding) -> Void) throws(Errno) {
    let index = LinkIndex(of: inspection.directory)
    try index.look()
    var inodes: [Source: UInt64] = [:]
    if let directory = index.directory {
      let names = try directory.openListingAside().descriptor.descriptor.names()
      for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        switch try entry(name, in: directory) {
        case .failure(let doubt): found(unbelieved(name, in: directory, doubt.words))
        case .success(let entry):
          let source = Source(tag: entry.name.tag, inode: entry.name.inode, generation: entry.name.generation)
          inodes[source] = entry.status.inode
          guard let home = stack.layer(0)?.store.numbers?.tags[entry.name.tag] else {
            homeless.append(entry)
            continue
          }
          indexed[ItemOrigin(home: home, inode: entry.name.inode, generation: entry.name.generation)] = entry
        }
      }
    }
    for (source, claim) in linked.sorted(by: { $0.value.path.lexicographicallyPrecedes($1.value.path) })
    where inodes[source] != claim.inode {
      found(unindexed(source, claim))
    }
  }

  private struct Doubt: Error {
    let words: String
  }

  /// Reads an entry; why it is not believed, if it is not.
  private mutating func entry(
    _ bytes: [UInt8], in directory: LayerDirectory
  ) throws(Errno) -> Result<Entry, Doubt> {
    guard let name = IndexName(bytes.span) else {
      return .failure(Doubt(words: "is not the name of an entry of the index of hard links"))
    }
    let found = try FileName.with(bytes) { bytes throws(Errno) in try directory.findHeld(bytes) }
    let stored = try stack.record(of: found.descriptor, in: 0)
    guard found.status.kind != .directory, stored.soundness == .sound, var origin = stored.core.origin,
      let links = stored.core.links,
      IndexName(origin) == name
    else { return .failure(Doubt(words: "does not say that it stands for what it is called after")) }
    var record = stored.core
    if !origin.isOf(inode: found.status.inode, generation: found.status.generation) {
      guard inspection.isRestored else {
        return .failure(Doubt(words: "is a copy that was made behind the mount"))
      }
      // One that has other names was met by them.
      if found.status.linkCount == 1 { renewable += 1 }
      if renewsOrigins { try renewOrigin(of: found.descriptor, found.status, record, origin) }
      (origin.ownInode, origin.ownGeneration) = (found.status.inode, found.status.generation)
      record.origin = origin
    }
    return .success(
      Entry(
        name: name, object: found.descriptor, status: found.status, record: record, links: links))
  }

  private func path(_ name: [UInt8]) -> [UInt8] { LayerCheck.index.path(to: name) }

  /// What it holds may be all that is left of a file.
  private func unbelieved(
    _ name: [UInt8], in directory: LayerDirectory, _ words: String
  ) -> LayerFinding {
    let volume = inspection.directory
    return LayerFinding(
      kind: .index, path: path(name), text: "\(words), and is not used", remedy: "move it to '.varve/trash'"
    ) { () throws(Errno) in try volume.rescue(name, from: directory) }
  }

  /// An item that counts names by an entry that is not there.
  private func unindexed(_ source: Source, _ claim: Claim) -> LayerFinding {
    let check = self
    return LayerFinding(
      kind: .index, path: claim.path,
      text:
        "its entry in the index of hard links is missing, so other names of it may show what it was before",
      remedy: "enter it again"
    ) { () throws(Errno) in
      let object = try check.object(at: claim.path)
      guard try object.descriptor.status().inode == claim.inode else { throw .stale }
      let index = LinkIndex(of: check.inspection.directory)
      let name = IndexName(tag: source.tag, inode: source.inode, generation: source.generation)
      try index.makeRoom(for: name)
      let directory = try index.made()
      try FileName.with(name.bytes) { name throws(Errno) in try directory.link(object, as: name) }
    }
  }

  // MARK: What they count

  /// Counts the names of items that have an entry, in one directory.
  mutating func countNames(_ parts: [LayerPart], _ path: [UInt8]) throws(Errno) {
    let upper = parts.first.flatMap { $0.layer == 0 ? LayerDirectory($0) : nil }
    var seen: Set<[UInt8]> = []
    for part in parts where part.layer > 0 {
      let place = LayerDirectory(part)
      for name in try names(of: part, at: path) where seen.insert(name).inserted {
        do throws(Errno) {
          try FileName.with(name) { bytes throws(Errno) in
            guard let item = try meet(bytes, in: place) else { return }
            if try upper?.look(bytes) == nil {
              indexed[item]?.shown += 1
            } else {
              indexed[item]?.covered += 1
            }
          }
        } catch {
          try LayerCheck.passOver(error)
        }
      }
    }
  }

  /// Looks for items whose names nobody sees: in all that a lower has.
  mutating func look(
    forUnseen parts: [LayerPart], _ path: [UInt8]
  ) throws(Errno) -> [[UInt8]] {
    guard let part = parts.first else { return [] }
    let place = LayerDirectory(part)
    var directories: [[UInt8]] = []
    for name in try names(of: part, at: path) {
      do throws(Errno) {
        try FileName.with(name) { bytes throws(Errno) in
          if try place.look(bytes)?.kind == .directory {
            directories.append(name)
          } else {
            _ = try meet(bytes, in: place)
          }
        }
      } catch {
        try LayerCheck.passOver(error)
      }
    }
    return directories
  }

  /// Which item with an entry has this name in a lower.
  private mutating func meet(
    _ name: borrowing FileName, in place: LayerDirectory
  ) throws(Errno) -> ItemOrigin? {
    guard let status = try place.look(name), !status.isWhiteout, status.kind != .directory,
      let store = stack.layer(place.layer)?.store, let numbers = store.numbers
    else { return nil }
    var record = CoreRecord()
    if !numbers.tags.isEmpty {
      record = try store.record(of: status) { attribute throws(Errno) in
        try place.attribute(attribute, of: name)
      }.core
    }
    guard let item = numbers.origin(of: status, record), let entry = indexed[item] else { return nil }
    if entry.lowerLinks == nil {
      let trace = try stack.trace(status, in: place.layer, isIndexed: true) { record }
      indexed[item]?.lowerLinks = trace?.state.lowerLinks ?? status.linkCount
    }
    return item
  }

  func checkCounts(_ found: (LayerFinding) -> Void) {
    let entries = indexed.values.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    for entry in homeless.sorted(by: { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }) {
      if let finding = moved(entry) { found(finding) }
    }
    for entry in entries {
      guard let lowerLinks = entry.lowerLinks else {
        found(moved(entry) ?? needless(entry, "stands for an item that the lowers do not have any more"))
        continue
      }
      let base = entry.isObject ? Int64(entry.status.linkCount) : Int64(lowerLinks)
      let counted = base + Int64(entry.links.difference)
      let fewest = entry.upperNames + Int64(entry.shown)
      let unseen = max(Int64(lowerLinks) - Int64(entry.shown) - Int64(entry.covered), 0)
      let right = min(max(counted, fewest), fewest + unseen)
      if right == 0 {
        found(needless(entry, "stands for an item that has no name any more"))
      } else if right != counted {
        found(miscounted(entry, counted, right, base))
      }
    }
  }

  private func miscounted(
    _ entry: Entry, _ counted: Int64, _ right: Int64, _ base: Int64
  ) -> LayerFinding {
    let check = self
    return LayerFinding(
      kind: .links, path: path(entry.name.bytes),
      text: "counts \(counted) names of an item that has \(right)",
      remedy: "correct the count"
    ) { () throws(Errno) in
      guard let difference = Int32(exactly: right - base) else { throw .invalid }
      var record = entry.record
      record.links = CoreRecord.LinkCount(difference, relativeTo: entry.links.base)
      try check.write(record, to: entry.object)
    }
  }

  /// What only counts goes; what has content that no other name leads to is kept.
  private func needless(_ entry: Entry, _ words: String) -> LayerFinding {
    let check = self
    let isLastName = entry.isObject && entry.upperNames == 0
    return LayerFinding(
      kind: .links, path: path(entry.name.bytes), text: words,
      remedy: isLastName ? "move it to '.varve/trash'" : "remove the entry"
    ) { () throws(Errno) in
      guard let directory = try LinkIndex.opened(of: check.inspection.directory) else { throw .stale }
      if isLastName { return try check.inspection.directory.rescue(entry.name.bytes, from: directory) }
      if entry.isObject {
        // From here on its own names are all that it has.
        var record = entry.record
        record.links = nil
        try check.write(record, to: entry.object)
      }
      try FileName.with(entry.name.bytes) { name throws(Errno) in
        try directory.remove(name, isDirectory: false)
      }
    }
  }
}

extension LinkIndex {
  fileprivate static func opened(of volume: VolumeDirectory) throws(Errno) -> LayerDirectory? {
    let index = LinkIndex(of: volume)
    try index.look()
    return index.directory
  }
}
