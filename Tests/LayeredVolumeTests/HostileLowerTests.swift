// A lower that changes under a volume although it must not: something else stands where a file or a directory was, from any call of
// an operation on. What comes of it is the operation or an error; nothing of what stands outside of the lower is read, copied or
// changed.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Lowers that change behind the mount", .timeLimit(.minutes(10)), .enabled(if: Tree.isRoot))
struct HostileLowerTests {
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

  /// What is put where a file `d/f`, or a directory `d` with all that is in it, was.
  enum Swap: String, CaseIterable, Sendable {
    case nothing, file, directory, link, pipe, device, whiteout

    func put(at path: String, outside: String, isDirectory: Bool) {
      rename(path, outside + "/former")
      switch self {
      case .nothing: break
      case .file: Glibc.link(outside + "/other", path)
      case .directory: rename(outside + "/tree", path)
      case .link: symlink(isDirectory ? outside + "/d" : outside + "/secret", path)
      case .pipe: mkfifo(path, 0o644)
      case .device: mknod(path, S_IFCHR | 0o666, makedev(1, 3))
      case .whiteout: mknod(path, S_IFCHR, 0)
      }
    }

    private func makedev(_ major: dev_t, _ minor: dev_t) -> dev_t { major << 8 | minor }
  }

  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (LayeredTree) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (LayeredTree) throws -> Void) {
      (testDescription, self.run) = (name, run)
    }
  }

  static let deeds = [
    Deed("read") { tree in
      // What the lower has by then, under the name that was asked for.
      guard try ["data", "other"].contains(tree.read("d/f")) else { throw Errno.badMessage }
    },
    Deed("write") { try $0.write("d/f", "DATA") },
    Deed("truncation") { try $0.change("d/f") { $0.size = 2 } },
    Deed("chmod") { try $0.change("d/f") { $0.mode = 0o600 } },
    Deed("chflags") { try $0.setAttribute("d/f", "system.varve.flags", "nodump") },
    Deed("link") { try $0.link("d/f", as: "new") },
    Deed("rename") { try $0.rename("d/f", to: "new") },
    Deed("remove") { try $0.remove("d/f") },
    Deed("listing") { tree in
      guard try Set(tree.names("d")).isSubset(of: ["f", "sub", "inside"]) else { throw Errno.badMessage }
    },
    Deed("create") { try $0.create("d/new", "new") },
    Deed("chmod of the directory") { try $0.change("d") { $0.mode = 0o700 } },
    Deed("rename of the directory") { try $0.rename("d", to: "new") },
    Deed("rmdir") { tree in
      try tree.remove("d/f")
      try tree.removeDirectory("d/sub")
      try tree.removeDirectory("d")
    },
  ]

  /// What an operation may come to: something else is there, or nothing is; the last four are for a kind of item that has no such
  /// operation.
  private static let errors: Set<Errno> = [
    .stale, .noSuchFile, .inputOutput, .notDirectory, .isDirectory, .tooManySymbolicLinks, .notEmpty,
    .noDevice, .invalid, .unsupported, .notPermitted,
  ]

  private func tree() throws -> LayeredTree {
    try LayeredTree(making: { base in
      try LayeredTree.make(
        [
          directory("d") {
            file("f", "data", mode: 0o640, attributes: ["user.note": "kept"])
            directory("sub")
          }
        ], at: base + "/lower1")
      try LayeredTree.make(
        [
          file("secret", "secret"), file("other", "other"), directory("tree") { file("inside", "inside") },
          directory("d") { file("f", "secret") },
        ], at: base + "/outside")
      return [base + "/lower1"]
    })
  }

  @Test(
    "Whatever takes the place of a file or a directory, the operation ends, and nothing from outside comes in",
    arguments: deeds)
  func swapped(_ deed: Deed) throws {
    for (number, swap) in Swap.allCases.enumerated() {
      for isDirectory in [false, true] {
        let held = try heldAtEachCall(
          from: HostileLowerTests.isLong ? 0 : (number * 3 + (isDirectory ? 5 : 0)) % 11,
          step: HostileLowerTests.isLong ? 1 : 11,
          of: deed.run, in: tree,
          behind: { tree in
            swap.put(
              at: tree.lowers[0] + (isDirectory ? "/d" : "/d/f"), outside: tree.base + "/outside",
              isDirectory: isDirectory)
          }
        ) { tree, result, story in
          let story: Comment = "\(swap) of \(isDirectory ? "d" : "d/f"), \(story)"
          if case .failure(let error) = result {
            let isExpected = (error as? Errno).map { HostileLowerTests.errors.contains($0) } ?? false
            #expect(isExpected, story)
          }
          try look(at: tree, story)
        }
        #expect(held > 0, "\(swap) of \(isDirectory ? "d" : "d/f")")
      }
    }
  }

  private func look(at tree: LayeredTree, _ story: Comment) throws {
    #expect(tree.volume.handleCount == 0 && tree.volume.nodeCount == 0, story)
    for text in try contents(tree.upper) { #expect(!text.contains("secret"), story) }
    let outside = tree.base + "/outside"
    #expect(try String(contentsOfFile: outside + "/secret", encoding: .utf8) == "secret", story)
    #expect(try String(contentsOfFile: outside + "/d/f", encoding: .utf8) == "secret", story)
    #expect(try String(contentsOfFile: outside + "/other", encoding: .utf8) == "other", story)
    for former in ["/former", "/former/f"].map({ outside + $0 }) {
      guard let text = try? String(contentsOfFile: former, encoding: .utf8) else { continue }
      #expect(text == "data", story)
    }
    try tree.remount()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work")
        .allSatisfy { $0 == "wh" }, story)
    // And the volume goes on.
    _ = try tree.names("")
    try tree.create("goes-on")
    try tree.remove("goes-on")
  }

  /// Of the files below a directory.
  private func contents(_ root: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root).compactMap { path in
      var found = stat()
      guard lstat("\(root)/\(path)", &found) == 0, found.st_mode & S_IFMT == S_IFREG else { return nil }
      return String(decoding: try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)")), as: UTF8.self)
    }
  }
}

