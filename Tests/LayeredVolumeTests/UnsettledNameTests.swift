// Names that are exchanged behind the mount between a look and what it was for.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// What is done by the number that a lookup answered; all of it tells which of two objects it was done to.
private enum Use: CaseIterable {
  case read, show, readAttribute, setAttribute, changeMode, followLink, readInside

  var items: [TreeItem] {
    switch self {
    case .read, .show: [file("a", "1"), file("b", "22")]
    case .readAttribute, .setAttribute, .changeMode:
      [file("a", "1", attributes: ["user.t": "1"]), file("b", "22", attributes: ["user.t": "22"])]
    case .followLink: [symbolicLink("a", to: "1"), symbolicLink("b", to: "22")]
    case .readInside: [directory("a") { file("f", "1") }, directory("b") { file("f", "22") }]
    }
  }

  func callAsFunction(_ volume: Volume, _ node: NodeID, for caller: Caller) throws -> String {
    switch self {
    case .read: return try content(of: node, volume, caller)
    case .show:
      let size = try volume.attributes(of: node, handle: nil, for: caller).attributes.size
      return String(repeating: "\(size)", count: Int(size))
    case .readAttribute: return try attribute(volume, node, caller)
    case .setAttribute:
      try AttributeName.with(Array("user.new".utf8)) { name throws(Errno) in
        try volume.setExtendedAttribute(name, of: node, to: [1].span, .createOrReplace, for: caller)
      }
      return try attribute(volume, node, caller)
    case .changeMode:
      var change = AttributeChange()
      change.mode = 0o600
      _ = try volume.changeAttributes(of: node, change, handle: nil, for: caller)
      return try content(of: node, volume, caller)
    case .followLink: return String(decoding: try volume.readLink(node), as: UTF8.self)
    case .readInside:
      let answer = try FileName.with(Array("f".utf8)) { name throws(Errno) in
        try volume.lookup(name, in: node, for: caller)
      }
      guard case .found(let entry) = answer else { throw Errno.noSuchFile }
      defer { volume.forget(entry.node, references: 1) }
      return try content(of: entry.node, volume, caller)
    }
  }

  private func content(of node: NodeID, _ volume: Volume, _ caller: Caller) throws -> String {
    let handle = try volume.open(node, .read, for: caller).handle
    defer { volume.release(handle) }
    var bytes = [UInt8](repeating: 0, count: 8)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try volume.read(handle, at: 0, into: &span, isSecret: &isSecret)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private func attribute(_ volume: Volume, _ node: NodeID, _ caller: Caller) throws -> String {
    try AttributeName.with(Array("user.t".utf8)) { name throws(Errno) in
      String(decoding: try volume.extendedAttribute(name, of: node, for: caller), as: UTF8.self)
    }
  }
}

@Suite("Names that change behind the mount again and again") struct UnsettledNameTests {
  private func exchange(_ tree: Tree, _ name: String = "a", _ other: String = "b") throws {
    let root = try Descriptor.open(path: tree.path, [.path])
    try FileName.with(Array(name.utf8)) { name throws(Errno) in
      try FileName.with(Array(other.utf8)) { other throws(Errno) in
        try root.rename(name, to: root, as: other, .exchange)
      }
    }
  }

  /// Looks a name up, exchanges it, and does `use` to what was found, as the kernel does it: after ESTALE once more.
  private func look(_ tree: Tree, _ use: Use) throws -> (first: Result<String, Errno>, String?) {
    let caller = tree.caller()
    func once() throws -> Result<String, Errno> {
      try tree.at("a") { volume, node in
        try exchange(tree)
        do { return .success(try use(volume, node, for: caller)) } catch {
          return .failure(try #require(error as? Errno))
        }
      }
    }
    let first = try once()
    guard case .failure(.stale) = first else { return (first, nil) }
    return (first, try once().get())
  }

  @Test(
    "What is done to a name that was looked up is done to what it led to, though it leads elsewhere each time",
    arguments: Use.allCases)
  private func again(use: Use) throws {
    let tree = try Tree {
      use.items[0]; use.items[1]
    }
    try tree.volume().willSweep(true)
    let (first, second) = try look(tree, use)
    // What a directory is read by was held already.
    if use != .readInside { #expect(first == .failure(.stale)) }
    if let second { #expect(second == "22") }
    // From then on nothing fails, and it is always what the name meant when it was looked up.
    for round in 0..<10 {
      let wanted = try tree.read(use, "a")
      #expect(try look(tree, use).first == .success(wanted), "round \(round)")
    }
  }

  @Test("A name that is looked up while names change is told without a time, and leads to what it means then")
  func told() throws {
    let tree = try Tree {
      file("a", "1")
      file("b", "22")
    }
    try tree.volume().willSweep(true)
    _ = try look(tree, .read)
    #expect(try tree.volume().resolver.unsettled.areChanging)
    let former = try tree.read("a")
    try exchange(tree)
    #expect(try tree.read("a") != former)
  }

  @Test("What was looked up is let go of within two sweeps, and is not believed any longer") func sweep()
    throws
  {
    let tree = try Tree {
      file("a", "1")
      file("b", "22")
    }
    let volume = try tree.volume()
    volume.willSweep(true)
    _ = try look(tree, .read)
    let caller = tree.caller()
    #expect(volume.needsSweeping)
    try tree.at("a") { volume, node in
      try exchange(tree)
      volume.sweep()
      _ = try volume.open(node, .read, for: caller)
      volume.sweep()
      #expect(!volume.needsSweeping)
      #expect(throws: Errno.stale) { try volume.open(node, .read, for: caller) }
    }
  }

  @Test("What was held while names changed is not believed when they begin to change again") func again()
    throws
  {
    let names = UnsettledNames(capacity: 16, unrest: 20_000_000)
    names.willBeSwept(true)
    names.sawChange()
    let root = try Tree { file("a", "1") }.volume().root
    names.keep(SharedDescriptor(try Descriptor.open(path: "/", [.path])), for: root)
    while names.areChanging { usleep(1_000) }
    #expect(names.way(to: root) == nil && !names.isEmpty)
    names.sawChange()
    #expect(names.areChanging && names.way(to: root) == nil)
  }

  @Test("Nothing is held where nobody sweeps, and no more than there is room for") func bounded() throws {
    let tree = try Tree { file("a", "1") }
    _ = try? look(tree, .read)
    #expect(try tree.volume().resolver.unsettled.isEmpty)
    let names = UnsettledNames(capacity: 16)
    names.willBeSwept(true)
    names.sawChange()
    let way = SharedDescriptor(try Descriptor.open(path: "/", [.path]))
    let root = try tree.volume().root
    let nodes = (1...40).map { id in
      Node(id: NodeID(id), root.slot, number: root.number, parent: nil, name: [])
    }
    for node in nodes { names.keep(way, for: node) }
    #expect(nodes.count { names.way(to: $0) != nil } <= 16)
    #expect(names.way(to: try #require(nodes.last)) != nil)
  }
}

extension Tree {
  fileprivate func read(_ use: Use, _ path: String) throws -> String {
    let caller = caller()
    return try at(path) { volume, node in try use(volume, node, for: caller) }
  }
}
