// A volume over lowers that a test declares, and a plain directory that says what it has to show.

import Foundation
import LinuxFiles

@testable import LayeredVolume

/// An upper directory over lowers, opened as a volume that no kernel has mounted.
///
/// The topmost lower comes first. Sendable for tests in which several threads call the volume; nothing else is changed meanwhile.
final class LayeredTree: @unchecked Sendable {
  let base: String
  let lowers: [String]
  let options: VolumeOptions
  private var opened: Volume?

  var volume: Volume {
    guard let opened else { preconditionFailure("the volume is closed") }
    return opened
  }

  var upper: String { base + "/upper" }
  /// Who calls; the group has the same number.
  var user = geteuid()

  convenience init(_ lowers: [TreeItem]..., change: (inout VolumeOptions) -> Void = { _ in }) throws {
    try self.init(
      making: { base in
        try lowers.enumerated().map { index, items in
          let path = "\(base)/lower\(index + 1)"
          try LayeredTree.make(items, at: path)
          return path
        }
      }, change: change)
  }

  /// `make`: makes the lowers below a directory of their own.
  init(
    in place: String = "/tmp", making make: (String) throws -> [String],
    change: (inout VolumeOptions) -> Void = { _ in }
  ) throws {
    var template = Array("\(place)/varve-layers.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    base = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    mkdir(base + "/upper", 0o755)
    lowers = try make(base)
    var options = VolumeOptions()
    change(&options)
    self.options = options
    opened = try LayeredTree.open(base, lowers, options)
  }

  deinit {
    opened = nil
    asRoot()
    try? FileManager.default.removeItem(atPath: base)
  }

  private static func open(_ base: String, _ lowers: [String], _ options: VolumeOptions) throws -> Volume {
    try Volume(
      UpperRoot(Array("\(base)/upper".utf8)), lowers: lowers.map { try LowerRoot(Array($0.utf8)) },
      options: options)
  }

  /// The daemon's threads keep the ids of whose files they have written.
  func asRoot() { if Tree.isRoot { try? ThreadIdentity.become(user: 0, group: 0) } }

  /// As if the daemon had ended.
  func close() {
    asRoot()
    opened = nil
  }

  /// As if the daemon had ended and the volume was mounted again.
  func remount() throws {
    close()
    opened = try LayeredTree.open(base, lowers, options)
  }

  /// The same over other lowers, from now on.
  func remount(over lowers: [String]) throws {
    close()
    opened = try LayeredTree.open(base, lowers, options)
  }

  static func make(_ items: [TreeItem], at path: String) throws {
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw Errno.current }
    for item in items {
      let place = "\(path)/\(item.name)"
      switch item.content {
      case .file(let text):
        try text.write(toFile: place, atomically: false, encoding: .utf8)
        chmod(place, mode_t(item.mode ?? 0o644))
      case .symbolicLink(let target): symlink(target, place)
      case .directory(let inside):
        try make(inside, at: place)
        chmod(place, mode_t(item.mode ?? 0o755))
      }
      for (name, value) in item.attributes { try setPlainAttribute(place, name, value) }
    }
  }

  // MARK: Calls by path

  /// Whether what was looked up stays known, as with a kernel that holds whatever leads to an open file.
  var remembers = false {
    didSet {
      guard !remembers else { return }
      forget(remembered)
      remembered = []
    }
  }
  private var remembered: [NodeID] = []

  private func forget(_ nodes: [NodeID]) {
    for node in nodes.reversed() { volume.forget(node, references: 1) }
  }

  var caller: Caller {
    asRoot()
    return Caller(user: user, group: user, thread: getpid())
  }

  func at<R>(_ path: String, asDirectory: Bool = false, _ body: (NodeID) throws -> R) throws -> R {
    var (node, found) = (Volume.rootNode, [NodeID]())
    defer {
      if remembers { remembered += found } else { forget(found) }
    }
    var kind = FileKind.directory
    for name in path.split(separator: "/") {
      // The kernel asks for no name in anything else.
      guard kind == .directory else { throw Errno.notDirectory }
      guard let next = try entry(String(name), in: node) else { throw Errno.noSuchFile }
      (node, kind) = (next.node, next.attributes.kind)
      found.append(node)
    }
    guard !asDirectory || kind == .directory else { throw Errno.notDirectory }
    return try body(node)
  }

