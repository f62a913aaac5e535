// What others do to encrypted files: those without a key, without a right to it, and whoever is behind the mount.

import Foundation
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

extension EncryptedFileTests {
  @Test(
    "Who opens a locked file without a wish for its bytes gets none of them, not even those others have open")
  func anOpenWithoutBytesGivesNone() throws {
    let tree = try Tree.vault()
    try tree.make("b/file", "secret")
    try tree.open("b/file", [.read, .write]) { volume, handle in
      try tree.lock()
      try tree.open("b/file", [.read, .withoutBytes]) { volume, other in
        expect(.noKey) { _ = try read(volume, other) }
        expect(.noKey) { _ = try volume.seek(other, offset: 0, whence: 3) }
        #expect(try read(volume, handle) == "secret")
        // Its right to the bytes was never decided.
        try tree.unlock()
        expect(.noKey) { _ = try read(volume, other) }
      }
      let text = try tree.open("b/file", [.read, .withoutBytes]) { volume, other in try read(volume, other) }
      #expect(text == "secret")
    }
  }

  /// A tree with the ciphertext of `a/file` in plain files, as a copy without attributes leaves it.
  private func copies(_ names: [String]) throws -> Tree {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret text")
    tree.unmount()
    for name in names {
      try tree.stored("a/file").write(to: URL(fileURLWithPath: "\(tree.path)/plain/\(name)"))
    }
    try tree.unlock()
    return tree
  }

  @Test("A copy that has lost its attributes and whose headers cannot be read is not taken for a plain file")
  func unreadableCopies() throws {
    // The version, the suite and the class of a later form, a field that none has, and bytes that must be zero.
    for place in [8, 12, 14, 15, 64, 68, 80] {
      let tree = try copies(["copy"])
      tree.unmount()
      var bytes = try tree.stored("plain/copy")
      for start in [0, 512] { bytes[start + place] ^= 0x40 }
      try bytes.write(to: URL(fileURLWithPath: "\(tree.path)/plain/copy"))
      expect(.noKey) { _ = try tree.read("plain/copy") }
      try tree.unlock()
      #expect(try tree.attributes("plain/copy").size == 11, "of its slots: byte \(place)")
      expect(.inputOutput) { _ = try tree.read("plain/copy") }
      expect(.inputOutput) { try tree.write("plain/copy", "more", at: 11) }
      expect(.inputOutput) { try tree.change("plain/copy") { $0.size = 4 } }
      #expect(try tree.stored("plain/copy") == bytes)
    }
  }

  @Test("A copy that has lost its attributes stays encrypted when it loses its bytes") func emptiedCopies()
    throws
  {
    let tree = try copies(["opened", "cut", "held"])
    try tree.open("plain/opened", [.write, .truncate])
    try tree.change("plain/cut") { $0.size = 0 }
    try tree.open("plain/held", [.read, .write]) { _, handle in
      try tree.cut("plain/held", to: 0, by: handle)
    }
    for path in ["plain/opened", "plain/cut", "plain/held"] {
      #expect(try tree.attributes(path).size == 0)
      #expect(try tree.classOf(path) == "complete")
      try tree.write(path, "another text")
      #expect(try tree.read(path) == "another text")
      #expect(try tree.stored(path).range(of: Data("another".utf8)) == nil)
    }
    tree.unmount()
    expect(.noKey) { _ = try tree.read("plain/cut") }
    expect(.noData) { _ = try tree.classOf("plain") }
  }

  @Test(
    "The class of a copy that has lost its attributes is set like any other's", arguments: ["a", "b", "none"])
  func classOfCopy(_ word: String) throws {
    let tree = try copies(["copy"])
    try tree.setClass("plain/copy", word)
    tree.unmount()
    try tree.unlock()
    #expect(try tree.read("plain/copy") == "secret text")
    let isEncrypted = try tree.stored("plain/copy").range(of: Data("secret".utf8)) == nil
    #expect(isEncrypted == (word != "none"))
    // Without a keybag only its record tells.
    tree.unmount()
    for name in ["keybag", "keybag.copy"] {
      try FileManager.default.removeItem(atPath: "\(tree.path)/.varve/\(name)")
    }
    guard word != "none" else { return expect(.noData) { _ = try tree.classOf("plain/copy") } }
    #expect(try tree.classOf("plain/copy") == (word == "a" ? "complete" : "complete-unless-open"))
  }

