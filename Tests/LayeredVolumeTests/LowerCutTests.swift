// Files of lowers that are cut: what is cut away is not copied, and nothing is cut that is not allowed.

import Faults
import Foundation
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Truncating files of lowers", .enabled(if: Tree.isRoot)) struct LowerCutTests {
  private static let text = String(repeating: "0123456789", count: 200_000)

  private func tree() throws -> LayeredTree {
    try LayeredTree([file("f", LowerCutTests.text, mode: 0o640, attributes: ["user.note": "kept"])])
  }

  @Test("Of a lower's file that is truncated only what stays is copied") func copied() throws {
    let opened = try tree()
    let number = try opened.attributes("f").inode
    try opened.open("f", [.write, .truncate]) { _ in }
    #expect(opened.volume.copyUps.bytes == 0 && opened.volume.copyUps.items == 1)
    var now = try opened.attributes("f")
    #expect(now.size == 0 && now.mode == 0o640 && now.inode == number)
    #expect(try plainAttribute(opened.upper + "/f", "user.note") == Array("kept".utf8))

    let emptied = try tree()
    try emptied.change("f") { $0.size = 0 }
    #expect(emptied.volume.copyUps.bytes == 0)
    #expect(try emptied.attributes("f").size == 0)

    let cut = try tree()
    let before = try cut.attributes("f").modification
    try cut.change("f") { $0.size = 12 }
    #expect(cut.volume.copyUps.bytes == 12)
    #expect(try cut.read("f") == "012345678901")
    now = try cut.attributes("f")
    #expect(now.size == 12 && now.modification > before)
    try cut.remount()
    #expect(try cut.read("f") == "012345678901")

    let longer = try tree()
    try longer.change("f") { $0.size = 2_000_005 }
    #expect(longer.volume.copyUps.bytes == 2_000_000)
    #expect(try longer.attributes("f").size == 2_000_005)
    for one in [opened, emptied, cut, longer] {
      #expect(try Data(contentsOf: URL(fileURLWithPath: one.lowers[0] + "/f")).count == 2_000_000)
    }
  }

  @Test("Of a lower's file with several names only what stays is copied, and all its names show it cut")
  func linked() throws {
    for (isOpened, size) in [(true, 0), (false, 0), (false, 12)] {
      // Also after a name is gone: then the index counts the names already.
      for removes in [false, true] {
        let tree = try LayeredTree(making: { base in
          try LayeredTree.make([file("f", LowerCutTests.text), directory("d")], at: base + "/l1")
          for name in ["g", "d/h"] { Glibc.link(base + "/l1/f", "\(base)/l1/\(name)") }
          return [base + "/l1"]
        })
        if removes { try tree.remove("g") }
        let names = removes ? ["f", "d/h"] : ["f", "g", "d/h"]
        let number = try tree.attributes("f").inode
        if isOpened {
          try tree.open("d/h", [.write, .truncate]) { _ in }
        } else {
          try tree.change("d/h") { $0.size = UInt64(size) }
        }
        #expect(tree.volume.copyUps.bytes == size)
        for _ in 0..<2 {
          for name in names {
            let now = try tree.attributes(name)
            #expect(now.size == size && now.inode == number && now.linkCount == names.count, "\(name)")
            #expect(try tree.read(name) == String(LowerCutTests.text.prefix(size)))
          }
          try tree.remount()
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: tree.lowers[0] + "/f")).count == 2_000_000)
      }
    }
  }

  @Test("What finds no room for its name in the upper is cut all the same: its entry in the index is enough")
  func unnamed() throws {
    var unnamed = 0
    for number in 0..<20 {
      let tree = try LayeredTree(making: { base in
        try LayeredTree.make([file("f", LowerCutTests.text)], at: base + "/l1")
        Glibc.link(base + "/l1/f", base + "/l1/g")
        return [base + "/l1"]
      })
      let fault = Fault(.name, .noSpace, after: number)
      let (result, hits) = fault.during { try tree.change("f") { $0.size = 3 } }
      guard hits > 0 else { break }
      let isDone = (try? result.get()) != nil
      if isDone, !FileManager.default.fileExists(atPath: tree.upper + "/f") { unnamed += 1 }
      for _ in 0..<2 {
        for name in ["f", "g"] {
          #expect(try tree.attributes(name).size == (isDone ? 3 : 2_000_000), "call \(number)")
          #expect(try tree.attributes(name).linkCount == 2)
        }
        try tree.remount()
      }
    }
    #expect(unnamed == 1)
  }

  @Test(
    "A file of a lower loses its capability when it is truncated, by root as well", arguments: [true, false])
  func capability(isOpened: Bool) throws {
    let name = "security.capability"
    let value = "\u{1}\0\0\u{2}\0 " + String(repeating: "\0", count: 14)
    let tree = try LayeredTree([file("f", LowerCutTests.text, attributes: [name: value])])
    #expect(try plainAttribute(tree.lowers[0] + "/f", name) == Array(value.utf8))
    if isOpened {
      try tree.open("f", [.write, .truncate]) { _ in }
    } else {
      try tree.change("f") { $0.size = 12 }
    }
    #expect(try plainAttribute(tree.upper + "/f", name) == nil)
    #expect(try plainAttribute(tree.lowers[0] + "/f", name) != nil)
  }

  @Test("Whoever has a lower's file open sees that it was truncated") func followed() throws {
    let tree = try tree()
    try tree.open("f") { handle in
      #expect(try tree.read(handle).count == 4_096)
      try tree.open("f", [.write, .truncate]) { _ in }
      #expect(try tree.read(handle) == "")
    }
  }

  @Test("An open with O_TRUNC that is refused because of O_DIRECT cuts nothing") func unbuffered() throws {
    var refused = 0
    for call in 0..<100 {
      let tree = try tree()
      // As a file system below says that cannot do it; one call says so.
      let (result, hits) = Fault(.open, .invalid, after: call).during {
        try tree.open("f", [.write, .truncate, .unbuffered]) { _ in }
      }
      guard hits > 0 else { break }
      guard (try? result.get()) == nil else { continue }
      refused += 1
      #expect(try tree.attributes("f").size == 2_000_000, "call \(call)")
    }
    #expect(refused > 0)
    let tree = try tree()
    try tree.open("f", [.write, .truncate, .unbuffered]) { _ in }
    #expect(try tree.attributes("f").size == 0)
  }

  @Test("What is not allowed any more when the copy is there cuts nothing") func revoked() throws {
    let tree = try tree()
    let caller = tree.caller
    var asked = 0
    try tree.at("f") { id in
      let node = try tree.volume.node(id)
      let cut = CutOnTheWay(to: 0) { _ throws(Errno) in
        asked += 1
        if asked > 1 { throw .accessDenied }
      }
      #expect(throws: Errno.accessDenied) {
        try tree.volume.changing(node, for: caller, cut: cut) { () throws(Errno) in
          try tree.volume.requireUp(node)
        }
      }
      #expect(!cut.isDone)
    }
    #expect(asked == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"])
    #expect(try tree.attributes("f").size == 2_000_000)
  }

  @Test("Who loses the right to cut a file in that moment has cut it, or is refused and has not")
  func racing() throws {
    let names = (0..<150).map { "f\($0)" }
    let tree = try LayeredTree(names.map { file($0, String(repeating: "text", count: 4_000), mode: 0o666) })
    tree.remembers = true
    let (owner, stranger) = (tree.caller, Caller(user: 12_345, group: 12_345, thread: getpid()))
    for (number, name) in names.enumerated() {
      let id = try tree.at(name) { $0 }
      let wanted: UInt64 = number % 2 == 0 ? 0 : 10
      let isOver = Atomic(false)
      let revoking = try PlainThread {
        // As soon as the copy has its name.
        while Glibc.access(tree.upper + "/" + name, F_OK) != 0, !isOver.load(ordering: .acquiring) {}
        var change = AttributeChange()
        change.mode = 0
        _ = try? tree.volume.changeAttributes(of: id, change, handle: nil, for: owner)
      }
      let error: Errno?
      do throws(Errno) {
        if wanted == 0 {
          tree.volume.release(try tree.volume.open(id, [.write, .truncate], for: stranger).handle)
        } else {
          var change = AttributeChange()
          change.size = wanted
          _ = try tree.volume.changeAttributes(of: id, change, handle: nil, for: stranger)
        }
        error = nil
      } catch let failure {
        error = failure
      }
      isOver.store(true, ordering: .releasing)
      revoking.join()
      let size = try tree.attributes(name).size
      #expect(error == nil ? size == wanted : error == .accessDenied && size == 16_000, "\(name): \(size)")
    }
  }
}
