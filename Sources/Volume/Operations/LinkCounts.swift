// Several names of one object in a lower: what is entered in the index of the upper, and how their count stays right.
//
// Names change first and the count after them, so a crash leaves it one too high, which `varve check` mends. A count
// that cannot be written is no failure of what was done to the names.

import LayerRules
import LinuxFiles
import RecordFormat

extension Volume {
  /// What became of an object that is about to be brought up; nil where it has one name, or is to have but one.
  func linkTrace(of source: HeldObject, in node: Node) throws(Errno) -> LinkTrace? {
    let status = source.facts.status
    let isIndexed = node.indexed != nil
    guard !node.isDirectory, status.linkCount > 1 || isIndexed, let stack = resolver.stack else { return nil }
    let trace = try stack.trace(status, in: node.layer, isIndexed: isIndexed) { source.facts.record }
    // Without a record it could not be told whose place it took. A link or a FIFO of a user's is brought up alone.
    guard store.canCarryRecord(status.kind) else { return nil }
    // Names that are left behind would be another object from now on.
    guard let trace, store.numbers?.entryNames(of: trace.origin).isEmpty == false else { throw .unsupported }
    // Another thread was faster; the operation finds that when it begins anew.
    guard trace.upper?.isObject != true else { throw .belowUpper }
    return trace
  }

  /// Makes room in the index for an object that is about to be entered, and tells a plan where.
  func enter(_ links: LinkTrace, _ runner: inout PlanRunner) throws(Errno) -> IndexedName {
    guard let index = resolver.stack?.layer(0)?.index,
      let name = links.upper?.name ?? store.numbers?.entryNames(of: links.origin).first
    else { throw .unsupported }
    // The index is the daemon's, whichever user owns the object.
    returnToRoot()
    if links.upper == nil { try index.makeRoom(for: name) }
    runner.index = UpperName(directory: try index.made(), name: name.bytes)
    return IndexedName(name, in: 0)
  }

  /// The names of an item have changed: writes down how many it has now.
  func settleCount(of links: LinkTrace, by change: Int32) {
    do throws(Errno) {
      try settle(links.origin, lowerLinks: links.state.lowerLinks, by: change)
    } catch {
      Log.error(
        "the count of names of an item stays one too high until 'varve check --repair' counts again: \(error)"
      )
    }
  }

  /// The same of an object of the upper, of which a name went.
  func settleCount(of facts: Facts) {
    guard let origin = store.numbers?.origin(of: facts.status, facts.record) else { return }
    settleCount(of: LinkTrace(origin: origin, state: LinkState(lowerLinks: 0, entry: .none)), by: 0)
  }

  private func settle(_ origin: ItemOrigin, lowerLinks: UInt32, by change: Int32) throws(Errno) {
    guard let stack = resolver.stack, let index = stack.layer(0)?.index else { return }
    let present = try stack.entry(of: origin, in: 0)
    var state = LinkState(lowerLinks: lowerLinks, entry: .none)
    if let present,
      let read = LinkState(
        lowerLinks: lowerLinks, entryLinks: present.status.linkCount, record: present.links)
    {
      state = read
    }
    guard let settled = state.settled(by: change), let stored = settled.stored else { return }
    guard !settled.isUnused else {
      if let present {
        try FileName.with(present.name.bytes) { name throws(Errno) in
          try index.made().remove(name, isDirectory: false)
        }
      }
      return
    }
    guard let present else { return try makeCountingEntry(for: origin, stored, in: index) }
    guard stored != present.links else { return }
    var record = present.record.core
    record.links = stored
    if let node = nodes.node(of: ObjectIdentity(present.status)) { forgetFacts(of: node) }
    try store.write(record, list: .keep, over: present.record, to: present.object.descriptor)
  }

  private func makeCountingEntry(
    for origin: ItemOrigin, _ count: CoreRecord.LinkCount, in index: LinkIndex
  ) throws(Errno) {
    guard let name = store.numbers?.entryNames(of: origin).first else { return }
    returnToRoot()
    try index.makeRoom(for: name)
    let directory = try index.made()
    let file = try directory.makeUnnamedFile(mode: 0o600)
    var record = CoreRecord()
    record.origin = CoreRecord.Origin(name, of: try file.descriptor.status())
    record.links = count
    try store.write(record, list: .keep, over: .none, to: file.descriptor)
    try FileName.with(name.bytes) { name throws(Errno) in try directory.link(file, as: name) }
  }

  /// Sees to it that a name is in the upper whose object is there already, by another of its names.
  func bringUp(_ name: borrowing FileName, in parent: Node) throws(Errno) {
    guard let found = try resolver.find(name, in: parent), leadsUp(found) else { return }
    let stripe = try number(of: found, name).stripe
    try locks.holding(LockRequests(.exclusive(parent.stripe), .exclusive(stripe))) { () throws(Errno) in
      guard let found = try resolver.find(name, in: parent), leadsUp(found), let links = found.links,
        let entry = links.object, replacements.mayWrite(), try number(of: found, name).stripe == stripe
      else { return }
      guard let upper = try upperPart(of: parent) else { throw .belowUpper }
      let before = try facts(of: parent)
      let runner = try planRunner(name, in: upper)
      let plan = CopyUp(
        .file(.none), names: .nextOfSeveral, parentIsImpure: before.record.isImpure)
      try publish(plan, runner, in: parent, upper, as: before, links) { entry.object }
    }
  }

  /// Whether a name in a lower leads to an object in the upper.
  func leadsUp(_ found: FoundName) -> Bool { found.layer == 0 && found.directory.layer != 0 }
}

extension CoreRecord.Origin {
  /// What stands for, or took the place of, what an entry is called after.
  init(_ name: IndexName, of own: FileStatus) {
    self.init(
      fileSystemTag: name.tag, inode: name.inode, generation: name.generation, ownInode: own.inode,
      ownGeneration: own.generation)
  }
}
