// The tables of mounts a daemon looks into: its own, and that of the namespace it mounts in.

import LinuxFiles
import LinuxPrograms
import TextForms

extension MountedVolume {
  /// Every mount of a namespace, or of ours.
  ///
  /// A table that cannot be read has no lines.
  static func table(of namespace: MountNamespace? = nil) -> [MountedVolume] {
    let text =
      if let namespace { try? namespace.mountTable().descriptor.readToEnd() } else { try? ownMountTable() }
    return text.map { table($0) } ?? []
  }
}
