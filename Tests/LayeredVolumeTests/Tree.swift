// A tree that a test declares, with a volume on it that no kernel has mounted.

import Foundation
import LinuxFiles

@testable import LayeredVolume

/// Something in a tree before a test begins.
struct TreeItem: Sendable {
  enum Content: Sendable {
    case file(String)
    case directory([TreeItem])
    case symbolicLink(String)
  }

  let name: String
  var content: Content
  var mode: UInt16?
  var owner: UInt32?
  var flags = ""
  var list = ""
  var attributes: [String: String] = [:]
}

@resultBuilder enum Items {
  static func buildBlock(_ items: TreeItem...) -> [TreeItem] { items }
}

/// `owner` needs root; `flags` and `list` are the texts of `chflags` and `chmod +a`.
func file(
  _ name: String, _ text: String = "", mode: UInt16 = 0o644, owner: UInt32? = nil, flags: String = "",
  list: String = "", attributes: [String: String] = [:]
) -> TreeItem {
  TreeItem(
    name: name, content: .file(text), mode: mode, owner: owner, flags: flags, list: list,
    attributes: attributes)
}

func directory(
  _ name: String, mode: UInt16 = 0o755, owner: UInt32? = nil, flags: String = "", list: String = "",
  attributes: [String: String] = [:], @Items _ inside: () -> [TreeItem] = { [] }
) -> TreeItem {
  TreeItem(
    name: name, content: .directory(inside()), mode: mode, owner: owner, flags: flags, list: list,
    attributes: attributes)
}

func symbolicLink(_ name: String, to target: String) -> TreeItem {
  TreeItem(name: name, content: .symbolicLink(target))
}

/// An upper directory of its own, its volume, and callers of it.
///
/// Paths are relative to the root; "" is the root. Whoever calls is the user who runs the tests, or `user`.
final class Tree {
  static let isRoot = geteuid() == 0
  let path: String
  private let options: VolumeOptions
  private var opened: Volume?
  /// Who calls; the group has the same number.
  var user = geteuid()
  /// The number of the caller's requests, by which they can be interrupted.
  var request: UInt64 = 0

  convenience init(@Items _ items: () -> [TreeItem]) throws { try self.init({ _ in }, items) }

  init(
    in place: String = "/tmp", _ change: (inout VolumeOptions) -> Void, @Items _ items: () -> [TreeItem]
  ) throws {
    var template = Array("\(place)/varve-tree.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    chmod(path, 0o755)
    var options = VolumeOptions()
    options.showsTwins = true
    change(&options)
    self.options = options
    for item in items() { try make(item, at: item.name) }
    for item in items() { try dress(item, at: item.name) }
    asRoot()
  }

  deinit {
    asRoot()
    opened = nil
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The daemon's threads keep the ids of whom they made a file for.
  func asRoot() { if Self.isRoot { try? ThreadIdentity.become(user: 0, group: 0) } }

  private func make(_ item: TreeItem, at place: String) throws {
    let path = "\(path)/\(place)"
    switch item.content {
    case .file(let text): try text.write(toFile: path, atomically: false, encoding: .utf8)
    case .symbolicLink(let target):
      guard Glibc.symlink(target, path) == 0 else { throw Errno.current }
    case .directory(let inside):
      guard Glibc.mkdir(path, 0o755) == 0 else { throw Errno.current }
      for item in inside { try make(item, at: "\(place)/\(item.name)") }
    }
    if let owner = item.owner, lchown(path, owner, owner) != 0 { throw Errno.current }
    if let mode = item.mode, chmod(path, mode_t(mode)) != 0 { throw Errno.current }
  }

  /// From below upwards: flags may forbid what comes later.
  private func dress(_ item: TreeItem, at place: String) throws {
    if case .directory(let inside) = item.content {
      for item in inside { try dress(item, at: "\(place)/\(item.name)") }
    }
    var attributes = item.attributes
    if !item.list.isEmpty { attributes["system.varve.acl"] = item.list }
    if !item.flags.isEmpty { attributes["system.varve.flags"] = item.flags }
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      do { try setAttribute(place, name, value) } catch {
        throw Unmakable(description: "\(name) of \(place): \(error)")
      }
    }
  }

  struct Unmakable: Error, CustomStringConvertible {
    let description: String
  }

  // MARK: The volume

  /// The volume, opened at the first use.
  func volume() throws -> Volume {
    if let opened { return opened }
    let volume = try Volume(UpperRoot(Array(path.utf8)), options: options)
    opened = volume
    return volume
  }

  /// As if the daemon had ended: the next use opens the volume anew.
  func unmount() { close { $0.endSessions() } }

  /// What `last` does is done last; without it, as if the daemon had been killed.
  func close(_ last: (Volume) -> Void = { _ in }) {
    asRoot()
    if let opened { last(opened) }
    opened = nil
  }

  // MARK: Calls by path

  /// Finds a node, and forgets it and all on the way.
  func at<R>(_ path: String, _ body: (Volume, NodeID) throws -> R) throws -> R {
    let volume = try volume()
    var (node, found) = (Volume.rootNode, [NodeID]())
    defer { for node in found.reversed() { volume.forget(node, references: 1) } }
    // Whoever asks for something below may have no right to pass.
    let caller = Caller(user: geteuid(), group: getegid(), thread: getpid())
    asRoot()
    for name in path.split(separator: "/") {
      let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
        try volume.lookup(name, in: node, for: caller)
      }
      guard case .found(let entry) = answer else { throw Errno.noSuchFile }
      node = entry.node
      found.append(node)
    }
    return try body(volume, node)
  }

