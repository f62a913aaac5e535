// open(O_CREAT) and O_TMPFILE: a new file and a handle on it in one request.

import Decisions
import DirectoryModes
package import LinuxFiles
import RecordFormat

extension Volume {
  package func create(
    _ name: borrowing FileName, in parentID: NodeID, mode: UInt16, flags: OpenMode, for caller: Caller
  ) throws(Errno) -> (Entry, OpenAnswer) {
    let parent = try directory(of: name, in: parentID, for: caller)
    try handles.requireRoom(for: caller.user)
    do throws(Errno) {
      return try raising(for: caller, { [parent] }) { () throws(Errno) in
        try createNew(name, in: parent, mode: mode, flags: flags, for: caller)
      }
    } catch {
      guard error == .exists else { throw error }
    }
    if try isWhiteout(name, in: parent) {
      return try createNew(name, in: parent, mode: mode, flags: flags, for: caller, overWhiteout: true)
    }
    guard !flags.contains(.exclusive) else { throw .exists }
    // It appeared behind the kernel's back, or behind the mount: then this is an ordinary open.
    // ESTALE makes the kernel walk again: what is there is gone already, or nothing that CREATE can answer with.
    guard case .found(var entry) = try lookup(name, in: parentID, for: caller) else { throw .stale }
    do throws(Errno) {
      guard entry.attributes.kind == .regular else { throw .stale }
      let answer = try open(entry.node, flags, for: caller)
      // What was looked up may be from before the file was emptied.
      entry.attributeValidity = .none
      return (entry, answer)
    } catch {
      forget(entry.node, references: 1)
      // The kernel holds the directory's lock for this request. Walking again it finds the file and sends OPEN, for
      // which it holds none.
      throw error.delay == nil ? error : .stale
    }
  }

  private func createNew(
    _ name: borrowing FileName, in parent: Node, mode: UInt16, flags: OpenMode, for caller: Caller,
    overWhiteout: Bool = false
  ) throws(Errno) -> (Entry, OpenAnswer) {
    let lock: LockRequest = overWhiteout ? .exclusive(parent.stripe) : .shared(parent.stripe)
    return try locks.holding(lock) { () throws(Errno) in
      let above = try directoryFacts(parent)
      // Nothing is said of names to those who may not search.
      try gate.require(caller, .lookUp, on: above.item)
      let creation: Creation
      do throws(Errno) {
        creation = try self.creation(of: .regular, mode: mode, in: above, for: caller)
      } catch {
        // A caller who may not add here may still open what is there.
        guard error == .accessDenied || error == .notPermitted || error == .unsupported,
          ((try? resolver.find(name, in: parent)) ?? nil) != nil
        else { throw error }
        throw .exists
      }
      let directory =
        overWhiteout ? try requireUpperPart(of: parent) : try requireFree(name, in: parent)
      try requireKeyRoom(for: creation, by: caller)
      let file =
        overWhiteout
        ? try makeInPlaceOfWhiteout(
          name, in: parent, directory, creation,
          create: { (workshop, temporary) throws(Errno) in try workshop.makeFile(temporary, mode: 0o600) })
        : try newFile(name, in: directory, creation)
      let facts = try newFacts(file.descriptor.status(), creation)
      let node = referToNew(facts.brief, name, in: parent)
      return try handOut(node, file, facts, flags, in: above, for: caller)
    }
  }

  /// Shows the kernel a new file and opens it; if that fails, the kernel knows nothing of it.
  private func handOut(
    _ node: Node, _ file: SharedDescriptor, _ facts: Facts, _ flags: OpenMode, in above: Facts,
    for caller: Caller
  ) throws(Errno) -> (Entry, OpenAnswer) {
    do throws(Errno) {
      do throws(Errno) {
        try requireUnbuffered(file, flags)
      } catch {
        // It has its name already: a process that takes a lease on it in this moment must not have it made again.
        guard error.delay != nil else { throw error }
      }
      let answer = try register(file, node, facts, flags, for: caller)
      return (entry(node, facts.brief, in: above, for: caller), answer)
    } catch {
      forget(node.id, references: 1)
      throw error
    }
  }