extension HostileLowerTests {
  /// What becomes of a lower as a whole.
  enum Loss: String, CaseIterable, Sendable {
    case moved, replaced, removed

    func befall(_ tree: LayeredTree) throws {
      let (lower, outside) = (tree.lowers[0], tree.base + "/outside")
      if self == .removed { return try FileManager.default.removeItem(atPath: lower) }
      guard rename(lower, outside + "/former") == 0 else { throw Errno.current }
      if self == .replaced { guard rename(outside + "/d", lower) == 0 else { throw Errno.current } }
    }

    /// Where it befell one, that is there again, or an empty one.
    func end(_ tree: LayeredTree) throws {
      let (lower, outside) = (tree.lowers[0], tree.base + "/outside")
      if self == .replaced, access(outside + "/former", F_OK) == 0 { rename(lower, outside + "/d") }
      guard access(lower, F_OK) != 0 else { return }
      guard (self == .removed ? mkdir(lower, 0o755) : rename(outside + "/former", lower)) == 0 else {
        throw Errno.current
      }
    }
  }

  @Test(
    "A lower that is moved away or replaced goes on showing what it has; one that is removed is empty",
    arguments: deeds, Loss.allCases)
  func lost(_ deed: Deed, _ loss: Loss) throws {
    let held = try heldAtEachCall(
      from: HostileLowerTests.isLong ? 0 : (loss.rawValue.count * 3 + deed.testDescription.count) % 17,
      step: HostileLowerTests.isLong ? 1 : 17,
      of: deed.run, in: tree, behind: { try loss.befall($0) }
    ) { tree, result, story in
      let story: Comment = "\(loss), \(story)"
      if case .failure(let error) = result {
        let isExpected = (error as? Errno).map { HostileLowerTests.errors.contains($0) } ?? false
        #expect(loss == .removed && isExpected, story)
      }
      // In the same mount, and then with the lower where it was.
      try tree.create("afterwards", "new")
      let seen = try loss == .removed ? [] : tree.state()
      if loss == .removed {
        #expect(try Set(tree.names("")).isSubset(of: ["d", "new", "afterwards"]), story)
      }
      try loss.end(tree)
      try look(at: tree, story)
      #expect(try tree.read("afterwards") == "new", story)
      if loss != .removed { #expect(try tree.state() == seen, story) }
    }
    #expect(held > 0)
  }
}
