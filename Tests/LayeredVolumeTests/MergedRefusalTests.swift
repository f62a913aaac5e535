// Operations that mode bits, lists or flags refuse in directories of which the upper has a part: nothing is copied into that, no
// name is hidden in it, and no time of it moves.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

/// Something that is tried, and whether it would make or remove names.
private struct Deed: Sendable {
  enum Kind { case makes, removes }

  let name: String
  let kind: Kind
  let make: @Sendable (LayeredTree) throws -> Void

  init(_ name: String, _ kind: Kind = .removes, _ make: @escaping @Sendable (LayeredTree) throws -> Void) {
    (self.name, self.kind, self.make) = (name, kind, make)
  }

  /// Every change of the names of a directory: of what a lower has, of what was copied, and where something was removed.
  static func changes(of path: String) -> [Deed] {
    [
      Deed("create", .makes) { try $0.create("\(path)/new") },
      Deed("create over a whiteout", .makes) { try $0.create("\(path)/gone") },
      Deed("mkdir", .makes) { try $0.makeDirectory("\(path)/new") },
      Deed("mkdir over a whiteout", .makes) { try $0.makeDirectory("\(path)/gone") },
      Deed("symlink", .makes) { try $0.makeSymbolicLink("\(path)/new", to: "x") },
      Deed("symlink over a whiteout", .makes) { try $0.makeSymbolicLink("\(path)/gone", to: "x") },
      Deed("link", .makes) { try $0.link("hers/own", as: "\(path)/new") },
      Deed("link over a whiteout", .makes) { try $0.link("hers/low", as: "\(path)/gone") },
      Deed("a nameless file", .makes) { try $0.makeNameless(in: path) },
      Deed("rename into it", .makes) { try $0.rename("hers/low", to: "\(path)/new") },
      Deed("rename into it, over a whiteout", .makes) { try $0.rename("hers/own", to: "\(path)/gone") },
      Deed("rename into it of a merged directory", .makes) {
        try $0.rename("hers/merged", to: "\(path)/new")
      },
      Deed("rename without replacing", .makes) { try $0.rename("hers/own", to: "\(path)/gone", .noReplace) },
      Deed("unlink of a lower's") { try $0.remove("\(path)/low") },
      Deed("unlink of a copy") { try $0.remove("\(path)/copied") },
      Deed("unlink of one of two names") { try $0.remove("\(path)/linked") },
      Deed("rmdir of a lower's") { try $0.removeDirectory("\(path)/empty") },
      Deed("rmdir of a merged one") { try $0.removeDirectory("\(path)/emptied") },
      Deed("rename of a lower's") { try $0.rename("\(path)/low", to: "hers/new") },
      Deed("rename of a copy") { try $0.rename("\(path)/copied", to: "hers/gone") },
      Deed("rename of one of two names") { try $0.rename("\(path)/linked", to: "hers/new") },
      Deed("rename of a directory") { try $0.rename("\(path)/full", to: "hers/new") },
      Deed("rename of a merged directory") { try $0.rename("\(path)/merged", to: "hers/gone") },
      Deed("rename within") { try $0.rename("\(path)/low", to: "\(path)/new") },
      Deed("rename within, over a whiteout") { try $0.rename("\(path)/low", to: "\(path)/gone") },
      Deed("rename over a lower's") { try $0.rename("hers/own", to: "\(path)/low") },
      Deed("rename over a copy") { try $0.rename("hers/low", to: "\(path)/copied") },
      Deed("rename over one of two names") { try $0.rename("hers/own", to: "\(path)/linked") },
      Deed("rename over a directory") { try $0.rename("hers/empty", to: "\(path)/emptied") },
      Deed("exchange") { try $0.rename("hers/low", to: "\(path)/low", .exchange) },
      Deed("exchange with a copy") { try $0.rename("hers/full", to: "\(path)/copied", .exchange) },
    ]
  }

  /// Every change of a file but for its names.
  static func changes(ofFile path: String) -> [Deed] {
    [
      Deed("write") { try $0.write(path, "x") },
      Deed("truncation by an open") { try $0.open(path, [.write, .truncate]) { _ in } },
      Deed("truncation to nothing") { try $0.change(path) { $0.size = 0 } },
      Deed("truncation to a size") { try $0.change(path) { $0.size = 2 } },
      Deed("setxattr") { try $0.setAttribute(path, "user.note", "x") },
      Deed("utimes") {
        try $0.change(path) { $0.modification = .set(Timestamp(seconds: 1, nanoseconds: 2)) }
      },
      Deed("chmod") { try $0.change(path) { $0.mode = 0o600 } },
      Deed("chown") { try $0.change(path) { $0.user = 7_002 } },
      Deed("a list") { try $0.setAttribute(path, "system.varve.acl", "user:7001 allow write") },
    ]
  }

  /// Whether only the owner may do it.
  var isByOwner: Bool { ["utimes", "chmod", "chown", "a list"].contains(name) }

  func row(_ path: String, _ error: Errno) -> LayerRefusalTests.Row {
    LayerRefusalTests.Row("\(name), \(path)", error, as: LayerRefusalTests.ann, make)
  }
}

extension LayeredTree {
  fileprivate func makeNameless(in path: String) throws {
    let caller = caller
    let (entry, answer) = try at(path) {
      try volume.createUnnamed(in: $0, mode: 0o600, flags: [.read, .write], for: caller)
    }
    volume.release(answer.handle)
    volume.forget(entry.node, references: 1)
  }
}

