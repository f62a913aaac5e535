// The control socket's server: who may be asked how much at once, and how long anybody may take.
//
// It knows nothing of what is asked. A connection carries one line, and behind it what the line says follows, and is
// answered by one line; then it is closed.

package import LinuxFiles
import Synchronization

/// Answers one request, a line without its end, by such a line.
///
/// Called on a thread that nothing else waits for. Must answer whatever the line says.
package typealias ControlAnswer = @Sendable (_ line: [UInt8], _ peer: ControlPeer) -> [UInt8]

/// What the server allows a peer.
package struct ControlLimits: Sendable {
  /// Bytes of a request.
  package var request = 65_536
  /// Peers at once; beyond the first half only root is let in, so that nobody can shut root out.
  package var peers = 32
  /// Peers at once that are one user: it takes four to keep everybody but root out for a while.
  package var peersOfOneUser = 4
  /// For the whole request to come, and for the whole answer to be taken, in nanoseconds.
  package var patience: UInt64 = 5_000_000_000

  package init() {}
}

/// Serves a control socket until the process ends.
package final class ControlServer: Sendable {
  private let socket: ListeningSocket
  private let limits: ControlLimits
  private let answer: ControlAnswer
  private let slots: Mutex<ConnectionSlots>

  /// Starts to serve.
  package static func start(
    _ socket: consuming ListeningSocket, _ limits: ControlLimits = ControlLimits(),
    answer: @escaping ControlAnswer
  ) throws(Errno) {
    let server = ControlServer(socket, limits, answer)
    _ = try PlainThread(name: "varve-control") { server.run() }
  }

  private init(
    _ socket: consuming ListeningSocket, _ limits: ControlLimits, _ answer: @escaping ControlAnswer
  ) {
    self.socket = socket
    self.limits = limits
    self.answer = answer
    slots = Mutex(ConnectionSlots(limits))
  }

  private func run() {
    while true {
      do throws(Errno) {
        admit(try socket.accept())
      } catch {
        // No descriptor is free, or the like: the next attempt at once would find the same.
        Clock.pause(milliseconds: 50)
      }
    }
  }

  /// Gives a peer a slot and a thread; the connection of one that gets none is closed without an answer.
  private func admit(_ stream: consuming LocalStream) {
    let peer: SocketPeer
    do throws(Errno) { peer = try stream.peer } catch { return }
    guard slots.withLock({ $0.take(peer.user) }) else { return }
    // A thread's body is copied; what is closed once travels in a box.
    let visitor = ControlPeer(stream, peer)
    do throws(Errno) {
      _ = try PlainThread(name: "varve-asked") {
        // The slot is given back before the connection ends, so a peer that saw the end can connect again.
        withExtendedLifetime(visitor) {
          self.serve(visitor)
          self.slots.withLock { $0.giveBack(peer.user) }
        }
      }
    } catch {
      slots.withLock { $0.giveBack(peer.user) }
    }
  }

  private func serve(_ peer: ControlPeer) {
    do throws(Errno) {
      let line = try peer.stream.receiveLine(
        limit: limits.request, deadline: Clock.monotonicNanoseconds &+ limits.patience)
      let reply = answer(line, peer) + [UInt8(ascii: "\n")]
      try peer.stream.send(reply, deadline: Clock.monotonicNanoseconds &+ limits.patience)
    } catch {
      // A peer that was too slow, said too much or went away has nobody left to tell.
    }
  }
}

/// A peer and its connection, which is closed when its thread is done with it.
package final class ControlPeer: Sendable {
  fileprivate let stream: LocalStream
  package let identity: SocketPeer

  fileprivate init(_ stream: consuming LocalStream, _ identity: SocketPeer) {
    self.stream = stream
    self.identity = identity
  }

  /// Whether the peer still waits for the answer.
  package var isWaiting: Bool { stream.isQuiet }

  /// Receives what follows the line of the request, straight into memory of the caller's, and nothing behind that.
  package func receive(into bytes: inout MutableSpan<UInt8>, deadline: UInt64) throws(Errno) {
    try stream.receive(into: &bytes, deadline: deadline)
  }

  /// Whether the peer has sent more than what was received.
  package var hasMore: Bool { stream.hasMore }

  /// Holds on to what the peer has open as descriptor `number`; ``LocalStream/held(_:by:ifOn:)``.
  package func held(_ number: Int32, ifOn isWanted: (Int) throws(Errno) -> Void) throws(Errno) -> Descriptor {
    try stream.held(number, by: identity, ifOn: isWanted)
  }
}

/// How many connections each user has.
struct ConnectionSlots {
  private let limits: ControlLimits
  private var taken: [UInt32: Int] = [:]
  private var count = 0

  init(_ limits: ControlLimits) {
    self.limits = limits
  }

  /// Takes a slot for `user`; false when there is none.
  mutating func take(_ user: UInt32) -> Bool {
    let present = taken[user, default: 0]
    if user == 0 {
      guard count < limits.peers else { return false }
    } else {
      let others = count - taken[0, default: 0]
      guard count < limits.peers, others < limits.peers / 2, present < limits.peersOfOneUser else {
        return false
      }
    }
    taken[user] = present + 1
    count += 1
    return true
  }

  mutating func giveBack(_ user: UInt32) {
    count -= 1
    let rest = taken[user, default: 1] - 1
    taken[user] = rest > 0 ? rest : nil
  }
}
