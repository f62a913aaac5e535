// Changes that are refused while a file is open, when its last close may still be on its way.

import Foundation
import Glibc
import KeyFixture
import LinuxFiles
import Testing

@testable import KeyringFixture
@testable import LayeredVolume

@Suite("Closes that are on their way", .enabled(if: Tree.isRoot, "needs root")) struct LateCloseTests {
  struct Change: Sendable, CustomTestStringConvertible {
    let name: String
    let make: @Sendable (LayeredTree) throws -> Void
    var testDescription: String { name }

    static let all: [Change] = [
      Change(name: "mode") { try $0.change("a/file") { $0.mode = 0o600 } },
      Change(name: "size") { try $0.change("a/file") { $0.size = 2 } },
      Change(name: "truncation") { try $0.change("a/file") { $0.size = 0 } },
      Change(name: "attribute") { try $0.setAttribute("a/file", "user.note", "1") },
      Change(name: "rename") { try $0.rename("a/file", to: "a/new") },
      Change(name: "link") { try $0.link("a/file", as: "a/new") },
      Change(name: "open to write") { try $0.open("a/file", .write) { _ in } },
      Change(name: "open and truncate") { try $0.open("a/file", [.write, .truncate]) { _ in } },
      Change(name: "class") { try $0.setAttribute("a/file", "system.varve.class", "b") },
    ]
  }

  /// Over a lower with an encrypted file; the upper has the keys of the lower.
  private func tree(_ lower: Tree) throws -> LayeredTree {
    try lower.make("a/file", "text")
    lower.unmount()
    return try tree(over: lower)
  }

  private func tree(over lower: Tree) throws -> LayeredTree {
    let tree = try LayeredTree(making: { base in
      _ = try Volume(UpperRoot(Array("\(base)/upper".utf8)), options: VolumeOptions())
      try StoredKeys.storeKeybag(in: "\(base)/upper")
      return [lower.path]
    })
    _ = try tree.volume.unlock(with: StoredKeys.secret())
    return tree
  }

  @Test(
    "What changes an encrypted file of a lower waits for a close that is on its way", arguments: Change.all)
  func ofALower(change: Change) throws {
    let lower = try Tree.vault()
    let tree = try tree(lower)
    try tree.open("a/file") { handle in
      let text = try tree.read(handle)
      #expect(text == "text")
      #expect(throws: Errno.delayed(.inUse)) { try change.make(tree) }
      // Nothing was copied for it.
      #expect(!FileManager.default.fileExists(atPath: "\(tree.upper)/a"))
    }
    try change.make(tree)
  }

  @Test("What gives a file another form waits for a close that is on its way")
  func ofAnotherForm() throws {
    let tree = try Tree.vault()
    try tree.make("plain/file", String(repeating: "canary ", count: 4_000))
    usleep(30_000)
    for (name, word) in [("compression", "zstd"), ("class", "complete")] {
      _ = try tree.open("plain/file") { _, _ in
        #expect(throws: Errno.delayed(.inUse)) {
          try tree.setAttribute("plain/file", "system.varve.\(name)", word)
        }
      }
    }
    try tree.setAttribute("plain/file", "system.varve.class", "complete")
    _ = try tree.open("plain/file") { _, _ in
      #expect(throws: Errno.delayed(.inUse)) { try tree.setClass("plain/file", "none") }
    }
    try tree.setClass("plain/file", "none")
  }

  @Test("A file of a lower that has lost one of its names is decrypted by another, and nothing holds it open")
  func afterANameIsGone() throws {
    let lower = try Tree.vault()
    try lower.make("a/file", "text")
    lower.unmount()
    try #require(Glibc.link("\(lower.path)/a/file", "\(lower.path)/a/other") == 0)
    let tree = try tree(over: lower)
    tree.remembers = true
    try tree.at("a/file") { node in
      #expect(try tree.read("a/file") == "text")
      try tree.at("a/other") { #expect($0 == node) }
      try tree.remove("a/other")
      let caller = tree.caller
      let volume = tree.volume
      try AttributeName.with(Array("system.varve.class".utf8)) { (name) throws(Errno) in
        try volume.setExtendedAttribute(
          name, of: node, to: Array("none".utf8).span, .createOrReplace, for: caller)
      }
      #expect(try tree.read("a/file") == "text")
    }
    tree.remembers = false
  }
}
