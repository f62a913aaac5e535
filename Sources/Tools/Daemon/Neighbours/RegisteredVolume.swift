// Writing our own volume down.

import ControlDoor
import LinuxFiles
import LinuxPrograms

/// The files that tell about our own volume.
///
/// Their name is used once: one that is not locked is dead for ever, and whoever finds it may remove it.
final class RegisteredVolume: Sendable {
  let name: [UInt8]
  private let files: [(directory: SharedDescriptor, locked: SharedDescriptor)]
  /// The first of the places in which it could not be written down, though it could in another one.
  let missing: (place: String, reason: Errno)?

  /// Writes a volume down in the best place there is; the reason where there is none.
  static func add(_ volume: RunningVolume) throws(Errno) -> RegisteredVolume {
    try RuntimeDirectory.inOwn(runtime: environment("XDG_RUNTIME_DIR")) { runtime throws(Errno) in
      try RegisteredVolume(volume, in: runtime)
    }
  }

  private init(_ volume: RunningVolume, in runtime: RuntimeDirectory) throws(Errno) {
    var chance = SystemRandomNumberGenerator()
    name = volume.identity.name + Array(".\(String(chance.next(), radix: 36))".utf8)
    var files: [(SharedDescriptor, SharedDescriptor)] = []
    var missing: (place: String, reason: Errno)?
    for isComplete in CurrentProcess.isRoot ? [true, false] : [true] {
      do throws(Errno) {
        files.append(try RegisteredVolume.write(volume, name, isComplete: isComplete, in: runtime))
      } catch {
        missing = missing ?? (isComplete ? "places" : "volumes", error)
      }
    }
    if files.isEmpty, let missing { throw missing.reason }
    (self.files, self.missing) = (files, missing)
  }

  /// `isComplete`: with what only its owner is told, in a place that is closed to others.
  private static func write(
    _ volume: RunningVolume, _ name: [UInt8], isComplete: Bool, in runtime: RuntimeDirectory
  ) throws(Errno) -> (SharedDescriptor, SharedDescriptor) {
    let directory =
      if isComplete {
        try runtime.making("places", mode: 0o700)
      } else {
        try runtime.making("volumes", mode: 0o755)
      }
    // Nobody who reads it can clear it up.
    if !isComplete { RunningVolume.sweep(directory) }
    let text = volume.text(withWhereabouts: isComplete)
    return (directory, try file(text, name, in: directory, mode: isComplete ? 0o600 : 0o644))
  }

  private static func file(
    _ text: [UInt8], _ name: [UInt8], in directory: SharedDescriptor, mode: UInt16
  ) throws(Errno) -> SharedDescriptor {
    // Locked before it has a name or can be opened by others, so that nobody can be first with a lock of his own.
    let file = SharedDescriptor(try directory.descriptor.createUnnamed(mode: 0o600))
    guard try file.descriptor.tryLockWhole(exclusive: true) == .locked else { throw .busy }
    try file.descriptor.writeAll(text, at: 0)
    try file.descriptor.changeMode(mode)
    try FileName.with(name) { name throws(Errno) in
      try directory.descriptor.linkUnnamed(file.descriptor, as: name)
    }
    return file
  }

  /// Takes the files away; at the end of the mount.
  func remove() {
    for (directory, _) in files {
      // What is left behind is found dead by whoever looks.
      try? FileName.with(name) { name throws(Errno) in try directory.descriptor.removeFile(name) }
    }
  }
}
