// Where a mount's control socket stands, and that it stands there only while the daemon answers.
//
// Its name is a secret that only the mount tells: a process that cannot reach the mount cannot ask its daemon either. So nobody
// but the owner may list the directory, and the socket is bound and listens under another name first, because
// /proc/net/unix shows everybody the name it was bound to.

package import LinuxFiles

/// The socket of one mount, under a name that begins with the mount's device and ends at random.
package struct SocketLocation: Sendable {
  private let directory: SharedDescriptor
  private let device: String
  private let name: [UInt8]
  /// The absolute path, as the mount tells it.
  package let path: [UInt8]

  init(in directory: SharedDescriptor, path: [UInt8], device: String) {
    self.directory = directory
    self.device = device
    var chance = SystemRandomNumberGenerator()
    let secret = [chance.next(), chance.next()].map { String($0, radix: 36) }.joined()
    name = Array("\(device).\(secret).sock".utf8)
    self.path = path + [UInt8(ascii: "/")] + name
  }

  /// The places to try for a mount, the best first.
  ///
  /// `device` is the mount's, as /proc/self/mountinfo writes it. `runtime`: a user's own directory for such
  /// things. `bookkeeping`: the hidden directory of the volume, and its path.
  package static func candidates(
    device: String, runtime: [UInt8]?, bookkeeping: (directory: SharedDescriptor, path: [UInt8])?
  ) -> [SocketLocation] {
    var places = RuntimeDirectory.own(runtime: runtime).map { directory in
      SocketLocation(in: directory.descriptor, path: directory.path, device: device)
    }
    if let bookkeeping {
      places.append(SocketLocation(in: bookkeeping.directory, path: bookkeeping.path, device: device))
    }
    return places
  }

  /// Listens, in place of a daemon that had the device before and died.
  ///
  /// Everybody may connect who knows the name and can reach the directory; what they may ask is the business of each
  /// verb. The name appears when the daemon is ready to answer.
  package func listen() throws(Errno) -> ListeningSocket {
    let directory = directory
    for left in try directory.descriptor.names() where left.starts(with: "\(device).".utf8) {
      try FileName.with(left) { left throws(Errno) in try directory.descriptor.removeFile(left) }
    }
    return try FileName.with(Array("\(device).new".utf8)) { temporary throws(Errno) in
      // Closed to everybody as long as it can be found by anybody.
      let socket = try ListeningSocket(temporary, in: directory.descriptor, mode: 0o600)
      try FileName.with(name) { final throws(Errno) in
        try directory.descriptor.rename(temporary, to: directory.descriptor, as: final)
        try directory.descriptor.changeMode(of: final, 0o666)
      }
      return socket
    }
  }

  /// Whether the path still leads to a socket: the directory may be gone from where it was.
  package var isThere: Bool { (try? Descriptor.open(path: path, .path).status().kind) == .socket }

  /// Takes the name away; at the end of the mount.
  package func remove() throws(Errno) {
    let directory = directory
    try FileName.with(name) { name throws(Errno) in try directory.descriptor.removeFile(name) }
  }
}
