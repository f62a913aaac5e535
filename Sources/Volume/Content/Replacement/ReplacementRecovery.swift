// Replacements that were interrupted: finished, or dropped. It takes no key, and no walk of the tree: time is
// proportional to the work files that are left, and, if the file of any is not under its path, to the index of hard links.

package import LinuxFiles
package import RecordFormat

/// What became of the work files that a mount found.
struct ReplacementRecovery: Equatable {
  var redone = 0
  var dropped = 0
  /// Files whose class was being changed.
  var givenBack = 0
  /// The file was not found, is in use, or something is damaged.
  var kept = 0
}

extension ReplacementSite {
  private enum Outcome {
    case redone
    case dropped
    case kept(String)
  }

  /// Settles what is in the workshop, before the volume serves anybody.
  ///
  /// A work file whose file is neither under its path any more nor in the index is kept: its file finds it by its number when it is opened. Fails
  /// where a note of a change of class would stay.
  @discardableResult
  func recover(beneath root: SharedDescriptor) throws(Errno) -> ReplacementRecovery {
    var sum = ReplacementRecovery()
    // A mount that only reads settles nothing.
    guard hasWorkshop else { return sum }
    var index = indexedFiles
    sum.givenBack = try giveBackNoted(beneath: root, &index)
    let names: [[UInt8]]
    do throws(Errno) {
      names = try ReplacementFiles.names(in: try workshop())
    } catch {
      Log.error("replacements of content that a crash interrupted cannot be listed: \(error)")
      return sum
    }
    for name in names {
      let outcome: Outcome
      do throws(Errno) { outcome = try recover(name, beneath: root, &index) } catch {
        outcome = .kept("\(error)")
      }
      switch outcome {
      case .redone: sum.redone += 1
      case .dropped: sum.dropped += 1
      case .kept(let reason):
        sum.kept += 1
        Log.error(
          "the work file \(String(decoding: name, as: UTF8.self)) of a file whose content was being replaced "
            + "is kept: \(reason)")
      }
    }
    if sum.redone > 0 {
      Log.notice("replaced the content of \(Log.files(sum.redone)), which a crash interrupted")
    }
    return sum
  }

  private func recover(
    _ name: [UInt8], beneath root: SharedDescriptor, _ index: inout IndexedFiles
  ) throws(Errno) -> Outcome {
    let workshop = try workshop()
    guard let work = try ReplacementFiles.find(name, in: workshop, [.readWrite, .nonBlocking]) else {
      return .kept("it cannot be read")
    }
    if try work.descriptor.status().size == 0 {
      // It could not be removed, only emptied; or it is damaged, and no use.
      try ReplacementFiles.remove(name, from: workshop)
      return .dropped
    }
    // What has this name was whole once. It may be the only copy of its file's content.
    guard let trailer = try ReplacementSite.trailer(of: work.descriptor), trailer.name == name else {
      return .kept("it is damaged, or was made by a later version")
    }
    guard let object = try object(of: trailer, beneath: root, &index) else {
      return .kept("its file is not where it was")
    }
    let core = try record(of: object).core
    guard core.isReplacing else {
      try takeAway(work, [name], from: workshop)
      return .dropped
    }
    try finish(try half(object, core, work, trailer))
    return .redone
  }

  /// Steps 3 to 5, of a file that nobody is served meanwhile.
  private func finish(_ half: HalfReplaced) throws(Errno) {
    try copyOver(half)
    try settle(half)
  }

  /// The same for a file that is known by itself; does nothing to one that is not half replaced.
  func finish(_ object: SharedDescriptor) throws(Errno) {
    guard try record(of: object).core.isReplacing else { return }
    try finish(try halfReplaced(object))
  }

  /// What is left to do of a file whose content was half replaced, before it is opened; with the lock of its node.
  ///
  /// EIO where its work file is missing or damaged; EBUSY and others as when it was begun.
  func halfReplaced(_ object: SharedDescriptor) throws(Errno) -> HalfReplaced {
    // Open for writing, so that it can be emptied afterwards.
    guard let (work, trailer) = try newContent(of: object, [.readWrite, .nonBlocking]) else {
      let inode = try object.descriptor.status().inode
      Log.damage("inode \(inode): its content was being replaced, and the new content cannot be read")
      throw .inputOutput
    }
    ReplacementFiles.lock(work.descriptor)
    return try half(object, try record(of: object).core, work, trailer)
  }

