// The control socket of this daemon: found a place, served, named by the mount, taken away.

import ControlDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The socket of the one mount this process serves.
final class ControlSocket: Sendable {
  private let place: Mutex<ControlPlace?> = Mutex(nil)

  /// Opens the socket, as soon as requests are served, and lets the mount tell where it is; without a place for one,
  /// the mount goes on without.
  ///
  /// `namespace`: that of the mount, if it is not ours; the socket is among our own paths. `upper`: the path of the
  /// upper directory, if there is one among these.
  func open(
    _ verbs: ControlVerbs, volume: Volume, upper: [UInt8]?, mountPoint: [UInt8], in namespace: MountNamespace?
  ) {
    let device =
      if let namespace { ControlSocket.device(of: mountPoint, in: namespace) } else {
        ControlSocket.device(of: mountPoint)
      }
    guard let device else {
      Log.notice("no control socket: '\(PathText.escaped(mountPoint))' is not in the table of mounts")
      return
    }
    let runtime = environment("XDG_RUNTIME_DIR")
    var failure: Errno?
    for place in ControlPlace.candidates(
      device: device, runtime: runtime,
      bookkeeping: upper.flatMap { ControlSocket.bookkeeping(of: volume, $0) })
    {
      do throws(Errno) {
        try ControlServer.start(try place.listen()) { verbs.answer($0, $1, device) }
        self.place.withLock { $0 = place }
        volume.announceControl(place.path)
        return
      } catch {
        failure = error
      }
    }
    let remedy =
      "set XDG_RUNTIME_DIR to a directory of your own for dry runs, 'varve why' and 'varve remount'"
    Log.notice(
      "no control socket: \(failure.map { "\($0)" } ?? "there is no place for one")"
        + (CurrentProcess.isRoot ? "" : "; \(remedy)"))
  }

  /// Takes the socket's name away; once, whoever comes first.
  func remove() {
    // A name that is left behind is found dead by whoever tries it.
    try? place.withLock { $0.take() }?.remove()
  }

  private static func bookkeeping(
    of volume: Volume, _ upper: [UInt8]
  ) -> (directory: SharedDescriptor, path: [UInt8])? {
    // A path that cannot be resolved is none to tell.
    guard let directory = volume.bookkeeping, let path = try? realPath(upper) else { return nil }
    return (directory, path + Array("/.varve".utf8))
  }

  /// The number under which the kernel knows the mount, without asking the mount itself.
  private static func device(of mountPoint: [UInt8]) -> String? {
    MountedVolume.table().last { $0.mountPoint == mountPoint && $0.isOurs }?.device
  }

  /// The same where no table of ours shows the mount; its file system is asked nothing.
  private static func device(of mountPoint: [UInt8], in namespace: MountNamespace) -> String? {
    // Without a number there is no name for a socket.
    try? namespace.visit { () throws(Errno) in
      try Descriptor.place(mountPoint, .held).knownDevice()
    }
  }
}
