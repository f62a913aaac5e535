import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("What follows from names") struct NameFactTests {
  private func tree() throws -> Tree {
    try Tree {
      directory("Library") { file(".localized") }
      directory("Foo.app") { directory("Contents") { file("Info.plist", "CFBundleName = Foo;") } }
      directory("Bar.xyz")
      file("report.txt")
      file("run", mode: 0o755)
      file(".secret", list: "user:1001 deny readattr")
      file("listed")
      file(".hidden", "listed\n")
      symbolicLink("link", to: "report.txt")
      directory("d") { file("lost+found") }
      directory("lost+found")
    }
  }

  @Test("Every fact, on every kind of item, under both spellings") func facts() throws {
    let tree = try tree()
    try tree.makeNode("pipe.txt", .fifo)
    let rows: [(String, String, String)] = [
      ("Library", "displayname", "Library"), ("Library", "displayname.de", "Bibliothek"),
      ("Library", "displayname.xx+fr", "Bibliothèque"), ("Foo.app", "displayname", "Foo"),
      (".varve/view/de/Bibliothek", "displayname", "Library"), ("report.txt", "displayname", "report"),
      ("link", "displayname", "link"),
      ("report.txt", "realname", "report.txt"), ("report.txt", "uti", "public.plain-text"),
      ("run", "uti", "public.unix-executable"), ("Foo.app", "uti", "com.apple.application-bundle"),
      ("link", "uti", "public.symlink"), ("report.txt", "mime", "text/plain"),
      ("d", "mime", "inode/directory"),
      ("Foo.app", "icon", "application-x-executable"), ("", "icon", "drive-harddisk"),
      ("", "uti", "public.volume"),
      ("Foo.app", "package", "2"), ("Bar.xyz", "package", "0"), ("report.txt", "hidden", ""),
      ("listed", "hidden", "l"), (".secret", "hidden", "d"), ("lost+found", "hidden", "u"),
      ("d/lost+found", "hidden", ""), ("pipe.txt", "displayname", "pipe.txt"),
      ("pipe.txt", "displayname.fr", "pipe.txt"), ("pipe.txt", "realname", "pipe.txt"),
      ("pipe.txt", "uti", "public.item"), ("pipe.txt", "mime", "inode/fifo"), ("pipe.txt", "icon", "unknown"),
      ("pipe.txt", "package", "0"), ("pipe.txt", "hidden", ""),
    ]
    for (path, fact, value) in rows {
      for prefix in ["user", "system"] {
        #expect(try tree.text(path, "\(prefix).varve.\(fact)") == value, "\(fact) of \(path)")
      }
    }
    // Of several names of a file the one that it was last found by, while the kernel has it all the time.
    try tree.link("report.txt", as: "d/twin.pdf")
    let names = [("d/twin.pdf", "twin.pdf", "twin"), ("report.txt", "report.txt", "report")]
    try tree.at("report.txt") { _, _ in
      for (path, real, shown) in names + names {
        for way in [path, ".varve/view/fr/" + path] {
          let found = try ["realname", "displayname"].map { try tree.text(way, "user.varve.\($0)") }
          #expect(found == [real, shown], "\(way)")
        }
      }
    }
  }

  @Test("Facts cannot be set, removed or listed, and the root has no name") func notStored() throws {
    let tree = try tree()
    for name in ["user.varve.displayname", "system.varve.displayname.fr", "user.varve.uti"] {
      #expect(throws: Errno.notPermitted) { try tree.setAttribute("report.txt", name, "x") }
      #expect(throws: Errno.notPermitted) { try tree.removeAttribute("report.txt", name) }
    }
    #expect(try tree.attributeNames("report.txt").allSatisfy { !$0.contains("varve") })
    for name in [
      "user.varve.displayname", "user.varve.realname", "user.varve.displayname.DE", "user.varve.x",
    ] {
      #expect(throws: Errno.noData) { _ = try tree.text("", name) }
    }
  }

  @Test(
    "A fact takes the right to see the status of the item, under either spelling", .enabled(if: Tree.isRoot))
  func rightOfStatus() throws {
    let tree = try tree()
    for user: UInt32 in [1001, 1002] {
      tree.user = user
      for fact in ["displayname", "displayname.fr", "realname", "uti", "mime", "icon", "package", "hidden"] {
        for prefix in ["user", "system"] {
          let refusal: Errno?
          do {
            _ = try tree.text(".secret", "\(prefix).varve.\(fact)")
            refusal = nil
          } catch {
            refusal = try #require(error as? Errno)
          }
          #expect(refusal == (user == 1001 ? .accessDenied : nil), "\(prefix).varve.\(fact) for \(user)")
        }
      }
    }
  }

  @Test("What an entry denies somebody is in no name, and the fact says no more") func withheld() throws {
    func zeros(_ count: Int) -> String { String(repeating: "\0", count: count) }
    let tree = try Tree {
      file("a.txt", flags: "hidden", list: "user:1001 deny readattr")
      file("b.txt", flags: "hidden")
      file("e.txt", flags: "hidden", list: "user:1001 deny readsecurity")
      file("run", mode: 0o755, list: "user:1001 deny readattr")
      // The bit of a package.
      directory(
        "d", list: "user:1001 deny readattr",
        attributes: ["user.com.apple.FinderInfo": zeros(8) + " " + zeros(23)]
      ) { file("c.txt") }
    }
    // For those who may look as well: names are the same for everybody.
    for user: UInt32 in Tree.isRoot ? [0, 1001, 1003] : [geteuid()] {
      tree.user = user
      #expect(try tree.shown("en") == ["a.txt", "d", "e.txt", "run"], "user \(user)")
      #expect(try tree.shown("en", "d") == ["c"])
    }
    tree.user = geteuid()
    #expect(try tree.text("d", "user.varve.package") == "0")
    #expect(try tree.text("run", "user.varve.uti") == "public.data")
    #expect(try tree.text("a.txt", "user.varve.hidden") == "")
    #expect(try tree.text("a.txt", "user.varve.displayname") == "a.txt")
    #expect(try tree.text("b.txt", "user.varve.hidden") == "f")
  }

  @Test(
    "The state of an extension is hidden by the Finder's bit, shown by a record, and one takes the other away"
  )
  func extensionState() throws {
    let tree = try tree()
    let door = "system.varve.extension"
    let bit = [UInt8](repeating: 0, count: 9) + [0x10] + [UInt8](repeating: 0, count: 22)
    #expect(try tree.text("report.txt", door) == "")
    try tree.setAttribute("report.txt", door, "show")
    #expect(try tree.text("report.txt", door) == "show")
    #expect(try tree.shown("en").contains("report.txt"))
    try tree.setAttribute("report.txt", door, "hide")
    #expect(try tree.attribute("report.txt", "user.com.apple.FinderInfo") == bit)
    #expect(try tree.shown("en,ext=bit").contains("report"))
    // Stored behind the mount, or by a Mac, the bit counts more.
    try tree.setAttribute("run", door, "show")
    try tree.setAttribute("run", "user.com.apple.FinderInfo", bytes: bit)
    #expect(try tree.text("run", door) == "hide")
    try tree.removeAttribute("report.txt", door)
    #expect(throws: Errno.noData) { _ = try tree.attribute("report.txt", "user.com.apple.FinderInfo") }
    try tree.setAttribute("Foo.app", door, "show")
    // Names may be a second old.
    try tree.volume().indexes.dropAll()
    #expect(try tree.shown("en").contains("Foo.app"))
    #expect(throws: Errno.unsupported) { try tree.setAttribute("d", door, "show") }
    #expect(throws: Errno.unsupported) { try tree.setAttribute("link", door, "show") }
    #expect(throws: Errno.invalid) { try tree.setAttribute("report.txt", door, "maybe") }
  }

  @Test("An item whose record is damaged is not hidden, and shows its whole name")
  func damagedItems() throws {
    let tree = try Tree {
      file("damaged.txt", flags: "hidden")
      file("other.txt", flags: "hidden")
      file("whole.txt", flags: "nodump")
    }
    #expect(try tree.shown("en") == ["whole"])
    let stored = try Descriptor.open(path: tree.path + "/damaged.txt", .readOnly)
    try AttributeName.with(Array(((Tree.isRoot ? "trusted" : "user") + ".varve.m").utf8)) {
      (name) throws(Errno) in
      try stored.setAttribute(name, to: Array("nonsense".utf8))
    }
    tree.unmount()
    #expect(try tree.shown("en") == ["damaged.txt", "whole"])
  }

  @Test("A damaged names record shows the whole name and closes nothing") func damaged() throws {
    let tree = try Tree { file("report.txt", "text") }
    try tree.setAttribute("report.txt", "system.varve.extension", "show")
    let stored = try Descriptor.open(path: tree.path + "/report.txt", .readOnly)
    let record = Array(((Tree.isRoot ? "trusted" : "user") + ".varve.names").utf8)
    func damage() throws(Errno) {
      try AttributeName.with(record) { name throws(Errno) in
        try stored.setAttribute(name, to: Array("nonsense".utf8))
      }
    }
    func present() throws(Errno) -> [UInt8]? {
      try AttributeName.with(record) { name throws(Errno) in try stored.attribute(name) }
    }
    let sound = try present()
    try damage()
    #expect(try tree.shown("en") == ["report.txt"])
    #expect(try tree.read("report.txt") == "text")
    #expect(throws: Errno.inputOutput) { _ = try tree.text("report.txt", "system.varve.extension") }
    // Whatever is set, the damage goes.
    try tree.setAttribute("report.txt", "system.varve.extension", "show")
    #expect(try present() == sound)
    try damage()
    try tree.setAttribute("report.txt", "system.varve.extension", "")
    try tree.volume().indexes.dropAll()
    #expect(try tree.shown("en") == ["report"])
  }
}
