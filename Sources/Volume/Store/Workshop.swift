// Names for objects that are not finished yet.

import LinuxFiles
import Synchronization

enum Workshop {
  /// What whiteouts are further names of.
  static let whiteout = Array("wh".utf8)

  private static let counter = Atomic<UInt64>(0)
  private static let process = RandomIdentifier.make().prefix(8)

  /// A name nobody else uses, not even a daemon that has lost the lock for writing and has not noticed it.
  static func nextName() -> [UInt8] {
    Array("t-\(process)-\(counter.add(1, ordering: .relaxed).newValue)".utf8)
  }

  /// What is a user's has this name in the workshop if it could not be moved to the trash; a mount does that.
  static func keptName(of name: [UInt8]) -> [UInt8] { Array("u-".utf8) + name }

  static func isKept(_ name: [UInt8]) -> Bool { name.starts(with: "u-".utf8) }

  /// Tries whether files can be made here that have no name yet (O_TMPFILE).
  ///
  /// File systems of user space and of the network often cannot, and say so with one error or another; kernels that do
  /// not know the flag open the directory (EISDIR). What the machine is only short of will be there later.
  static func makesUnnamedFiles(in workshop: borrowing Descriptor) -> Bool {
    do throws(Errno) {
      _ = try workshop.createUnnamed(mode: 0o600)
      return true
    } catch {
      return isShortage(error)
    }
  }

  private static func isShortage(_ error: Errno) -> Bool {
    [.noSpace, .quotaExceeded, .noMemory, .tooManyOpenFiles, .fileTableFull].contains(error)
  }

  static let unnamedFiles = "files without a name (O_TMPFILE)"

  /// Whether a file system says that it has none; any directory serves.
  ///
  /// What else may be wrong, as with a protected directory, is told by whoever needs one there.
  static func lacksUnnamedFiles(in directory: borrowing Descriptor) -> Bool {
    do throws(Errno) {
      _ = try directory.createUnnamed(mode: 0o600)
      return false
    } catch {
      return [.unsupported, .isDirectory, .invalid, .notImplemented].contains(error)
    }
  }

  /// Tries whether a rename can leave alone what is there (RENAME_NOREPLACE); EINVAL where it cannot.
  static func renamesOntoNothing(in workshop: SharedDescriptor) -> Bool {
    renames(.noReplace, ontoFile: false, in: workshop.descriptor)
  }

  /// Tries whether two names can change places (RENAME_EXCHANGE); EINVAL where they cannot.
  static func exchangesNames(in workshop: SharedDescriptor) -> Bool {
    renames(.exchange, ontoFile: true, in: workshop.descriptor)
  }

  private static func renames(
    _ flags: RenameFlags, ontoFile: Bool, in workshop: borrowing Descriptor
  ) -> Bool {
    let (first, second) = (nextName(), nextName())
    defer {
      for name in [first, second] {
        try? FileName.with(name) { name throws(Errno) in try workshop.removeFile(name) }
      }
    }
    do throws(Errno) {
      for name in ontoFile ? [first, second] : [first] {
        try FileName.with(name) { name throws(Errno) in _ = try workshop.createFile(name, mode: 0o600) }
      }
    } catch {
      // What is short now says nothing.
      return true
    }
    do throws(Errno) {
      try rename(first, second, flags, in: workshop)
      return true
    } catch {
      return ![.invalid, .unsupported, .notImplemented].contains(error)
    }
  }

  /// What became of an attempt to give a file another name.
  private enum Linking {
    case shown
    /// For a while the new name shows the file as it was, and what is appended then is written over other bytes.
    case outdated
    case impossible
  }

  /// Refuses a store in which a new file cannot be given a name without taking it from another one, or loses what is
  /// written to it then.
  static func requireSafeNames(in workshop: SharedDescriptor) throws(VolumeFailure) {
    guard !renamesOntoNothing(in: workshop) else { return }
    switch linking(in: workshop) {
    case .shown: return
    case .impossible:
      // Such stores (s3fs) keep no lock between machines either.
      throw VolumeFailure(
        "on a file system that has neither hard links nor RENAME_NOREPLACE; a new file could not be given its name there "
          + "without taking it from another one")
    case .outdated:
      throw VolumeFailure(
        "on a file system that for a while shows a linked file as it was (bindfs does without 'attr_timeout=0'); "
          + "what is appended to a new file could be lost there")
    }
  }

  /// As a new file gets its name where there is no better way: by a link, after which its former name goes.
  private static func linking(in workshop: SharedDescriptor) -> Linking {
    let (first, second) = (nextName(), nextName())
    defer {
      for name in [first, second] {
        try? FileName.with(name) { name throws(Errno) in try workshop.descriptor.removeFile(name) }
      }
    }
    do throws(Errno) {
      let (file, object) = try FileName.with(first) { name throws(Errno) in
        let file = SharedDescriptor(try workshop.descriptor.createFile(name, mode: 0o600))
        return (file, SharedDescriptor(try workshop.descriptor.openPath(name)))
      }
      try FileName.with(second) { name throws(Errno) in
        try workshop.descriptor.linkObject(object.descriptor, as: name)
      }
      try FileName.with(first) { name throws(Errno) in try workshop.descriptor.removeFile(name) }
      try file.descriptor.writeAll([0x78], at: 0)
      let shown = try FileName.with(second) { name throws(Errno) in try workshop.descriptor.status(of: name) }
      return shown.size == 1 ? .shown : .outdated
    } catch {
      // What is short now says nothing.
      return [.notPermitted, .unsupported, .notImplemented].contains(error) ? .impossible : .shown
    }
  }

