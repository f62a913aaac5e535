// A keyfile's secret through a pipe.

import Ciphers
import Glibc
import LinuxFiles
import Testing

@Suite("A secret that is handed over") struct HandedSecretTests {
  private struct Pipe {
    let reading: SharedDescriptor
    var writing: SharedDescriptor?

    init() throws {
      var ends: [CInt] = [0, 0]
      try #require(pipe(&ends) == 0)
      reading = SharedDescriptor(Descriptor(adopting: ends[0]))
      writing = SharedDescriptor(Descriptor(adopting: ends[1]))
    }

    func write(_ bytes: [UInt8]) throws {
      try #require(Glibc.write(try #require(writing).descriptor.rawValue, bytes, bytes.count) == bytes.count)
    }
  }

  private func refusal(_ pipe: borrowing Descriptor, milliseconds: Int32 = 2000) -> CipherFailure? {
    do throws(CipherFailure) {
      _ = try HandedSecret.read(from: pipe, milliseconds: milliseconds)
      return nil
    } catch {
      return error
    }
  }

  @Test("What is written is read") func roundTrip() throws {
    var pipe = try Pipe()
    let sent = HandedSecret(
      keyfile: inline([UInt8](0x10...0x1F), as: InlineArray<16, UInt8>.self),
      secret: try key([UInt8](0xA0...0xBF)))
    try sent.write(to: try #require(pipe.writing).descriptor)
    pipe.writing = nil
    let read = try HandedSecret.read(from: pipe.reading.descriptor)
    #expect(hex(read.keyfile) == "101112131415161718191a1b1c1d1e1f")
    #expect(try exposed(read.secret) == hex([UInt8](0xA0...0xBF)))
  }

  @Test("What is sent is received, and a failure of the way is passed on") func anyWay() throws {
    let sent = HandedSecret(
      keyfile: inline([UInt8](0x10...0x1F), as: InlineArray<16, UInt8>.self),
      secret: try key([UInt8](0xA0...0xBF)))
    var way: [UInt8] = []
    try sent.send { (bytes) throws(Errno) in
      for index in bytes.indices { way.append(bytes[index]) }
    }
    #expect(way == [UInt8](0x10...0x1F) + [UInt8](0xA0...0xBF))
    let received = try HandedSecret.received { (bytes) throws(Errno) in
      for index in bytes.indices { bytes[index] = way[index] }
    }
    #expect(hex(received.keyfile) == "101112131415161718191a1b1c1d1e1f")
    #expect(try exposed(received.secret) == hex([UInt8](0xA0...0xBF)))
    var failure: CipherFailure?
    do throws(CipherFailure) {
      _ = try HandedSecret.received { (_) throws(Errno) in throw .timedOut }
    } catch {
      failure = error
    }
    #expect(failure == .system(.timedOut))
    let used = SecureHeap.used
    for _ in 0..<8 { try? sent.send { (_) throws(Errno) in throw .brokenPipe } }
    #expect(SecureHeap.used == used)
  }

  @Test("In pieces, too") func pieces() throws {
    var pipe = try Pipe()
    let writing = try #require(pipe.writing)
    pipe.writing = nil
    let writer = try PlainThread {
      for index in 0..<48 {
        _ = Glibc.write(writing.descriptor.rawValue, [UInt8(index)], 1)
        if index % 16 == 0 { Clock.pause(milliseconds: 1) }
      }
      // The end comes with the last reference.
      shutDown(writing)
    }
    let read = try HandedSecret.read(from: pipe.reading.descriptor, milliseconds: 20_000)
    writer.join()
    #expect(try exposed(read.secret) == hex([UInt8](16...47)))
  }

  @Test("Fewer or more bytes are refused", arguments: [0, 1, 47, 49, 96, 4096]) func sizes(
    _ count: Int
  ) throws {
    var pipe = try Pipe()
    try pipe.write([UInt8](repeating: 1, count: count))
    pipe.writing = nil
    #expect(refusal(pipe.reading.descriptor) == .system(.badMessage))
  }

  @Test("A writer who does not come, or does not finish, is not waited for", arguments: [0, 20, 48])
  func late(_ count: Int) throws {
    let pipe = try Pipe()
    try pipe.write([UInt8](repeating: 1, count: count))
    let before = Clock.monotonicNanoseconds
    #expect(refusal(pipe.reading.descriptor, milliseconds: 30) == .system(.timedOut))
    #expect(Clock.monotonicNanoseconds - before >= 29_000_000)
  }

  @Test("Only a pipe is read") func kinds() throws {
    for path in ["/dev/zero", "/proc/self/status", "/"] {
      let file = try Descriptor.open(path: path, .readOnly)
      #expect(refusal(file) == .system(.invalid))
    }
    let pipe = try Pipe()
    // The end for writing cannot be read.
    #expect(refusal(try #require(pipe.writing).descriptor, milliseconds: 30) != nil)
  }
}

/// Closes the number below a shared descriptor, whose owner then closes nothing of importance.
private func shutDown(_ shared: SharedDescriptor) {
  let null = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
  dup2(null, shared.descriptor.rawValue)
  close(null)
}
