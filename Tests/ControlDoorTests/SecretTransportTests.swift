// Secrets behind the line of a request: whatever pieces they come in, they land where they are wanted and nowhere else,
// and whoever sends too few of them holds up nobody.

import Ciphers
import Glibc
import Testing

@testable import ControlDoor
@testable import LinuxFiles

private var soon: UInt64 { Clock.monotonicNanoseconds + 20_000_000_000 }

/// 48 bytes, newlines among them.
private let secret: [UInt8] = (0..<48).map { $0 % 7 == 0 ? 0x0A : UInt8($0) }

/// What the daemon does with a request that announces a secret, in `milliseconds` at most.
private func received(_ peer: ControlPeer, milliseconds: UInt64 = 1_000) -> String {
  let deadline = Clock.monotonicNanoseconds + milliseconds * 1_000_000
  do throws(CipherFailure) {
    let handed = try HandedSecret.received { (bytes) throws(Errno) in
      try peer.receive(into: &bytes, deadline: deadline)
    }
    return "\(shown(handed))\(peer.hasMore ? " and more" : "")"
  } catch {
    if case .system(let number) = error { return number.name }
    return "\(error)"
  }
}

/// The bytes of a secret of these tests.
private func shown(_ handed: borrowing HandedSecret) -> String {
  var bytes: [UInt8] = []
  do throws(CipherFailure) {
    try handed.send { (span) throws(Errno) in
      for index in span.indices { bytes.append(span[index]) }
    }
  } catch {
    return "\(error)"
  }
  return bytes == secret ? "the secret" : "\(bytes)"
}

@Suite("Secrets behind a line", .timeLimit(.minutes(1))) struct SecretTransportTests {
  private let post: Post

  init() throws {
    post = try Post { line, peer in
      let text = String(decoding: line.prefix(20), as: UTF8.self)
      // Only a line that is followed by secrets has any read.
      return text.hasPrefix("plain") ? text : "\(line.count): \(received(peer))"
    }
  }

  /// A line of so many bytes without its end.
  private func line(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x61, count: count) }

  @Test("Wherever a piece ends, the secret is whole")
  func whole() throws {
    // Around the size in which lines are looked at, and with everything in one piece.
    for count in [1, 47, 4_000, 4_046, 4_047, 4_048, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 65_536] {
      let answer = try post.ask(line(count) + [0x0A] + secret)
      #expect(answer == "\(count): the secret")
    }
  }

  @Test("A peer that sends a byte at a time is understood") func pieces() throws {
    let stream = try post.connect()
    for byte in line(9) + [0x0A] + secret { try stream.send([byte], deadline: soon) }
    let answer = try stream.receiveLastLine(limit: 1_000, deadline: soon)
    #expect(answer.elementsEqual("9: the secret".utf8))
  }

  @Test("The secret may come after the line was read") func late() throws {
    let stream = try post.connect()
    try stream.send(line(5) + [0x0A], deadline: soon)
    Clock.pause(milliseconds: 50)
    try stream.send(Array(secret.prefix(20)), deadline: soon)
    Clock.pause(milliseconds: 50)
    try stream.send(Array(secret.dropFirst(20)), deadline: soon)
    #expect(try stream.receiveLine(limit: 1_000, deadline: soon).elementsEqual("5: the secret".utf8))
  }

  @Test("A peer that ends too early is told so, or nobody is", arguments: [0, 1, 47])
  func short(_ count: Int) throws {
    let stream = try post.connect()
    try stream.send(line(5) + [0x0A] + secret.prefix(count), deadline: soon)
    // The other direction stays open for the answer.
    try #require(shutdown(stream.number, CInt(SHUT_WR)) == 0)
    let answer = try stream.receiveLine(limit: 1_000, deadline: soon)
    #expect(String(decoding: answer, as: UTF8.self) == "5: ENODATA")
    let gone = try post.connect()
    try gone.send(line(5) + [0x0A] + secret.prefix(count), deadline: soon)
    _ = consume gone
    #expect(try post.ask(Array("plain\n".utf8)) == "plain")
  }

  @Test("Who does not send the secret is left after a second, and holds up nobody", arguments: [0, 47])
  func slow(_ count: Int) throws {
    let start = Clock.monotonicNanoseconds
    let stream = try post.connect()
    try stream.send(line(5) + [0x0A] + secret.prefix(count), deadline: soon)
    #expect(try post.ask(Array("plain\n".utf8)) == "plain")
    let answer = try stream.receiveLine(limit: 1_000, deadline: soon)
    #expect(String(decoding: answer, as: UTF8.self) == "5: ETIMEDOUT")
    #expect(Clock.monotonicNanoseconds - start >= 990_000_000)
  }

  @Test("A byte now and then does not buy more time") func drip() throws {
    let stream = try post.connect()
    try stream.send(line(5) + [0x0A], deadline: soon)
    let start = Clock.monotonicNanoseconds
    var isCut = false
    var sent = 0
    while !isCut, sent < 40, Clock.monotonicNanoseconds - start < 10_000_000_000 {
      do throws(Errno) { try stream.send([1], deadline: soon) } catch { isCut = true }
      sent += 1
      Clock.pause(milliseconds: 50)
    }
    #expect(isCut)
  }

  @Test("What comes behind the secret is not taken, and is noticed") func tooMuch() throws {
    let answer = try post.ask(line(5) + [0x0A] + secret + [1])
    #expect(answer == "5: the secret and more")
    // An answer is given also where nothing of what came was read.
    #expect(try post.ask(Array("plain\n".utf8) + secret) == "plain")
  }

  @Test("A line takes nothing of what follows it") func limits() throws {
    var ends: [CInt] = [0, 0]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let other = Descriptor(adopting: ends[1])
    let stream = LocalStream(Descriptor(adopting: ends[0]))
    for count in [0, 1, 4_095, 4_096, 10_000] {
      let sent = line(count) + [0x0A] + secret
      try #require(write(other.rawValue, sent, sent.count) == sent.count)
      #expect(try stream.receiveLine(limit: 20_000, deadline: soon).count == count)
      var bytes = [UInt8](repeating: 0, count: 48)
      var span = bytes.mutableSpan
      let hasMore = stream.hasMore
      try stream.receive(into: &span, deadline: soon)
      let hasMoreLeft = stream.hasMore
      #expect(bytes == secret)
      #expect(hasMore && !hasMoreLeft)
    }
  }
}