  /// The directory of a path, and the name in it.
  private func above<R>(
    _ path: String, _ body: (Volume, NodeID, borrowing FileName) throws(Errno) -> R
  ) throws -> R {
    let parts = path.split(separator: "/")
    return try at(parts.dropLast().joined(separator: "/")) { volume, node in
      try FileName.with(Array((parts.last ?? "").utf8)) { name throws(Errno) in
        try body(volume, node, name)
      }
    }
  }

  private func forget(_ entry: Entry) { opened?.forget(entry.node, references: 1) }

  func lookup(_ path: String) throws {
    let caller = caller()
    let answer = try above(path) { volume, parent, name throws(Errno) in
      try volume.lookup(name, in: parent, for: caller)
    }
    guard case .found(let entry) = answer else { throw Errno.noSuchFile }
    forget(entry)
  }

  func create(_ path: String, mode: UInt16 = 0o644, _ flags: OpenMode = [.write, .exclusive]) throws {
    let caller = caller()
    let (entry, answer) = try above(path) { volume, parent, name throws(Errno) in
      try volume.create(name, in: parent, mode: mode, flags: flags, for: caller)
    }
    opened?.release(answer.handle)
    forget(entry)
  }

  func createUnnamed(in path: String, mode: UInt16 = 0o600) throws {
    let caller = caller()
    let (entry, answer) = try at(path) { volume, parent in
      try volume.createUnnamed(in: parent, mode: mode, flags: [.read, .write], for: caller)
    }
    opened?.release(answer.handle)
    forget(entry)
  }

  func makeDirectory(_ path: String, mode: UInt16 = 0o755) throws {
    let caller = caller()
    forget(
      try above(path) { volume, parent, name throws(Errno) in
        try volume.makeDirectory(name, in: parent, mode: mode, for: caller)
      })
  }

  func makeNode(_ path: String, _ kind: FileKind, mode: UInt16 = 0o644, device: UInt32 = 0) throws {
    let caller = caller()
    forget(
      try above(path) { volume, parent, name throws(Errno) in
        try volume.makeNode(
          name, in: parent, kind: kind, mode: mode, deviceMajor: device, deviceMinor: device, for: caller)
      })
  }

  func makeSymbolicLink(_ path: String, to target: String) throws {
    let caller = caller()
    forget(
      try above(path) { volume, parent, name throws(Errno) in
        try volume.makeSymbolicLink(name, in: parent, target: Array(target.utf8), for: caller)
      })
  }

  func link(_ path: String, as newPath: String) throws {
    let caller = caller()
    forget(
      try at(path) { _, node in
        try above(newPath) { volume, parent, name throws(Errno) in
          try volume.link(node, as: name, in: parent, for: caller)
        }
      })
  }

  func rename(_ path: String, to newPath: String, _ style: RenameStyle = .replace) throws {
    let caller = caller()
    let end = newPath.split(separator: "/")
    try above(path) { volume, parent, name throws(Errno) in
      do {
        try at(end.dropLast().joined(separator: "/")) { _, newParent in
          // A name that is borrowed twice: copied, since closures cannot hold what is borrowed.
          try Self.rename(volume, name.copy(), parent, Array((end.last ?? "").utf8), newParent, style, caller)
        }
      } catch {
        throw error as? Errno ?? .invalid
      }
    }
  }

