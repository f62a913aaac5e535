// Down to which layer directories are merged: what ends that in a layer, and the flag `opaque` of the upper.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Merged directories", .enabled(if: Tree.isRoot)) struct MergedDirectoryTests {
  @Test(
    "Directories are merged down to a layer that has something else there, with the metadata of the topmost part"
  )
  func ended() throws {
    let tree = try LayeredTree(making: { base in
      let names = ["file", "link", "gone", "closed", "whole"]
      for (layer, mode) in [("l1", UInt16(0o750)), ("l3", 0o701)] {
        let directories = names.map { name in
          directory(name, mode: mode, attributes: ["user.note": layer]) { file(layer) }
        }
        try LayeredTree.make(directories, at: "\(base)/\(layer)")
      }
      try LayeredTree.make(
        [
          file("file"), symbolicLink("link", to: "whole"), directory("closed") { file("l2") },
          directory("whole", mode: 0o711) { file("l2") },
        ], at: base + "/l2")
      mknod(base + "/l2/gone", S_IFCHR, 0)
      try setPlainAttribute(base + "/l2/closed", "trusted.overlay.opaque", "y")
      return ["l1", "l2", "l3"].map { "\(base)/\($0)" }
    })
    for name in ["file", "link", "gone"] { #expect(try tree.names(name) == ["l1"], "\(name)") }
    #expect(try tree.names("closed") == ["l1", "l2"])
    #expect(try tree.names("whole") == ["l1", "l2", "l3"])
    var top = stat()
    #expect(lstat(tree.lowers[0] + "/whole", &top) == 0)
    for _ in 0..<2 {
      let shown = try tree.attributes("whole")
      #expect(shown.mode == 0o750 && shown.linkCount == 1)
      #expect(shown.modification.seconds == Int64(top.st_mtim.tv_sec))
      // A copy is one of that part.
      try tree.setAttribute("whole", "user.other", "x")
    }
    #expect(try plainAttribute(tree.upper + "/whole", "user.note") == Array("l1".utf8))
  }

  @Test("The flag opaque closes a directory at once, and opens it again") func flag() throws {
    let tree = try LayeredTree(
      [
        directory("merged") {
          file("a"); directory("inner") { file("deep", "deep") }
        }
      ],
      [directory("merged") { file("b") }])
    try tree.create("merged/own")
    let all = ["a", "b", "inner", "own"]
    #expect(try tree.names("merged") == all)
    try tree.at("merged/inner") { inner in
      // Of what is known already as well.
      #expect(try tree.read("merged/inner/deep") == "deep")
      try tree.listing("merged") { listing in
        let first = try tree.names(of: listing, most: 1)
        try tree.setAttribute("merged", "system.varve.flags", "opaque")
        // What has begun goes on with what it began with.
        #expect(
          try (first + tree.names(of: listing, from: first.last?.next ?? 0)).map(\.name).sorted() == [
            ".", "..",
          ] + all)
      }
      #expect(try tree.names("merged") == ["own"])
      for name in ["a", "inner", "inner/deep"] {
        #expect(throws: Errno.noSuchFile) { try tree.attributes("merged/\(name)") }
      }
      #expect(throws: Errno.self) { try tree.entry("deep", in: inner) }
    }
    try tree.remount()
    #expect(try tree.names("merged") == ["own"])
    try tree.setAttribute("merged", "system.varve.flags", "0")
    #expect(try tree.names("merged") == all)
    #expect(try tree.read("merged/inner/deep") == "deep")
  }

  @Test("What is taken away from a directory that the flag opaque closes stays away when it is opened again")
  func takenAway() throws {
    let tree = try LayeredTree([
      directory("d") {
        file("a", "lower"); file("kept", "kept"); directory("inner") { file("deep") }
        directory("sub") {
          file("f", "f"); file("g", "g")
        }
      }
    ])
    // With the number of what it was.
    try tree.rename("d/a", to: "moved")
    try tree.write("d/sub/f", "F")
    try tree.setAttribute("d", "system.varve.flags", "opaque")
    #expect(try tree.names("d") == ["sub"] && tree.names("d/sub") == ["f"])
    try tree.create("d/a", "new")
    try tree.remove("d/a")
    try tree.makeDirectory("d/inner")
    try tree.rename("d/inner", to: "emptied")
    try tree.rename("d/sub/f", to: "d/sub/h")
    try tree.create("d/sub/g", "new")
    try tree.rename("d/sub/g", to: "replaced")
    #expect(try tree.names("d") == ["sub"] && tree.names("d/sub") == ["h"])
    try tree.setAttribute("d", "system.varve.flags", "0")
    #expect(try tree.names("d") == ["kept", "sub"] && tree.names("d/sub") == ["h"])
    #expect(
      try tree.read("moved") == "lower" && tree.read("replaced") == "new" && tree.names("emptied") == [])
    try tree.remount()
    #expect(try tree.names("d") == ["kept", "sub"] && tree.names("d/sub") == ["h"])
  }
}
