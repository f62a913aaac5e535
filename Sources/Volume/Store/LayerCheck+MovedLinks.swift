// Entries of the index of hard links after the lowers were moved or restored: their files have other numbers then.
//
// While an entry stands for nothing, the other names of its item show what the lower has, and to those whom a list of the item
// refuses. So it is never removed on the word that another directory does not have its item.

import LayerRules
import LinuxFiles
import RecordFormat

extension LayerCheck {
  /// Notes which file of the lowers has the name of an item that has an entry, and its content.
  ///
  /// By the name alone another item would be found, if the item was renamed to a name that another one had.
  mutating func noteCovered(
    _ name: borrowing FileName, _ status: FileStatus, _ parts: DirectoryParts, _ closing: Mark<Bool>
  ) throws(Errno) {
    guard hasLowers, case .says(false) = closing,
      let below = try FoundName(name, in: parts.all.dropFirst() + parts.hidden[...]),
      below.status.kind == status.kind,
      below.status.linkCount > 1, try isUnchanged(name, status, in: LayerDirectory(parts.top), since: below),
      let store = stack.layer(below.directory.layer)?.store,
      let numbers = store.numbers
    else { return }
    var record = CoreRecord()
    if !numbers.tags.isEmpty {
      record = try store.record(of: below.status) { attribute throws(Errno) in
        try below.directory.attribute(attribute, of: name)
      }.core
    }
    guard let item = numbers.origin(of: below.status, record) else { return }
    covered[status.inode, default: []].insert(item)
  }

  /// Whether a file of the upper has the bytes and the time of modification of one of a lower.
  private func isUnchanged(
    _ name: borrowing FileName, _ status: FileStatus, in place: LayerDirectory, since below: FoundName
  ) throws(Errno) -> Bool {
    guard status.kind == .regular, status.size == below.status.size,
      status.modification == below.status.modification
    else { return false }
    let upper = try LayerDirectory.openForALook(try place.hold(name))
    let lower = try LayerDirectory.openForALook(try below.directory.hold(name))
    let step = 1 << 20
    var offset: Int64 = 0
    while true {
      let bytes = try upper.read(upTo: step, at: offset)
      guard try lower.read(upTo: step, at: offset) == bytes else { return false }
      if bytes.count < step { return true }
      offset += Int64(step)
    }
  }

  /// What to say of an entry whose item is not found, where it may be elsewhere; nil where it is gone.
  func moved(_ entry: Entry) -> LayerFinding? {
    guard entry.isObject else { return nil }
    let path = Array(".varve/index".utf8).path(to: entry.name.bytes)
    let items = covered[entry.status.inode] ?? []
    if items.count == 1, let item = items.first, indexed[item] == nil,
      let name = stack.layer(0)?.store.numbers?.entryNames(of: item).first
    {
      let check = self
      return LayerFinding(
        kind: .links, path: path,
        text:
          "stands for an item that the lowers have as another file now, so other names of it show what it was before",
        remedy: "let it stand for the file that has its names"
      ) { () throws(Errno) in try check.rename(entry, to: name) }
    }
    guard inspection.areOthers else { return nil }
    return LayerFinding(
      kind: .links, path: path,
      text:
        "stands for a file with several names that these lowers do not have: they are others than at the last mount, and "
        + "names of it that were not changed may show what it was before, without its list; it is kept",
      remedy: nil
    ) { () throws(Errno) in throw .unsupported }
  }

  /// A crash in between leaves two names of the object in the index, of which a check puts one aside.
  private func rename(_ entry: Entry, to name: IndexName) throws(Errno) {
    try inspection.directory.announceTags(inspection.fileSystems)
    let index = LinkIndex(of: inspection.directory)
    try index.look()
    try index.makeRoom(for: name)
    let directory = try index.made()
    try FileName.with(name.bytes) { name throws(Errno) in try directory.link(entry.object, as: name) }
    var record = entry.record
    record.origin = CoreRecord.Origin(name, of: entry.status)
    try write(record, to: entry.object)
    try FileName.with(entry.name.bytes) { name throws(Errno) in
      try directory.remove(name, isDirectory: false)
    }
  }
}
