// The control socket of this daemon: given a location, served, named by the mount, removed.

import ControlDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The socket of the one mount this process serves.
final class ControlSocket: Sendable {
  private let location: Mutex<SocketLocation?> = Mutex(nil)

  /// Opens the socket, as soon as requests are served, and lets the mount tell where it is; without a location for one,
  /// the mount works without.
  ///
  /// `upper`: the path of the upper directory, if there is one among ours.
  func open(_ verbs: ControlVerbs, volume: Volume, upper: [UInt8]?, device: MountDevice) {
    let device = device.number
    let runtime = environment("XDG_RUNTIME_DIR")
    var failure: Errno?
    for location in SocketLocation.candidates(
      device: device, runtime: runtime,
      bookkeeping: upper.flatMap { ControlSocket.bookkeeping(of: volume, $0) })
    {
      do throws(Errno) {
        try ControlServer.start(try location.listen()) { verbs.answer($0, $1, device) }
        self.location.withLock { $0 = location }
        volume.announceControl(location.path)
        return
      } catch {
        failure = error
      }
    }
    let remedy =
      "set XDG_RUNTIME_DIR to a directory of your own for dry runs, 'varve why' and 'varve remount'"
    Log.notice(
      "no control socket: \(failure.map { "\($0)" } ?? "no directory can hold it")"
        + (CurrentProcess.isRoot ? "" : "; \(remedy)"))
  }

  /// Takes the socket's name away; once, whichever thread comes first.
  func remove() {
    // A name that is left behind is found dead when it is tried.
    try? location.withLock { $0.take() }?.remove()
  }

  private static func bookkeeping(
    of volume: Volume, _ upper: [UInt8]
  ) -> (directory: SharedDescriptor, path: [UInt8])? {
    // A path that cannot be resolved is none to tell.
    guard let directory = volume.bookkeeping, let path = try? realPath(upper) else { return nil }
    return (directory, path + [UInt8(ascii: "/")] + OwnDirectory.bytes)
  }
}
