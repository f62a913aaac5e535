// The control socket of this daemon: given a location, served, named by the mount, removed.

import ControlDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The socket of the one mount this process serves.
final class ControlSocket: Sendable {
  private enum State {
    case none
    case open(SocketLocation)
    /// The mount ends.
    case over
  }

  private struct NoLocation: Error {
    /// Nil if there is no directory to try.
    let cause: Errno?
  }

  private let state: Mutex<State> = Mutex(.none)

  /// Opens the socket, as soon as requests are served, and lets the mount tell where it is; without a location for one,
  /// the mount works without.
  ///
  /// `upper`: the path of the upper directory, if there is one among ours.
  func open(_ verbs: ControlVerbs, volume: Volume, upper: [UInt8]?, device: MountDevice) {
    let device = device.number
    let listen: @Sendable () throws(NoLocation) -> SocketLocation = { () throws(NoLocation) in
      try ControlSocket.listen(
        verbs, device, upper.flatMap { ControlSocket.bookkeeping(of: volume, $0) })
    }
    do throws(NoLocation) {
      let location = try listen()
      state.withLock { $0 = .open(location) }
    } catch {
      let remedy =
        "set XDG_RUNTIME_DIR to a directory of your own for dry runs, 'varve why' and 'varve remount'"
      Log.notice(
        "no control socket: \(error.cause.map { "\($0)" } ?? "no directory can hold it")"
          + (CurrentProcess.isRoot ? "" : "; \(remedy)"))
    }
    volume.announceControl { [self] in path(orFrom: listen) }
  }

  /// Where the socket is; a new one, if it is gone.
  ///
  /// The runtime directory of a user goes when they log out, and the daemon may stay. What listened at the old one waits for
  /// peers that do not come.
  private func path(orFrom listen: () throws(NoLocation) -> SocketLocation) -> [UInt8]? {
    state.withLock { state in
      switch state {
      case .over: return nil
      case .open(let location) where location.isThere: return location.path
      case .open, .none:
        // Whoever asks is served by a thread that may act as another user.
        if CurrentProcess.isRoot, (try? ThreadIdentity.become(user: 0, group: 0)) == nil { return nil }
        guard let location = try? listen() else { return nil }
        state = .open(location)
        Log.notice("the control socket was gone from its directory; there is another one")
        return location.path
      }
    }
  }

  /// Listens in the first directory that takes a socket.
  private static func listen(
    _ verbs: ControlVerbs, _ device: String, _ bookkeeping: (directory: SharedDescriptor, path: [UInt8])?
  ) throws(NoLocation) -> SocketLocation {
    var cause: Errno?
    for location in SocketLocation.candidates(
      device: device, runtime: environment("XDG_RUNTIME_DIR"), bookkeeping: bookkeeping)
    {
      do throws(Errno) {
        try ControlServer.start(try location.listen()) { verbs.answer($0, $1, device) }
        return location
      } catch {
        cause = error
      }
    }
    throw NoLocation(cause: cause)
  }

  /// Takes the socket's name away; once, whichever thread comes first.
  func remove() {
    // Nobody waits for a directory that hangs. A name that is left behind is found dead when it is tried.
    let location = state.withLockIfAvailable { state -> SocketLocation? in
      defer { state = .over }
      guard case .open(let location) = state else { return nil }
      return location
    }
    try? location??.remove()
  }

  private static func bookkeeping(
    of volume: Volume, _ upper: [UInt8]
  ) -> (directory: SharedDescriptor, path: [UInt8])? {
    // A path that cannot be resolved is none to tell.
    guard let directory = volume.bookkeeping, let path = try? realPath(upper) else { return nil }
    return (directory, path + [UInt8(ascii: "/")] + OwnDirectory.bytes)
  }
}
