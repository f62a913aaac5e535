// How long the kernel may remember names that a listing of layers tells.

import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Names that listings of layers tell", .enabled(if: Tree.isRoot)) struct ListedNamesTests {
  private enum Told: Equatable {
    case nothing
    case name
    case briefly
    case forGood
  }

  /// What a listing of a directory tells of a name in it.
  private func told(_ wanted: String, in directory: NodeID, _ tree: LayeredTree) throws -> Told {
    let handle = try tree.volume.openDirectory(directory, for: tree.caller).handle
    defer { tree.volume.release(handle) }
    var told = Told.nothing
    try tree.volume.readDirectory(handle, from: 0, withAttributes: true, for: tree.caller) { name, found in
      if let entry = found.entry { tree.volume.forget(entry.node, references: 1) }
      guard name.indices.map({ name[$0] }) == Array(wanted.utf8) else { return true }
      switch found.entry?.nameValidity {
      case nil: told = .name
      case .unlimited: told = .forGood
      default: told = .briefly
      }
      return true
    }
    return told
  }

  @Test("A listing of layers tells names for a second, and those not again that a lookup told for good")
  func again() throws {
    let tree = try LayeredTree(
      [
        directory("lower") {
          file("a", "a"); file("b", "b")
        }
      ], change: { $0.live.cache = .exclusive })
    let kernel = RecordingKernel()
    tree.volume.attach(kernel.link)
    try tree.at("lower") { directory in
      #expect(try told("a", in: directory, tree) == .briefly)
      let entry = try #require(try tree.entry("a", in: directory))
      #expect(entry.nameValidity == .unlimited)
      #expect(try told("a", in: directory, tree) == .name)
      #expect(try told("b", in: directory, tree) == .briefly)
      // Names are made stale: who walks there asks again, and a listing may save the question.
      tree.volume.link?.expireNames()
      #expect(try told("a", in: directory, tree) == .briefly)
      _ = try tree.entry("a", in: directory)
      #expect(try told("a", in: directory, tree) == .name)
      // Brought up, it is the same object.
      try tree.write("lower/a", "A")
      #expect(try told("a", in: directory, tree) == .name)
      tree.volume.forget(entry.node, references: 2)
      #expect(try told("a", in: directory, tree) == .briefly)
    }
    // In a directory that only the upper has a listing is as good as a lookup.
    try tree.makeDirectory("own")
    try tree.create("own/a", "a")
    try tree.at("own") { directory in
      #expect(try told("a", in: directory, tree) == .forGood)
      _ = try tree.entry("a", in: directory)
      #expect(try told("a", in: directory, tree) == .forGood)
    }
  }
}
