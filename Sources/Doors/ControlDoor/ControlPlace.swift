// Where a mount's control socket stands, and that it stands there only while somebody answers.

package import LinuxFiles

/// The socket of one mount, under the name of the mount's device.
package struct ControlPlace: Sendable {
  private let directory: SharedDescriptor
  private let name: [UInt8]
  /// The absolute path, as the mount tells it.
  package let path: [UInt8]

  /// Holds on to a directory that nobody but its owner can have put a socket into.
  ///
  /// `place` is opened following links, because an administrator chose it; the last component is made if it is
  /// missing, and is no link. EPERM when it belongs to somebody else or is open for others to write.
  private init(_ place: String, _ last: StaticString, mode: UInt16, device: String) throws(Errno) {
    let parent = try Descriptor.directory(atPath: place)
    let component = try FileName(last)
    do throws(Errno) {
      try parent.makeDirectory(component, mode: mode)
    } catch .exists {
      // An earlier mount made it.
    }
    let directory = try parent.open(component, [.readOnly, .directory])
    let status = try directory.status()
    guard status.user == CurrentProcess.user, status.mode & 0o022 == 0 else { throw .notPermitted }
    self.init(
      in: SharedDescriptor(directory), path: Array("\(place)/\(last)".utf8), device: device)
  }

  private init(in directory: SharedDescriptor, path: [UInt8], device: String) {
    self.directory = directory
    name = Array("\(device).sock".utf8)
    self.path = path + [UInt8(ascii: "/")] + name
  }

  /// The places to try for a mount, the best first.
  ///
  /// `device` is the mount's, as /proc/self/mountinfo writes it. `runtime`: a user's own directory for such
  /// things. `bookkeeping`: the hidden directory of the volume, and its path.
  package static func candidates(
    device: String, runtime: String?, bookkeeping: (directory: SharedDescriptor, path: [UInt8])?
  ) -> [ControlPlace] {
    var parents = ["/run"]
    if !CurrentProcess.isRoot {
      parents = (runtime.map { [$0] } ?? []) + ["/run/user/\(CurrentProcess.user)"]
    }
    var places: [ControlPlace] = []
    for parent in parents where parent.hasPrefix("/") {
      // Whatever is wrong with a place, the next one is tried.
      let mode: UInt16 = CurrentProcess.isRoot ? 0o755 : 0o700
      if let place = try? ControlPlace(parent, "varve", mode: mode, device: device) { places.append(place) }
    }
    if let bookkeeping {
      places.append(ControlPlace(in: bookkeeping.directory, path: bookkeeping.path, device: device))
    }
    return places
  }

  /// Listens, in place of whoever had the device before and died.
  ///
  /// Everybody may connect who can reach the directory; what he may ask is the business of each verb. The name
  /// appears when there is somebody to answer.
  package func listen() throws(Errno) -> ListeningSocket {
    let directory = directory
    return try FileName.with(name + Array(".new".utf8)) { temporary throws(Errno) in
      do throws(Errno) {
        try directory.descriptor.removeFile(temporary)
      } catch .noSuchFile {
        // Nobody died in the middle of this.
      }
      let socket = try ListeningSocket(temporary, in: directory.descriptor, mode: 0o666)
      try FileName.with(name) { final throws(Errno) in
        try directory.descriptor.rename(temporary, to: directory.descriptor, as: final)
      }
      return socket
    }
  }

  /// Takes the name away; at the end of the mount.
  package func remove() throws(Errno) {
    let directory = directory
    try FileName.with(name) { name throws(Errno) in try directory.descriptor.removeFile(name) }
  }
}
