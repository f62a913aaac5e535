// What a new object is born with, and what a write takes away.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles

extension Model {
  /// Decides about a new object and makes it; `mode` is what the caller passed.
  func bear(_ kind: Status.Kind, mode requested: UInt16, in parent: Thing) throws(Errno) -> Thing {
    try require(judge.decide(.create(kind.asNew), on: parent.item))
    var mode = requested & ~Cast.umasks[userIndex]
    // The kernel passes no set-id bit to mkdir.
    if kind == .directory { mode &= 0o1777 }
    let caller = subject
    let thing = Thing(
      kind, user: caller.user, group: rules.ignoresOwnership ? caller.group : parent.group, mode: mode)
    // SEMANTICS 3.5: setgid stays only with a member of the group the object gets.
    if caller.user != 0, caller.membership(of: thing.group) != .member { thing.mode &= ~0o2000 }
    if rules.handsOverOwnership, parent.mode & 0o4000 != 0, parent.user != 0, parent.user != caller.user {
      thing.user = parent.user
      thing.mode = kind == .directory ? thing.mode | 0o4000 : thing.mode & ~0o6111
    }
    if kind == .link { thing.mode = 0o777 }
    if kind == .directory { thing.links = 2 }
    guard carriesRecord(kind) else { return thing }
    thing.flags = parent.flags.intersection([.restricted, .dataVault])
    if kind != .link { thing.list = inheritedList(from: parent.list, toDirectory: kind == .directory) }
    return thing
  }

  /// SEMANTICS 3.3 and 3.9.
  private func inheritedList(from parent: AccessList?, toDirectory: Bool) -> AccessList? {
    var entries: [AccessEntry] = []
    for entry in parent?.entries ?? [] {
      guard entry.inheritance.contains(toDirectory ? .directoryInherit : .fileInherit) else { continue }
      var copy = entry
      copy.inheritance.insert(.inherited)
      copy.inheritance.remove(.onlyInherit)
      if !toDirectory || entry.inheritance.contains(.limitInherit) {
        copy.inheritance.subtract([.fileInherit, .directoryInherit, .limitInherit, .onlyInherit])
      }
      entries.append(copy)
    }
    return entries.isEmpty ? nil : AccessList(entries)
  }

  /// Puts an object under a name that is free.
  func put(_ thing: Thing, _ name: String, in directory: Thing) {
    directory.entries[name] = thing
    directory.modified = nil
    guard thing.isDirectory else { return }
    thing.parent = directory
    directory.links += 1
  }

  /// Takes a name away; the object lives on while other names or handles lead to it.
  func take(_ name: String, from directory: Thing) {
    guard let thing = directory.entries.removeValue(forKey: name) else { return }
    directory.modified = nil
    if thing.isDirectory {
      directory.links -= 1
      thing.parent = nil
    }
  }

  /// A write by any user but root clears the set-id bits.
  func noteWrite(to thing: Thing) {
    thing.modified = nil
    stripSetID(of: thing)
  }

  /// SEMANTICS 4.4: the setgid bit of a file its group cannot execute stays.
  func stripSetID(of thing: Thing) {
    guard !isRoot, thing.kind == .file else { return }
    thing.mode = withoutSetID(thing.mode)
  }

  /// SEMANTICS 7.8: whether a write of the present user makes the kernel look at the file, to take set-id bits away
  /// by itself.
  func kernelWouldStrip(_ thing: Thing) -> Bool {
    guard kernelStrips, !isRoot, thing.kind == .file else { return false }
    // The setgid bit of a file its group cannot execute makes it look where the caller is not of the group.
    return thing.mode & 0o4000 != 0
      || (thing.mode & 0o2000 != 0
        && (thing.mode & 0o010 != 0 || subject.membership(of: thing.group) != .member))
  }

  /// Strips as such a kernel does: by a chmod in the caller's name, without the sticky bit, of which it knows nothing.
  ///
  /// Answers whether there was anything to take away.
  func stripInKernel(_ thing: Thing) throws(Errno) -> Bool {
    guard withoutSetID(thing.mode) != thing.mode else { return false }
    try changeMode(of: thing, to: withoutSetID(thing.mode) & ~0o1000)
    return true
  }

  func withoutSetID(_ mode: UInt16) -> UInt16 {
    mode & ~(mode & 0o010 != 0 ? 0o6000 : 0o4000)
  }
}

extension Status.Kind {
  fileprivate var asNew: NewObject {
    switch self {
    case .file, .fifo: .file
    case .directory: .directory
    case .link: .symbolicLink
    }
  }
}