extension LayerRefusalTests {
  private static let list = "user:7001 deny write,append,writeattr,writeextattr,writesecurity,chown"
  private static let scenes = ["mode", "listed", "locked", "grows", "hers"]

  /// A file of a lower, one to be copied, one with two names, one to be removed, and directories of every kind.
  private static func scene(_ name: String, mode: UInt16 = 0o755, owner: UInt32 = 0) -> TreeItem {
    directory(name, mode: mode, owner: owner) {
      file("low", "low", owner: owner); file("copied", "copied", owner: owner)
      file("linked", "linked", owner: owner); file("gone"); directory("empty", owner: owner)
      directory("emptied", owner: owner) { file("gone") }
      directory("full", owner: owner) { file("x") }; directory("merged", owner: owner) { file("x") }
    }
  }

  /// A volume over a tree, of whose directories the upper has a part.
  ///
  /// In a process of its own: its thread works as the daemon's do, which copy what is another user's into directories of root's,
  /// and hands that on to each thread that it starts.
  private func merged() throws -> LayeredTree {
    let ann = LayerRefusalTests.ann
    try ThreadIdentity.keepCapabilities()
    let tree = try LayeredTree(
      making: { base in
        let made = try Tree {
          LayerRefusalTests.scene("mode"); LayerRefusalTests.scene("listed", mode: 0o777)
          LayerRefusalTests.scene("locked", owner: ann); LayerRefusalTests.scene("grows", owner: ann)
          LayerRefusalTests.scene("hers", owner: ann)
          directory("files", mode: 0o777) {
            file("mode1", "mode"); file("listed1", "listed", mode: 0o666, list: LayerRefusalTests.list)
            file("locked1", "locked", owner: ann, flags: "uchg")
            file("grows1", "grows", owner: ann, flags: "uappnd")
            file("mode2", "mode"); file("listed2", "listed", mode: 0o666);
            file("locked2", "locked", owner: ann)
            file("grows2", "grows", owner: ann)
          }
          directory("names")
        }
        made.unmount()
        let lower = base + "/lower"
        Glibc.rename(made.path, lower)
        for scene in LayerRefusalTests.scenes {
          Glibc.link("\(lower)/\(scene)/linked", "\(lower)/names/\(scene)")
        }
        return [lower]
      })
    for scene in LayerRefusalTests.scenes {
      try tree.write("\(scene)/copied", "COPIED")
      try tree.write("names/\(scene)", "LINKED")
      try tree.remove("\(scene)/gone")
      try tree.remove("\(scene)/emptied/gone")
      try tree.create("\(scene)/merged/own")
    }
    try tree.create("hers/own")
    try tree.change("hers/own") { $0.user = ann }
    for kind in ["mode", "listed", "locked", "grows"] { try tree.write("files/\(kind)2", "COPIED") }
    try tree.setAttribute("files/listed2", "system.varve.acl", LayerRefusalTests.list)
    try tree.setAttribute("files/locked2", "system.varve.flags", "uchg")
    try tree.setAttribute("files/grows2", "system.varve.flags", "uappnd")
    try tree.setAttribute(
      "listed", "system.varve.acl", "user:7001 deny add_file,add_subdirectory,delete_child")
    try tree.setAttribute("locked", "system.varve.flags", "uchg")
    try tree.setAttribute("grows", "system.varve.flags", "uappnd")
    return tree
  }

  @Test("In a directory of which the upper has a part a refused change of names leaves all as it was")
  func refusedNames() async {
    await #expect(processExitsWith: .success) { try LayerRefusalTests().refuseNames() }
  }

  private func refuseNames() throws {
    let tree = try merged()
    for (scene, error) in [
      ("mode", Errno.accessDenied), ("listed", .accessDenied), ("locked", .notPermitted),
    ] {
      for deed in Deed.changes(of: scene) { try require(deed.row(scene, error), in: tree) }
    }
    for deed in Deed.changes(of: "grows") where deed.kind == .removes {
      try require(deed.row("grows", .notPermitted), in: tree)
    }
    // What nobody is refused can be done.
    for deed in Deed.changes(of: "hers") where deed.name.hasPrefix("create") || deed.name.hasPrefix("unlink")
    {
      try deed.make(tree)
    }
  }

  @Test("A refused change of a file in a directory of which the upper has a part leaves both as they were")
  func refusedFiles() async {
    await #expect(processExitsWith: .success) { try LayerRefusalTests().refuseFiles() }
  }

  private func refuseFiles() throws {
    let tree = try merged()
    for number in 1...2 {
      for kind in ["mode", "listed"] {
        for deed in Deed.changes(ofFile: "files/\(kind)\(number)") {
          try require(deed.row("\(kind)\(number)", deed.isByOwner ? .notPermitted : .accessDenied), in: tree)
        }
      }
      for kind in ["locked", "grows"] {
        // Attributes may be added to what only grows.
        for deed in Deed.changes(ofFile: "files/\(kind)\(number)")
        where kind == "locked" || deed.name != "setxattr" {
          try require(deed.row("\(kind)\(number)", .notPermitted), in: tree)
        }
      }
      // An append is no change of what is there.
      try tree.open("files/grows\(number)", [.write, .append]) { _ in }
    }
  }
}
