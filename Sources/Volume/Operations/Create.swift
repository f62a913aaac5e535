// New objects. Nobody ever sees one with the wrong owner, mode, flags or without its inherited list.

import AccessControl
import Ciphers
import Decisions
import DirectoryModes
import FlagRules
import LayerRules
package import LinuxFiles
import RecordFormat

extension Volume {
  /// What a new object will be, decided before anything is made.
  struct Creation {
    var kind: FileKind
    var item: NewItem
    var record: CoreRecord
    var list: AccessList?
    /// The backing file system would give it an owner, a group or a setgid bit of its own choice.
    var needsCorrection: Bool

    /// Whether it can be made under its name right away, because a plain creation gets everything right.
    var isPlain: Bool { !hasRecord && !needsCorrection }

    var hasRecord: Bool { !record.isVoid || list != nil }

    /// What its attributes say once it is there.
    var stored: StoredRecord {
      guard hasRecord else { return .none }
      var core = record
      core.announce(list)
      return StoredRecord(core: core, list: list)
    }
  }

  /// What is true of what was just made.
  func newFacts(_ status: FileStatus, _ creation: Creation) -> Facts {
    store.facts(status, StoredFacts(creation.stored), of: nil)
  }

  /// The node of what was just given a name.
  func referToNew(_ found: BriefFacts, _ name: borrowing FileName, in parent: Node) -> Node {
    nameChanged(name, in: parent)
    return refer(to: found, name, in: parent)
  }

  /// Asked again when it is opened; but then it is there.
  func requireKeyRoom(for creation: Creation, by caller: Caller) throws(Errno) {
    if creation.record.isEncrypted {
      try handles.requireKeyRoom(for: caller.user, of: SecureHeap.fileKeys)
    }
  }

  /// Decides about a creation and works out what is born.
  ///
  /// Called with the parent's lock held.
  func creation(
    of kind: FileKind, mode: UInt16, in parent: Facts, for caller: Caller
  ) throws(Errno) -> Creation {
    let object = NewObject(kind)
    var judge = try gate.require(caller, .create(object), on: parent.item)
    let requested = Mode(mode)
    if judge.newItemHingesOnUnread(requested, in: parent.item) { judge = gate.informed(judge, caller) }
    var item = judge.newItem(requested, directory: object.isDirectory, in: parent.item)
    item.mode = keepingRecordsReadable(item.mode, of: kind)
    var record = CoreRecord()
    if store.canCarryRecord(kind) { record.flags = parent.item.flags.intersection(.fromParent) }
    if case .protecting = parent.item.content, kind == .regular || kind == .directory {
      record.protectionClass = parent.record.protectionClass
      record.isEncrypted = kind == .regular
    }
    let list: AccessList?
    do throws(TooManyEntries) {
      list = store.canCarryRecord(kind) ? try judge.inheritedList(object, from: parent.item) : nil
    } catch {
      throw .noMemory
    }
    let inheritsBelow = parent.status.mode & Mode.setGroup != 0
    // Beyond this machine it is made as root, whatever the store thinks of other users, and given away.
    let isGivenAway = isPrivileged && !isOfThisMachine && (item.user != 0 || item.group != 0)
    let needsCorrection =
      isGivenAway
      || inheritsBelow
        && (item.group != parent.status.group || (object.isDirectory && !item.mode.hasSetGroup))
    return Creation(kind: kind, item: item, record: record, list: list, needsCorrection: needsCorrection)
  }

  /// A mode that leaves the records within the reach of a daemon without privilege: `user.` attributes can be
  /// read only by those who may read the file itself.
  func keepingRecordsReadable(_ mode: Mode, of kind: FileKind) -> Mode {
    guard !isPrivileged, kind == .regular || kind == .directory else { return mode }
    return Mode(mode.bits | (kind == .directory ? 0o500 : 0o400))
  }

  // MARK: Nodes, directories, links

  package func makeNode(
    _ name: borrowing FileName, in parentID: NodeID, kind: FileKind, mode: UInt16, deviceMajor: UInt32,
    deviceMinor: UInt32, for caller: Caller
  ) throws(Errno) -> Entry {
    guard kind != .directory, kind != .symbolicLink else { throw .invalid }
    // Character device 0:0 is a whiteout: a mark of ours that nobody may forge.
    if kind == .characterDevice, deviceMajor == 0, deviceMinor == 0 { throw .reserved }
    let device = DeviceNumber(major: deviceMajor, minor: deviceMinor)
    return try make(name, in: parentID, kind: kind, mode: mode, for: caller) {
      (directory, name) throws(Errno) in
      try directory.makeNode(name, kind: kind, mode: mode & 0o7777, device: device)
    }
  }