  /// Tries whether a file that has lost its name keeps its mode and its attributes.
  static func keepsUnlinked(
    in workshop: borrowing Descriptor, namespace: MetadataStore.Namespace
  ) -> Bool {
    let attribute = Array("\(namespace.rawValue).varve.probe".utf8)
    do throws(Errno) {
      let name = nextName()
      let file = try FileName.with(name) { name throws(Errno) in
        let file = try workshop.createFile(name, mode: 0o600)
        try workshop.removeFile(name)
        return file
      }
      try file.changeMode(0o640)
      try AttributeName.with(attribute) { attribute throws(Errno) in
        try file.setAttribute(attribute, to: [0])
      }
      return try file.status().mode == 0o640
    } catch {
      // What is short now says nothing.
      return error != .stale && error != .noSuchFile
    }
  }

  /// Tries whether there are attributes `security.*`.
  static func hasCapabilities(_ workshop: borrowing Descriptor) -> Bool {
    do throws(Errno) {
      _ = try workshop.attribute(try AttributeName("security.capability"))
      return true
    } catch {
      return error != .unsupported && error != .notImplemented
    }
  }

  /// Tries whether an object's change time moves within a tick of the clock when an attribute is set, and when it is
  /// renamed.
  ///
  /// Older kernels left it alone on tmpfs; file systems with whole seconds do not qualify either.
  static func movesChangeTimes(
    in workshop: borrowing Descriptor, namespace: MetadataStore.Namespace
  ) -> Bool {
    let probe = Array("\(namespace.rawValue).varve.probe".utf8)
    do throws(Errno) {
      return try FileName.with(nextName()) { name throws(Errno) in
        let file = try workshop.createFile(name, mode: 0o600)
        defer { discard(name, isDirectory: false, in: workshop) }
        let isMovedByAttributes = try moves(file) { () throws(Errno) in
          try AttributeName.with(probe) { probe throws(Errno) in try file.setAttribute(probe, to: [0]) }
        }
        guard isMovedByAttributes else { return false }
        return try FileName.with(nextName()) { other throws(Errno) in
          try moves(file) { () throws(Errno) in
            try workshop.rename(name, to: workshop, as: other, .noReplace)
            try workshop.rename(other, to: workshop, as: name, .noReplace)
          }
        }
      }
    } catch {
      // Then it is not known, which is no.
      return false
    }
  }

  /// Tries what a volume over lowers cannot do without; what is missing, in words.
  static func obstacleToLayers(in workshop: SharedDescriptor) -> String? {
    guard makesUnnamedFiles(in: workshop.descriptor) else { return unnamedFiles }
    let (first, second) = (nextName(), nextName())
    defer {
      for name in [first, second] {
        try? FileName.with(name) { name throws(Errno) in try workshop.descriptor.removeFile(name) }
      }
    }
    var tried = "whiteouts"
    do throws(Errno) {
      try FileName.with(first) { name throws(Errno) in
        try workshop.descriptor.makeNode(name, kind: .characterDevice, mode: 0)
      }
      tried = "hard links"
      let object = try FileName.with(first) { name throws(Errno) in try workshop.descriptor.openPath(name) }
      try FileName.with(second) { name throws(Errno) in
        try workshop.descriptor.linkObject(object, as: name)
      }
      tried = "names that change places (RENAME_EXCHANGE)"
      try rename(first, second, .exchange, in: workshop.descriptor)
      tried = "whiteouts left by a rename (RENAME_WHITEOUT)"
      try FileName.with(first) { name throws(Errno) in try workshop.descriptor.removeFile(name) }
      try rename(second, first, .whiteout, in: workshop.descriptor)
      return nil
    } catch {
      // A full disk is mounted, so that something can be removed.
      return isShortage(error) ? nil : "\(tried): \(error)"
    }
  }

  private static func rename(
    _ name: [UInt8], _ newName: [UInt8], _ flags: RenameFlags, in workshop: borrowing Descriptor
  ) throws(Errno) {
    let directory = SharedDescriptor(try workshop.duplicate())
    try FileName.with(name) { name throws(Errno) in
      try FileName.with(newName) { newName throws(Errno) in
        try directory.descriptor.rename(name, to: directory.descriptor, as: newName, flags)
      }
    }
  }

  private static func moves(
    _ file: borrowing Descriptor, _ change: () throws(Errno) -> Void
  ) throws(Errno) -> Bool {
    let before = try file.status().change
    for _ in 0..<15 {
      try change()
      if try file.status().change != before { return true }
      Clock.pause(milliseconds: 1)
    }
    return false
  }

  /// Removes an unfinished object; what cannot be removed now goes at the next mount.
  static func discard(
    _ name: borrowing FileName, isDirectory: Bool, in workshop: borrowing Descriptor
  ) {
    do throws(Errno) {
      if isDirectory { try workshop.removeDirectory(name) } else { try workshop.removeFile(name) }
    } catch .noSuchFile {
      // It was removed already by what failed.
    } catch {
      Log.error("an unfinished object stays in the workshop until the next mount: \(error)")
    }
  }
}
