// Where daemons keep what is true as long as they run: /run/varve, and for users their runtime directories.

package import LinuxFiles

/// A directory into which nobody but its owner can have put anything.
package struct RuntimeDirectory: Sendable {
  package let descriptor: SharedDescriptor
  package let path: [UInt8]

  /// Our own ones, the best first; made where they are missing, and closed to being listed by others.
  ///
  /// `runtime`: a user's own directory for such things. Whatever is wrong with a place, it is left out.
  package static func own(runtime: [UInt8]?) -> [RuntimeDirectory] {
    parents(runtime).compactMap { try? RuntimeDirectory(in: $0) }
  }

  private static func parents(_ runtime: [UInt8]?) -> [[UInt8]] {
    guard !CurrentProcess.isRoot else { return [Array("/run".utf8)] }
    let parents = (runtime.map { [$0] } ?? []) + [Array("/run/user/\(CurrentProcess.user)".utf8)]
    return parents.filter { $0.first == UInt8(ascii: "/") }
  }

  /// Follows links in `parent`, because an administrator chose it; the last component is made if it is missing, and is
  /// no link.
  ///
  /// EPERM when it belongs to another user or is open for others to write.
  private init(in parent: [UInt8]) throws(Errno) {
    let above = try Descriptor.directory(atPath: parent)
    let name = try FileName("varve")
    let mode: UInt16 = CurrentProcess.isRoot ? 0o711 : 0o700
    do throws(Errno) {
      try above.makeDirectory(name, mode: mode)
    } catch .exists {
      // An earlier mount made it.
    }
    let directory = try above.open(name, [.readOnly, .directory])
    let status = try directory.status()
    guard status.user == CurrentProcess.user, status.mode & 0o022 == 0 else { throw .notPermitted }
    // Whatever made it may have let everybody list it.
    if status.mode & 0o777 & ~mode != 0 { try directory.changeMode(mode) }
    descriptor = SharedDescriptor(directory)
    path = parent + Array("/varve".utf8)
  }
}
