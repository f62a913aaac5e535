// What the file system of the upper will refuse because of chattr(1), told before it is asked: by then something else may have been
// brought up, and a mark that hides a name is made, so that no call would refuse it.
//
// Where the file system does not tell (statx), its calls refuse what they refuse.

import Decisions
import LinuxFiles
import RecordFormat

extension Facts {
  /// It is in the upper and protected: neither moved, linked nor removed, and of a directory neither is what is in it.
  private var isFrozen: Bool { layerFacts.layer == 0 && (status.isImmutable || status.isAppendOnly) }

  /// EPERM for bringing something up in this directory.
  ///
  /// An append-only one would take the name, and its times could not be given back.
  func requireUnfrozen() throws(Errno) {
    if isFrozen { throw .notPermitted }
  }

  func requireUnfrozen(removedFrom directory: Facts) throws(Errno) {
    try requireUnfrozen()
    try directory.requireUnfrozen()
  }

  /// `isCopy`: its number is, or will be, that of something else, which the record of its directory says.
  func requireUnfrozen(addedTo directory: Facts, isCopy: Bool) throws(Errno) {
    try requireUnfrozen()
    if directory.status.isImmutable || isCopy && !directory.record.isImpure {
      try directory.requireUnfrozen()
    }
  }
}

extension ObjectCopy {
  /// EPERM for what only root makes.
  static func requireMakeable(_ kind: FileKind, isPrivileged: Bool) throws(Errno) {
    guard !isPrivileged, kind == .characterDevice || kind == .blockDevice else { return }
    throw .notPermitted
  }
}
