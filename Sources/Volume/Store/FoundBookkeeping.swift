// The hidden directory `.varve` that is there already, and whether it may be believed.

import LinuxFiles

extension VolumeDirectory {
  /// Opens the bookkeeping; refuses where there is none, or one that is not the caller's own.
  static func openOwn(in root: SharedDescriptor) throws(VolumeFailure) -> SharedDescriptor {
    guard let directory = try find(in: root) else {
      throw VolumeFailure("there is no '.varve'; this was never mounted for writing")
    }
    return directory
  }

  /// Opens the bookkeeping, if there is any; refuses what is not the caller's own.
  ///
  /// The name is used once. What is found out is found out of the open directory, and what is opened later is opened
  /// beneath it, because the owner of the upper directory can exchange names in it at any time.
  static func find(in root: SharedDescriptor) throws(VolumeFailure) -> SharedDescriptor? {
    let found: SharedDescriptor
    let status: FileStatus
    do throws(Errno) {
      // Holds it without opening it: what somebody has mounted there is not asked anything, and may never answer.
      found = SharedDescriptor(try root.descriptor.openDirectoryPath(FileName(OwnDirectory.name)))
      status = try found.descriptor.status()
    } catch {
      switch error {
      case .noSuchFile: return nil
      case .notDirectory, .tooManySymbolicLinks:
        let kind = (try? root.descriptor.status(of: FileName(OwnDirectory.name)))?.kind
        let words = kind.map { "\($0.words), " } ?? ""
        throw VolumeFailure("'.varve' in the upper directory is \(words)not a directory")
      case .crossDevice: throw VolumeFailure("'.varve' in the upper directory is a mount point")
      default: throw VolumeFailure("'.varve' in the upper directory cannot be opened: \(error)")
      }
    }
    // Its owner says where records are kept, and can swap objects that are being finished.
    guard status.user == CurrentProcess.user else {
      let owner = UserDatabase.userName(status.user) ?? "user \(status.user)"
      throw VolumeFailure(
        "'.varve' in the upper directory belongs to \(owner), who alone can mount or check this volume"
          + (CurrentProcess.isRoot
            ? "; root takes it over with 'chown -R root: .varve' there, and then trusts the flags and lists that \(owner) has "
              + "set. Do not remove it: it holds the keybag, without which encrypted files are lost, and those would not count"
            : ""))
    }
    guard status.mode & 0o077 == 0 else {
      throw VolumeFailure(
        "'.varve' in the upper directory is open to others than the mounter; it must belong to the mounter, "
          + "with mode 0700")
    }
    return try saying("'.varve' in the upper directory cannot be opened") { () throws(Errno) in
      SharedDescriptor(try found.descriptor.reopen([.readOnly, .directory]))
    }
  }
}
