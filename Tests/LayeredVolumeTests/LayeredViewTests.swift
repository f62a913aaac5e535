// Views of a volume that lies over lowers: they are those of a plain tree with the same items.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Views of layers", .enabled(if: Tree.isRoot, "whiteouts need root")) struct LayeredViewTests {
  private static let strings = "\"Release Notes\" = \"Versionshinweise\"; \"Papers\" = \"Papiere\";"
  private static let information =
    "<plist version=\"1.0\"><dict><key>CFBundleName</key><string>Notes</string></dict></plist>"
  private static let bundle = "CFBundleName = Notizen;"

  private func layers() throws -> LayeredTree {
    try LayeredTree(
      [
        directory("docs") {
          file("b.txt")
          file(".hidden", "c.txt\n")
        },
        directory("Library") { file(".localized") },
        directory("Notes.app") {
          directory("Contents") {
            directory("Resources") {
              directory("de.lproj") { file("InfoPlist.strings", LayeredViewTests.bundle) }
            }
          }
        },
      ],
      [
        directory("docs") {
          file("a.txt", "of the lowest")
          file("b.txt", "hidden by the layer above")
          file("c.txt")
          directory("Release Notes.localized") {
            directory(".localized") { file("de.strings", LayeredViewTests.strings) }
          }
        },
        directory("Library") { file("Cafe\u{301}.md") },
        directory("Notes.app") { directory("Contents") { file("Info.plist", LayeredViewTests.information) } },
        file("report.txt"), file("report.pdf"), symbolicLink("link.txt", to: "report.txt"),
      ])
  }

  private func plain() throws -> Tree {
    try Tree {
      directory("docs") {
        file("a.txt", "of the lowest")
        file("b.txt")
        file("c.txt")
        file(".hidden", "c.txt\n")
        directory("Release Notes.localized") {
          directory(".localized") { file("de.strings", LayeredViewTests.strings) }
        }
      }
      directory("Library") {
        file(".localized")
        file("Cafe\u{301}.md")
      }
      directory("Notes.app") {
        directory("Contents") {
          file("Info.plist", LayeredViewTests.information)
          directory("Resources") {
            directory("de.lproj") { file("InfoPlist.strings", LayeredViewTests.bundle) }
          }
        }
      }
      file("report.txt")
      file("report.pdf")
      symbolicLink("link.txt", to: "report.txt")
    }
  }

  /// What a view shows, all the way down, with the real name of each item.
  private func shown(
    _ view: String, _ path: String = "", names: (String) throws -> [String],
    attributes: (String) throws -> Attributes, text: (String, String) throws -> String
  ) throws -> [String] {
    var lines: [String] = []
    let listed = try names(".varve/view/\(view)\(path)")
    // Inside a package the order is that of the file system.
    for name in path.hasPrefix("/Not") ? listed.sorted() : listed {
      let full = ".varve/view/\(view)\(path)/\(name)"
      let kind = try attributes(full).kind
      lines.append("\(path)/\(name) \(kind) \(try text(full, "system.varve.realname"))")
      for fact in ["displayname.de", "uti", "mime", "icon", "package", "hidden"] {
        lines.append("  " + (try text(full, "system.varve.\(fact)")))
      }
      if kind == .directory {
        lines += try shown(view, "\(path)/\(name)", names: names, attributes: attributes, text: text)
      }
    }
    return lines
  }

  private func text(_ layers: LayeredTree, _ path: String, _ name: String) throws -> String {
    let caller = layers.caller
    return try layers.at(path) { node in
      let bytes = try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
        try layers.volume.extendedAttribute(name, of: node, for: caller)
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private func compare(_ layers: LayeredTree, _ plain: Tree, _ step: String) throws {
    // What is in directories, and bits of files, count in a moment only.
    layers.volume.indexes.dropAll()
    try plain.volume().indexes.dropAll()
    for view in ["de", "fr,all", "de,ext=never", "default,ext=all"] {
      let union = try shown(
        view, names: { try layers.list($0).map(\.name) }, attributes: layers.attributes,
        text: { try text(layers, $0, $1) })
      let single = try shown(
        view, names: { try plain.names($0) }, attributes: plain.attributes, text: plain.text)
      #expect(union == single, "\(step), view \(view)")
    }
  }

  @Test("A view of layers is that of a plain tree with the same items, whatever is changed")
  func same() throws {
    let (layers, plain) = (try layers(), try plain())
    func both(_ step: String, _ one: (LayeredTree) throws -> Void, _ other: (Tree) throws -> Void) throws {
      try one(layers)
      try other(plain)
      try compare(layers, plain, step)
    }
    try compare(layers, plain, "nothing was changed")
    #expect(try layers.list(".varve/view/de").map(\.name).contains("Bibliothek"))
    #expect(try layers.list(".varve/view/de/docs").map(\.name) == ["a", "b", "Versionshinweise"])
    try both("a whiteout", { try $0.remove("report.pdf") }, { try $0.remove("report.pdf") })
    #expect(try layers.list(".varve/view/de").map(\.name).contains("report"))
    try both("a new sibling", { try $0.create("docs/a.pdf") }, { try $0.create("docs/a.pdf") })
    try both(
      "a list that is hidden", { try $0.remove("docs/.hidden") }, { try $0.remove("docs/.hidden") })
    try both(
      "a directory that was moved", { try $0.rename("docs", to: "Papers.localized") },
      { try $0.rename("docs", to: "Papers.localized") })
    try both(
      "something brought up", { try $0.write("report.txt", "text") }, { try $0.write("report.txt", "text") })
    try both(
      "x bits", { try $0.change("Papers.localized/b.txt") { $0.mode = 0o755 } },
      { try $0.change("Papers.localized/b.txt") { $0.mode = 0o755 } })
    try both(
      "translations in the upper",
      { layers in
        try layers.makeDirectory("Papers.localized/.localized")
        try layers.create("Papers.localized/.localized/de.strings", LayeredViewTests.strings)
      },
      { plain in
        try plain.makeDirectory("Papers.localized/.localized")
        try plain.make("Papers.localized/.localized/de.strings", LayeredViewTests.strings)
      })
    try both(
      "a directory in the place of another",
      { layers in
        try layers.remove("Library/.localized")
        try layers.remove("Library/Cafe\u{301}.md")
        try layers.removeDirectory("Library")
        try layers.makeDirectory("Library")
      },
      { plain in
        try plain.remove("Library/.localized")
        try plain.remove("Library/Cafe\u{301}.md")
        try plain.removeDirectory("Library")
        try plain.makeDirectory("Library")
      })
    try layers.remount()
    try compare(layers, plain, "mounted again")
  }

  @Test("A view of layers shows the inode numbers of the union, and hides what lies in no layer's listing")
  func numbers() throws {
    let layers = try layers()
    try layers.remove("report.pdf")
    for view in ["", ".varve/view/de,all"] {
      let items = try layers.list(view)
      #expect(items.allSatisfy { $0.name != ".varve" && $0.name != "report.pdf" })
      for item in items {
        let path = view.isEmpty ? item.name : "\(view)/\(item.name)"
        #expect(try layers.attributes(path).inode == item.inode, "\(path)")
      }
    }
    #expect(throws: Errno.noSuchFile) { _ = try layers.attributes(".varve/view/de/report.pdf") }
    #expect(throws: Errno.readOnly) { try layers.create(".varve/view/de/new") }
  }

  @Test("A change of any layer is seen in a view at once")
  func behind() throws {
    let layers = try layers()
    #expect(try layers.list(".varve/view/de/Bibliothek").map(\.name) == ["Caf\u{E9}"])
    try layers.create("Library/a.md")
    #expect(try layers.list(".varve/view/de/Bibliothek").map(\.name) == ["a", "Caf\u{E9}"])
    try layers.remove("Library/Cafe\u{301}.md")
    #expect(try layers.list(".varve/view/de/Bibliothek").map(\.name) == ["a"])
    // What lies below is not to be changed while it is mounted; a view that is told of it must not be wrong for ever.
    try Data().write(to: URL(fileURLWithPath: layers.lowers[1] + "/Library/new.md"))
    #expect(try layers.list(".varve/view/de/Bibliothek").map(\.name) == ["a", "new"])
  }

  @Test("Of an item with several names a view shows all as it is now, whichever was brought up")
  func severalNames() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([file("one.txt", "same"), file("other.txt")], at: base + "/l1")
      Glibc.link(base + "/l1/one.txt", base + "/l1/two.txt")
      return [base + "/l1"]
    })
    #expect(try tree.list(".varve/view/de").map(\.name) == ["one", "other", "two"])
    try tree.setAttribute("one.txt", "system.varve.extension", "show")
    tree.volume.indexes.dropAll()
    #expect(try tree.list(".varve/view/de").map(\.name) == ["one.txt", "other", "two.txt"])
    try tree.setAttribute("two.txt", "system.varve.flags", "hidden")
    tree.volume.indexes.dropAll()
    #expect(try tree.list(".varve/view/de").map(\.name) == ["other"])
  }

  @Test("A listing says of a lower's file with several names what lookups would, as of one with one name")
  func listedLinks() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make([file("one", "same"), file("lone")], at: base + "/l1")
      Glibc.link(base + "/l1/one", base + "/l1/two")
      return [base + "/l1"]
    })
    func entries() throws -> [String: UInt64] {
      try tree.at("") { node in
        let handle = try tree.volume.openDirectory(node, for: tree.caller).handle
        defer { tree.volume.release(handle) }
        var entries: [String: UInt64] = [:]
        try tree.volume.readDirectory(handle, from: 0, withAttributes: true, for: tree.caller) {
          name, listed in
          guard let entry = listed.entry else { return true }
          entries[String(decoding: name.indices.map { name[$0] }, as: UTF8.self)] = entry.attributes.inode
          return true
        }
        return entries
      }
    }
    #expect(Set(try entries().keys) == ["one", "two", "lone"])
    try tree.write("two", "S")
    let after = try entries()
    for (name, inode) in after { #expect(try tree.attributes(name).inode == inode, "\(name)") }
    #expect(after["lone"] != nil)
  }
}
