// Files that change their class, or begin or cease to be encrypted.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite struct ChangeClassTests {
  private let text = String(repeating: "the canary sings. ", count: 2000)

  private func expect(_ error: Errno, _ work: () throws -> Void) {
    #expect(throws: error) { try work() }
  }

  /// Long enough ago that its change time is settled.
  private func pause() { usleep(30_000) }

  @Test("A file is encrypted and decrypted in place") func aPlainFileIsEncryptedAndDecryptedInPlace() throws {
    let tree = try Tree.vault()
    try tree.make("plain/file", text)
    try tree.link("plain/file", as: "plain/second")
    try tree.change("plain/file") { $0.mode = 0o640 }
    try tree.setAttribute("plain/file", "user.note", "kept")
    try tree.change("plain/file") { $0.modification = .set(Timestamp(seconds: 1_000_000, nanoseconds: 7)) }
    let before = try tree.attributes("plain/file")
    pause()
    try tree.setClass("plain/file", "complete")
    #expect(try tree.stored("plain/file").range(of: Data("canary".utf8)) == nil)
    try expectSame(tree, before, "complete")
    pause()
    try tree.setClass("plain/file", "none")
    #expect(try tree.stored("plain/file") == Data(text.utf8))
    try expectSame(tree, before, nil)
  }

  @Test("An empty value, and no attribute, are the class none", arguments: [false, true])
  func emptyClass(isRemoved: Bool) throws {
    let tree = try Tree.vault()
    try tree.make("a/file", text)
    try tree.makeDirectory("a/directory")
    pause()
    for path in ["a/file", "a/directory"] {
      #expect(try tree.classOf(path) == "complete")
      if isRemoved {
        try tree.removeAttribute(path, "system.varve.class")
      } else {
        try tree.setClass(path, "")
      }
      expect(.noData) { _ = try tree.classOf(path) }
    }
    #expect(try tree.stored("a/file") == Data(text.utf8))
    try tree.make("a/directory/new", text)
    #expect(try tree.stored("a/directory/new") == Data(text.utf8))
  }

  private func expectSame(_ tree: Tree, _ before: Attributes, _ protection: String?) throws {
    for name in ["plain/file", "plain/second"] {
      let now = try tree.attributes(name)
      #expect(
        (now.inode, now.mode, now.size, now.linkCount)
          == (before.inode, before.mode, before.size, before.linkCount))
      #expect((now.user, now.group) == (before.user, before.group))
      #expect(now.modification == before.modification)
      let read = try tree.open(name) { volume, handle in
        var bytes = [UInt8](repeating: 0, count: 100_000)
        var span = bytes.mutableSpan
        var isSecret = false
        let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
        return String(decoding: bytes[..<count], as: UTF8.self)
      }
      #expect(read == text)
      #expect((try? tree.classOf(name)) == protection)
      #expect(try tree.attribute(name, "user.note") == Array("kept".utf8))
    }
  }

  @Test("A file that somebody has open is not encrypted or decrypted") func whoeverHasItOpenIsInTheWay()
    throws
  {
    let tree = try Tree.vault()
    try tree.make("plain/file", text)
    pause()
    try tree.open("plain/file") { _, _ in
      expect(.delayed(.inUse)) { try tree.setClass("plain/file", "complete") }
    }
    #expect(try tree.stored("plain/file") == Data(text.utf8))
    // Also behind the mount, and by a mapping alone.
    let path = "\(tree.path)/plain/file"
    let descriptor = Glibc.open(path, O_RDWR)
    expect(.busy) { try tree.setClass("plain/file", "complete") }
    let mapping = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    close(descriptor)
    expect(.busy) { try tree.setClass("plain/file", "complete") }
    munmap(mapping, 4096)
    try tree.setClass("plain/file", "complete")
    #expect(try tree.stored("plain/file").range(of: Data("canary".utf8)) == nil)
    try tree.open("plain/file") { _, _ in expect(.delayed(.inUse)) { try tree.setClass("plain/file", "none") }
    }
  }

  @Test(arguments: ["complete", "none"], [1, 2, 3, 4])
  func aSignalEndsItWhileNothingIsChanged(_ word: String, _ question: Int) throws {
    let tree = try Tree.vault()
    try tree.make("plain/file", String(repeating: text, count: 20))
    pause()
    if word == "none" {
      try tree.setClass("plain/file", "complete")
      pause()
    }
    let before = try tree.stored("plain/file")
    let asked = try tree.interrupting(at: question) {
      expect(.interrupted) { try tree.setClass("plain/file", word) }
    }
    #expect(asked == question)
    #expect(try tree.stored("plain/file") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(tree.path)/.varve/work").isEmpty)
    try tree.setClass("plain/file", word)
    #expect(try tree.read("plain/file").hasPrefix("the canary"))
  }

  @Test("A file changes its class while it is open") func betweenClassesItMayBeOpen() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "some text")
    try tree.change("a/file") { $0.modification = .set(Timestamp(seconds: 1_000_000, nanoseconds: 7)) }
    let before = try tree.stored("a/file")
    try tree.open("a/file", [.read, .write]) { _, _ in
      for word in ["c", "b", "a", "b"] {
        try tree.setClass("a/file", word)
        #expect(try tree.classOf("a/file").first == ["c": "u", "b": "c", "a": "c"][word])
        #expect(try tree.read("a/file") == "some text")
      }
    }
    #expect(try tree.attributes("a/file").modification == Timestamp(seconds: 1_000_000, nanoseconds: 7))
    // The bytes are not encrypted anew.
    #expect(try tree.stored("a/file").dropFirst(4096) == before.dropFirst(4096))
    tree.unmount()
    try tree.unlock()
    #expect(try tree.read("a/file") == "some text")
    #expect(try tree.classOf("a/file") == "complete-unless-open")
  }

  @Test func aFileWithoutBytesGetsItsMark() throws {
    let tree = try Tree.vault()
    try tree.create("plain/empty")
    pause()
    try tree.setClass("plain/empty", "b")
    try tree.setClass("plain/empty", "a")
    try tree.write("plain/empty", "the canary sings")
    #expect(try tree.read("plain/empty") == "the canary sings")
    #expect(try tree.stored("plain/empty").range(of: Data("canary".utf8)) == nil)
    try tree.open("plain/empty", [.write, .truncate])
    pause()
    try tree.setClass("plain/empty", "none")
    try tree.write("plain/empty", "plain")
    #expect(try tree.stored("plain/empty") == Data("plain".utf8))
  }

  @Test("A file that a killed daemon left with a header and no bytes is decrypted") func headerAlone() throws
  {
    let tree = try Tree.vault()
    try tree.create("a/file")
    let path = "\(tree.path)/a/file"
    var header: Data?
    try observing(
      { _, _ in
        if header == nil, let stored = try? Data(contentsOf: URL(fileURLWithPath: path)), stored.count == 8192
        {
          header = stored
        }
      }, during: { try tree.write("a/file", "text") })
    tree.unmount()
    let file = Glibc.open(path, O_WRONLY | O_TRUNC)
    try #require(header).withUnsafeBytes { _ = pwrite(file, $0.baseAddress, $0.count, 0) }
    close(file)
    try tree.unlock()
    #expect(try tree.stored("a/file").count == 8192 && tree.attributes("a/file").size == 0)
    pause()
    try tree.setClass("a/file", "none")
    #expect(try tree.stored("a/file").isEmpty && tree.attributes("a/file").size == 0)
    #expect(throws: Errno.noData) { _ = try tree.classOf("a/file") }
    try tree.write("a/file", "plain")
    #expect(try tree.stored("a/file") == Data("plain".utf8))
  }

  @Test("An empty file that was open is encrypted for the class that it has at last", arguments: ["a", "b"])
  func emptyFile(former: String) throws {
    let tree = try Tree.vault()
    try tree.create("\(former)/empty")
    try tree.at("\(former)/empty") { _, _ in
      try tree.open("\(former)/empty", [.read, .write]) { _, _ in }
      pause()
      try tree.setClass("\(former)/empty", "none")
      try tree.setClass("\(former)/empty", "c")
      try tree.write("\(former)/empty", "the canary sings")
      // Only the files of the other classes are closed.
      try tree.lock()
      #expect(try tree.read("\(former)/empty") == "the canary sings")
    }
    tree.unmount()
    try tree.unlock()
    #expect(try tree.read("\(former)/empty") == "the canary sings")
  }

  @Test func itTakesTheKeyOfTheOldClassAndOneToMakeFilesOfTheNew() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.make("c/file", "secret")
    try tree.lock()
    pause()
    expect(.noKey) { try tree.setClass("plain/letter", "complete") }
    expect(.noKey) { try tree.setClass("a/file", "none") }
    expect(.noKey) { try tree.setClass("a/file", "c") }
    expect(.noKey) { try tree.setClass("c/file", "a") }
    try tree.setClass("c/file", "b")
    expect(.noKey) { _ = try tree.read("c/file") }
    try tree.unlock()
    #expect(try tree.read("c/file") == "secret")
    #expect(try tree.read("a/file") == "secret")
  }

  @Test func itTakesTheRights() throws {
    guard Tree.isRoot else { return }
    let tree = try Tree.vault()
    try tree.make("plain/file", text)
    try tree.change("plain/file") { $0.mode = 0o644 }
    pause()
    tree.user = 1234
    expect(.accessDenied) { try tree.setClass("plain/file", "complete") }
    expect(.accessDenied) { try tree.setClass("plain", "complete") }
    tree.user = 0
    try tree.setAttribute("plain/file", "system.varve.flags", "uchg")
    expect(.notPermitted) { try tree.setClass("plain/file", "complete") }
    #expect(try tree.stored("plain/file") == Data(text.utf8))
  }

  @Test func aSparseFileStaysSparse() throws {
    let tree = try Tree.vault()
    try tree.make("plain/sparse", "start")
    try tree.change("plain/sparse") { $0.size = 50_000_000 }
    pause()
    try tree.setClass("plain/sparse", "c")
    #expect(try tree.attributes("plain/sparse").size == 50_000_000)
    #expect(try tree.attributes("plain/sparse").blocks < 2000)
    #expect(try tree.read("plain/sparse").hasPrefix("start\0"))
  }
}
