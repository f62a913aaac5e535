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
    let mode: UInt16 = CurrentProcess.isRoot ? 0o711 : 0o700
    return parents(runtime).compactMap { try? RuntimeDirectory(making: "varve", in: $0, mode: mode) }
  }

  private static func parents(_ runtime: [UInt8]?) -> [[UInt8]] {
    guard !CurrentProcess.isRoot else { return [Array("/run".utf8)] }
    let parents = (runtime.map { [$0] } ?? []) + [Array("/run/user/\(CurrentProcess.user)".utf8)]
    return parents.filter { $0.first == UInt8(ascii: "/") }
  }

  /// Follows links in `parent`, because an administrator chose it; the last component is made if it is missing, and is
  /// no link.
  ///
  /// EPERM when it belongs to somebody else or is open for others to write.
  private init(making last: StaticString, in parent: [UInt8], mode: UInt16) throws(Errno) {
    descriptor = try RuntimeDirectory.make(last, in: Descriptor.directory(atPath: parent), mode: mode)
    path = parent + Array("/\(last)".utf8)
  }

  /// A directory of ours in this one.
  package func making(_ name: StaticString, mode: UInt16) throws(Errno) -> SharedDescriptor {
    try RuntimeDirectory.make(name, in: descriptor.descriptor, mode: mode)
  }

  private static func make(
    _ name: StaticString, in parent: borrowing Descriptor, mode: UInt16
  ) throws(Errno) -> SharedDescriptor {
    let name = try FileName(name)
    do throws(Errno) {
      try parent.makeDirectory(name, mode: mode)
    } catch .exists {
      // An earlier mount made it.
    }
    let directory = try parent.open(name, [.readOnly, .directory])
    let status = try directory.status()
    guard status.user == CurrentProcess.user, status.mode & 0o022 == 0 else { throw .notPermitted }
    // Earlier versions let everybody list it.
    if status.mode & 0o777 & ~mode != 0 { try directory.changeMode(mode) }
    return SharedDescriptor(directory)
  }

  /// The directory `name` that root's daemons keep, or a user's own ones, without making any; to be read.
  package static func existing(_ name: StaticString, runtime: [UInt8]?) -> [SharedDescriptor] {
    let own = parents(runtime).map { ($0, CurrentProcess.user) }
    let all = CurrentProcess.isRoot ? own : [(Array("/run".utf8), 0)] + own
    return all.compactMap { (parent, owner) in try? find(name, in: parent, of: owner) }
  }

  private static func find(
    _ name: StaticString, in parent: [UInt8], of owner: UInt32
  ) throws(Errno) -> SharedDescriptor {
    // Root's can be walked through, but not listed by others.
    let above = try Descriptor.directory(atPath: parent).open(try FileName("varve"), [.path, .directory])
    let directory = try above.open(try FileName(name), [.readOnly, .directory])
    for status in [try above.status(), try directory.status()] {
      guard status.user == owner, status.mode & 0o022 == 0 else { throw .notPermitted }
    }
    return SharedDescriptor(directory)
  }
}
