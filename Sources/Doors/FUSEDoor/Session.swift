// A mounted volume from mount to unmount: the face of this module.

import Glibc
package import LayeredVolume
package import LinuxFiles
import Synchronization

/// One mount of a volume.
package final class Session: Sendable {
  private let volume: Volume
  private let mountPoint: MountPoint
  /// Where the volume is mounted: absolute and free of links.
  package var mountPath: [UInt8] { mountPoint.path }
  private let options: MountOptions
  private let door: Door
  private let handshake: Handshake
  /// Taken out by `serve`.
  private let library: Mutex<LibrarySession?>

  /// Refuses a place on which nothing can be mounted with these options.
  package static func check(mountPoint path: [UInt8], _ options: MountOptions) throws(MountFailure) {
    let point = try MountPoint(path)
    if !CurrentProcess.isRoot { try point.requireHelp(options) }
  }

  /// Mounts `volume` on `mountPoint`.
  ///
  /// Callers of the mount wait until `serve` runs. Sets libfuse's one global, its log function. `foreign`: the mount
  /// point, where it is in another mount namespace.
  package init(
    volume: Volume, mountPoint: [UInt8], in foreign: ForeignDirectory? = nil, options: MountOptions
  ) throws(MountFailure) {
    self.volume = volume
    self.options = options
    self.mountPoint = if let foreign { MountPoint(foreign) } else { try MountPoint(mountPoint) }
    door = Door(volume)
    handshake = Handshake(
      disabled: volume.mounted.disabledFeatures, pageSize: Int(sysconf(Int32(_SC_PAGESIZE))),
      stackDepth: volume.stackDepth, encrypts: volume.mayKeepPages)
    library = Mutex(
      try LibrarySession.mount(on: self.mountPoint, foreign, options, handshake: handshake))
  }

  /// Serves requests and returns when the volume is unmounted; once per session.
  ///
  /// `onReady` is called on this thread when INIT has been answered and the workers run. Blocks
  /// no signal of this thread; those of the workers are all blocked.
  package func serve(onReady: () -> Void) throws(MountFailure) {
    guard let library = library.withLock({ $0.take() }) else {
      throw MountFailure(mountPoint.path, "being served already")
    }
    guard library.shakeHands(), let agreement = handshake.agreement else { throw handshakeFailure }
    let notices: Notices
    let workers: Workers
    let loop = RequestLoop(door: door, maxWrite: agreement.maxWrite)
    do throws(Errno) {
      notices = try Notices(session: library.device, agreement: agreement)
      volume.attach(notices.link(agreement, requests: door.counters.described))
      workers = try Workers.start(
        volume.mounted.threads, running: loop, session: library.device,
        clonesDevice: options.clonesDevice)
    } catch {
      throw MountFailure(mountPoint.path, "cannot be served: \(error)")
    }
    onReady()
    workers.join()
    notices.close()
    library.close()
    if let failure = loop.firstFailure {
      throw MountFailure(mountPoint.path, "lost the connection to the kernel: \(failure)")
    }
  }

  private var handshakeFailure: MountFailure {
    let path = mountPoint.path
    if let offer = handshake.offer, offer.minor < Offer.oldestMinor {
      return MountFailure(
        path, "cannot be served: the kernel speaks FUSE \(offer.major).\(offer.minor), 7.23 is needed")
    }
    return MountFailure(path, "cannot be served: \(LibraryLog.take() ?? "it was unmounted at once")")
  }

  /// Unmounts, from any thread; `serve` then returns.
  ///
  /// EBUSY while files are open, unless `lazily`: then the name goes away at once, and `serve` returns when
  /// the last file is closed.
  package func requestUnmount(lazily: Bool = false) throws(Errno) {
    try mountPoint.unmount(lazily: lazily)
  }
}
