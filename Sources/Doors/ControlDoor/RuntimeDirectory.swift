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

  /// What comes of the best of our own ones in which `work` can be done; the last failure where it can in none.
  package static func inOwn<Value>(
    runtime: [UInt8]?, _ work: (RuntimeDirectory) throws(Errno) -> Value
  ) throws(Errno) -> Value {
    var failure = Errno.noSuchFile
    for parent in parents(runtime) {
      do throws(Errno) { return try work(RuntimeDirectory(in: parent)) } catch { failure = error }
    }
    throw failure
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
  private init(in parent: [UInt8]) throws(Errno) {
    let mode: UInt16 = CurrentProcess.isRoot ? 0o711 : 0o700
    descriptor = try RuntimeDirectory.make("varve", in: Descriptor.directory(atPath: parent), mode: mode)
    path = parent + Array("/varve".utf8)
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

  /// Our own directories `name`, without making any; to be read.
  package static func existing(_ name: StaticString, runtime: [UInt8]?) -> [SharedDescriptor] {
    parents(runtime).compactMap { try? find(name, in: $0, of: CurrentProcess.user) }
  }

  /// The directory `name` that root's daemons keep, to be read; nil where there is none.
  package static func ofRoot(_ name: StaticString) -> SharedDescriptor? {
    try? find(name, in: Array("/run".utf8), of: 0)
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
