// Whether a daemon answers behind a mount.

import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// What a mount answers when its root is looked at.
enum MountState: Equatable {
  case serving
  /// The daemon ended, and the mount is still there.
  case dead
  /// Its daemon does not answer.
  case silent
  /// Something else is wrong: closed to us, or covered by another mount.
  case unknown

  /// What is said of a silent mount to users who need it.
  static let silence = "its daemon does not answer; 'varve umount -l' takes the mount away"

  /// The same of this mount: where its store hangs, the daemon itself can still say so.
  static func silence(of mount: MountedVolume) -> String {
    let socket = FoundSocket.of(mount.device)
    let answer = try? socket?.address.ask("writer", patience: UInt64(patience) &* 1_000_000)
    guard let lock = answer?["lock"]?.string, !lock.hasPrefix("held") else { return silence }
    return
      "it waits for the file system of its upper directory, and goes on when that does; the lock for writing: \(lock)"
  }

  /// What is said of a dead mount, once in a run.
  static func gone(_ mount: MountedVolume?) -> String {
    "\(goneWords); 'varve umount\(mount.map { " \(shellWord($0.mountPoint))" } ?? "")' removes the mount"
  }
  static let goneWords = "the daemon of this volume is gone"

  /// What other users are told of a user's mount that lets nobody else in.
  static func closed(_ mount: MountedVolume) -> String {
    "only user \(mount.owner ?? 0) may use this mount, and not even root; mounted with 'allow_other' it is open to "
      + "others"
  }

  /// What is said of views that are mounted while their volume is not.
  static func leftViews(_ views: [MountedVolume]) -> String {
    "views of \(PathText.escaped(views[0].source)) are still mounted and keep its daemon running; unmount them: umount "
      + views.map { shellWord($0.mountPoint) }.joined(separator: " ")
  }

  /// How long is waited for an answer, in milliseconds.
  static let patience = 2_000

  /// Waits two seconds for an answer, no longer.
  init(_ mount: MountedVolume) {
    do throws(Errno) {
      _ = try MountState.controlSocket(of: mount)
      self = .serving
    } catch {
      switch error {
      case .timedOut: self = .silent
      case .notConnected, .connectionAborted: self = .dead
      // It has no such attribute, and says so.
      case .noData: self = .serving
      default: self = .unknown
      }
    }
  }

  /// Where the mount says that its daemon can be asked; ETIMEDOUT when it says nothing within two seconds, EXDEV when
  /// another mount covers it.
  ///
  /// The kernel may know the root's status by itself, but keeps no attributes.
  static func controlSocket(of mount: MountedVolume) throws(Errno) -> [UInt8] {
    let told = try QuestionApart.ask(milliseconds: patience) { () throws(Errno) -> [UInt8] in
      let root = try reached(mount)
      guard try root.knownDevice() == mount.device else { throw .crossDevice }
      guard let path = try root.attribute(AttributeName("system.varve.control")) else { throw .noData }
      return path
    }
    guard let told else { throw .timedOut }
    return try told.get()
  }

  /// The root of a mount, held; EIO where a file system on the way there has lost its server: that says nothing of the
  /// mount, and ENOTCONN would.
  private static func reached(_ mount: MountedVolume) throws(Errno) -> Descriptor {
    do throws(Errno) {
      return try Descriptor.item(atPath: mount.mountPoint, .held)
    } catch .notConnected {
      throw .inputOutput
    }
  }

  /// Whether the mount belongs to another user, closed to us: nothing of ours can have been denied there.
  static func isOutOfReach(_ mount: MountedVolume) -> Bool {
    do throws(Errno) { _ = try controlSocket(of: mount) } catch { return error == .accessDenied }
    return false
  }
}
