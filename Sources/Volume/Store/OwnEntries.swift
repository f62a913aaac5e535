// What lies in `.varve`: of which type it has to be, and that it is the mounter's.
//
// A mount makes these entries itself; a restored backup, or a hand, can make others of them. A mount refuses them before it
// opens any, so that it neither waits for a FIFO nor writes where a link leads. `varve check` lists them.

package import LinuxFiles

/// An entry of the bookkeeping that a mount would not have made so.
package struct MisplacedEntry: Sendable {
  package enum Fault: Sendable {
    /// What it has to be, in words.
    case type(String)
    /// Whose it is.
    case owner(UInt32)
  }

  package let name: [UInt8]
  package let fault: Fault

  package var isOfWrongType: Bool {
    if case .type = fault { true } else { false }
  }
}

/// The entries that a mount makes, by their names.
private enum OwnEntry {
  private static let directories = ["work", "index", "trash"]
  private static let files =
    ["volume", "lock", "damaged", "keybag", "keybag.copy", "sessions"]
    + BookkeepingFile.temporaries.map { "\($0)" }

  /// Of which type it has to be; nil for what a later version may have put there, which can have any.
  static func type(of name: [UInt8]) -> FileKind? {
    let word = String(decoding: name, as: UTF8.self)
    if directories.contains(word) { return .directory }
    return files.contains(word) ? .regular : nil
  }
}

extension VolumeDirectory {
  /// Refuses bookkeeping with an entry of another type than a mount makes.
  ///
  /// `wanted`: which entries are used; all if nil. None is opened.
  static func requireTypes(
    in directory: SharedDescriptor, of wanted: [StaticString]? = nil
  ) throws(VolumeFailure) {
    let names = wanted?.map { Array("\($0)".utf8) }
    let entries = try saying("the entries of '.varve' cannot be looked at") { () throws(Errno) in
      try VolumeDirectory.entries(of: directory) { name in
        OwnEntry.type(of: name) != nil && names?.contains(name) ?? true
      }
    }
    for (name, status) in entries {
      guard let type = OwnEntry.type(of: name), type != status.kind else { continue }
      throw VolumeFailure(
        "'.varve/\(String(decoding: name, as: UTF8.self))' is \(status.kind.words), not \(type.words); put back what was there, "
          + "or move it away")
    }
  }

  /// What `directory` holds, in the order of names, as far as it is wanted.
  fileprivate static func entries(
    of directory: SharedDescriptor, where isWanted: ([UInt8]) -> Bool = { _ in true }
  ) throws(Errno) -> [(name: [UInt8], status: FileStatus)] {
    var found: [(name: [UInt8], status: FileStatus)] = []
    for name in try directory.descriptor.names() where isWanted(name) {
      do throws(Errno) {
        let status = try FileName.with(name) { (name) throws(Errno) in
          try directory.descriptor.status(of: name)
        }
        found.append((name, status))
      } catch .noSuchFile {
        // It is gone by now: somebody may have the volume mounted.
      }
    }
    return found.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }
}

extension VolumeInspection {
  /// Refuses what a mount would refuse for the type of an entry.
  package func requireTypes() throws(VolumeFailure) { try VolumeDirectory.requireTypes(in: directory) }

  /// Entries of another type, and entries of other users; what a later version may have put there can have any type.
  ///
  /// Whose objects are in `work`, `index` and `trash` is not asked: those are content of the volume's users.
  package func misplaced() throws(Errno) -> [MisplacedEntry] {
    try VolumeDirectory.entries(of: directory).compactMap { name, status in
      if let type = OwnEntry.type(of: name), type != status.kind {
        return MisplacedEntry(name: name, fault: .type(type.words))
      }
      guard status.user != CurrentProcess.user else { return nil }
      return MisplacedEntry(name: name, fault: .owner(status.user))
    }
  }

  /// Gives an entry of another user to the one whose volume it is.
  package func takeOver(_ entry: MisplacedEntry) throws(Errno) {
    guard lock != nil else { throw .busy }
    try FileName.with(entry.name) { (name) throws(Errno) in
      try directory.descriptor.openPath(name).changeOwner(user: CurrentProcess.user, group: nil)
    }
  }
}