  private static func rename(
    _ volume: Volume, _ name: [UInt8], _ parent: NodeID, _ newName: [UInt8], _ newParent: NodeID,
    _ style: RenameStyle, _ caller: Caller
  ) throws(Errno) {
    try FileName.with(name) { name throws(Errno) in
      try FileName.with(newName) { newName throws(Errno) in
        try volume.rename(name, in: parent, to: newName, in: newParent, style, for: caller)
      }
    }
  }

  func remove(_ path: String) throws {
    let caller = caller()
    try above(path) { volume, parent, name throws(Errno) in
      try volume.remove(name, from: parent, for: caller)
    }
  }

  func removeDirectory(_ path: String) throws {
    let caller = caller()
    try above(path) { volume, parent, name throws(Errno) in
      try volume.removeDirectory(name, from: parent, for: caller)
    }
  }

  /// Opens a file for `body`.
  func open<R>(
    _ path: String, _ mode: OpenMode = .read, _ body: (Volume, HandleID) throws -> R
  ) throws -> R {
    let caller = caller()
    return try at(path) { volume, node in
      let handle = try volume.open(node, mode, for: caller).handle
      defer { volume.release(handle) }
      return try body(volume, handle)
    }
  }

  func open(_ path: String, _ mode: OpenMode = .read) throws { try open(path, mode) { _, _ in } }

  func read(_ path: String) throws -> String {
    try open(path) { volume, handle in
      var bytes = [UInt8](repeating: 0, count: 4_096)
      var span = bytes.mutableSpan
      var isSecret = false
      let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
      return String(decoding: bytes[..<count], as: UTF8.self)
    }
  }

  func write(
    _ path: String, _ text: String, at offset: UInt64 = 0, _ mode: OpenMode = .write, appends: Bool = false
  ) throws {
    let caller = caller()
    try open(path, mode) { volume, handle in
      var bytes = Array(text.utf8)
      var span = bytes.mutableSpan
      _ = try volume.write(
        handle, at: offset, &span, appends: appends, clearsSetID: user != 0, for: caller)
    }
  }

  func change(_ path: String, _ change: (inout AttributeChange) -> Void) throws {
    let caller = caller()
    var wanted = AttributeChange()
    change(&wanted)
    try at(path) { volume, node in
      _ = try volume.changeAttributes(of: node, wanted, handle: nil, for: caller)
    }
  }

  func setAttribute(
    _ path: String, _ name: String, _ value: String, _ setting: AttributeSetting = .createOrReplace
  ) throws {
    try setAttribute(path, name, bytes: Array(value.utf8), setting)
  }

  func setAttribute(
    _ path: String, _ name: String, bytes: [UInt8], _ setting: AttributeSetting = .createOrReplace
  ) throws {
    let caller = caller()
    try at(path) { volume, node in
      try Self.patiently { () throws(Errno) in
        try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
          try volume.setExtendedAttribute(name, of: node, to: bytes.span, setting, for: caller)
        }
      }
    }
  }

  func removeAttribute(_ path: String, _ name: String) throws {
    let caller = caller()
    try at(path) { volume, node in
      try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
        try volume.removeExtendedAttribute(name, of: node, for: caller)
      }
    }
  }

  func attribute(_ path: String, _ name: String) throws -> [UInt8] {
    let caller = caller()
    return try at(path) { volume, node in try Self.attribute(volume, node, name, caller) }
  }

  static func attribute(
    _ volume: Volume, _ node: NodeID, _ name: String, _ caller: Caller
  ) throws(Errno) -> [UInt8] {
    try patiently { () throws(Errno) in
      try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
        try volume.extendedAttribute(name, of: node, for: caller)
      }
    }
  }

  /// As the door does it where no close is on its way: what needs an account's name is asked again when it is there.
  private static func patiently<R>(_ ask: () throws(Errno) -> R) throws(Errno) -> R {
    while true {
      do throws(Errno) { return try ask() } catch {
        guard let delay = error.delay, delay != .inUse else { throw error }
        Clock.pause(milliseconds: 1)
      }
    }
  }

  func list(_ path: String) throws -> [String] {
    let caller = caller()
    return try at(path) { volume, node in
      let handle = try volume.openDirectory(node, for: caller).handle
      defer { volume.release(handle) }
      var names: [String] = []
      var offset: Int64 = 0
      while true {
        let former = offset
        try volume.readDirectory(handle, from: offset, withAttributes: false, for: caller) { name, listed in
          names.append(String(decoding: name.indices.map { name[$0] }, as: UTF8.self))
          offset = listed.nextOffset
          return true
        }
        guard offset != former else { return names.filter { $0 != "." && $0 != ".." }.sorted() }
      }
    }
  }
}
