// Entries that vanish behind the mount while a directory is looked at for emptiness, or listed.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite(
  "Entries that vanish while a directory is looked at", .timeLimit(.minutes(3)), .enabled(if: Tree.isRoot))
struct VanishedEntryTests {
  /// A directory `d`, and what vanishes, or appears, while it is removed.
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var lowers: [[TreeItem]]
    let prepare: @Sendable (LayeredTree) throws -> Void
    /// Whether the volume knows already that only the upper has it.
    var isKnown = false
    /// What else than success the removal may come to: only what is true of the directory at some moment.
    var errors: Set<Errno> = []
    /// Whether the directory itself vanishes.
    var isGone = false
    let behind: @Sendable (LayeredTree) -> Void

    init(
      _ name: String, _ lowers: [[TreeItem]], isKnown: Bool = false, or errors: Set<Errno> = [],
      isGone: Bool = false, after prepare: @escaping @Sendable (LayeredTree) throws -> Void = { _ in },
      behind: @escaping @Sendable (LayeredTree) -> Void
    ) {
      (testDescription, self.lowers, self.isKnown, self.errors) = (name, lowers, isKnown, errors)
      (self.isGone, self.prepare, self.behind) = (isGone, prepare, behind)
    }

    func tree() throws -> LayeredTree {
      let lowers = lowers
      let tree = try LayeredTree(making: { base in
        try lowers.enumerated().map { number, items in
          try LayeredTree.make(items, at: "\(base)/lower\(number + 1)")
          return "\(base)/lower\(number + 1)"
        }
      })
      try prepare(tree)
      return tree
    }
  }

  private static let empty = [directory("d")]

  /// A directory of the upper with a whiteout in it that hides nothing.
  private static let stray: @Sendable (LayeredTree) throws -> Void = { tree in
    try tree.makeDirectory("d")
    guard mknod(tree.upper + "/d/x", S_IFCHR, 0) == 0 else { throw Errno.current }
  }

  private static let strayVanishes: @Sendable (LayeredTree) -> Void = { unlink($0.upper + "/d/x") }

  static let rows = [
    Row("a whiteout, after what it hides", [[directory("d") { file("x") }]], after: { try $0.remove("d/x") })
    {
      unlink($0.lowers[0] + "/d/x")
      unlink($0.upper + "/d/x")
    },
    Row("a whiteout that hides nothing", [[file("other")]], after: stray, behind: strayVanishes),
    Row(
      "a whiteout of a directory that is known to be in the upper alone", [[file("other")]], isKnown: true,
      after: stray, behind: strayVanishes),
    Row("a whiteout of a volume without lowers", [], after: stray, behind: strayVanishes),
    Row("a file of a lower", [[directory("d") { file("x") }]], or: [.notEmpty]) {
      unlink($0.lowers[0] + "/d/x")
    },
    Row("a file of the upper", [empty], or: [.notEmpty], after: { try $0.create("d/x") }) {
      unlink($0.upper + "/d/x")
    },
    Row(
      "a file of a volume without lowers", [], or: [.notEmpty],
      after: {
        try $0.makeDirectory("d")
        try $0.create("d/x")
      }
    ) { unlink($0.upper + "/d/x") },
    Row("the part of a lower", [empty, empty]) { rmdir($0.lowers[1] + "/d") },
    // What shows then was not decided about.
    Row("the topmost part of lowers", [empty, empty], or: [.stale]) { rmdir($0.lowers[0] + "/d") },
    Row(
      "the part of the upper", [empty], or: [.stale],
      after: {
        try $0.create("d/n")
        try $0.remove("d/n")
      }
    ) { rmdir($0.upper + "/d") },
    Row("nothing, and the upper gets a part", [empty], or: [.stale]) { mkdir($0.upper + "/d", 0o755) },
    Row("the directory itself, by a whiteout", [empty], or: [.noSuchFile, .stale], isGone: true) {
      mknod($0.upper + "/d", S_IFCHR, 0)
    },
  ]

  @Test(
    "What vanishes while a directory is removed is not said to be in it, and the directory not to be gone",
    arguments: rows)
  func removed(_ row: Row) throws {
    let isKnown = row.isKnown
    let held = try heldAtEachCall(
      of: { (tree: LayeredTree) in
        guard isKnown else { return try tree.removeDirectory("d") }
        try tree.at("d") { _ in
          _ = try tree.names("d")
          try tree.removeDirectory("d")
        }
      }, in: row.tree, behind: row.behind
    ) { tree, result, story in
      switch result {
      case .success: #expect(throws: Errno.noSuchFile, story) { try tree.attributes("d") }
      case .failure(let error):
        let isExpected = (error as? Errno).map { row.errors.contains($0) } ?? false
        #expect(isExpected, story)
        guard !row.isGone else { break }
        #expect(try tree.attributes("d").kind == .directory, story)
        // Asked once more, with that gone in any case.
        row.behind(tree)
        #expect(throws: Never.self, story) { try tree.removeDirectory("d") }
      }
      try tree.remount()
      #expect(throws: Errno.noSuchFile, story) { try tree.attributes("d") }
    }
    #expect(held > 0)
  }

  @Test("A listing goes on where the part of a lower is removed, and shows no whiteout that vanishes")
  func listed() throws {
    var held = try heldAtEachCall(
      of: { (tree: LayeredTree) in
        let names = try tree.names("d")
        guard names == ["a"] || names == ["a", "b"] else { throw Errno.badMessage }
      },
      in: { try LayeredTree([directory("d") { file("a") }], [directory("d") { file("b") }]) },
      behind: { tree in
        unlink(tree.lowers[1] + "/d/b")
        rmdir(tree.lowers[1] + "/d")
      }
    ) { _, result, story in
      #expect(throws: Never.self, story) { try result.get() }
    }
    #expect(held > 0)
    held = try heldAtEachCall(
      of: { (tree: LayeredTree) in
        guard try tree.names("d").isEmpty else { throw Errno.badMessage }
      },
      in: {
        let tree = try LayeredTree([directory("d") { file("x") }])
        try tree.remove("d/x")
        return tree
      },
      behind: { tree in
        unlink(tree.lowers[0] + "/d/x")
        unlink(tree.upper + "/d/x")
      }
    ) { _, result, story in
      #expect(throws: Never.self, story) { try result.get() }
    }
    #expect(held > 0)
  }

  @Test("What cannot be looked at is in its directory, unless it may be a whiteout") func damaged() throws {
    let tree = try LayeredTree([directory("d") { file("x") }])
    #expect(mknod(tree.lowers[0] + "/d/y", S_IFCHR | 0o666, 1 << 8 | 3) == 0)
    let directory = LayerDirectory(try Descriptor.directory(atPath: tree.lowers[0] + "/d"), layer: 1)
    let listing = try directory.openListing()
    var page = EntryBuffer()
    var seen = 0
    while try listing.readNames(into: &page) > 0 {
      while let entry = try page.next() {
        guard case .child = entry.role else { continue }
        seen += 1
        let (result, hits) = Fault(.look, .inputOutput).during { try listing.standing(entry, on: page) }
        #expect(hits == 1)
        if entry.kind == .characterDevice {
          #expect(throws: Errno.inputOutput) { try result.get() }
        } else {
          #expect(try result.get() == .name)
        }
      }
    }
    #expect(seen == 2)
  }
}