  package func makeDirectory(
    _ name: borrowing FileName, in parentID: NodeID, mode: UInt16, for caller: Caller
  ) throws(Errno) -> Entry {
    try make(name, in: parentID, kind: .directory, mode: mode, for: caller) {
      (directory, name) throws(Errno) in
      try directory.makeDirectory(name, mode: mode & 0o7777)
    }
  }

  package func makeSymbolicLink(
    _ name: borrowing FileName, in parentID: NodeID, target: [UInt8], for caller: Caller
  ) throws(Errno) -> Entry {
    try make(name, in: parentID, kind: .symbolicLink, mode: 0o777, for: caller) {
      (directory, name) throws(Errno) in
      try directory.makeSymbolicLink(name, target: target)
    }
  }

  /// The story all of them share: decide, make, show.
  private func make(
    _ name: borrowing FileName, in parentID: NodeID, kind: FileKind, mode: UInt16, for caller: Caller,
    using create: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) -> Entry {
    let parent = try directory(of: name, in: parentID, for: caller)
    do throws(Errno) {
      return try raising(for: caller, { [parent] }) { () throws(Errno) in
        try make(name, in: parent, kind: kind, mode: mode, for: caller, using: create)
      }
    } catch {
      guard error == .exists, try isWhiteout(name, in: parent) else { throw error }
    }
    return try makeOverWhiteout(name, in: parent, kind: kind, mode: mode, for: caller, using: create)
  }

  private func make(
    _ name: borrowing FileName, in parent: Node, kind: FileKind, mode: UInt16, for caller: Caller,
    using create: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) -> Entry {
    try locks.holding(.shared(parent.stripe)) { () throws(Errno) in
      let above = try directoryFacts(parent)
      let creation = try creation(of: kind, mode: mode, in: above, for: caller)
      let directory = try requireFree(name, in: parent)
      let isExact = creation.item.mode.bits == mode & 0o7777 || kind == .symbolicLink
      if creation.isPlain, isExact {
        try actingAsOwner(creation) { () throws(Errno) in try create(directory, name) }
      } else {
        try makeInWorkshop(
          creation,
          create: { (workshop, temporary) throws(Errno) in
            try create(workshop, temporary)
            return nil
          }
        ) { (workshop, temporary) throws(Errno) in
          try moveName(
            temporary, in: workshop, to: directory, as: name, .noReplace, isDirectory: kind == .directory)
        }
      }
      guard let status = try directory.find(name) else { throw .noSuchFile }
      let facts = newFacts(status, creation)
      return entry(referToNew(facts.brief, name, in: parent), facts.brief, in: above, for: caller)
    }
  }

  /// The directory that a new name goes to; EEXIST if a layer has the name, or the upper says that it is gone.
  ///
  /// In a directory that only the upper has, the system tells when it is made.
  func requireFree(_ name: borrowing FileName, in parent: Node) throws(Errno) -> LayerDirectory {
    guard resolver.stack != nil else { return try resolver.directory(parent) }
    let parts = try resolver.parts(parent)
    guard parts.isMerged || parts.top.layer != 0 else { return LayerDirectory(parts.top) }
    switch try Found<FileStatus>.find(name, in: parts.all[...]) {
    case .file, .directory: throw .exists
    case .removed(let part) where parts.all[part].layer == 0: throw .exists
    case .missing, .removed: return try requireUpperPart(of: parent)
    }
  }

  /// Whether the upper says that a name is gone, and so looks taken to the system.
  func isWhiteout(_ name: borrowing FileName, in parent: Node) throws(Errno) -> Bool {
    guard let directory = try upperPart(of: parent) else { return false }
    return try directory.look(name)?.isWhiteout ?? false
  }

  /// The same where the upper has a whiteout: replaced in one call, so that nothing of a lower shows in between.
  private func makeOverWhiteout(
    _ name: borrowing FileName, in parent: Node, kind: FileKind, mode: UInt16, for caller: Caller,
    using create: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) -> Entry {
    try locks.holding(.exclusive(parent.stripe)) { () throws(Errno) in
      let above = try directoryFacts(parent)
      let creation = try creation(of: kind, mode: mode, in: above, for: caller)
      let directory = try requireUpperPart(of: parent)
      try makeInPlaceOfWhiteout(name, in: parent, directory, creation) {
        (workshop, temporary) throws(Errno) in
        try create(workshop, temporary)
        return nil
      }
      guard let status = try directory.find(name) else { throw .noSuchFile }
      let facts = newFacts(status, creation)
      return entry(referToNew(facts.brief, name, in: parent), facts.brief, in: above, for: caller)
    }
  }

