// stat, access, listing, and the changes stat shows.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles

extension Model {
  func answerOnObject(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .status(let path, let follows):
      let thing = try find(path, follows: follows)
      try require(judge.decide(.readAttributes, on: thing.item))
      return .status(status(of: thing))
    case .access(let path, let mode): try access(try find(path), AccessMode(rawValue: mode))
    case .list(let path): return try list(path)
    case .readLink(let path):
      let thing = try find(path, follows: false)
      guard thing.kind == .link else { throw .invalid }
      thing.accessed = nil
      return .bytes(Array(thing.target.utf8))
    case .truncate(let path, let size):
      let thing = try find(path)
      guard thing.kind == .file else { throw thing.isDirectory ? .isDirectory : .invalid }
      if kernelWouldStrip(thing) { try require(judge.decide(.readAttributes, on: thing.item)) }
      try require(judge.decide(.truncate(throughHandle: false), on: thing.item))
      cut(thing, to: size)
    case .changeMode(let path, let mode): try changeMode(of: try find(path), to: mode)
    case .changeOwner(let path, let user, let group, let follows):
      let thing = try find(path, follows: follows)
      try changeOwner(of: thing, OwnerChange(user: user, group: group))
    case .changeTimes(let path, let access, let modification):
      try changeTimes(of: try find(path), access, modification)
    default: return .skipped
    }
    return .done
  }

  /// What stat shows to the present user.
  func status(of thing: Thing) -> Status {
    // Where ownership is ignored every user but root is shown as the owner.
    let isMine = rules.ignoresOwnership && !isRoot
    let size: Int? =
      switch thing.kind {
      case .file: thing.bytes.count
      case .link: thing.target.utf8.count
      default: nil
      }
    return Status(
      kind: thing.kind, mode: thing.mode, user: isMine ? subject.user : thing.user,
      group: isMine ? subject.group : thing.group,
      links: shownLinks(thing), size: size, accessed: thing.accessed,
      modified: thing.mayBeUnsynced ? nil : thing.modified)
  }

  private func access(_ thing: Thing, _ mode: AccessMode) throws(Errno) {
    // SEMANTICS 1.11: for X_OK on a file the kernel looks at the mode first, in the caller's name.
    if mode.contains(.execute), thing.kind == .file {
      try require(judge.decide(.readAttributes, on: thing.item))
    }
    try require(judge.decide(.access(mode), on: thing.item))
  }

  private func list(_ path: String) throws(Errno) -> Outcome {
    let thing = try find(path)
    guard thing.isDirectory else { throw .notDirectory }
    try require(judge.decide(.list, on: thing.item))
    // SEMANTICS 1.11: opendir(3) asks fstat.
    try require(judge.decide(.readAttributes, on: thing.item))
    thing.accessed = nil
    return .names(thing.entries.keys.sorted())
  }

  func changeMode(of thing: Thing, to wanted: UInt16) throws(Errno) {
    let verdict = judge.decide(.setMode(Mode(wanted)), on: thing.item)
    // A kernel that strips knows nothing of the sticky bit.
    let stripped = wanted | (thing.mode & 0o1000)
    if !verdict.isAllowed, thing.kind == .file, isStrip(of: thing, to: stripped) {
      thing.mode = stripped
      return
    }
    try require(verdict)
    thing.mode = wanted
    // SEMANTICS 4.13: dropped for callers who are not in the group. Where ownership is ignored, everybody is.
    if !rules.ignoresOwnership, !isRoot, subject.membership(of: thing.group) != .member {
      thing.mode &= ~0o2000
    }
  }

  /// SEMANTICS 7.8: the present mode less set-id bits, wanted by somebody who may write the file or while somebody
  /// has it open for writing, is how older kernels strip.
  private func isStrip(of thing: Thing, to wanted: UInt16) -> Bool {
    guard thing.kind == .file, wanted != thing.mode, wanted | 0o6000 == thing.mode | 0o6000,
      wanted & ~thing.mode == 0
    else { return false }
    // Flags and the volume's being read-only are no part of this: they refuse a strip like any writer.
    return mayStrip(thing)
  }

  /// SEMANTICS 4.10.
  func mayStrip(_ thing: Thing) -> Bool {
    judge.decide(.stripSetID(isOpenForWriting: thing.writers > 0), on: thing.item).isAllowed
  }

  private func changeOwner(of thing: Thing, _ change: OwnerChange) throws(Errno) {
    // SEMANTICS 7.8: whatever comes of it, such a kernel looks which bits there are, root's included.
    let isStripped = kernelStrips && !thing.isDirectory
    if isStripped { try require(judge.decide(.readAttributes, on: thing.item)) }
    if change.user == nil, change.group == nil {
      if isStripped, try stripInKernel(thing) { return }
      // SEMANTICS 4.10: it may be a stranger's call or the kernel's own, and only a writer may strip.
      guard mayStrip(thing) else {
        guard thing.mode & 0o6000 == 0, judge.decide(.readAttributes, on: thing.item).isAllowed else {
          throw .notPermitted
        }
        return
      }
      if thing.kind == .file { thing.mode = withoutSetID(thing.mode) }
      return
    }
    try require(judge.decide(.setOwner(change), on: thing.item))
    if rules.ignoresOwnership, !isRoot { return }
    thing.user = change.user ?? thing.user
    thing.group = change.group ?? thing.group
    // SEMANTICS 4.3: on any kind of object, also for root and when nothing changes.
    if thing.kind != .link { thing.mode &= ~0o6000 }
  }

  private func changeTimes(
    of thing: Thing, _ access: TimeWish, _ modification: TimeWish
  ) throws(Errno) {
    switch (access, modification) {
    case (.now, .now): try require(judge.decide(.touch, on: thing.item))
    default: try require(judge.decide(.setTimes, on: thing.item))
    }
    thing.accessed = access.applied(to: thing.accessed)
    thing.modified = modification.applied(to: thing.modified)
  }
}

extension TimeWish {
  /// The time as far as it is known afterwards.
  fileprivate func applied(to known: Int64?) -> Int64? {
    switch self {
    case .now: nil
    case .omit: known
    case .seconds(let seconds): seconds
    }
  }
}
