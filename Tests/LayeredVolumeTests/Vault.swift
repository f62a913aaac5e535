// A tree with a keybag, so that its files can be encrypted.

import Foundation
import KeyFixture
import LinuxFiles
import SealedFormat

@testable import KeyringFixture
@testable import LayeredVolume

extension Volume {
  /// Finds a name as the kernel does, which knows its node from then on.
  func find(_ name: String, in parent: NodeID, for caller: Caller) throws(Errno) -> NodeID {
    let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
      try lookup(name, in: parent, for: caller)
    }
    guard case .found(let entry) = answer else { throw .noSuchFile }
    return entry.node
  }
}

extension Tree {
  /// The keybag of the format's own vectors, in a tree that nobody has mounted.
  func addKeybag() throws {
    unmount()
    _ = try volume()
    unmount()
    try StoredKeys.storeKeybag(in: path)
  }

  /// The session log of the vectors, which lists session 5: no unlock replaces it by one of its own time.
  func storeSessionLog() throws {
    try Data(StoredKeys.sessions).write(to: URL(fileURLWithPath: "\(path)/.varve/sessions"))
  }

  /// Opens all classes with the keyfile of the vectors.
  func unlock() throws {
    _ = try volume().unlock(with: StoredKeys.secret())
  }

  @discardableResult
  func lock(_ classes: ClassSet = .locking) throws -> LayeredVolume.LockOutcome {
    try volume().lock(classes, isHurried: false)
  }

  func setClass(_ path: String, _ word: String) throws { try setAttribute(path, "system.varve.class", word) }

  func classOf(_ path: String) throws -> String {
    String(decoding: try attribute(path, "system.varve.class"), as: UTF8.self)
  }

  /// What stat shows.
  func attributes(_ path: String) throws -> Attributes {
    let caller = caller()
    return try at(path) { volume, node in
      try volume.attributes(of: node, handle: nil, for: caller).attributes
    }
  }

  /// Cuts a file as ftruncate does.
  func cut(_ path: String, to size: UInt64, by handle: HandleID) throws {
    let caller = caller()
    var change = AttributeChange()
    change.size = size
    try at(path) { volume, node in
      _ = try volume.changeAttributes(of: node, change, handle: handle, for: caller)
    }
  }

  /// How many sessions the log on the disk lists as not ended.
  func sessionsListed() throws -> Int {
    let bytes = [UInt8](try stored(".varve/sessions"))
    return try SessionLog(decoding: bytes.span).listed.count
  }

  /// The bytes of the backing file.
  func stored(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: "\(self.path)/\(path)"))
  }

  /// A tree with an unlocked keybag and the directories `a`, `b` and `c`, one of each class.
  static func vault(@Items _ items: () -> [TreeItem] = { [] }) throws -> Tree {
    let inside = items()
    let tree = try Tree {
      directory("a") { directory("sub") }
      directory("b")
      directory("c")
      directory("plain") { file("letter", "dear sir") }
    }
    for item in inside { try tree.write(item) }
    try tree.addKeybag()
    try tree.unlock()
    for name in ["a", "b", "c"] { try tree.setClass(name, name) }
    return tree
  }

  private func write(_ item: TreeItem) throws {
    guard case .file(let text) = item.content else { return }
    try text.write(toFile: "\(path)/\(item.name)", atomically: false, encoding: .utf8)
  }

  /// Makes a file through the volume.
  func make(_ path: String, _ text: String) throws {
    try create(path)
    try write(path, text)
  }
}
