// What lies in `.varve`: of which type it has to be, and that it is the mounter's.
//
// For `varve check`. A mount makes these entries itself; a restored backup, or a hand, can make others of them.

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

extension VolumeInspection {
  private static let directories = ["work", "index", "trash"]
  private static let files =
    ["volume", "lock", "damaged", "keybag", "keybag.copy", "sessions"]
    + BookkeepingFile.temporaries.map { "\($0)" }

  /// Entries of another type, and entries of other users; what a later version may have put there can have any type.
  ///
  /// Whose objects are in `work`, `index` and `trash` is not asked: those are content of the volume's users.
  package func misplaced() throws(Errno) -> [MisplacedEntry] {
    var found: [MisplacedEntry] = []
    for name in try directory.descriptor.names().sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      guard let status = try status(of: name, in: directory) else { continue }
      let word = String(decoding: name, as: UTF8.self)
      if VolumeInspection.directories.contains(word), status.kind != .directory {
        found.append(MisplacedEntry(name: name, fault: .type("a directory")))
      } else if VolumeInspection.files.contains(word), status.kind != .regular {
        found.append(MisplacedEntry(name: name, fault: .type("a regular file")))
      } else if status.user != CurrentProcess.user {
        found.append(MisplacedEntry(name: name, fault: .owner(status.user)))
      }
    }
    return found
  }

  /// Nil if it is gone by now: somebody may have the volume mounted.
  private func status(of name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> FileStatus? {
    do throws(Errno) {
      return try FileName.with(name) { (name) throws(Errno) in try directory.descriptor.status(of: name) }
    } catch .noSuchFile {
      return nil
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
