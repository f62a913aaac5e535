// The attribute `system.varve.verify`: reading it verifies the content of an encrypted file.
//
// A call works for a second at most and says where to go on: `system.varve.verify.OFFSET`. So the asker can be
// interrupted between two calls, and a lock of the class does not wait for a large file.

import Decisions
import JSONForm
import LinuxFiles
import SealedFormat
import Synchronization

/// The attribute that verifies.
enum VerifyDoor {
  static let name = "system.varve.verify"
  /// How long one call works.
  static let patience: UInt64 = 500_000_000

  /// The byte to begin with; nil for another name.
  static func start(_ attribute: borrowing AttributeName) -> UInt64? {
    guard attribute.hasPrefix("system.varve.verify") else { return nil }
    let rest = attribute.copy().dropFirst(name.utf8.count)
    guard let dot = rest.first else { return 0 }
    guard dot == UInt8(ascii: "."), rest.count <= 20 else { return nil }
    return UInt64(String(decoding: rest.dropFirst(), as: UTF8.self))
  }
}

extension Volume {
  /// What is wrong with the content of a file, as JSON; for those who may read it.
  func verify(_ node: Node, from start: UInt64, for caller: Caller) throws(Errno) -> [UInt8] {
    guard node.kind == .regular else { throw .noData }
    let found = try settling(node, for: caller) {
      () throws(Errno) -> (content: SealedObject, way: SharedDescriptor, lacksMark: Bool)? in
      try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        let object = try holdAnew(node)
        try gate.require(caller, .open(OpenRequest(reads: true)), on: object.facts.item)
        guard let content = sealedObject(of: node, object.facts) else { return nil }
        join(content, of: node, by: object.descriptor, object.facts)
        return (content, object.descriptor, object.facts.item.lacksMark)
      }
    }
    guard let (content, way, lacksMark) = found else { return Array(plainAnswer(of: node).utf8) }
    defer { leave(content, of: node) }
    var answer = VerifyAnswer(protection: content.context.protection, lacksMark: lacksMark)
    if start == 0 {
      // A change of class, which leaves two headers for a moment, holds this lock alone.
      let isOpenable = try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        try content.verifyHeader(way, into: &answer.findings)
      }
      guard isOpenable else { return Array(answer.text.utf8) }
    }
    let end = Clock.monotonicNanoseconds &+ VerifyDoor.patience
    let first = start / UInt64(Block.size)
    (answer.next, answer.size) = try content.using(.bytes) { (file) throws(Errno) in
      let next = try file.verifyContent(from: first, into: &answer.findings) {
        Clock.monotonicNanoseconds >= end
      }
      return (next, file.size)
    }
    return Array(answer.text.utf8)
  }

  /// Of a file that is not encrypted; with the class of its directory, which it may have been meant to have.
  private func plainAnswer(of node: Node) -> String {
    var members = [JSON.Member("class", .string("none"))]
    if let parent = node.lastName.withLock({ $0.parent }) {
      let facts = try? locks.holding(.shared(parent.stripe)) { () throws(Errno) in try self.facts(of: parent)
      }
      // A directory that cannot be asked now is no reason to fail.
      if let protection = facts?.item.content.protection {
        members.add("directory", protection.word)
      }
    }
    return JSON.object(members).compactText
  }
}