  /// The work file of a file, and what it says; nil where it is missing or damaged.
  func newContent(
    of object: SharedDescriptor, _ flags: OpenFlags = [.readOnly, .nonBlocking]
  ) throws(Errno) -> (work: SharedDescriptor, trailer: ReplacementTrailer)? {
    let name = try object.descriptor.status().workName
    guard let work = try ReplacementFiles.find(name, in: try workshop(), flags),
      let trailer = try ReplacementSite.trailer(of: work.descriptor), try isObject(object, of: trailer)
    else { return nil }
    return (work, trailer)
  }

  private func half(
    _ object: SharedDescriptor, _ core: CoreRecord, _ work: SharedDescriptor, _ trailer: ReplacementTrailer
  ) throws(Errno) -> HalfReplaced {
    let isExpanded = trailer.body == .plain && core.isCompressed
    let file = try ReplacementSite.open(object, alone: !isExpanded)
    return HalfReplaced(file, from: work, trailer, at: self)
  }

  /// Nil if it cannot be believed.
  static func trailer(of work: borrowing Descriptor) throws(Errno) -> ReplacementTrailer? {
    let size = try work.status().size
    let count = min(size, UInt64(ReplacementTrailer.longest))
    let end = try work.read(upTo: Int(count), at: try Int64(checking: size - count))
    return try? ReplacementTrailer(decodingEndOf: end.span, fileSize: size)
  }

  /// The file of a work file or of a note: what has its path, or what only the index of hard links leads to.
  func object(
    of trailer: ReplacementTrailer, beneath root: SharedDescriptor, _ index: inout IndexedFiles
  ) throws(Errno) -> SharedDescriptor? {
    if let object = try ReplacementFiles.object(at: trailer.path, beneath: root),
      try isObject(object, of: trailer)
    {
      return object
    }
    guard let object = try index.file(trailer.inode), try isObject(object, of: trailer) else { return nil }
    return object
  }

  private func isObject(_ object: SharedDescriptor, of trailer: ReplacementTrailer) throws(Errno) -> Bool {
    let status = try object.descriptor.status()
    return status.kind == .regular && status.inode == trailer.inode
      && status.workGeneration == trailer.generation
  }
}

extension VolumeInspection {
  /// Whether the new content of a file that was half replaced is whole, so that a repair or the next mount for writing can
  /// finish it.
  package func hasNewContent(of file: SharedDescriptor) throws(Errno) -> Bool {
    try newContent(of: file) != nil
  }

  /// What the work file of a file says, if its new content is whole.
  ///
  /// Before anybody can write to a file whose content was replaced its work file is gone (`takeAway`). So for a file whose
  /// record is damaged one that is whole is the same content as that of the file, or the only whole one.
  package func newContent(of file: SharedDescriptor) throws(Errno) -> ReplacementTrailer? {
    // With its time of birth, by which the work file is called.
    let status = try file.descriptor.status()
    guard let workshop = try workshop(),
      let work = try ReplacementFiles.find(status.workName, in: workshop),
      let trailer = try ReplacementSite.trailer(of: work.descriptor), trailer.inode == status.inode,
      trailer.generation == status.workGeneration
    else { return nil }
    return trailer
  }

  /// Finishes a file whose content was half replaced, as the next mount for writing would; in a repair only.
  ///
  /// EIO where the new content is missing or damaged; EBUSY while anybody has the file open.
  package func finishReplacement(of file: SharedDescriptor) throws(Errno) {
    try requireLock()
    let opened = VolumeDirectory.Opened(directory: directory, lock: lock, workshop: try workshop())
    let live = LiveOptions(LiveSettings())
    let store = MetadataStore(
      namespace: namespace, records: RecordsExist(true) { throw Errno.readOnly },
      memory: RecordMemory(live, trustsChangeTimes: false), heads: SealedHeads())
    let site = ReplacementSite(
      of: VolumeDirectory(root: root, opened, header: .fresh(recordsIn: namespace)), store: store,
      lacksLock: { (try? self.requireLock()) == nil })
    try site.finish(file)
  }
}
