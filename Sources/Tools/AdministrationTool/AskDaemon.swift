// Asking the daemon behind a mount, over its control socket.

import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// Sends one request to the daemon of a mount and answers the members of its answer.
///
/// The mount tells where the socket is. Anybody may have made a mount, so the name must begin with the device of
/// this very mount, and whoever answers must be root or the user who mounted: otherwise a mount could send us anywhere.
func ask(
  _ mount: MountedVolume, _ verb: String, _ members: [JSON.Member] = []
) throws(Refusal) -> JSON {
  let stream = try controlConnection(mount)
  let request = JSON.object([JSON.Member("verb", .string(verb))] + members)
  // The daemon may have to wait for requests under way before it can answer.
  let deadline = Clock.monotonicNanoseconds &+ 60_000_000_000
  let line: [UInt8]
  do throws(Errno) {
    try stream.send(Array(request.text.utf8) + [UInt8(ascii: "\n")], deadline: deadline)
    line = try stream.receiveLastLine(limit: 1 << 24, deadline: deadline)
  } catch .noData {
    throw Refusal("the daemon turned the request away; it is asked too much at once", status: 32)
  } catch {
    throw Refusal("the daemon does not answer: \(error)", status: 32)
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

private func controlConnection(_ mount: MountedVolume) throws(Refusal) -> LocalStream {
  do throws(Errno) {
    let stream = try connect(mount)
    let server = try stream.peer.user
    guard server == 0 || server == mount.owner else { throw .notPermitted }
    return stream
  } catch .timedOut {
    throw Refusal(MountState.silence, status: 32)
  } catch .noData {
    throw Refusal(
      "its daemon has no control socket; its log says why"
        + (mount.owner == 0 ? "" : ", and with XDG_RUNTIME_DIR set a new mount of it has one"), status: 32)
  } catch .unsupported {
    throw Refusal("its daemon is older than control sockets; unmount and mount again", status: 32)
  } catch .notConnected {
    throw Refusal("the daemon of this mount is gone; 'varve umount' removes the mount", status: 32)
  } catch .noSuchFile where !mount.isClosed(to: CurrentProcess.user) {
    throw Refusal(
      "its control socket cannot be seen from here; it may be in another mount namespace", status: 32)
  } catch  where mount.isClosed(to: CurrentProcess.user) && [.accessDenied, .noSuchFile].contains(error) {
    throw Refusal("\(MountState.closed(mount)) (EACCES)", status: 32)
  } catch .accessDenied {
    throw Refusal(
      "its daemon answers only users who may search the root of the volume (EACCES)", status: 32)
  } catch .notPermitted {
    throw Refusal(
      "its control socket is served by somebody who neither is root nor made this mount", status: 32)
  } catch {
    throw Refusal("its control socket cannot be reached: \(error)", status: 32)
  }
}

private func connect(_ mount: MountedVolume) throws(Errno) -> LocalStream {
  let path = try MountState.controlSocket(of: mount)
  // What follows the device only this mount knows, and whoever reaches it.
  guard path.first == slash, let end = path.lastIndex(of: slash) else { throw .badMessage }
  let name = Array(path[(end + 1)...])
  guard name.starts(with: "\(mount.device).".utf8), name.suffix(5).elementsEqual(".sock".utf8) else {
    throw .badMessage
  }
  let directory = try Descriptor.place(end == 0 ? [slash] : Array(path[..<end]), .followed)
  // A link there would lead to a socket of somebody else's choice.
  guard try directory.place(of: name, .held).knownStatus().kind == .socket else { throw .badMessage }
  return try FileName.with(name) { name throws(Errno) in try LocalStream(to: name, in: directory) }
}