  /// What a lookup answers; its reference is the caller's.
  func entry(_ name: String, in parent: NodeID) throws -> Entry? {
    let caller = caller
    let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
      try volume.lookup(name, in: parent, for: caller)
    }
    guard case .found(let entry) = answer else { return nil }
    return entry
  }

  /// The directory of a path, and the name in it.
  func above<R>(
    _ path: String, _ body: (NodeID, borrowing FileName) throws(Errno) -> R
  ) throws -> R {
    let parts = path.split(separator: "/")
    return try at(parts.dropLast().joined(separator: "/"), asDirectory: true) { node in
      try FileName.with(Array((parts.last ?? "").utf8)) { name throws(Errno) in try body(node, name) }
    }
  }

  func attributes(_ path: String) throws -> Attributes {
    try at(path) { try volume.attributes(of: $0, handle: nil, for: caller).attributes }
  }

  func open<R>(_ path: String, _ mode: OpenMode = .read, _ body: (HandleID) throws -> R) throws -> R {
    try at(path) { node in
      let handle = try volume.open(node, mode, for: caller).handle
      defer { volume.release(handle) }
      return try body(handle)
    }
  }

  func read(_ handle: HandleID) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  func read(_ path: String) throws -> String { try open(path) { try read($0) } }

  func write(_ path: String, _ text: String, at offset: UInt64 = 0, _ mode: OpenMode = .write) throws {
    try open(path, mode) { handle in
      var bytes = Array(text.utf8)
      var span = bytes.mutableSpan
      _ = try volume.write(handle, at: offset, &span, appends: false, clearsSetID: false, for: caller)
    }
  }

  func create(_ path: String, _ text: String = "") throws {
    let caller = caller
    let (entry, answer) = try above(path) { parent, name throws(Errno) in
      try volume.create(name, in: parent, mode: 0o644, flags: [.write, .exclusive], for: caller)
    }
    defer { volume.forget(entry.node, references: 1) }
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    _ = try volume.write(answer.handle, at: 0, &span, appends: false, clearsSetID: false, for: caller)
    volume.release(answer.handle)
  }

  func makeDirectory(_ path: String) throws {
    let caller = caller
    let entry = try above(path) { parent, name throws(Errno) in
      try volume.makeDirectory(name, in: parent, mode: 0o755, for: caller)
    }
    volume.forget(entry.node, references: 1)
  }

  func makeSymbolicLink(_ path: String, to target: String) throws {
    let caller = caller
    let entry = try above(path) { parent, name throws(Errno) in
      try volume.makeSymbolicLink(name, in: parent, target: Array(target.utf8), for: caller)
    }
    volume.forget(entry.node, references: 1)
  }

  func remove(_ path: String) throws {
    let caller = caller
    try above(path) { parent, name throws(Errno) in try volume.remove(name, from: parent, for: caller) }
  }

  func removeDirectory(_ path: String) throws {
    let caller = caller
    try above(path) { parent, name throws(Errno) in
      try volume.removeDirectory(name, from: parent, for: caller)
    }
  }

  func link(_ path: String, as newPath: String) throws {
    let caller = caller
    let entry = try at(path) { node in
      try above(newPath) { parent, name throws(Errno) in
        try volume.link(node, as: name, in: parent, for: caller)
      }
    }
    volume.forget(entry.node, references: 1)
  }

  func rename(_ path: String, to newPath: String, _ style: RenameStyle = .replace) throws {
    let (old, new) = (path.split(separator: "/"), newPath.split(separator: "/"))
    try at(old.dropLast().joined(separator: "/"), asDirectory: true) { parent in
      try at(new.dropLast().joined(separator: "/"), asDirectory: true) { newParent in
        try LayeredTree.rename(
          volume, Array((old.last ?? "").utf8), parent, Array((new.last ?? "").utf8), newParent, style, caller
        )
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

  func change(_ path: String, _ change: (inout AttributeChange) -> Void) throws {
    var wanted = AttributeChange()
    change(&wanted)
    try at(path) { _ = try volume.changeAttributes(of: $0, wanted, handle: nil, for: caller) }
  }

  func setAttribute(_ path: String, _ name: String, _ value: String) throws {
    let caller = caller
    try at(path) { node in
      try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
        try volume.setExtendedAttribute(
          name, of: node, to: Array(value.utf8).span, .createOrReplace, for: caller)
      }
    }
  }

  /// A name as it was listed, with its number, and where the listing goes on behind it.
  typealias Listed = (name: String, inode: UInt64, next: Int64)

  func listing<R>(_ path: String, _ body: (HandleID) throws -> R) throws -> R {
    try at(path) { node in
      let handle = try volume.openDirectory(node, for: caller).handle
      defer { volume.release(handle) }
      return try body(handle)
    }
  }

  /// The next names of a listing, as one answer gives them.
  func names(of handle: HandleID, from offset: Int64 = 0, most: Int = .max) throws -> [Listed] {
    var names: [Listed] = []
    try volume.readDirectory(handle, from: offset, withAttributes: false, for: caller) { name, listed in
      guard names.count < most else { return false }
      names.append(
        (String(decoding: name.indices.map { name[$0] }, as: UTF8.self), listed.inode, listed.nextOffset))
      return true
    }
    return names
  }

  /// The names of a directory as they are listed, with their numbers.
  func list(_ path: String, most: Int = .max) throws -> [Listed] {
    try listing(path) { handle in
      var names: [Listed] = []
      while true {
        let more = try self.names(of: handle, from: names.last?.next ?? 0, most: most)
        names += more
        guard !more.isEmpty else { return names.filter { $0.name != "." && $0.name != ".." } }
      }
    }
  }

  func names(_ path: String) throws -> [String] { try list(path).map(\.name).sorted() }

  /// A line for each object, in order.
  func state(_ path: String = "") throws -> [String] {
    var lines: [String] = []
    for name in try names(path) {
      let inner = path.isEmpty ? name : "\(path)/\(name)"
      let found = try attributes(inner)
      switch found.kind {
      case .directory:
        lines.append("\(inner) directory \(String(found.mode, radix: 8))")
        lines += try state(inner)
      case .symbolicLink:
        let target = try at(inner) { try volume.readLink($0) }
        lines.append("\(inner) -> \(String(decoding: target, as: UTF8.self))")
      default:
        lines.append("\(inner) \(String(found.mode, radix: 8)) \(found.linkCount) '\(try read(inner))'")
      }
    }
    return lines
  }
}
