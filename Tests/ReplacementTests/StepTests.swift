// Content replaced: what stays, who is in the way, and what stops it.

import FlagRules
import Foundation
import Glibc
import LinuxFiles
import Randomness
import RecordFormat
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Content replaced") struct StepTests {
  @Test("Everything but the stored bytes stays, there and back") func thereAndBack() throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    let before = try upper.appearance("f")
    try upper.replace("f", .protected)
    #expect(try upper.appearance("f") == before)
    let record = try upper.stored("f").core
    #expect(record.isEncrypted && record.protectionClass == .a && !record.isReplacing)
    let stored = try upper.bytes("f")
    #expect(stored.count % 4096 == 0)
    #expect(Data(stored).range(of: Data(content[..<16])) == nil)
    #expect(try upper.content("f") == content)
    #expect(upper.workNames.isEmpty)

    try upper.replace("f", .plain)
    #expect(try upper.appearance("f") == before)
    #expect(try !upper.stored("f").core.isEncrypted)
    #expect(try upper.bytes("f") == content)
    #expect(upper.workNames.isEmpty)
    // A key of its own each time.
    try upper.replace("f", .protected)
    #expect(try upper.bytes("f")[48..<64] != stored[48..<64])
  }

  @Test("Sizes around blocks", arguments: [1, 4095, 4096, 4097, 98_304, 98_305, 270_000])
  func sizes(_ size: Int) throws {
    let upper = try Upper()
    let content = exampleContent(size)
    try upper.make("f", content)
    try upper.replace("f", .protected)
    #expect(try upper.content("f") == content)
    try upper.replace("f", .plain)
    #expect(try upper.bytes("f") == content)
  }

  @Test("Of a file without bytes only the record changes") func empty() throws {
    let upper = try Upper()
    try upper.make("f", [])
    let before = try upper.appearance("f")
    let (file, body) = try upper.replaced("f", .protected)
    #expect(failure { _ = try Replacement.prepare(file, as: body, at: upper.site) } == .invalid)
    #expect(failure { try upper.site.changeEmpty(file) { true } } == .busy)
    let reader = Glibc.open(upper.open("f"), O_RDONLY)
    #expect(failure { try upper.site.changeEmpty(file) { false } } == .busy)
    close(reader)
    #expect(try !upper.stored("f").core.isEncrypted)
    try upper.site.changeEmpty(file) { false }
    #expect(try upper.stored("f").core.isEncrypted && upper.bytes("f").isEmpty)
    #expect(try upper.appearance("f") == before)
  }

  @Test("A file is compressed and expanded in place", arguments: [32_767, 32_768, 32_769, 1_200_000])
  func compressed(_ size: Int) throws {
    let upper = try Upper()
    let content = exampleContent(size).map { $0 & 0x1F }
    try upper.make("f", content)
    let before = try upper.appearance("f")
    try upper.replaceAndSettle("f", .compressed)
    #expect(try upper.form("f") == .compressed && upper.stored("f").core.logicalSize == UInt64(size))
    #expect(try upper.appearance("f") == before && upper.content("f") == content)
    #expect(try upper.bytes("f").count < size * 9 / 10)
    #expect(failure { try upper.replace("f", .compressed) } == .invalid)
    #expect(failure { try upper.replace("f", .protected) } == .invalid)
    try upper.replace("f", .expanded)
    #expect(try upper.form("f") == .plain && upper.bytes("f") == content && upper.appearance("f") == before)
    #expect(upper.workNames.isEmpty)
  }

  @Test("What saves too little stays as it is") func incompressible() throws {
    let upper = try Upper()
    var dice = Dice(for: "bytes that do not get shorter")
    for size in [100, 4096, 5000, 300_000] {
      let name = "f\(size)"
      let content = (0..<size).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      try upper.make(name, content)
      let before = try upper.appearance(name)
      #expect(failure { try upper.replace(name, .compressed) } == .canceled)
      #expect(try upper.bytes(name) == content && upper.appearance(name) == before)
    }
    try upper.make("empty", [])
    #expect(failure { try upper.replace("empty", .compressed) } == .canceled)
    // All of it a hole, which takes no room that could be saved; and too long.
    truncate(upper.open("empty"), 1 << 30)
    Clock.pause(milliseconds: 30)
    #expect(failure { try upper.replace("empty", .compressed) } == .canceled)
    truncate(upper.open("empty"), (64 << 30) + 1)
    Clock.pause(milliseconds: 30)
    #expect(failure { try upper.replace("empty", .compressed) } == .fileTooBig)
    #expect(upper.workNames.isEmpty)
  }

  @Test("Holes stay holes in a file of four gigabytes") func sparse() throws {
    let upper = try Upper()
    try upper.make("f", [1, 2, 3])
    let path = upper.open("f")
    let file = Glibc.open(path, O_RDWR)
    let size = 4 << 30
    for offset in [1 << 20, (1 << 31) + 77, size - 5000] {
      [UInt8](repeating: 9, count: 5000).withUnsafeBytes { _ = pwrite(file, $0.baseAddress, 5000, offset) }
    }
    ftruncate(file, size + 12_345)
    close(file)
    func blocks() throws -> UInt64 { try upper.object("f").descriptor.status().blocks / 2 }
    let before = try blocks()
    try upper.replace("f", .protected)
    let sealed = try blocks()
    #expect(sealed < before + 100, "\(sealed) KiB, \(before) before")
    do {
      let file = try upper.sealed("f")
      #expect(file.size == UInt64(size + 12_345))
      var bytes = [UInt8](repeating: 0, count: 10_000)
      var span = bytes.mutableSpan
      #expect(try file.read(at: UInt64(size - 7000), into: &span) == 10_000)
      #expect(bytes[1999] == 0 && bytes[2000] == 9 && bytes[6999] == 9 && bytes[7000] == 0)
    }
    try upper.replace("f", .plain)
    let after = try blocks()
    #expect(after < before + 50, "\(after) KiB, \(before) before")
    let plain = try Descriptor.open(path: path, .readOnly)
    #expect(try plain.status().size == UInt64(size + 12_345))
    #expect(try plain.read(upTo: 5000, at: (1 << 31) + 77) == [UInt8](repeating: 9, count: 5000))
    #expect(try plain.read(upTo: 3) == [1, 2, 3])
  }

  // MARK: Who is in the way

  private func refusedAndUntouched(
    _ upper: Upper, _ content: [UInt8], _ before: Appearance, _ body: () throws -> Void
  ) throws {
    #expect(failure(body) == .busy)
    #expect(try upper.appearance("f") == before)
    #expect(try upper.bytes("f") == content)
    let record = try upper.stored("f").core
    #expect(!record.isReplacing && !record.isEncrypted)
    #expect(upper.workNames.isEmpty)
  }

  /// Opens the file as a program would; what is answered lets go of it.
  typealias Holder = @Sendable (String) -> () -> Void

  static let holders: [(String, Holder)] = [
    (
      "a reader",
      { path in
        let file = Glibc.open(path, O_RDONLY)
        return { close(file) }
      }
    ),
    (
      "a writer",
      { path in
        let file = Glibc.open(path, O_WRONLY)
        return { close(file) }
      }
    ),
    (
      "a mapping whose descriptor is closed",
      { path in
        let file = Glibc.open(path, O_RDONLY)
        let map = mmap(nil, 4096, PROT_READ, MAP_SHARED, file, 0)
        close(file)
        return { munmap(map, 4096) }
      }
    ),
    (
      "a private mapping",
      { path in
        let file = Glibc.open(path, O_RDONLY)
        let map = mmap(nil, 4096, PROT_READ, MAP_PRIVATE, file, 0)
        close(file)
        return { munmap(map, 4096) }
      }
    ),
  ]

  @Test("Whoever has the file is in the way, before and after the new bytes were made", arguments: 0..<4)
  func holders(_ index: Int) throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    let before = try upper.appearance("f")
    let (name, hold) = StepTests.holders[index]
    let release = hold(upper.open("f"))
    try refusedAndUntouched(upper, content, before) { try upper.replace("f", .protected) }
    release()
    try refusedAndUntouched(upper, content, before) {
      let (file, body) = try upper.replaced("f", .protected)
      var replacement = try Replacement.prepare(file, as: body, at: upper.site)
      let release = hold(upper.open("f.link"))
      defer { release() }
      try replacement.begin { false }
    }
    try upper.replace("f", .protected)
    #expect(try upper.content("f") == content, "\(name)")
    // And of an encrypted file.
    let other = hold(upper.open("f"))
    #expect(failure { try upper.replace("f", .plain) } == .busy, "\(name)")
    other()
    #expect(try upper.content("f") == content && upper.stored("f").core.isEncrypted)
  }

  @Test("A handle is in the way") func handle() throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    let before = try upper.appearance("f")
    try refusedAndUntouched(upper, content, before) {
      let (file, body) = try upper.replaced("f", .protected)
      var replacement = try Replacement.prepare(file, as: body, at: upper.site)
      try replacement.begin { true }
    }
  }

  @Test("A change after the first byte was read is not lost", arguments: [false, true])
  func changed(byMapping: Bool) throws {
    let upper = try Upper()
    var content = exampleContent()
    try upper.make("f", content)
    let (file, body) = try upper.replaced("f", .protected)
    let path = upper.open("f")
    var replacement = try Replacement.prepare(file, as: body, at: upper.site)
    let writer = Glibc.open(path, O_RDWR)
    if byMapping {
      let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0)
      map?.storeBytes(of: 0x77, toByteOffset: 5, as: UInt8.self)
      munmap(map, 4096)
    } else {
      _ = [UInt8(0x77)].withUnsafeBytes { pwrite(writer, $0.baseAddress, 1, 5) }
    }
    close(writer)
    content[5] = 0x77
    #expect(failure { try replacement.begin { false } } == .busy)
    #expect(try upper.bytes("f") == content)
    #expect(try !upper.stored("f").core.isReplacing)
  }

  @Test("A change of flags meanwhile is one, too") func flagged() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let (file, body) = try upper.replaced("f", .protected)
    var replacement = try Replacement.prepare(file, as: body, at: upper.site)
    var record = file.present.core
    record.flags = .noDump
    try upper.store.write(record, list: .keep, over: file.present, to: file.object.descriptor)
    #expect(failure { try replacement.begin { false } } == .busy)
    #expect(try upper.stored("f").core.flags == .noDump)
  }

  @Test("What changes in the record before it begins is not written over")
  func changedBefore() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let (file, body) = try upper.replaced("f", .protected)
    var record = file.present.core
    record.flags = .noDump
    record.links = CoreRecord.LinkCount(-1, relativeTo: .upper)
    try upper.store.write(record, list: .keep, over: file.present, to: file.object.descriptor)
    #expect(failure { _ = try Replacement.prepare(file, as: body, at: upper.site) } == .busy)
    #expect(upper.workNames.isEmpty)
    let stored = try upper.stored("f").core
    #expect(stored.flags == .noDump && stored.links == record.links)
    try upper.replace("f", .protected)
    #expect(try upper.stored("f").core.links == record.links)
  }

  @Test("One replacement of a file at a time") func twice() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let (file, body) = try upper.replaced("f", .protected)
    do {
      var first = try Replacement.prepare(file, as: body, at: upper.site)
      #expect(failure { _ = try Replacement.prepare(file, as: body, at: upper.site) } == .busy)
      try first.begin { false }
      #expect(upper.workNames.count == 1)
      try first.copyOver()
      try first.settle()
    }
    #expect(try upper.content("f") == exampleContent())
    // What has one form already is not given it again, whoever says so.
    #expect(failure { try upper.replace("f", .protected) } == .invalid)
  }

  @Test("Whoever opens the file while it is written does not end the process") func broken() throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    let (file, body) = try upper.replaced("f", .protected)
    var replacement = try Replacement.prepare(file, as: body, at: upper.site)
    try replacement.begin { false }
    let other = Glibc.open(upper.open("f"), O_RDONLY | O_NONBLOCK)
    let number = errno
    #expect(other == -1 && number == EAGAIN)
    try replacement.copyOver()
    try replacement.settle()
    #expect(try upper.content("f") == content)
  }

  // MARK: Stopped

  @Test("It can be stopped while it has changed nothing") func interrupted() throws {
    for goal in [Upper.Goal.protected, .plain] {
      let upper = try Upper()
      let content = exampleContent(700_000)
      try upper.make("f", content)
      if goal == .plain { try upper.replace("f", .protected) }
      let (before, bytes) = (try upper.appearance("f"), try upper.bytes("f"))
      var seen: [UInt64] = []
      var stopAt = 1
      while true {
        let (file, body) = try upper.replaced("f", goal)
        seen = []
        let watch = ReplacementWatch(
          isInterrupted: { seen.count >= stopAt },
          progress: { done, total in
            #expect(done <= total && total == 700_000)
            seen.append(done)
          })
        let error = failure {
          _ = try Replacement.prepare(file, as: body, at: upper.site, watch: watch)
        }
        #expect(upper.workNames.isEmpty)
        #expect(try upper.appearance("f") == before && upper.bytes("f") == bytes)
        guard error != nil else { break }
        #expect(error == .interrupted)
        stopAt += 1
      }
      #expect(stopAt > 2 && seen.last == 700_000 && seen == seen.sorted())
    }
  }

  @Test("A damaged encrypted file stays what it is") func damaged() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.replace("f", .protected)
    var bytes = try upper.bytes("f")
    bytes[8192] ^= 1
    let file = try Descriptor.open(path: upper.open("f"), .readWrite)
    try file.writeAll(bytes, at: 0)
    _ = consume file
    #expect(failure { try upper.replace("f", .plain) } == .inputOutput)
    #expect(try upper.bytes("f") == bytes && upper.stored("f").core.isEncrypted)
    #expect(upper.workNames.isEmpty)
  }

  // MARK: Sessions

  @Test("The file is one of the session that made it", arguments: [false, true]) func session(
    killed: Bool
  )
    throws
  {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    try upper.replace("f", .protected)
    let bytes = try upper.bytes("f")
    try upper.restart(killed: killed)
    let file = try upper.sealed("f")
    #expect(file.state.withLock { $0.view?.isDoubtful } == killed)
    #expect(try upper.content("f") == content)
    // All of it is committed: what is damaged is an error also in a file that is in doubt.
    let slot = try #require(file.state.withLock { $0.view?.slot })
    #expect(slot.committed == slot.highest && slot.committedPages == slot.pages)
    #expect(slot.pages == UInt64(bytes.count / 4096))
    // And it can be changed.
    var more: [UInt8] = [1, 2, 3]
    var span = more.mutableSpan
    _ = try file.write(&span, at: .offset(50_000))
    _ = try file.close()
    var after = content
    after.replaceSubrange(50_000..<50_003, with: [1, 2, 3])
    #expect(try upper.content("f") == after)
  }
}