  @Test("A file that is cut to nothing by its path, and that nobody has open, is shown with no bytes")
  func aCutByPath() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret text")
    for isKnown in [true, false] {
      tree.unmount()
      try tree.unlock()
      let caller = tree.caller()
      try tree.at("a/file") { volume, node in
        if isKnown { _ = try tree.read("a/file") }
        var change = AttributeChange()
        change.size = 0
        let answer = try volume.changeAttributes(of: node, change, handle: nil, for: caller)
        #expect(answer.attributes.size == 0)
        #expect(try volume.attributes(of: node, handle: nil, for: caller).attributes.size == 0)
      }
      #expect(try tree.attributes("a/file").size == 0)
      #expect(try tree.classOf("a/file") == "complete")
      try tree.write("a/file", "another text")
    }
  }

  @Test("A lock says of which files the kernel may still have pages") func lockTellsOfPages() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "one")
    try tree.make("a/other", "two")
    let hanging = Mutex<NodeID?>(nil)
    let mayEnd = Atomic(false)
    defer { mayEnd.store(true, ordering: .releasing) }
    try tree.volume().attach(
      KernelLink.dropping { node in
        let hangs = hanging.withLock { first in
          if first == nil { first = node }
          return first == node
        }
        while hangs, !mayEnd.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
      })
    try tree.open("a/file") { _, _ in
      try tree.open("a/other") { volume, _ in
        let outcome = volume.lock(.locking, isHurried: true, patience: 1_000_000_000)
        #expect(outcome.cached.count == 1 && outcome.purged == 1)
        #expect(outcome.kept.isEmpty && outcome.unwritten.isEmpty)
        try tree.unlock()
        mayEnd.store(true, ordering: .releasing)
        #expect(volume.lock(.locking, isHurried: true).cached.isEmpty)
      }
    }
  }

  @Test("A file whose end was cut off takes no change that would make zeros of what is missing")
  func aCutFileTakesNoChange() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "")
    try tree.open("a/file", .write) { volume, handle in
      for block: UInt64 in 0..<30 { try write(volume, handle, "block", at: block * 4096) }
    }
    tree.unmount()
    let stored = try tree.stored("a/file")
    for missing in [1, 4096, 40_000] {
      truncate("\(tree.path)/a/file", off_t(stored.count - missing))
      try tree.unlock()
      #expect(try tree.read("a/file").hasPrefix("block"))
      for offset: UInt64 in [0, 29 * 4096, 40 * 4096] {
        expect(.inputOutput) { try tree.write("a/file", "new", at: offset) }
      }
      expect(.inputOutput) { try tree.change("a/file") { $0.size = 5 } }
      tree.unmount()
    }
    try tree.unlock()
    try tree.change("a/file") { $0.size = 0 }
    try tree.write("a/file", "anew")
    #expect(try tree.read("a/file") == "anew")
  }

  @Test(
    "Only root has another user's encrypted bytes decrypted in a file of root's own",
    .enabled(if: Tree.isRoot))
  func foreignBytesAreNotDecrypted() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.stored("a/file").write(to: URL(fileURLWithPath: "\(tree.path)/plain/mine"))
    try #require(chown("\(tree.path)/plain/mine", 7001, 7001) == 0)
    tree.user = 7001
    expect(.noKey) { _ = try tree.read("plain/mine") }
    expect(.noKey) { try tree.write("plain/mine", "x") }
    tree.user = 0
    #expect(try tree.read("plain/mine") == "secret")
  }

  @Test("A lock does not move the time that was set for an open file")
  func lockingDoesNotMoveItsTime() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "")
    let wanted = Timestamp(seconds: 1_000_000, nanoseconds: 5)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try write(volume, handle, String(repeating: "x", count: 400_000))
      try volume.synchronize(handle, dataOnly: false)
      // A hole, and a page that only the commit of the lock sets free: together more than a file keeps.
      try write(volume, handle, "z", at: 487_836)
      try write(volume, handle, "y", at: 300_000)
      try tree.change("a/file") { $0.modification = .set(wanted) }
      try tree.lock()
      #expect(try tree.attributes("a/file").modification == wanted)
    }
    #expect(try tree.attributes("a/file").modification == wanted)
  }

  @Test(
    "While a program may have a file mapped for writing, all of it counts as data", arguments: [true, false])
  func holesOfMappedFiles(isEncrypted: Bool) throws {
    let tree = try Tree.vault()
    let path = isEncrypted ? "a/file" : "plain/file"
    try tree.make(path, "")
    try tree.change(path) { $0.size = 1 << 20 }
    let data: UInt32 = 3
    let hole: UInt32 = 4
    try tree.open(path) { volume, reader in
      expect(.noDevice) { _ = try volume.seek(reader, offset: 5, whence: data) }
      // What is in a mapping the kernel has not told of.
      try tree.open(path, [.read, .write]) { _, _ in
        let found = try (
          volume.seek(reader, offset: 5, whence: data), volume.seek(reader, offset: 5, whence: hole)
        )
        #expect(found == (5, 1 << 20))
        for whence in [data, hole] {
          expect(.noDevice) { _ = try volume.seek(reader, offset: 1 << 20, whence: whence) }
        }
      }
      // To map for writing one must read as well.
      try tree.open(path, .write) { _, _ in
        expect(.noDevice) { _ = try volume.seek(reader, offset: 5, whence: data) }
      }
      #expect(try volume.seek(reader, offset: 5, whence: hole) == 5)
    }
  }
}
