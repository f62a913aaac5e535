// The index of a layer: what became of objects of lower layers that have several names.
//
// Names of one object are one item. Once one of them is brought up, the others still lead to the object in the lower: the
// entry that is called after it says which inode took its place.

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

/// The index of one layer.
final class LinkIndex: Sendable {
  /// Opens the directory; `true`: makes it if there is none.
  private let open: @Sendable (Bool) throws(Errno) -> LayerDirectory?
  /// Puts aside what has a name in it and is no entry.
  private let setAside: @Sendable ([UInt8], LayerDirectory) throws(Errno) -> Void
  private let opened: Mutex<LayerDirectory?> = Mutex(nil)
  private let entries = Atomic(false)

  init(
    open: @escaping @Sendable (Bool) throws(Errno) -> LayerDirectory?,
    setAside: @escaping @Sendable ([UInt8], LayerDirectory) throws(Errno) -> Void = { _, _ in }
  ) {
    self.open = open
    self.setAside = setAside
  }

  /// Whether there may be an entry; while there is none, nobody looks for one.
  var mayHaveEntries: Bool { entries.load(ordering: .acquiring) }

  /// Looks what there is, before anything is found; and again once nobody else can write to it.
  func look() throws(Errno) {
    guard let directory = try open(false) else { return }
    opened.withLock { $0 = directory }
    guard try directory.openListingAside().descriptor.descriptor.holdsName(otherThan: []) else { return }
    entries.store(true, ordering: .releasing)
  }

  var directory: LayerDirectory? { opened.withLock { $0 } }

  /// The directory, for a first entry; from now on everybody looks.
  func made() throws(Errno) -> LayerDirectory {
    entries.store(true, ordering: .releasing)
    if let directory { return directory }
    guard let directory = try open(true) else { throw .readOnly }
    opened.withLock { $0 = directory }
    return directory
  }

  /// Makes room for an entry where something stands that is none.
  func makeRoom(for name: IndexName) throws(Errno) {
    let directory = try made()
    let bytes = name.bytes
    let isTaken = try FileName.with(bytes) { name throws(Errno) in try directory.look(name) != nil }
    guard isTaken else { return }
    let text = String(decoding: bytes, as: UTF8.self)
    Log.damage("entry '\(text)' of the index is not believed; it is set aside")
    try setAside(bytes, directory)
  }
}

/// An entry that counts.
struct IndexEntry: Sendable {
  let layer: UInt8
  let name: IndexName
  let object: SharedDescriptor
  let status: FileStatus
  let record: StoredRecord
  let links: CoreRecord.LinkCount

  /// The inode that took the object's place, not only a count.
  var isObject: Bool { links.base == .upper }
}

/// What became of an object in a lower that has several names.
struct LinkTrace: Sendable {
  /// What its entries are called after.
  let origin: ItemOrigin
  /// How many names it has; ``LinkState/entry`` is that of the upper.
  var state: LinkState
  /// The topmost inode that took its place.
  var object: IndexEntry?
  /// The entry of the upper.
  var upper: IndexEntry?
}

extension LayerStack {
  /// Whether a layer above this one may have an entry for anything in it.
  func mayHaveEntries(above layer: UInt8) -> Bool {
    layers[..<min(Int(layer), layers.count)].contains { $0.index?.mayHaveEntries ?? false }
  }

  /// What became of an object; nil where it has one name and nothing took its place, or no tag to be called by.
  ///
  /// An object that has lost its other names behind the mount may have an entry still: its last name leads to what took its
  /// place, as all of them did.
  ///
  /// `isIndexed`: it is an entry of its layer, which may be its only name there. `record` is asked where it may have an
  /// origin.
  func trace(
    _ status: FileStatus, in layer: UInt8, isIndexed: Bool = false,
    record: () throws(Errno) -> CoreRecord
  ) throws(Errno) -> LinkTrace? {
    let hasNames = status.linkCount > 1 || isIndexed
    guard layer > 0, status.kind != .directory, hasNames || mayHaveEntries(above: layer),
      let numbers = self.layer(layer)?.store.numbers
    else { return nil }
    let record = numbers.tags.isEmpty ? CoreRecord() : try record()
    guard let origin = numbers.origin(of: status, record) else { return nil }
    let links = numbers.links(of: status, record)
    var trace = LinkTrace(origin: origin, state: LinkState(lowerLinks: links, entry: .none))
    for above in stride(from: Int(layer) - 1, through: 0, by: -1) {
      guard let entry = try entry(of: origin, in: UInt8(truncatingIfNeeded: above)),
        !entry.isObject || entry.status.kind == status.kind,
        let state = LinkState(
          lowerLinks: trace.state.lowerLinks, entryLinks: entry.status.linkCount, record: entry.links)
      else { continue }
      if entry.isObject { trace.object = entry }
      if above == 0 {
        trace.state = state
        trace.upper = entry
      } else {
        trace.state.lowerLinks = state.shown
      }
    }
    return hasNames || trace.object != nil ? trace : nil
  }

  /// The entry for an item in the index of a layer; nil if there is none that is to be believed, EIO if it is damaged.
  func entry(of origin: ItemOrigin, in number: UInt8) throws(Errno) -> IndexEntry? {
    guard let layer = self.layer(number), let index = layer.index, index.mayHaveEntries,
      let directory = index.directory, let numbers = layer.store.numbers
    else { return nil }
    for name in numbers.entryNames(of: origin) {
      let bytes = name.bytes
      let found = try FileName.with(bytes) { bytes throws(Errno) -> FoundObject? in
        guard try directory.look(bytes) != nil else { return nil }
        do throws(Errno) { return try directory.findHeld(bytes) } catch .noSuchFile { return nil }
      }
      guard let found else { continue }
      let record = try layer.store.record(of: found.status) { attribute throws(Errno) in
        try found.descriptor.descriptor.attribute(attribute)
      }
      // It may be what its item has become: what the lower has of that would be a guess.
      if record.soundness == .damaged { throw .inputOutput }
      guard let links = record.core.links,
        let own = numbers.countingOrigin(of: found.status, record.core),
        IndexName(own) == name
      else { continue }
      return IndexEntry(
        layer: number, name: name, object: found.descriptor, status: found.status, record: record,
        links: links)
    }
    return nil
  }
}
