// What a write to the backing file of an encrypted file moves or takes away although no program wrote: the kernel strips
// a capability from whatever is written to, also for root.

import LinuxFiles
import RecordFormat

/// The time of modification, the set-id bits and the capability of a backing file, to be given back after a write.
///
/// Read and given back under the node's exclusive lock. A daemon that is killed in between leaves the file without them,
/// unless they were noted.
struct BackingState {
  private let modified: Timestamp
  /// Nil without set-id bits.
  private let mode: UInt16?
  private let capability: [UInt8]

  /// Reads it; `mayHavePrivilege`: whether there can be set-id bits or a capability.
  init(
    of file: borrowing Descriptor, mayHavePrivilege: Bool = true, storesCapabilities: Bool = true
  ) throws(Errno) {
    let status = try file.status()
    modified = status.modification
    mode = mayHavePrivilege && status.mode & 0o6000 != 0 ? status.mode : nil
    capability = mayHavePrivilege && storesCapabilities ? try BackingState.capability(of: file) : []
  }

  private static func capability(of file: borrowing Descriptor) throws(Errno) -> [UInt8] {
    do throws(Errno) {
      return try file.attribute(try AttributeName("security.capability")) ?? []
    } catch .unsupported {
      return []
    }
  }

  /// What the kernel would say: only root may set what a write takes away.
  var obstacle: Errno? { capability.isEmpty || CurrentProcess.isRoot ? nil : .notPermitted }

  /// The same as a change of class notes it (`ClassChangeNotes`); `path`: where the file is, from the root of the volume.
  func note(of status: FileStatus, at path: [UInt8]) -> ReplacementTrailer {
    ReplacementTrailer(
      .plain, inode: status.inode, generation: status.workGeneration, mode: status.mode,
      user: status.user, group: status.group,
      modified: .init(seconds: modified.seconds, nanoseconds: modified.nanoseconds),
      storedSize: 0, size: 0, record: CoreRecord(), capability: capability,
      path: path.count <= ReplacementTrailer.longestPath ? path : [])
  }

  func giveBack(to file: borrowing Descriptor) throws(Errno) {
    if let mode, try file.status().mode != mode { try file.changeMode(mode) }
    if !capability.isEmpty, CurrentProcess.isRoot {
      try file.setAttribute(try AttributeName("security.capability"), to: capability)
    }
    try file.changeTimes(access: .omit, modification: .set(modified))
  }
}

extension Descriptor {
  /// Takes away the capability of a file.
  ///
  /// Only root may remove the attribute. The kernel takes it away at each change of owner, also at one to the same.
  borrowing func removeCapability() throws(Errno) {
    do throws(Errno) { try removeAttribute(AttributeName("security.capability")) } catch {
      guard error == .notPermitted, !CurrentProcess.isRoot else { throw error }
      try changeOwner(user: nil, group: nil)
    }
  }
}
