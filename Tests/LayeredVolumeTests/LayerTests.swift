// What a volume over lowers shows, and what changing it does to the layers.

import Decisions
import FlagRules
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Layers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot)) struct LayerTests {
  private static func lines(_ root: String) throws -> [String] { try plainState(root) }

  @Items private static func upperOfTwo() -> [TreeItem] {
    file("both", "first")
    directory("merged") {
      file("a", "a of the first", attributes: ["user.note": "kept"])
      directory("inner") { file("deep", "deep") }
    }
    symbolicLink("link", to: "both")
  }

  @Items private static func lowerOfTwo() -> [TreeItem] {
    file("both", "second")
    file("single", "only here")
    directory("merged") {
      file("a", "a of the second")
      file("b", "b of the second", mode: 0o640)
    }
  }

  private func two() throws -> LayeredTree {
    try LayeredTree(LayerTests.upperOfTwo(), LayerTests.lowerOfTwo())
  }

  @Test("The topmost layer that has a name shows, and directories are merged") func merged() throws {
    let tree = try two()
    #expect(try tree.names("") == ["both", "link", "merged", "single"])
    #expect(try tree.names("merged") == ["a", "b", "inner"])
    #expect(try tree.read("both") == "first")
    #expect(try tree.read("merged/a") == "a of the first")
    #expect(try tree.read("merged/b") == "b of the second")
    #expect(try tree.attributes("merged").linkCount == 1)
  }

  @Test("A change of a lower's file leaves the lower as it is, and everything of the file but the change")
  func change() throws {
    let tree = try two()
    let before = try LayerTests.lines(tree.lowers[1])
    let parent = try tree.attributes("merged").modification
    let seen = try tree.attributes("merged/b")
    try tree.write("merged/b", "B")
    #expect(try tree.read("merged/b") == "B of the second")
    let now = try tree.attributes("merged/b")
    #expect(now.inode == seen.inode && now.mode == 0o640 && now.birth == seen.birth)
    #expect(try tree.attributes("merged").modification == parent)
    #expect(try LayerTests.lines(tree.lowers[1]) == before)
    try tree.change("merged/a") { $0.mode = 0o600 }
    #expect(try plainAttribute(tree.upper + "/merged/a", "user.note") == Array("kept".utf8))
    try tree.remount()
    #expect(try tree.attributes("merged/b").inode == seen.inode)
    #expect(try tree.read("merged/b") == "B of the second")
  }

  @Test("What is refused brings nothing up") func refused() throws {
    let tree = try two()
    #expect(throws: Errno.exists) { try tree.makeDirectory("merged") }
    #expect(throws: Errno.exists) { try tree.rename("both", to: "single", .noReplace) }
    #expect(throws: Errno.notEmpty) { try tree.removeDirectory("merged") }
    #expect(throws: Errno.isDirectory) { try tree.rename("both", to: "merged") }
    #expect(throws: Errno.notDirectory) { try tree.rename("merged", to: "both") }
    #expect(throws: Errno.notEmpty) { try tree.rename("merged/inner", to: "merged") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"])
  }

  @Test("An attribute that cannot be set or removed brings nothing up") func refusedAttributes() throws {
    let tree = try two()
    let caller = tree.caller
    func set(_ path: String, _ name: String, _ setting: AttributeSetting?) throws {
      try tree.at(path) { node in
        try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
          if let setting {
            try tree.volume.setExtendedAttribute(name, of: node, to: [1].span, setting, for: caller)
          } else {
            try tree.volume.removeExtendedAttribute(name, of: node, for: caller)
          }
        }
      }
    }
    #expect(throws: Errno.exists) { try set("merged/a", "user.note", .create) }
    #expect(throws: Errno.noData) { try set("merged/a", "user.none", .replace) }
    #expect(throws: Errno.noData) { try set("merged/a", "user.none", nil) }
    // Only files and directories have attributes of users.
    #expect(throws: Errno.notPermitted) { try set("link", "user.note", .createOrReplace) }
    #expect(throws: Errno.notPermitted) { try set("link", "user.none", nil) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"])
    #expect(throws: Never.self) { try set("merged/a", "user.note", .replace) }
  }

  @Test("A request that nobody waits for any more brings nothing up, while it copies and while it waits")
  func interrupted() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make(
        [file("big", String(repeating: "x", count: 40 << 20)), file("small", "s")], at: base + "/l1")
      return [base + "/l1"]
    })
    var caller = tree.caller
    caller.request = 7
    tree.volume.asksForInterrupts { $0 == 7 }
    #expect(throws: Errno.interrupted) {
      try tree.at("big") { _ = try tree.volume.open($0, .write, for: caller) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work").isEmpty)
    #expect(tree.volume.handleCount == 0)
    let copies = tree.volume.copyUps
    #expect(throws: Errno.interrupted) {
      try copies.alone(9, for: Caller(user: 0, group: 0, thread: 0)) { () throws(Errno) in
        try copies.alone(9, for: caller) { () throws(Errno) in return }
      }
    }
    #expect(throws: Never.self) { try tree.write("big", "X") }
  }

  @Test("A redirect does not lead into the bookkeeping of a lower") func forged() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([directory("led") { file("own") }], at: base + "/l1")
      try LayeredTree.make([directory(".varve") { file("secret") }], at: base + "/l2")
      chmod(base + "/l2/.varve", 0o700)
      try setPlainAttribute(base + "/l1/led", "trusted.overlay.redirect", "/.varve")
      return [base + "/l1", base + "/l2"]
    }) { _ in }
    #expect(try tree.names("led") == ["own"])
  }

  @Test("What came into a directory that was being removed is kept aside at the next mount") func rescued()
    throws
  {
    let tree = try two()
    try tree.remove("both")
    tree.close()
    let work = tree.upper + "/.varve/work"
    for name in ["t-1", "t-2"] { mkdir("\(work)/\(name)", 0o700) }
    mknod(work + "/t-1/gone", S_IFCHR, 0)
    try "mine".write(toFile: work + "/t-2/kept", atomically: false, encoding: .utf8)
    try tree.remount()
    #expect(try FileManager.default.contentsOfDirectory(atPath: work).filter { $0 != "wh" }.isEmpty)
    #expect(
      try String(contentsOfFile: tree.upper + "/.varve/trash/rescued-t-2/kept", encoding: .utf8) == "mine")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/trash") == ["rescued-t-2"])
  }

  @Test("A lower's own flag opaque is not shown, and comes up with nothing") func lowerFlag() throws {
    let first = try two()
    try first.create("merged/own")
    try first.setAttribute("merged", "system.varve.flags", "opaque")
    first.close()
    let tree = try LayeredTree(making: { base in
      Glibc.rename(first.upper, base + "/former")
      return [base + "/former"] + first.lowers
    })
    #expect(try tree.names("merged") == ["own"])
    let caller = tree.caller
    let flags = try tree.at("merged") { node in
      try AttributeName.with(Array("system.varve.flags".utf8)) { name throws(Errno) in
        try tree.volume.extendedAttribute(name, of: node, for: caller)
      }
    }
    #expect(!String(decoding: flags, as: UTF8.self).contains("opaque"))
    try tree.setAttribute("merged", "system.varve.flags", "hidden")
    #expect(try tree.names("merged") == ["own"])
    try tree.remount()
    #expect(try tree.names("merged") == ["own"])
  }

  @Test("A name that is removed stays removed, and what is made in its place shows alone") func removed()
    throws
  {
    let tree = try two()
    try tree.remove("both")
    #expect(throws: Errno.noSuchFile) { try tree.attributes("both") }
    try tree.makeDirectory("both")
    try tree.create("both/new", "n")
    for name in ["a", "b"] { try tree.remove("merged/\(name)") }
    try tree.remove("merged/inner/deep")
    try tree.removeDirectory("merged/inner")
    try tree.removeDirectory("merged")
    try tree.makeDirectory("merged")
    for _ in 0..<2 {
      #expect(try tree.names("") == ["both", "link", "merged", "single"])
      #expect(try tree.names("both") == ["new"])
      #expect(try tree.names("merged").isEmpty)
      try tree.remount()
    }
    var found = stat()
    try tree.remove("single")
    #expect(lstat(tree.upper + "/single", &found) == 0 && found.st_mode & S_IFMT == S_IFCHR)
    #expect(found.st_rdev == 0)
    // All whiteouts are names of one device.
    #expect(found.st_nlink > 1)
  }

  @Test(
    "A directory of lowers moves with all that is in it, and keeps its number", arguments: RenameStyle.all)
  func moved(style: RenameStyle) throws {
    let tree = try two()
    try tree.makeDirectory("other")
    let number = try tree.attributes("merged").inode
    let target = style == .exchange ? "other" : "new"
    try tree.rename("merged", to: target, style)
    for _ in 0..<2 {
      #expect(try tree.names(target) == ["a", "b", "inner"])
      #expect(try tree.read("\(target)/inner/deep") == "deep")
      #expect(try tree.attributes(target).inode == number)
      #expect(try tree.names("").contains("merged") == (style == .exchange))
      try tree.remount()
    }
    try tree.makeDirectory("place")
    try tree.rename(target, to: "place/deeper")
    #expect(try tree.read("place/deeper/b") == "b of the second")
    try tree.rename("place/deeper/inner", to: "inner")
    #expect(try tree.read("inner/deep") == "deep")
  }

  @Test("Whoever has a file open reads what is written to it after it was brought up") func followed() throws
  {
    let tree = try two()
    try tree.open("single") { reader in
      #expect(try tree.read(reader) == "only here")
      try tree.write("single", "ONLY")
      #expect(try tree.read(reader) == "ONLY here")
      try tree.rename("single", to: "elsewhere")
      try tree.write("elsewhere", "Only")
      try tree.remove("elsewhere")
      #expect(try tree.read(reader) == "Only here")
    }
  }

  @Test("What lost its name before it was brought up is changed for those who have it open") func nameless()
    throws
  {
    let tree = try two()
    try tree.at("single") { node in
      let handle = try tree.volume.open(node, .read, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      try tree.remove("single")
      var change = AttributeChange()
      change.mode = 0o600
      let answer = try tree.volume.changeAttributes(of: node, change, handle: handle, for: tree.caller)
      #expect(answer.attributes.mode == 0o600)
      #expect(try tree.read(handle) == "only here")
    }
    #expect(throws: Errno.noSuchFile) { try tree.attributes("single") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work") == ["wh"])
  }

  @Test("Listed numbers are those of lookups, before and after a copy") func numbers() throws {
    let tree = try two()
    try tree.write("merged/b", "x")
    try tree.rename("merged/b", to: "moved")
    try tree.create("fresh")
    for path in ["", "merged"] {
      for (name, inode, _) in try tree.list(path) {
        #expect(try tree.attributes(path.isEmpty ? name : "\(path)/\(name)").inode == inode, "\(name)")
      }
    }
  }

  @Test("A listing shows each name once, however small its answers, and from every place it was left at")
  func listed() throws {
    func files(_ numbers: Range<Int>) -> [TreeItem] {
      [TreeItem(name: "d", content: .directory(numbers.map { file("t\($0)") }))]
    }
    let tree = try LayeredTree(files(0..<40), files(20..<80))
    try tree.remove("d/t3")
    try tree.create("d/own")
    let all = try tree.names("d")
    #expect(all.count == 80 && Set(all).count == 80)
    #expect(try tree.list("d", most: 1).map(\.name).sorted() == all)
    try tree.at("d") { node in
      let handle = try tree.volume.openDirectory(node, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      func next(from offset: Int64) throws -> (String, Int64)? {
        var found: (String, Int64)?
        try tree.volume.readDirectory(handle, from: offset, withAttributes: false, for: tree.caller) {
          name, listed in
          guard found == nil else { return false }
          found = (String(decoding: name.indices.map { name[$0] }, as: UTF8.self), listed.nextOffset)
          return true
        }
        return found
      }
      var (cookies, names, offset) = ([Int64(0)], [String](), Int64(0))
      while let (name, behind) = try next(from: offset) {
        names.append(name)
        offset = behind
        cookies.append(behind)
        // Brought up while it is listed: neither lost nor twice.
        if name == "t50" { try tree.write("d/t70", "x") }
      }
      for place in stride(from: names.count - 1, through: 1, by: -7) {
        #expect(try next(from: cookies[place])?.0 == names[place])
      }
      #expect(names.filter { $0 != "." && $0 != ".." }.sorted() == all)
    }
  }

  @Test("Marks of overlayfs close and lead elsewhere, and nobody sees them") func marks() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make(
        [directory("closed") { file("own") }, directory("led") { file("own") }], at: base + "/l1")
      try LayeredTree.make(
        [
          directory("closed") { file("below") }, directory("led") { file("no") },
          directory("far") { file("yes") },
        ],
        at: base + "/l2")
      try setPlainAttribute(base + "/l1/closed", "trusted.overlay.opaque", "y")
      try setPlainAttribute(base + "/l1/led", "trusted.overlay.redirect", "/far")
      mknod(base + "/l1/far", S_IFCHR, 0)
      return [base + "/l1", base + "/l2"]
    })
    #expect(try tree.names("") == ["closed", "led"])
    #expect(try tree.names("closed") == ["own"])
    // A whiteout on the way hides it from the layers below as well.
    #expect(try tree.names("led") == ["own", "yes"])
    try tree.at("closed") { node in
      let names = try tree.volume.listExtendedAttributes(of: node, for: tree.caller)
      #expect(!String(decoding: names, as: UTF8.self).contains("overlay"))
    }
    #expect(throws: Errno.notPermitted) { try tree.setAttribute("closed", "user.overlay.opaque", "y") }
    #expect(throws: Never.self) { try tree.setAttribute("closed", "user.overlayed", "y") }
  }

  @Test("A mark that cannot be followed makes its directory unusable, and shows nothing of a guess")
  func damaged()
    throws
  {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([directory("d") { file("own") }], at: base + "/l1")
      try LayeredTree.make([directory("d") { file("below") }], at: base + "/l2")
      try setPlainAttribute(base + "/l1/d", "trusted.overlay.redirect", "../d")
      return [base + "/l1", base + "/l2"]
    })
    #expect(try tree.names("") == ["d"])
    #expect(throws: Errno.inputOutput) { try tree.names("d") }
    #expect(throws: Errno.inputOutput) { try tree.rename("d", to: "e") }
  }

  @Test("A file whose bytes are in another layer is not brought up without them") func hollow() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([file("m", "")], at: base + "/l1")
      truncate(base + "/l1/m", 1 << 20)
      try setPlainAttribute(base + "/l1/m", "trusted.overlay.metacopy", "")
      return [base + "/l1"]
    })
    #expect(throws: Errno.inputOutput) { try tree.setAttribute("m", "system.varve.flags", "hidden") }
    #expect(throws: Errno.inputOutput) { try tree.write("m", "x") }
    #expect(throws: Errno.inputOutput) { try tree.read("m") }
  }

  @Test("A layered volume is not mounted for writing without saying where its lowers are") func unsaid()
    throws
  {
    let tree = try two()
    try tree.remove("both")
    tree.close()
    let root = try UpperRoot(Array(tree.upper.utf8))
    #expect(throws: VolumeFailure.self) { try Volume(root, options: VolumeOptions()) }
    var said = VolumeOptions()
    said.saysLowers = true
    #expect(throws: Never.self) { try Volume(root, options: said) }
    var readOnly = VolumeOptions()
    readOnly.live.rules.isReadOnly = true
    #expect(throws: Never.self) { try Volume(root, options: readOnly) }
  }
}

extension RenameStyle {
  static let all: [RenameStyle] = [.replace, .noReplace, .exchange]
}
