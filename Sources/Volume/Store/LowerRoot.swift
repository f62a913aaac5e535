// A read-only layer, opened and found fit for it.

import LayerRules
package import LinuxFiles

/// An open directory that a volume shows below its upper one.
package struct LowerRoot: Sendable {
  package let path: [UInt8]
  package let directory: SharedDescriptor
  /// Whether the kernel itself forbids every write through ``directory``, and shows nothing that is mounted inside.
  package let isSealed: Bool
  let fileSystem: FileSystemStatus
  /// Of a lower that is a volume itself.
  let header: VolumeHeader?
  /// Locks that keep others from writing to such a volume.
  private let locks: [SharedDescriptor]

  /// `opened`: the directory, where its path means nothing here.
  package init(_ path: [UInt8], openedAs opened: SharedDescriptor? = nil) throws(VolumeFailure) {
    self.path = path
    let plain: SharedDescriptor
    do throws(Errno) {
      if let opened {
        plain = opened
      } else {
        plain = SharedDescriptor(try Descriptor.directory(atPath: path))
      }
      fileSystem = try plain.descriptor.fileSystemStatus()
    } catch {
      throw VolumeFailure("cannot open this lower directory: \(error)", remedy: LowerRoot.remedy(error))
    }
    if let name = fileSystem.kernelsOwn {
      throw VolumeFailure(
        "on \(name), where the kernel shows itself and no files are kept",
        remedy: "name a directory of another file system")
    }
    guard !Volume.isOnVolume(plain.descriptor) else {
      throw VolumeFailure(
        "on a mounted Varve volume, which hides its lists; give the directories it was mounted from")
    }
    let found = try LowerRoot.bookkeeping(in: plain)
    header = found.header
    // Refused to users, and for directories of another mount namespace.
    let sealed = CurrentProcess.isRoot ? try? SharedDescriptor(plain.descriptor.sealedClone()) : nil
    directory = sealed ?? plain
    isSealed = sealed != nil
    locks = found.locks.isEmpty ? LowerRoot.lockedItself(directory) : found.locks
    do throws(Errno) {
      _ = try directory.descriptor.reopen([.readOnly, .directory])
    } catch {
      throw VolumeFailure("this lower directory cannot be listed: \(error)", remedy: LowerRoot.remedy(error))
    }
  }

  /// What to do about a directory that cannot be opened.
  private static func remedy(_ error: Errno) -> String? {
    switch error {
    case .noSuchFile: "name one that exists; in a path ':' is written '\\:'"
    case .notDirectory: "name a directory"
    case .accessDenied: "the user who mounts needs the rights to read and to search it"
    case .notConnected: "the program that served a mount there is gone; unmount that first"
    default: nil
    }
  }

  /// What a lower that is a volume says of itself; with its locks, which are taken as others share them.
  private static func bookkeeping(
    in root: SharedDescriptor
  ) throws(VolumeFailure) -> (header: VolumeHeader?, locks: [SharedDescriptor]) {
    let directory: SharedDescriptor
    do throws(Errno) {
      let found = try root.descriptor.openDirectoryPath(try FileName(OwnDirectory.name))
      let status = try found.status()
      if CurrentProcess.isRoot, status.user != 0 || status.mode & 0o077 != 0 {
        throw Errno.notPermitted
      }
      directory = SharedDescriptor(try found.reopen([.readOnly, .directory]))
    } catch .noSuchFile {
      return (nil, [])
    } catch {
      // To a user who may not look into it the tree is what it is to them without us.
      if !CurrentProcess.isRoot, error == .accessDenied || error == .notDirectory { return (nil, []) }
      let isOther = error == .notDirectory
      throw VolumeFailure(
        "its '.varve' is not \(isOther ? "a directory" : "root's own with mode 0700"), so its lists could be overlooked: "
          + "\(error)",
        remedy: isOther
          ? "move it away, or put back what was there"
          : "if root made this volume, give it back with chown and chmod; else name another directory")
    }
    return try read(directory, of: root)
  }

  /// A lower without bookkeeping is locked itself, for a mount that is about to write to it.
  ///
  /// Another process may have locked it exclusively, as any user can, and a file system may have no such locks.
  private static func lockedItself(_ root: SharedDescriptor) -> [SharedDescriptor] {
    guard let opened = try? SharedDescriptor(root.descriptor.reopen([.readOnly, .directory])),
      (try? opened.descriptor.tryLockOpen(exclusive: false)) == true
    else { return [] }
    return [opened]
  }

  private static func read(
    _ directory: SharedDescriptor, of root: SharedDescriptor
  ) throws(VolumeFailure) -> (VolumeHeader?, [SharedDescriptor]) {
    try VolumeDirectory.requireTypes(in: directory, of: ["index", "lock", "volume"])
    let text: [UInt8]?
    do throws(Errno) { text = try VolumeDirectory.storedHeader(in: directory) } catch {
      throw VolumeFailure("'.varve/volume' cannot be read: \(error)", remedy: "put that file back")
    }
    if let isShared = try? directory.descriptor.tryLockOpen(exclusive: false), !isShared {
      throw VolumeFailure(
        "this lower directory is a volume that is being repaired",
        remedy: "wait until 'varve check' has ended")
    }
    var locks = [directory]
    let flags: OpenFlags = [.readOnly, .nonBlocking]
    if let lock = try? SharedDescriptor(directory.descriptor.open(try FileName("lock"), flags)) {
      if case .held? = try? lock.descriptor.tryLockWhole(exclusive: false) {
        let holder = LockHolder(readFrom: lock.descriptor)
        throw VolumeFailure(
          "this lower directory is a volume mounted for writing, by \(VolumeUse.name(of: holder))",
          remedy: "unmount that one first")
      }
      locks.append(lock)
    }
    guard let text else {
      try VolumeDirectory.refuseUnknown(.trusted, in: root)
      return (nil, locks)
    }
    let header: VolumeHeader
    do throws(VolumeFailure) { header = try VolumeHeader(parsing: text) } catch {
      throw VolumeFailure(error.problem, remedy: "put back '.varve/volume' as it was, or use a newer varve")
    }
    try header.checkFeatures(readOnly: true)
    guard !CurrentProcess.isRoot || header.namespace == .trusted else {
      throw VolumeFailure(
        "this lower directory is a user's volume, whose lists root does not read",
        remedy: "let that user mount over it, or name another directory")
    }
    return (header, locks)
  }

  // MARK: Its bookkeeping

  /// Whether items have records, in a word: of a tree that is no volume nobody has said it.
  var records: String { header.map { $0.recordsExist ? "yes" : "none" } ?? "unknown" }

  /// How many hard links it counts; nil where it is no volume.
  var indexEntries: Int? { header == nil ? nil : locks.first.flatMap { LinkIndexSize.entries(in: $0) ?? 0 } }

  // MARK: Its file system

  var identifier: FileSystemIdentifier? {
    if let file = try? directory.descriptor.reopen([.readOnly, .directory]),
      let (high, low) = try? file.fileSystemUUID(), high != 0 || low != 0
    {
      return .uuid(high: high, low: low)
    }
    return fileSystem.identifier == 0 ? nil : .number(fileSystem.identifier)
  }

  /// What tells it from another directory of its path, which may be there after a restore.
  ///
  /// A file system that cannot say which it is may number its objects anew at each start.
  var mark: InodeMark {
    guard identifier != nil, let status = try? directory.descriptor.status() else { return .unknown }
    return InodeMark(status)
  }

  func status() throws(VolumeFailure) -> FileStatus {
    do throws(Errno) { return try directory.descriptor.status() } catch {
      throw VolumeFailure("cannot look at this lower directory: \(error)")
    }
  }
}
