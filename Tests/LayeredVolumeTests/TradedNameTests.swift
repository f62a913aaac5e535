// Names of the upper that another program takes behind the mount while an operation is about to use them: what that program put
// there stays, whichever call it comes before.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Names taken behind the mount", .timeLimit(.minutes(5)), .enabled(if: Tree.isRoot))
struct TradedNameTests {
  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether it is about a directory of the upper; else about a whiteout.
    let isAboutDirectory: Bool
    let run: @Sendable (LayeredTree) throws -> Void

    init(
      _ name: String, onDirectory: Bool = false, _ run: @escaping @Sendable (LayeredTree) throws -> Void
    ) {
      (testDescription, isAboutDirectory, self.run) = (name, onDirectory, run)
    }
  }

  static let deeds = [
    Deed("create") { try $0.create("name", "ours") },
    Deed("mkdir") { try $0.makeDirectory("name") },
    Deed("symlink") { try $0.makeSymbolicLink("name", to: "ours") },
    Deed("link") { try $0.link("file", as: "name") },
    Deed("rename that replaces nothing") { try $0.rename("file", to: "name", .noReplace) },
    Deed("rename of a directory") { try $0.rename("directory", to: "name") },
    Deed("rename of a merged directory") { try $0.rename("merged", to: "name") },
    Deed("rmdir", onDirectory: true) { try $0.removeDirectory("merged") },
    Deed("rmdir of what has whiteouts", onDirectory: true) { try $0.removeDirectory("merged/own") },
    Deed("rename over what has whiteouts", onDirectory: true) {
      try $0.rename("directory", to: "merged/own")
    },
  ]

  private func tree() throws -> LayeredTree {
    let tree = try LayeredTree([file("name"), directory("merged") { file("below") }])
    try tree.remove("name")
    try tree.create("file", "ours")
    try tree.makeDirectory("directory")
    return tree
  }

  /// With a directory of the upper that has nothing but whiteouts.
  private func emptied() throws -> LayeredTree {
    let tree = try tree()
    try tree.remove("merged/below")
    try tree.makeDirectory("merged/own")
    mknod(tree.upper + "/merged/own/gone", S_IFCHR, 0)
    return tree
  }

  /// What another program does with the upper directory.
  private func take(_ name: String, in tree: LayeredTree) throws {
    // The operation has done what it was about to do, perhaps: that is moved away, not removed.
    Glibc.rename("\(tree.upper)/\(name)", "\(tree.base)/former")
    // Where the directory above is gone nothing can be put there.
    try? "theirs".write(toFile: "\(tree.upper)/\(name)", atomically: false, encoding: .utf8)
  }

  @Test(
    "What another program puts under a name stays, whichever call of an operation it comes before",
    arguments: deeds)
  func stays(_ deed: Deed) throws {
    let name = deed.isAboutDirectory ? "merged" + (deed.testDescription == "rmdir" ? "" : "/own") : "name"
    var refusals = 0
    let held = try heldAtEachCall(
      of: deed.run, in: deed.isAboutDirectory ? emptiedForRemoval(deed) : tree,
      behind: { tree in
        try take(name, in: tree)
      }
    ) { tree, result, story in
      if case .failure(let error) = result {
        refusals += 1
        let errors: Set<Errno> = [.stale, .exists, .notDirectory, .noSuchFile, .notEmpty]
        #expect((error as? Errno).map(errors.contains) ?? false, story)
      }
      let wasTaken = access("\(tree.base)/former", F_OK) == 0
      try tree.remount()
      let texts = try FileManager.default.subpathsOfDirectory(atPath: tree.upper).compactMap { path in
        try? String(contentsOfFile: "\(tree.upper)/\(path)", encoding: .utf8)
      }
      #expect(!wasTaken || texts.contains("theirs"), story)
      _ = try tree.names("")
    }
    #expect(held > 3 && refusals > 0, "\(held) calls, \(refusals) refusals")
  }

  @Test("What can neither be given its name back nor moved to the trash gets there with the next mount")
  func stuck() throws {
    let tree = try tree()
    var isTaken = false
    // The exchange is done; that it is taken back fails, and so does the way into the trash.
    let (result, hits) = Fault(.name, .inputOutput, after: 1, count: 2).during {
      try observing(
        { kind, _ in
          guard kind.contains(.make), !isTaken else { return }
          isTaken = true
          try? take("name", in: tree)
        }, during: { try tree.create("name", "ours") })
    }
    #expect(throws: Errno.stale) { try result.get() }
    #expect(isTaken && hits == 2)
    try tree.remount()
    let trash = tree.upper + "/.varve/trash"
    let texts = try FileManager.default.contentsOfDirectory(atPath: trash).map {
      try? String(contentsOfFile: "\(trash)/\($0)", encoding: .utf8)
    }
    #expect(texts == ["theirs"])
  }

  /// As over stores on a network.
  @Test("Without an exchange of names a new file still takes the place of what was removed")
  func withoutExchange() throws {
    let tree = try LayeredTree([file("name", "below")], change: { $0.disabledFeatures = ["exchange"] })
    try tree.remove("name")
    try tree.create("name", "ours")
    #expect(try tree.read("name") == "ours")
    try tree.remove("name")
    try tree.makeSymbolicLink("name", to: "ours")
    try tree.remove("name")
    #expect(throws: Errno.invalid) { try tree.makeDirectory("name") }
    #expect(throws: Errno.noSuchFile) { try tree.attributes("name") }
    try tree.remount()
    #expect(try tree.names("").isEmpty)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work").allSatisfy {
        $0 == "wh"
      })
  }

  private func emptiedForRemoval(_ deed: Deed) -> () throws -> LayeredTree {
    {
      let tree = try emptied()
      if deed.testDescription == "rmdir" { try tree.removeDirectory("merged/own") }
      return tree
    }
  }

  @Test(
    "What is written to behind the mount is brought up as it was or as it is, never as a mixture",
    arguments: [false, true])
  func mixed(isNameless: Bool) throws {
    // A file that is copied in two pieces.
    let (old, new) = (String(repeating: "a", count: 17 << 20), String(repeating: "b", count: 17 << 20))
    let wasNew = Atomic(0)
    let held = try heldAtEachCall(
      of: { tree in
        try tree.at("f") { node in
          let handle = try tree.volume.open(node, .read, for: tree.caller).handle
          defer { tree.volume.release(handle) }
          if isNameless { try tree.remove("f") }
          var change = AttributeChange()
          change.mode = 0o600
          _ = try tree.volume.changeAttributes(of: node, change, handle: handle, for: tree.caller)
          let copy = try tree.volume.hold(try tree.volume.node(node)).descriptor
          let path = isNameless ? "/proc/self/fd/\(copy.descriptor.rawValue)" : tree.upper + "/f"
          let kept = try Data(contentsOf: URL(fileURLWithPath: path))
          guard kept == Data(old.utf8) || kept == Data(new.utf8) else { throw Errno.badMessage }
          if kept == Data(new.utf8) { wasNew.add(1, ordering: .relaxed) }
        }
      }, in: { try LayeredTree([file("f", old)]) },
      behind: { tree in
        let file = Glibc.open(tree.lowers[0] + "/f", O_WRONLY)
        defer { close(file) }
        #expect(new.withCString { pwrite(file, $0, new.utf8.count, 0) } == new.utf8.count)
      }
    ) { _, result, story in
      #expect(throws: Never.self, story) { try result.get() }
    }
    #expect(held > 5 && wasNew.load(ordering: .relaxed) > 0)
  }
}
