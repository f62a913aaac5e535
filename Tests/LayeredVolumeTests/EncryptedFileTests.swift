// Encrypted files as a volume serves them, without a kernel.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite struct EncryptedFileTests {
  func expect(_ error: Errno, _ work: () throws -> Void) {
    #expect(throws: error) { try work() }
  }

  @Test("What is made in a protected directory is encrypted")
  func whatIsMadeInAProtectedDirectoryIsEncrypted() throws {
    let tree = try Tree.vault()
    for name in ["a", "b", "c"] {
      try tree.make("\(name)/secret", "the canary sings")
      #expect(try tree.read("\(name)/secret") == "the canary sings")
      #expect(try tree.attributes("\(name)/secret").size == 16)
      let stored = try tree.stored("\(name)/secret")
      #expect(stored.count == 8192)
      #expect(stored.range(of: Data("canary".utf8)) == nil)
      // lsattr shows an E, and chattr brings it back.
      let caller = tree.caller()
      try tree.at("\(name)/secret") { volume, node in
        let word = try volume.inodeFlags(of: node, for: caller)
        #expect(word == 0x800)
        try volume.changeInodeFlags(of: node, to: word | 0x40, for: caller)
        #expect(try volume.inodeFlags(of: node, for: caller) == 0x840)
      }
    }
    let caller = tree.caller()
    _ = try tree.at("plain/letter") { volume, node in
      #expect(throws: Errno.unsupported) {
        try volume.changeInodeFlags(of: node, to: 0x800, for: caller)
      }
    }
  }

  @Test func whatIsElsewhereIsNot() throws {
    let tree = try Tree.vault()
    try tree.make("plain/open", "the canary sings")
    #expect(try tree.stored("plain/open") == Data("the canary sings".utf8))
  }

  @Test("The class goes on to what is made below") func theClassGoesOnToSubdirectories() throws {
    let tree = try Tree.vault()
    try tree.makeDirectory("c/deep")
    try tree.make("c/deep/file", "below")
    #expect(try tree.classOf("c/deep") == "until-first-unlock")
    #expect(try tree.classOf("c/deep/file") == "until-first-unlock")
    #expect(try tree.stored("c/deep/file").range(of: Data("below".utf8)) == nil)
  }

  @Test("Without a keybag nothing becomes protected") func withoutAKeybagNothingIsProtected() throws {
    let tree = try Tree { directory("d") }
    expect(.noKey) { try tree.setClass("d", "complete") }
    try tree.setClass("d", "none")
    expect(.invalid) { try tree.setClass("d", "secret") }
  }

  @Test func anotherMountReadsItWithTheKey() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "to be read again")
    tree.unmount()
    #expect(try tree.attributes("a/file").size == 16)
    expect(.noKey) { _ = try tree.read("a/file") }
    try tree.unlock()
    #expect(try tree.read("a/file") == "to be read again")
    try tree.write("a/file", "!", at: 16)
    #expect(try tree.read("a/file") == "to be read again!")
  }

  @Test("A locked file can be shown, moved and removed, and neither read nor written")
  func lockedFilesKeepTheirMetadata() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.make("a/other", "secret")
    try tree.lock()
    #expect(try tree.attributes("a/file").size == 6)
    expect(.noKey) { _ = try tree.read("a/file") }
    expect(.noKey) { try tree.open("a/file", .write) }
    expect(.noKey) { try tree.open("a/file", [.write, .truncate]) }
    expect(.noKey) { try tree.change("a/file") { $0.size = 0 } }
    expect(.noKey) { try tree.create("a/new") }
    try tree.makeNode("a/fifo", .fifo)
    try tree.makeDirectory("a/directory")
    try tree.change("a/file") { $0.mode = 0o600 }
    try tree.setAttribute("a/file", "system.varve.flags", "hidden")
    try tree.rename("a/file", to: "a/renamed")
    try tree.link("a/renamed", as: "plain/linked")
    try tree.remove("a/other")
    try tree.open("a/renamed", .withoutBytes)
    try tree.unlock()
    #expect(try tree.read("plain/linked") == "secret")
  }

  @Test("Class until-first-unlock stays open until all is locked") func classCIsOpenUntilAllIsLocked() throws
  {
    let tree = try Tree.vault()
    try tree.make("c/file", "secret")
    try tree.lock()
    #expect(try tree.read("c/file") == "secret")
    try tree.lock(.all)
    expect(.noKey) { _ = try tree.read("c/file") }
  }

  @Test("A locked directory of class complete-unless-open takes new files")
  func aLockedClassBDirectoryTakesNewFiles() throws {
    let tree = try Tree.vault()
    try tree.make("b/old", "before")
    tree.unmount()
    expect(.noKey) { try tree.create("b/new") }
    try tree.unlock()
    try tree.lock()
    try tree.make("b/new", "while locked")
    #expect(try tree.attributes("b/new").size == 12)
    expect(.noKey) { _ = try tree.read("b/new") }
    expect(.noKey) { _ = try tree.read("b/old") }
    try tree.unlock()
    #expect(try tree.read("b/new") == "while locked")
    #expect(try tree.read("b/old") == "before")
  }

  @Test("A file of class complete-unless-open that is open stays so") func anOpenClassBFileStaysOpen() throws
  {
    let tree = try Tree.vault()
    try tree.make("b/file", "secret")
    try tree.make("a/file", "secret")
    try tree.open("b/file", [.read, .write]) { volume, handle in
      try tree.lock()
      #expect(try read(volume, handle) == "secret")
      try write(volume, handle, "SE")
      #expect(try read(volume, handle) == "SEcret")
      try tree.cut("b/file", to: 4, by: handle)
      #expect(try read(volume, handle) == "SEcr")
      try tree.cut("b/file", to: 0, by: handle)
      try write(volume, handle, "anew")
    }
    expect(.noKey) { _ = try tree.read("b/file") }
    try tree.unlock()
    #expect(try tree.read("b/file") == "anew")
  }

  @Test("A handle from before a lock cannot even empty the file") func aLockedFileIsNotCut() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.open("a/file", [.read, .write]) { _, handle in
      try tree.lock()
      for size: UInt64 in [0, 3, 100] { expect(.noKey) { try tree.cut("a/file", to: size, by: handle) } }
    }
    try tree.unlock()
    #expect(try tree.read("a/file") == "secret")
  }

  @Test func aWriterComesWhileSomebodyReads() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    tree.unmount()
    try tree.unlock()
    try tree.open("a/file") { volume, reader in
      #expect(try read(volume, reader) == "secret")
      try tree.open("a/file", [.read, .write]) { volume, writer in
        try write(volume, writer, "SE")
        #expect(try read(volume, reader) == "SEcret")
      }
      try tree.open("a/file", .write) { volume, writer in try write(volume, writer, "X", at: 5) }
      #expect(try read(volume, reader) == "SEcreX")
    }
    #expect(try tree.read("a/file") == "SEcreX")
  }

  @Test("What was open when it was locked works again after an unlock")
  func anOpenClassAHandleWorksAgainAfterUnlock() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try write(volume, handle, "SE")
      try tree.lock()
      expect(.noKey) { _ = try read(volume, handle) }
      expect(.noKey) { try write(volume, handle, "x") }
      try volume.synchronize(handle, dataOnly: false)
      try tree.unlock()
      #expect(try read(volume, handle) == "SEcret")
    }
  }

  @Test("A plain item is copied into a protected directory, not moved") func aPlainItemDoesNotEnter() throws {
    let tree = try Tree.vault()
    expect(.crossDevice) { try tree.rename("plain/letter", to: "a/letter") }
    expect(.crossDevice) { try tree.link("plain/letter", as: "a/letter") }
    try tree.makeDirectory("plain/folder")
    expect(.crossDevice) { try tree.rename("plain/folder", to: "a/folder") }
    try tree.make("a/secret", "s")
    expect(.crossDevice) { try tree.rename("plain/letter", to: "a/secret", .exchange) }
    expect(.crossDevice) { try tree.rename("a/secret", to: "plain/letter", .exchange) }
    try tree.makeSymbolicLink("plain/symlink", to: "x")
    try tree.rename("plain/symlink", to: "a/symlink")
    // What is encrypted stays so, wherever it goes.
    try tree.rename("a/secret", to: "plain/secret")
    try tree.rename("plain/secret", to: "b/secret")
    #expect(try tree.classOf("b/secret") == "complete")
  }

  @Test func itIsCutAndExtended() throws {
    let tree = try Tree.vault()
    let text = String(repeating: "0123456789", count: 100)
    try tree.make("a/file", text)
    try tree.change("a/file") { $0.size = 5 }
    #expect(try tree.read("a/file") == "01234")
    try tree.change("a/file") { $0.size = 8 }
    #expect(try tree.read("a/file") == "01234\0\0\0")
    try tree.open("a/file", [.write, .truncate])
    #expect(try tree.attributes("a/file").size == 0)
    #expect(try tree.stored("a/file").isEmpty)
    try tree.write("a/file", "anew")
    #expect(try tree.read("a/file") == "anew")
  }

  @Test("Closing an encrypted file does not move its time") func closingDoesNotMoveItsTime() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    let caller = tree.caller()
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try write(volume, handle, String(repeating: "x", count: 9000))
      try tree.change("a/file") { $0.modification = .set(Timestamp(seconds: 1_000_000, nanoseconds: 5)) }
      _ = caller
    }
    #expect(try tree.attributes("a/file").modification == Timestamp(seconds: 1_000_000, nanoseconds: 5))
    #expect(try tree.attributes("a/file").size == 9000)
  }

  @Test("A sync does not move the time that was set since the file was cut")
  func syncingDoesNotMoveItsTime() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", String(repeating: "x", count: 200_000))
    let wanted = Timestamp(seconds: 1_000_000, nanoseconds: 5)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      try tree.cut("a/file", to: 5000, by: handle)
      for round in 0..<6 {
        if round == 3 { try write(volume, handle, "clears what was cut off") }
        try tree.change("a/file") { $0.modification = .set(wanted) }
        try volume.synchronize(handle, dataOnly: false)
        #expect(try tree.attributes("a/file").modification == wanted, "round \(round)")
      }
    }
    #expect(try tree.attributes("a/file").modification == wanted)
  }

  @Test func appendsGoToTheEnd() throws {
    let tree = try Tree.vault()
    try tree.make("a/log", "one\n")
    try tree.write("a/log", "two\n", at: 4, [.write, .append], appends: true)
    #expect(try tree.read("a/log") == "one\ntwo\n")
    try tree.setAttribute("a/log", "system.varve.flags", "uappnd")
    try tree.write("a/log", "three\n", [.write, .append], appends: true)
    expect(.notPermitted) { try tree.write("a/log", "X") }
    #expect(try tree.read("a/log") == "one\ntwo\nthree\n")
  }

  @Test func bytesAreCopiedBetweenForms() throws {
    let tree = try Tree.vault()
    try tree.make("a/to", "")
    try tree.make("plain/back", "")
    let caller = tree.caller()
    try tree.open("plain/letter") { volume, source in
      try tree.open("a/to", [.read, .write]) { volume, target in
        #expect(
          try volume.copyRange(from: source, at: 5, to: target, at: 1, length: 100, for: caller) == 3)
        try tree.open("plain/back", .write) { volume, plain in
          let count = try volume.copyRange(
            from: target, at: 0, to: plain, at: 0, length: 100, for: caller)
          #expect(count == 4)
        }
      }
    }
    #expect(try tree.read("a/to") == "\0sir")
    #expect(try tree.stored("plain/back") == Data("\0sir".utf8))
  }

  @Test func holesAreFound() throws {
    let tree = try Tree.vault()
    try tree.make("a/sparse", "start")
    let caller = tree.caller()
    try tree.open("a/sparse") { volume, reader in
      try tree.open("a/sparse", .write) { _, handle in
        try write(volume, handle, "end", at: 100_000)
        #expect(try volume.seek(reader, offset: 0, whence: 4) == 4096)
        #expect(try volume.seek(reader, offset: 4096, whence: 3) == 98_304)
        try volume.allocate(handle, [.punchHole, .keepSize], offset: 98_304, length: 4096, for: caller)
        expect(.noDevice) { _ = try volume.seek(reader, offset: 4096, whence: 3) }
      }
    }
    #expect(try tree.attributes("a/sparse").size == 100_003)
  }

  @Test("A copy that has lost its attributes is known for what it is") func copiesWithoutAttributesAreKnown()
    throws
  {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret text")
    tree.unmount()
    try tree.stored("a/file").write(to: URL(fileURLWithPath: "\(tree.path)/plain/copy"))
    #expect(try tree.attributes("plain/copy").size == 11)
    expect(.noKey) { _ = try tree.read("plain/copy") }
    try tree.unlock()
    #expect(try tree.read("plain/copy") == "secret text")
    // No append puts plaintext into ciphertext.
    try tree.write("plain/copy", " and more", at: 11, [.write, .append], appends: true)
    #expect(try tree.read("plain/copy") == "secret text and more")
    #expect(try tree.stored("plain/copy").range(of: Data("and more".utf8)) == nil)
  }

  @Test("Damage to encrypted content is an error") func damageIsAnError() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret text")
    tree.unmount()
    var bytes = try tree.stored("a/file")
    bytes[5000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: "\(tree.path)/a/file"), options: [])
    try tree.unlock()
    expect(.inputOutput) { _ = try tree.read("a/file") }
    #expect(try tree.volume().sealed.counted.damagedBlocks > 0)
  }

  @Test func aPlainFileThatSaysItIsEncryptedCanBeEmptied() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret text")
    tree.unmount()
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(tree.path)/a/file"))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data("plain".utf8))
    try handle.close()
    try tree.unlock()
    expect(.inputOutput) { _ = try tree.read("a/file") }
    try tree.open("a/file", [.write, .truncate])
    try tree.write("a/file", "good")
    #expect(try tree.read("a/file") == "good")
  }

  @Test("Rights are decided before keys") func rightsComeFirst() throws {
    guard Tree.isRoot else { return }
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.change("a/file") { $0.mode = 0o600 }
    try tree.lock()
    tree.user = 1234
    expect(.accessDenied) { _ = try tree.read("a/file") }
    expect(.accessDenied) { try tree.create("a/new") }
    tree.user = 0
    expect(.noKey) { _ = try tree.read("a/file") }
  }

  @Test func unnamedFilesAreEncryptedToo() throws {
    let tree = try Tree.vault()
    let caller = tree.caller()
    try tree.at("a") { volume, directory in
      let (entry, answer) = try volume.createUnnamed(
        in: directory, mode: 0o600, flags: [.read, .write], for: caller)
      try write(volume, answer.handle, "nameless")
      #expect(try read(volume, answer.handle) == "nameless")
      let link = { () throws(Errno) in
        try FileName.with(Array("named".utf8)) { name throws(Errno) in
          _ = try volume.link(entry.node, as: name, in: directory, for: caller)
        }
      }
      try link()
      volume.release(answer.handle)
    }
    #expect(try tree.read("a/named") == "nameless")
    #expect(try tree.stored("a/named").range(of: Data("nameless".utf8)) == nil)
  }

  func read(_ volume: Volume, _ handle: HandleID) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
    #expect(isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  func write(
    _ volume: Volume, _ handle: HandleID, _ text: String, at offset: UInt64 = 0
  ) throws {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    let caller = Caller(user: geteuid(), group: getegid(), thread: getpid())
    let written = try volume.write(
      handle, at: offset, &span, appends: false, clearsSetID: false, for: caller)
    #expect(written == text.utf8.count)
  }
}
