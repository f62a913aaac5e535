// Asking the daemon behind a mount, over its control socket.

import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// Where the daemon of a mount can be asked.
///
/// The mount tells where the socket is. Anybody may have made a mount, so the name must begin with the device of
/// this very mount, and the answering process must belong to root or to the user who mounted: otherwise a mount could send us anywhere.
struct ControlAddress: Sendable {
  /// Nil for a socket that was found without a mount.
  private let mount: MountedVolume?
  private let owner: UInt32?
  private let directory: SharedDescriptor
  private let name: [UInt8]

  init(_ mount: MountedVolume) throws(Refusal) {
    self.mount = mount
    owner = mount.owner
    do throws(Errno) { (directory, name) = try socket(of: mount) } catch { throw refusal(error, mount) }
  }

  /// A socket in a directory into which nobody but `owner` and root can have put it.
  init(_ name: [UInt8], in directory: SharedDescriptor, of owner: UInt32) {
    mount = nil
    self.owner = owner
    self.directory = directory
    self.name = name
  }

  /// Whether a daemon of the owner's, or of root's, listens there: one that was killed leaves its socket.
  var isServed: Bool {
    do throws(Errno) {
      _ = try connect()
      return true
    } catch {
      // One that is stopped, or has too much to do, takes nobody for now.
      return error == .again || error == .timedOut
    }
  }

  /// Sends one request, and behind it what it announces, and answers the members of its answer.
  ///
  /// `patience`, in nanoseconds: the daemon may have to wait for requests under way before it can answer.
  func ask(
    _ verb: String, _ members: [JSON.Member] = [], patience: UInt64 = 60_000_000_000,
    sending attachments: consuming Attachments = Attachments()
  ) throws(Refusal) -> JSON {
    let attachments = attachments
    let stream: LocalStream
    do throws(Errno) { stream = try connect() } catch { throw refusal(error, mount) }
    let request = JSON.object([JSON.Member("verb", .string(verb))] + members + attachments.members)
    let deadline = Clock.monotonicNanoseconds &+ patience
    let line: [UInt8]
    do throws(Errno) {
      try stream.send(Array(request.text.utf8) + [UInt8(ascii: "\n")], deadline: deadline)
    } catch {
      throw unanswered(error)
    }
    try attachments.send(on: stream, deadline: deadline)
    do throws(Errno) {
      line = try stream.receiveLastLine(limit: 1 << 24, deadline: deadline)
    } catch {
      throw unanswered(error)
    }
    guard let answer = JSON(line), let isGranted = answer["ok"] else {
      throw Refusal("the daemon's answer is not understood", status: 32)
    }
    guard isGranted == .bool(true) else {
      throw Refusal(
        answer["error"]?.string ?? "the daemon refused and gave no reason",
        status: answer["status"]?.integer.flatMap { Int32(exactly: $0) } ?? 1)
    }
    return answer
  }

  private func connect() throws(Errno) -> LocalStream {
    let directory = directory
    let stream = try FileName.with(name) { name throws(Errno) in
      try LocalStream(to: name, in: directory.descriptor)
    }
    let server = try stream.peer.user
    guard server == 0 || server == owner else { throw .notPermitted }
    return stream
  }
}

/// Asks the daemon of a mount once.
func ask(
  _ mount: MountedVolume, _ verb: String, _ members: [JSON.Member] = []
) throws(Refusal) -> JSON {
  try ControlAddress(mount).ask(verb, members)
}

/// Why there is no answer: a daemon that has too many requests ends the connection, perhaps before it has read anything.
private func unanswered(_ error: Errno) -> Refusal {
  switch error {
  case .noData, .brokenPipe, .connectionReset:
    Refusal("the daemon has too many requests; try again", status: 32, isMomentary: true)
  default: Refusal("the daemon does not answer: \(error)", status: 32)
  }
}

private func refusal(_ error: Errno, _ mount: MountedVolume?) -> Refusal {
  guard let mount else { return Refusal("its control socket cannot be reached: \(error)", status: 32) }
  let isClosed = mount.isClosed(to: CurrentProcess.user)
  let sentence =
    switch error {
    case .timedOut: MountState.silence
    case .noData:
      "its daemon has no control socket; its log says why"
        + (mount.owner == 0 ? "" : ", and with XDG_RUNTIME_DIR set a new mount of it has one")
    case .unsupported: "its daemon is older than control sockets; unmount and mount again"
    case .notConnected: MountState.gone(mount)
    case .noSuchFile where !isClosed:
      "its control socket cannot be seen from here; it may be in another mount namespace"
    case .accessDenied where isClosed, .noSuchFile: "\(MountState.closed(mount)) (EACCES)"
    case .accessDenied where mount.owner != 0:
      "the daemon of a user's own mount answers only root and this user (EACCES)"
    case .accessDenied: "its daemon answers only users who may search the root of the volume (EACCES)"
    case .notPermitted: "its control socket belongs to a user who neither is root nor made this mount"
    default: "its control socket cannot be reached: \(error)"
    }
  return Refusal(sentence, status: 32)
}

/// The directory of a mount's socket, and its name there.
private func socket(of mount: MountedVolume) throws(Errno) -> (SharedDescriptor, [UInt8]) {
  let path = try MountState.controlSocket(of: mount)
  // What follows the device only this mount knows, and users who reach it.
  guard path.first == slash, let end = path.lastIndex(of: slash) else { throw .badMessage }
  let name = Array(path[(end + 1)...])
  guard name.starts(with: "\(mount.device).".utf8), name.suffix(5).elementsEqual(".sock".utf8) else {
    throw .badMessage
  }
  let directory = try Descriptor.item(atPath: end == 0 ? [slash] : Array(path[..<end]), .followed)
  // A link there would lead to a socket that another user chose.
  guard try directory.item(named: name, .held).knownStatus().kind == .socket else { throw .badMessage }
  return (SharedDescriptor(directory), name)
}
