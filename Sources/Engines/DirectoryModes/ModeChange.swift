// What later operations do to the set-id bits.

package import AccessControl

extension Mode {
  /// After a chown that names a user or a group: no set-id bit survives, on any kind of object, for anyone.
  package var afterChangeOfOwner: Mode { without(Mode.setUser | Mode.setGroup) }

  /// After a caller without privilege wrote to the object or cut it.
  ///
  /// The setgid bit of a file its group cannot execute means something else on Linux and stays.
  package var afterForeignWrite: Mode {
    var mode = without(Mode.setUser)
    if mode.isGroupExecutable { mode = mode.without(Mode.setGroup) }
    return mode
  }

  /// The mode a chmod really sets: the setgid bit is dropped, not refused, unless the caller is in the object's group,
  /// or root with CAP_FSETID.
  package func granted(to subject: Subject, memberOfGroup membership: Membership) -> Mode {
    guard hasSetGroup, membership != .member, !subject.isRoot(withAnyOf: .fsetid) else { return self }
    return without(Mode.setGroup)
  }

  /// Without the bits by which a program would run as an owner that is not the object's own.
  ///
  /// On directories the setgid bit makes nothing run; the setuid bit may hand the owner on (`suiddir`).
  package func withoutSetID(onDirectory isDirectory: Bool) -> Mode {
    without(isDirectory ? Mode.setUser : Mode.setUser | Mode.setGroup)
  }
}
