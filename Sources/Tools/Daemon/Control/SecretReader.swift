// What follows the line of a request: secrets, then perhaps an exported keybag. The line says how many bytes to expect,
// and nothing is read for a peer that may not ask for the verb.
//
// Not a descriptor that is sent along (SCM_RIGHTS): to close what was received can take for ever.

import Ciphers
import ControlDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import SealedFormat

extension ControlRequest {
  /// Whether the line announces as many secrets as the verb takes.
  func requireSecrets(_ counts: ClosedRange<Int>) throws(ControlRefusal) -> Int {
    let count = body["secrets"] == nil ? 0 : body["secrets"]?.integer ?? -1
    guard counts.contains(count) else {
      let wanted = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) or \(counts.upperBound)"
      throw ControlRefusal("'secrets' is the number of secrets that follow the line, here \(wanted)")
    }
    return count
  }

  /// The length of the keybag that follows the secrets; nil if none does.
  func keybagLength() throws(ControlRefusal) -> Int? {
    guard let value = body["keybag"] else { return nil }
    guard let length = value.integer, (1...Keybag.longest).contains(length) else {
      throw ControlRefusal("'keybag' is the length of a keybag, from 1 to \(Keybag.longest) bytes")
    }
    return length
  }

  /// A whole number of the body; nil if there is no such member.
  func seconds(_ name: String, in range: ClosedRange<Int>) throws(ControlRefusal) -> Int? {
    guard let value = body[name] else { return nil }
    guard let number = value.integer, range.contains(number) else {
      throw ControlRefusal("'\(name)' is a number of seconds from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Whether a member is true; false if it is not there.
  func flag(_ name: String) throws(ControlRefusal) -> Bool {
    switch body[name] {
    case nil, .bool(false)?: return false
    case .bool(true)?: return true
    default: throw ControlRefusal("'\(name)' is true or false")
    }
  }
}

/// Reads what a request announced, within a second for all of it.
struct SecretReader {
  private let peer: ControlPeer
  private let deadline: UInt64

  init(_ peer: ControlPeer) {
    self.peer = peer
    CoreFiles.forbid()
    deadline = Clock.monotonicNanoseconds &+ 1_000_000_000
  }

  /// The next secret, straight from the socket into the secure heap.
  func secret() throws(ControlRefusal) -> HandedSecret {
    do throws(CipherFailure) {
      return try HandedSecret.received { (bytes) throws(Errno) in
        try peer.receive(into: &bytes, deadline: deadline)
      }
    } catch {
      guard case .system(let number) = error else { throw ControlRefusal(error.sentence) }
      throw SecretReader.refusal(number)
    }
  }

  func keybag(_ length: Int) throws(ControlRefusal) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: length)
    var span = bytes.mutableSpan
    do throws(Errno) {
      try peer.receive(into: &span, deadline: deadline)
    } catch {
      throw SecretReader.refusal(error)
    }
    return bytes
  }

  /// Refuses a peer that sent more than it announced: it may mean something else by what it sent.
  func requireEnd() throws(ControlRefusal) {
    if peer.hasMore { throw ControlRefusal("more bytes follow the line than it announces (EBADMSG)") }
  }

  private static func refusal(_ number: Errno) -> ControlRefusal {
    switch number {
    case .timedOut: ControlRefusal("the secret did not come within a second (ETIMEDOUT)")
    case .noData: ControlRefusal("fewer bytes follow the line than it announces (EBADMSG)")
    default: ControlRefusal("the secret cannot be read: \(number)")
    }
  }
}

/// What a core file of this process would hold.
enum CoreFiles {
  /// Keeps memory out of core files from the first secret on.
  static func forbid() { _ = isForbidden }

  private static let isForbidden: Bool = {
    do throws(Errno) {
      try ResourceLimits.forbidCores()
      return true
    } catch {
      // Keys are in no core anyway; decrypted content could be.
      Log.notice("core files of the daemon cannot be kept empty: /proc/self/coredump_filter: \(error)")
      return false
    }
  }()
}
