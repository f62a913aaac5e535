// What follows the line of a request to a daemon: secrets, then perhaps an exported keybag.

import Ciphers
import JSONForm
import LinuxFiles

/// The bytes behind a line, which says how many there are.
struct Attachments: ~Copyable {
  var first: HandedSecret?
  var second: HandedSecret?
  var keybag: [UInt8]?

  init() {}

  init(_ secret: consuming HandedSecret) { first = .some(secret) }

  /// The members of the line that announce them.
  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    let secrets = Attachments.count(first) + Attachments.count(second)
    if secrets > 0 { members.add("secrets", secrets) }
    if let keybag { members.add("keybag", keybag.count) }
    return members
  }

  /// Sends them; a daemon that wants none has refused already, and its answer says why.
  borrowing func send(on stream: borrowing LocalStream, deadline: UInt64) throws(Refusal) {
    do throws(CipherFailure) {
      try Attachments.send(first, on: stream, deadline)
      try Attachments.send(second, on: stream, deadline)
    } catch {
      switch error {
      case .system(.brokenPipe), .system(.connectionReset): return
      default: throw Refusal.ciphers(error)
      }
    }
    guard let keybag else { return }
    // A daemon that is gone is noticed when its answer is waited for.
    try? stream.send(keybag, deadline: deadline)
  }

  private static func count(_ secret: borrowing HandedSecret?) -> Int {
    switch secret {
    case .none: 0
    case .some: 1
    }
  }

  private static func send(
    _ secret: borrowing HandedSecret?, on stream: borrowing LocalStream, _ deadline: UInt64
  ) throws(CipherFailure) {
    switch secret {
    case .none: return
    case .some(let secret):
      try secret.send { (bytes) throws(Errno) in try stream.send(bytes, deadline: deadline) }
    }
  }
}
