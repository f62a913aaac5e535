// When an encrypted file that nobody uses may be let go of.

import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Encrypted files at rest", .enabled(if: Tree.isRoot, "needs root")) struct SealedRestTests {
  private static let other = Timestamp(seconds: 1, nanoseconds: 1)

  /// A file whose blocks reach beyond the first index page, so that writing them leaves the last slot to be written.
  private func long(_ tree: Tree) throws {
    try tree.make("a/file", "")
    try tree.open("a/file", .write) { volume, handle in
      for block in 0..<40 { try put(volume, handle, "first", at: UInt64(block) * 4096) }
      try volume.synchronize(handle, dataOnly: false)
    }
  }

  private func put(_ volume: Volume, _ handle: HandleID, _ text: String, at offset: UInt64) throws {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    _ = try volume.write(
      handle, at: offset, &span, appends: false, clearsSetID: false, for: Caller(user: 0, group: 0, thread: 0)
    )
  }

  private func object(_ tree: Tree) throws -> SealedObject {
    try tree.at("a/file") { volume, node in
      try #require(try volume.node(node).existingAttachment?.encrypted as? SealedObject)
    }
  }

  private func read(_ volume: Volume, _ handle: HandleID, at offset: UInt64) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 6)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: offset, into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  @Test("Who opens it before the last close has written its slot finds what is in memory")
  func anOpenOvertakesTheLastClose() throws {
    let tree = try Tree.vault()
    try long(tree)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      let object = try object(tree)
      let way = try #require(object.way)
      try put(volume, handle, "second", at: 30 * 4096)
      try volume.synchronize(handle, dataOnly: false)
      try put(volume, handle, "third!", at: 30 * 4096)
      #expect(object.owesFinish)
      // The last user is gone, and its close has not come to the lock yet.
      #expect(object.leave())
      object.rest()
      #expect(object.way != nil, "the close needs it")
      #expect(!object.forgetUnused())
      #expect(object.join(way, isWritable: true, changed: Self.other), "the change was its own")
      try put(volume, handle, "fourth", at: 30 * 4096)
      #expect(try read(volume, handle, at: 30 * 4096) == "fourth")
    }
    tree.unmount()
    try tree.unlock()
    let text = try tree.open("a/file") { volume, handle in try read(volume, handle, at: 30 * 4096) }
    #expect(text == "fourth")
  }

  @Test("What somebody else changed is read anew once its own changes are noted")
  func aForeignChangeIsSeen() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "secret")
    try tree.open("a/file") { _, _ in
      let object = try object(tree)
      let way = try #require(object.way)
      #expect(object.leave())
      object.noteSeen()
      #expect(!object.join(way, isWritable: false, changed: Self.other))
      #expect(
        object.join(way, isWritable: false, changed: Timestamp(seconds: 2, nanoseconds: 2)), "it is in use")
      #expect(!object.leave())
    }
  }

  @Test("A file that was let go of with its last slot unwritten is in doubt to this mount, too")
  func whatWasForgottenIsInDoubt() throws {
    let tree = try Tree.vault()
    try long(tree)
    try tree.open("a/file", [.read, .write]) { volume, handle in
      let object = try object(tree)
      try put(volume, handle, "second", at: 30 * 4096)
      try volume.synchronize(handle, dataOnly: false)
      try put(volume, handle, "third!", at: 30 * 4096)
      object.abandon()
      #expect(try volume.sealedIsUnfinished)
      try put(volume, handle, "fourth", at: 30 * 4096)
      #expect(try read(volume, handle, at: 30 * 4096) == "fourth")
      #expect(try read(volume, handle, at: 31 * 4096) == "first\0")
    }
    #expect(try tree.volume().sealedIsUnfinished)
  }
}

extension Volume {
  fileprivate var sealedIsUnfinished: Bool { get throws { sealed.hasUnfinished } }
}
