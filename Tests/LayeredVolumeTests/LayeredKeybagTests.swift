// The first keybag of a volume that shows encrypted files of a lower.

import Foundation
import KeyFixture
import LinuxFiles
import Testing

@testable import KeyringFixture
@testable import LayeredVolume

@Suite("The first keybag over lowers", .enabled(if: Tree.isRoot, "needs root")) struct LayeredKeybagTests {
  @Test("No first keybag is made over a lower with encrypted files, unless that is wanted")
  func encryptedBelow() throws {
    let lower = try Tree.vault()
    try lower.make("a/file", "text")
    lower.unmount()
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([], at: "\(base)/lower1")
      return ["\(base)/lower1", lower.path]
    })
    let keybag = "\(tree.upper)/.varve/keybag"
    var refusal: KeyFailure?
    do { try tree.volume.keyring.makeKeybag(for: try StoredKeys.secret()) } catch {
      refusal = error as? KeyFailure
    }
    #expect(refusal == .encryptedFiles(Array("a/file".utf8)))
    #expect(!FileManager.default.fileExists(atPath: keybag))
    try tree.volume.keyring.makeKeybag(for: try StoredKeys.secret(), besideEncrypted: true)
    #expect(FileManager.default.fileExists(atPath: keybag))
  }
}
