// Who owns a new object, and with which mode it is born.

package import AccessControl

/// Mode bits by the names this module uses.
package struct Mode: Hashable, Sendable {
  /// The twelve bits: set-id, sticky and three classes.
  package var bits: UInt16

  package init(_ bits: UInt16) {
    self.bits = bits & 0o7777
  }

  package static let setUser: UInt16 = 0o4000
  package static let setGroup: UInt16 = 0o2000
  package static let sticky: UInt16 = 0o1000

  package var hasSetUser: Bool { bits & Mode.setUser != 0 }
  package var hasSetGroup: Bool { bits & Mode.setGroup != 0 }
  package var isSticky: Bool { bits & Mode.sticky != 0 }
  package var isGroupExecutable: Bool { bits & 0o010 != 0 }
  package var hasAnyExecute: Bool { bits & 0o111 != 0 }

  package func without(_ mask: UInt16) -> Mode { Mode(bits & ~mask) }
}

/// What decides about a new object besides the request.
package struct CreationContext: Hashable, Sendable {
  package var parentUser: UInt32
  package var parentGroup: UInt32
  package var parentMode: Mode
  /// The mount option `suiddir`.
  package var handsOverOwnership: Bool

  package init(parentUser: UInt32, parentGroup: UInt32, parentMode: Mode, handsOverOwnership: Bool) {
    self.parentUser = parentUser
    self.parentGroup = parentGroup
    self.parentMode = parentMode
    self.handsOverOwnership = handsOverOwnership
  }
}

/// Owner, group and mode of an object about to be made.
package struct NewItem: Hashable, Sendable {
  package var user: UInt32
  package var group: UInt32
  package var mode: Mode

  /// Applies the BSD rules: the group is the parent's, always; the parent's setgid bit plays no role.
  ///
  /// `requested` is the mode with the umask already taken off. `keepsCallerGroup` is for volumes that ignore
  /// ownership: they give the caller's ids.
  package init(
    requested: Mode, isDirectory: Bool, by subject: Subject, in context: CreationContext,
    keepsCallerGroup: Bool = false
  ) {
    user = subject.user
    group = keepsCallerGroup ? subject.group : context.parentGroup
    mode = requested.granted(to: subject, memberOfGroup: subject.membership(of: group))
    // Without a hand-over the object is the caller's own, so its setuid bit may stay.
    if context.handsOverOwnership, !keepsCallerGroup, context.parentMode.hasSetUser, context.parentUser != 0,
      context.parentUser != UnknownID.number, context.parentUser != subject.user
    {
      user = context.parentUser
      // A new directory hands on in its turn; a program cannot be planted in another's name.
      mode = isDirectory ? Mode(mode.bits | Mode.setUser) : mode.without(0o6111)
    }
    // Every caller has the rights of its owner.
    if user == UnknownID.number { mode = mode.withoutSetID(onDirectory: isDirectory) }
  }

  /// Whether the outcome needs what was not read of the caller yet.
  package static func hingesOnUnread(
    requested: Mode, by subject: Subject, in context: CreationContext
  ) -> Bool {
    requested.hasSetGroup && subject.groups == .unread
      && subject.membership(of: context.parentGroup) != .member
  }
}

/// The id macOS keeps for "unknown": every caller is the owner of what has it.
package enum UnknownID {
  package static let number: UInt32 = 99
}
