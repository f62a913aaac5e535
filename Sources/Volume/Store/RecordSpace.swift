// In which attributes a volume keeps its records: `trusted.` where root mounts and the store has them, else `user.`.

import LinuxFiles

/// Tries which attributes a store has.
struct RecordSpace: Sendable {
  /// Words of `no_FEATURE`; `trusted` is one.
  var switchedOff: Set<String> = []

  private typealias Space = MetadataStore.Namespace

  /// Where a volume that is made now keeps its records, as far as that can be seen without changing anything.
  func choose(for root: SharedDescriptor) throws(VolumeFailure) -> MetadataStore.Namespace {
    try choose(of: root) { space throws(Errno) in try look(for: space, in: root) }
  }

  /// The same, tried on what is ours already: some stores take none and say so only then.
  func choose(
    writingTo directory: SharedDescriptor
  ) throws(VolumeFailure) -> MetadataStore.Namespace {
    try choose(of: directory) { space throws(Errno) in
      let name = try AttributeName(space.probe)
      try directory.descriptor.setAttribute(name, to: [0])
      // What stays tells of nothing, and no mount shows it.
      try? directory.descriptor.removeAttribute(name)
    }
  }

  /// Refuses a volume whose records nobody can read here: all of its rules would be missing.
  func require(_ space: MetadataStore.Namespace, in root: SharedDescriptor) throws(VolumeFailure) {
    // The volume says that they are there; what is broken now is told by who reads them.
    guard (try? has(space, { () throws(Errno) in try look(for: space, in: root) })) ?? true else {
      throw VolumeFailure(
        "its records are in attributes \(space.rawValue).*, which \(kind(of: root)) does not have")
    }
  }

  private func look(for space: Space, in root: SharedDescriptor) throws(Errno) {
    do throws(Errno) { _ = try root.descriptor.attribute(AttributeName(space.probe)) } catch {
      // Who may not read them may have them.
      guard error != .notPermitted, error != .accessDenied else { return }
      throw error
    }
  }

  private func choose(
    of object: SharedDescriptor, trying attempt: (Space) throws(Errno) -> Void
  ) throws(VolumeFailure) -> MetadataStore.Namespace {
    let spaces: [Space] = CurrentProcess.isRoot ? [.trusted, .user] : [.user]
    for space in spaces {
      do throws(Errno) {
        if try has(space, { () throws(Errno) in try attempt(space) }) { return space }
      } catch {
        throw VolumeFailure(
          "on \(kind(of: object)), of which cannot be told whether it has attributes \(space.rawValue).*: \(error)"
        )
      }
    }
    throw VolumeFailure(
      "on \(kind(of: object)), which has no extended attributes; flags and lists cannot be kept there")
  }

  /// Throws what says nothing about that: what is only short, or broken, now.
  private func has(_ space: Space, _ attempt: () throws(Errno) -> Void) throws(Errno) -> Bool {
    if space == .trusted, switchedOff.contains("trusted") { return false }
    do throws(Errno) {
      try attempt()
      return true
    } catch {
      guard [.unsupported, .notImplemented, .notPermitted, .accessDenied].contains(error) else { throw error }
      return false
    }
  }

  private func kind(of object: SharedDescriptor) -> String {
    let name = (try? object.descriptor.fileSystemStatus())?.kindName ?? "the file system"
    return "a file system (\(name))"
  }
}

extension MetadataStore.Namespace {
  fileprivate var probe: StaticString {
    switch self {
    case .trusted: "trusted.varve.probe"
    case .user: "user.varve.probe"
    }
  }
}
