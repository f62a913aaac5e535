// What others do to encrypted files: those without a key, without a right to it, and whoever is behind the mount.

import Foundation
import Glibc
import LinuxFiles
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
    "Nobody but root has somebody else's encrypted bytes decrypted in a file of his own",
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
}