  /// A new file under `name`, complete from the first moment it can be seen; EEXIST if the name exists.
  private func newFile(
    _ name: borrowing FileName, in directory: LayerDirectory, _ creation: Creation
  ) throws(Errno) -> SharedDescriptor {
    if creation.isPlain {
      return try actingAsOwner(creation) { () throws(Errno) in
        try directory.makeFile(name, mode: creation.item.mode.bits)
      }
    }
    guard features.makesUnnamedFiles else {
      return try finishedFile(creation) { (workshop, temporary) throws(Errno) in
        // Not by a rename: file systems without O_TMPFILE often have none that leaves what is there alone.
        try directory.link(try workshop.hold(temporary), as: name)
        Workshop.discard(temporary, isDirectory: false, in: workshop.descriptor.descriptor)
      }
    }
    let file = try unnamedFile(in: directory, creation)
    try directory.link(file, as: name)
    return file
  }

  /// A new file that is finished under a name in the workshop, where there is no O_TMPFILE.
  ///
  /// `publish` gives it the name it is made for, or takes the one it has.
  private func finishedFile(
    _ creation: Creation, publish: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) -> SharedDescriptor {
    try makeInWorkshop(
      creation,
      create: { (workshop, temporary) throws(Errno) in try workshop.makeFile(temporary, mode: 0o600) },
      publish: publish)
  }

  /// A new file that is complete but for a name.
  private func unnamedFile(
    in directory: LayerDirectory, _ creation: Creation
  ) throws(Errno) -> SharedDescriptor {
    guard isPrivileged, !creation.needsCorrection else {
      let file = try actingAsOwner(creation) { () throws(Errno) in try directory.makeUnnamedFile(mode: 0o600)
      }
      try complete(file.descriptor, as: creation)
      return file
    }
    let file = try actingAsOwner(creation) { () throws(Errno) in
      try directory.makeUnnamedFile(mode: creation.item.mode.bits)
    }
    try writeRecord(of: creation, to: file.descriptor)
    return file
  }

  /// O_TMPFILE.
  ///
  /// The right asked is that of making a file in the directory, where it may get a name later, if the file system
  /// below has such files.
  package func createUnnamed(
    in parentID: NodeID, mode: UInt16, flags: OpenMode, for caller: Caller
  ) throws(Errno) -> (Entry, OpenAnswer) {
    let parent = try directory(ofNames: parentID, for: caller)
    try handles.requireRoom(for: caller.user)
    return try raising(for: caller, { [parent] }) { () throws(Errno) in
      try createUnnamed(in: parent, mode: mode, flags: flags, for: caller)
    }
  }

  private func createUnnamed(
    in parent: Node, mode: UInt16, flags: OpenMode, for caller: Caller
  ) throws(Errno) -> (Entry, OpenAnswer) {
    try locks.holding(.shared(parent.stripe)) { () throws(Errno) in
      let above = try directoryFacts(parent)
      let creation = try creation(of: .regular, mode: mode, in: above, for: caller)
      let directory = try requireUpperPart(of: parent)
      try requireKeyRoom(for: creation, by: caller)
      let file =
        if features.makesUnnamedFiles {
          try unnamedFile(in: directory, creation)
        } else {
          // Without O_TMPFILE below it can get no name later: Linux gives none to what has lost its last.
          try finishedFile(creation) { (workshop, temporary) throws(Errno) in
            try workshop.remove(temporary, isDirectory: false)
          }
        }
      let facts = try newFacts(file.descriptor.status(), creation)
      let node = nodes.referToUnnamed(facts.slot, number: facts.number)
      // Until the kernel has forgotten it, its number must not be given to something else.
      unlinked.keep(node.attachment, by: file)
      if !features.makesUnnamedFiles, !features.keepsUnlinked {
        node.nameless = NamelessFile(
          facts.status, StoredFacts(facts.stored, facts.head), attributes: [:])
      }
      return try handOut(node, file, facts, flags, in: above, for: caller)
    }
  }
}
