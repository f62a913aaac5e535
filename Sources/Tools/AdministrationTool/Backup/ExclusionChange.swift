// Setting the marks of an item and taking them away: all of them or none.

import FlagRules
import LinuxFiles
import LinuxPrograms

/// A change of the marks of one item, under way.
///
/// If a step fails, the steps before it are taken back.
struct ExclusionChange {
  /// What takes a step back, and what it is about.
  private struct Step {
    let mark: ExclusionMarks
    let takeBack: () throws(Errno) -> Void
  }

  private let path: [UInt8]
  private let held: SharedDescriptor
  private let kind: FileKind
  private var done: [Step] = []

  /// Begins a change; ENOTSUP where the item is not on a volume.
  init(_ path: [UInt8], _ held: SharedDescriptor, _ kind: FileKind) {
    (self.path, self.held, self.kind) = (path, held, kind)
  }

  /// Sets all marks that the item can have; answers those that it did not have.
  mutating func set(withTag: Bool) throws(Refusal) -> ExclusionMarks {
    var wanted = ExclusionMarks.possible(for: kind)
    if withTag {
      guard kind == .directory else { throw Refusal("not a directory, so it cannot hold a CACHEDIR.TAG") }
      if case .somethingElse = try attempt(held.descriptor.exclusionTag()) {
        throw Refusal("the CACHEDIR.TAG in it is something else and is left alone; nothing was changed")
      }
      wanted.insert(.tag)
    }
    let missing = try wanted.subtracting(attempt(held.descriptor.exclusionMarks(kind)))
    try change(missing, isSet: true)
    return missing
  }

  /// Takes away the marks that the item has; of a CACHEDIR.TAG that others made, only with `withTag`.
  mutating func remove(withTag: Bool) throws(Refusal) -> ExclusionMarks {
    var present = try attempt(held.descriptor.exclusionMarks(kind))
    if present.contains(.tag), !withTag,
      case .tag(isOwn: false) = try attempt(held.descriptor.exclusionTag())
    {
      present.remove(.tag)
    }
    try change(present, isSet: false)
    return present
  }

  private mutating func change(_ marks: ExclusionMarks, isSet: Bool) throws(Refusal) {
    for mark in ExclusionMarks.all where marks.contains(mark) {
      do throws(Errno) {
        done.append(Step(mark: mark, takeBack: try step(mark, isSet: isSet)))
      } catch {
        throw refusal(error, mark, isSet: isSet, takenBack())
      }
    }
  }

  /// Makes one step; answers the way back.
  private func step(_ mark: ExclusionMarks, isSet: Bool) throws(Errno) -> () throws(Errno) -> Void {
    switch mark {
    case .timeMachine:
      try setAttribute(ExclusionForm.timeMachine, isSet ? ExclusionForm.timeMachineValue : nil)
    case .robots:
      try setAttribute(ExclusionForm.robots, isSet ? ExclusionForm.robotsValue : nil)
    case .noDump: try setFlag(isSet)
    default: try setTag(isSet)
    }
  }

  private func setAttribute(
    _ name: [UInt8], _ value: [UInt8]?
  ) throws(Errno) -> () throws(Errno) -> Void {
    let former = try held.descriptor.userAttribute(name)
    let held = held
    func set(_ value: [UInt8]?) throws(Errno) {
      try AttributeName.with(name) { name throws(Errno) in
        if let value {
          try held.descriptor.setAttribute(name, to: value)
        } else {
          try held.descriptor.removeAttribute(name)
        }
      }
    }
    try set(value)
    return { () throws(Errno) in try set(former) }
  }

  private func setFlag(_ isSet: Bool) throws(Errno) -> () throws(Errno) -> Void {
    let held = held
    func set(_ isSet: Bool) throws(Errno) {
      guard var flags = try held.descriptor.fileFlags() else { throw .unsupported }
      if isSet { flags.insert(.noDump) } else { flags.remove(.noDump) }
      try held.descriptor.setFileFlags(flags)
    }
    try set(isSet)
    return { () throws(Errno) in try set(!isSet) }
  }

  private func setTag(_ isSet: Bool) throws(Errno) -> () throws(Errno) -> Void {
    let held = held
    func make(_ content: [UInt8]) throws(Errno) {
      try FileName.with(ExclusionForm.tag) { name throws(Errno) in
        let file = try held.descriptor.createFile(name, mode: 0o644)
        do throws(Errno) {
          try file.writeAll(content, at: 0)
          let (own, above) = (try file.status(), try held.descriptor.status())
          // The owner of the directory must be able to remove the tag.
          if CurrentProcess.isRoot, own.user != above.user {
            try file.changeOwner(user: above.user, group: above.group)
          }
        } catch {
          // Half a tag is none; the first error is the one to tell.
          try? held.descriptor.removeFile(name)
          throw error
        }
      }
    }
    func remove() throws(Errno) {
      try FileName.with(ExclusionForm.tag) { name throws(Errno) in try held.descriptor.removeFile(name) }
    }
    if isSet {
      try make(ExclusionForm.ownTag)
      return { () throws(Errno) in try remove() }
    }
    let content = try held.descriptor.reading(ExclusionForm.tag).readToEnd(limit: 1 << 16)
    try remove()
    return { () throws(Errno) in try make(content) }
  }

  /// Takes the steps back, the last first; answers what to say of it.
  private mutating func takenBack() -> String {
    var left: ExclusionMarks = []
    for step in done.reversed() {
      do throws(Errno) { try step.takeBack() } catch { left.insert(step.mark) }
    }
    if done.isEmpty { return "nothing was changed" }
    defer { done = [] }
    return left.isEmpty
      ? "the marks that had been changed were put back"
      : "and what had been changed could not be put back: \(left.names.joined(separator: ", "))"
  }

  private func refusal(
    _ error: Errno, _ mark: ExclusionMarks, isSet: Bool, _ rest: String
  ) -> Refusal {
    let right =
      switch mark {
      case .noDump: "writesecurity"
      case .tag: isSet ? "add_file" : "delete_child"
      default: "writeextattr"
      }
    let verb = isSet ? "set" : "removed"
    let sentence = Refusal.change(error, path, held.descriptor, needs: right).sentence
    return Refusal("\(mark.names[0]) cannot be \(verb): \(sentence); \(rest)")
  }
}