  /// Under the exclusive lock of the directory; EEXIST if the name has been taken since the whiteout was seen.
  @discardableResult func makeInPlaceOfWhiteout(
    _ name: borrowing FileName, in parent: Node, _ directory: LayerDirectory, _ creation: Creation,
    create: (LayerDirectory, borrowing FileName) throws(Errno) -> SharedDescriptor?
  ) throws(Errno) -> SharedDescriptor {
    let facts: NameFacts
    do throws(Errno) { facts = try nameFacts(name, in: parent, nil) } catch {
      guard error == .stale, try resolver.find(name, in: parent) != nil else { throw error }
      throw .exists
    }
    let place = ParentFacts(isUp: true, isImpure: true)
    let steps = try steps(
      creation.kind == .directory
        ? MakingPlan.directory(facts, in: place) : MakingPlan.object(facts, in: place))
    var runner = try planRunner(name, in: directory)
    return try makeInWorkshop(creation, create: create) { (_, temporary) throws(Errno) in
      runner.work = temporary.copy()
      try runner.run(steps) { step throws(Errno) in
        // That is what is in the workshop.
        guard step == .make(.work) else { throw .inputOutput }
      }
    }
  }

  /// Makes an object under a name of our own, completes it, and only then publishes it.
  ///
  /// `create` returns the object if it is open already, and the object is what is returned.
  @discardableResult func makeInWorkshop(
    _ creation: Creation, create: (LayerDirectory, borrowing FileName) throws(Errno) -> SharedDescriptor?,
    publish: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) -> SharedDescriptor {
    guard let workshop = directory.workshop.map({ LayerDirectory($0) }) else { throw .readOnly }
    let temporary = Workshop.nextName()
    return try FileName.with(temporary) { temporary throws(Errno) in
      let made = try actingAsOwner(creation) { () throws(Errno) in try create(workshop, temporary) }
      var held = made
      do throws(Errno) {
        let object = if let made { made } else { try workshop.hold(temporary) }
        held = object
        try complete(object.descriptor, as: creation)
        // A directory that moves has its `..` rewritten, for which Linux wants it writable. So a caller who has no
        // privilege narrows it afterwards; until then nobody but its owner may do more.
        let narrowsLater =
          !isPrivileged && creation.kind == .directory && creation.item.mode.bits & 0o200 == 0
        if narrowsLater { try object.descriptor.changeMode(creation.item.mode.bits | 0o200) }
        try publish(workshop, temporary)
        if narrowsLater { object.giveBack(mode: creation.item.mode.bits) }
        return object
      } catch {
        // What another program put into its place is not ours.
        if let held, let there = try? workshop.look(temporary), let ours = try? held.descriptor.status(),
          (there.device, there.inode) != (ours.device, ours.inode)
        {
          throw error
        }
        Workshop.discard(
          temporary, isDirectory: creation.kind == .directory, in: workshop.descriptor.descriptor)
        throw error
      }
    }
  }

  /// Renames; without RENAME_NOREPLACE below nothing is replaced either, and without RENAME_EXCHANGE nothing exchanged.
  ///
  /// A directory is moved to a name under which nothing was found: the kernel lets nobody else use the two directories of a
  /// rename or a creation meanwhile. Behind the mount an empty one may be made there in that moment, and is replaced.
  func moveName(
    _ name: borrowing FileName, in from: LayerDirectory, to directory: LayerDirectory,
    as newName: borrowing FileName, _ flags: RenameFlags, isDirectory: Bool
  ) throws(Errno) {
    // What others answer to what they do not know is not always that.
    guard flags != .exchange || features.exchangesNames else { throw .invalid }
    guard flags == .noReplace, !features.renamesOntoNothing else {
      return try from.rename(name, to: directory, as: newName, flags)
    }
    guard !isDirectory else {
      guard try directory.look(newName) == nil else { throw .exists }
      return try from.rename(name, to: directory, as: newName, [])
    }
    let object = try from.hold(name)
    try directory.link(object, as: newName)
    do throws(Errno) {
      try from.remove(name, isDirectory: false)
    } catch {
      try? directory.remove(newName, isDirectory: false)
      throw error
    }
  }

  /// Gives an object that nobody can see yet everything it is born with.
  func complete(_ object: borrowing Descriptor, as creation: Creation) throws(Errno) {
    if isPrivileged {
      try object.changeOwner(user: creation.item.user, group: creation.item.group)
    }
    // The mode comes last: without privilege a record cannot be written to what its owner may not write.
    try writeRecord(of: creation, to: object)
    if creation.kind != .symbolicLink { try object.changeMode(creation.item.mode.bits) }
  }

  func writeRecord(of creation: Creation, to object: borrowing Descriptor) throws(Errno) {
    guard creation.hasRecord else { return }
    try store.write(creation.record, list: creation.list.map { .store($0) } ?? .keep, over: .none, to: object)
  }
}

extension NewObject {
  fileprivate init(_ kind: FileKind) {
    switch kind {
    case .regular: self = .file
    case .fifo, .socket: self = .pipe
    case .directory: self = .directory
    case .symbolicLink: self = .symbolicLink
    case .characterDevice, .blockDevice: self = .device
    }
  }
}
