// Whether somebody answers behind a mount.

import LinuxFiles
import LinuxPrograms
import TextForms

/// What a mount answers to whoever looks at its root.
enum MountState: Equatable {
  case serving
  /// The daemon ended, and the mount is still there.
  case dead
  /// Its daemon does not answer.
  case silent
  /// Something else is wrong: closed to us, or covered by another mount.
  case unknown

  /// What is said of a silent mount to whoever wants something of it.
  static let silence = "its daemon does not answer; 'varve umount -l' takes the mount away"

  /// What root is told of a user's mount that lets in nobody else.
  static func closed(_ mount: MountedVolume) -> String {
    "the mount is closed to everybody but user \(mount.owner ?? 0), root included; 'allow_other' opens it (EACCES)"
  }

  /// Waits two seconds for an answer, no longer.
  init(_ mount: MountedVolume) {
    self = Patience.wait(milliseconds: 2_000) { MountState.asked(mount) } ?? .silent
  }

  private static func asked(_ mount: MountedVolume) -> MountState {
    do throws(Errno) {
      let root = try Descriptor.place(mount.mountPoint, .held)
      guard try root.knownDevice() == mount.device else { return .unknown }
      // The kernel may know the root's status by itself, but keeps no attributes.
      _ = try root.attribute(AttributeName("system.varve.control"))
      return .serving
    } catch {
      return error == .notConnected || error == .connectionAborted ? .dead : .unknown
    }
  }
}
