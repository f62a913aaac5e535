// A volume on a temporary directory, mounted for one test and gone after it.

import CMountSupport
import Glibc
import KeyFixture
import LinuxFiles

/// Why a test cannot run here, or that it can.
package enum Machine {
  /// Real mounts need root and the kernel's device.
  package static let canMount = geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0

  /// The root, and a memory file system that is not part of it.
  package static let hasOtherMemory: Bool = {
    var (root, memory) = (stat(), stat())
    return lstat("/", &root) == 0 && lstat("/dev/shm", &memory) == 0 && root.st_dev != memory.st_dev
      && access("/dev/shm", W_OK) == 0
  }()
}

/// A mounted volume.
///
/// `upper` is the plain directory below, `path` the mount.
package final class MountedVolume: Sendable {
  package let base: String
  package var upper: String { base + "/upper" }
  package var path: String { base + "/mount" }
  private let options: String

  /// Mounts a fresh volume, or one on an upper directory that is there already.
  ///
  /// `base`: an existing base from an earlier mount, to mount the same volume again.
  package init(_ options: String = "", base existing: String? = nil) throws {
    base = try existing ?? TemporaryDirectory.make()
    self.options = options
    _ = Glibc.mkdir(base + "/upper", 0o755)
    _ = Glibc.mkdir(base + "/mount", 0o755)
    // The mount and everything above it can be walked by every test user.
    _ = chmod(base, 0o755)
    try mount()
  }

  /// Mounts again after an unmount or a killed daemon.
  package func mount(more: String = "") throws {
    let options = [options, more].filter { !$0.isEmpty }.joined(separator: ",")
    var words = ["varve", "mount"]
    if !options.isEmpty { words += ["-o", options] }
    let status = try Program.run(Program.built("varve"), words.dropFirst() + [upper, path])
    guard status.exit == 0 else { throw TestFailure("mount failed: \(status.output)") }
  }

  /// Mounts once more, with the keybag of the fixture, and its keyfile, which opens it.
  package func addKeys() throws {
    try unmount()
    try MountedVolume.write(StoredKeys.rawKeyfile, base + "/key")
    for name in ["keybag", "keybag.copy"] {
      try MountedVolume.write(StoredKeys.keybag, "\(upper)/.varve/\(name)")
    }
    try mount(more: keyOption)
  }

  /// The mount option that unlocks a volume with keys.
  package var keyOption: String { "keyfile=\(base)/key" }

  private static func write(_ bytes: [UInt8], _ path: String) throws {
    guard let file = fopen(path, "w") else { throw TestFailure("\(path): \(Errno.current)") }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count, chmod(path, 0o400) == 0 else {
      throw TestFailure("\(path): \(Errno.current)")
    }
  }

  /// Has all encrypted that is made in a directory from now on.
  package func protect(_ directory: String = "") throws {
    let word = Array("complete".utf8)
    let answer = lt_set_attribute(path + directory, "system.varve.class", word, word.count, 0)
    guard answer >= 0 else { throw TestFailure("\(directory): \(Errno(rawValue: CInt(-answer)))") }
  }

  /// The daemon's process, from the volume's own status.
  package var daemon: Int32? {
    guard let text = try? Text.read(path + "/.varve/status"), let start = text.firstRange(of: "\"pid\":")
    else {
      return nil
    }
    return Int32(text[start.upperBound...].prefix { $0.isNumber })
  }

  package func unmount() throws {
    let status = try Program.run(Program.built("varve"), ["umount", path])
    guard status.exit == 0 else { throw TestFailure("umount failed: \(status.output)") }
  }

  /// Kills the daemon as a crash would, and takes the dead mount away.
  package func kill() throws {
    guard let daemon else { throw TestFailure("no daemon to kill") }
    Glibc.kill(daemon, SIGKILL)
    // The volume can be mounted again once the process, and with it the lock, is gone.
    while MountedVolume.isRunning(daemon) { usleep(2_000) }
    umount2(path, CInt(MNT_DETACH))
  }

  /// Whether a process still holds anything: a dead one may wait for seconds until somebody reaps it, and of a
  /// dying one the first thread may be gone while others still hold the volume.
  package static func isRunning(_ process: Int32) -> Bool {
    guard Glibc.kill(process, 0) == 0, let status = try? Text.read("/proc/\(process)/status") else {
      return false
    }
    return !(status.contains("State:\tZ") && status.contains("Threads:\t1\n"))
  }

  /// Unmounts and removes everything; for `defer`.
  package func remove() {
    umount2(path, CInt(MNT_DETACH))
    TemporaryDirectory.remove(base)
  }
}

/// A test cannot go on.
package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
