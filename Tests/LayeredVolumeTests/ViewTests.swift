import Decisions
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Views of a volume") struct ViewTests {
  private func tree() throws -> Tree {
    try Tree {
      directory("Library") {
        file(".localized")
        directory("Caches") { file("a.md", "inside") }
      }
      directory("Release Notes.localized") {
        directory(".localized") { file("de.strings", "\"Release Notes\" = \"Versionshinweise\";") }
      }
      directory("Foo.app") {
        directory("Contents") { file("x.txt") }
        file("b.txt")
        file(".hidden.txt")
      }
      file("file10.txt")
      file("file9.txt")
      file("report.pdf")
      file("report.txt", "text")
      file("photo.JPG")
      file(".config")
      symbolicLink("link.txt", to: "report.txt")
    }
  }

  @Test("A view lists shown names in the order of people, hidden items left out")
  func lists() throws {
    let tree = try tree()
    let wanted = [
      "Bibliothek", "file9", "file10", "Foo", "link.txt", "photo", "report.pdf", "report.txt",
      "Versionshinweise",
    ]
    #expect(try tree.shown("de") == wanted)
    #expect(try tree.names(".varve/view/de", withAttributes: true) == wanted)
    #expect(try tree.shown("fr").contains("Bibliothèque"))
    #expect(try tree.shown("fr").contains("Release Notes"))
    #expect(try tree.shown("de,all").first == ".config")
    #expect(try tree.shown("default,ext=never").contains("file9.txt"))
    #expect(!(try tree.names("")).contains("Bibliothek"))
  }

  /// The kernel would take them over after a revocation has returned: only in the ordinary tree does it hold the lock of the
  /// directory that whoever closes it needs.
  @Test(
    "A listing of a view hands out names alone, also in packages; one of the tree what lookups would answer")
  func namesAlone() throws {
    let tree = try tree()
    for (path, hasEntries) in [
      ("", true), ("Library", true), (".varve/view/de", false), (".varve/view/de/Bibliothek", false),
      (".varve/view/de/Foo.app", false),
    ] {
      try tree.listing(path) { listing in
        while try listing.read(7, withAttributes: true) {}
        #expect(!listing.names.isEmpty, "\(path)")
        #expect((listing.entries > 0) == hasEntries, "\(path)")
      }
    }
  }

  /// The kernel takes listed names over after the answer, under a lock that a change through a view does not need.
  @Test("A directory is not closed through a view while names of its listing are on their way")
  func listingUnderWay() throws {
    let tree = try tree()
    let (real, view) = ("Library", ".varve/view/de/Bibliothek")
    let before = try tree.mode(real)
    let changes: [(String, () throws -> Void)] = [
      ("chmod", { try tree.setMode(view, to: 0o700) }),
      ("list", { try tree.setAttribute(view, "system.varve.acl", "user:1002 deny search") }),
      ("list in numbers", { try tree.setAttribute(view, "user.varve.acl", "") }),
    ]
    let volume = try tree.volume()
    func foretold(_ deed: Deed, _ path: String) throws -> Errno? {
      try volume.explain(
        Question(deed, Array(path.utf8)), as: volume.assumed(user: geteuid(), group: getegid(), groups: []),
        within: WalkLimits(deadline: .max)
      ).failure
    }
    try tree.listing(real) { listing in
      try listing.read(4, withAttributes: true)
      #expect(listing.entries > 0)
      for (name, change) in changes {
        #expect(throws: Errno.busy, "\(name)") { try change() }
      }
      for deed in [Deed.changeMode, .writeList, .changeOwner, .changeFlags] {
        #expect(try foretold(deed, view) == .busy && foretold(deed, real) == nil, "\(deed)")
      }
      #expect(try foretold(.writeAttributes, view) == nil)
      #expect(try tree.mode(real) == before)
      // At the real path the kernel holds it up as long as it has to.
      try tree.setMode(real, to: before)
      // Times and names alone close nothing, and what was taken over is no longer on its way.
      try listing.read(3, withAttributes: false)
      #expect(try foretold(.changeMode, view) == nil)
      try tree.setMode(view, to: 0o700)
      try tree.setMode(view, to: 0o755)
      while try listing.read(3, withAttributes: true) {}
      try tree.setMode(view, to: 0o700)
      try tree.setMode(view, to: 0o755)
      listing.rewind()
      try listing.read(3, withAttributes: true)
    }
    // Closed in the middle.
    try tree.setMode(view, to: 0o700)
    #expect(try tree.mode(real) == 0o700)
  }

  @Test("A real name that is made later than the names were leads to its item at once")
  func madeLater() throws {
    let tree = try tree()
    let shown = try tree.numbers("photo.JPG").inode
    // Once before the time of change is old enough to tell of every later change, and once after that.
    for isOld in [false, true] {
      let deadline = time(nil) + 20
      while isOld, time(nil) < deadline,
        try !Descriptor.open(path: tree.path, [.readOnly, .directory]).status().isSettled
      {
        sched_yield()
      }
      try tree.volume().indexes.dropAll()
      for _ in 0..<3 { #expect(try tree.numbers(".varve/view/de/photo").inode == shown) }
      try tree.create("photo")
      let made = try tree.numbers("photo").inode
      #expect(made != shown)
      #expect(try tree.numbers(".varve/view/de/photo").inode == made)
      try tree.remove("photo")
      #expect(try tree.numbers(".varve/view/de/photo.JPG").inode == shown)
    }
  }

  @Test("Of more translated directories than are read for one listing, the first by their real names are")
  func tooManyTranslations() throws {
    let tree = try Tree {}
    let last = 3048
    for number in 1000..<last {
      let path = "\(tree.path)/\(number).localized/.localized"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try "\"\(number)\" = \"Teil \(number)\";".write(
        toFile: path + "/de.strings", atomically: false, encoding: .utf8)
    }
    let names = try tree.shown("de")
    #expect(names.count == last - 1000)
    #expect(names.filter { $0.hasPrefix("Teil ") } == (1000..<2024).map { "Teil \($0)" })
    #expect(Set(names.filter { !$0.hasPrefix("Teil ") }) == Set((2024..<last).map { "\($0)" }))
  }

  @Test(
    "A translation is shown if it is a name that hides nothing, else the directory's own name is",
    arguments: [
      ("Zeile", "Zeile"), ("x/y", "x:y"), ("Zei\\nle", "A"), ("\\U0301x", "A"), ("\\U200Dx", "A"),
      ("x\\000y", "A"), (" x", "A"), ("x ", "A"), ("\\U00A0x", "A"), (".x", "A"), ("", "A"),
      ("e\\U0301", "é"), ("x.txt", "A"), ("\\U202Ex", "A"), (String(repeating: "x", count: 256), "A"),
      ("\\UD800", "A"),
    ])
  func values(_ value: String, _ shown: String) throws {
    let tree = try Tree {
      directory("A.localized") { directory(".localized") { file("de.strings", "\"A\" = \"\(value)\";") } }
    }
    #expect(try tree.shown("de") == [shown])
    try tree.lookup(".varve/view/de/\(shown)")
  }

  @Test("Translations that are compressed are read as they were") func compressedStrings() throws {
    let tree = try Tree {
      directory("A.localized") {
        directory(".localized") {
          file(
            "de.strings",
            String(repeating: "/* Lange Bemerkung */\n", count: 800) + "\"A\" = \"Ablage\";\n")
        }
      }
    }
    #expect(try tree.shown("de") == ["Ablage"])
    let path = "A.localized/.localized/de.strings"
    // What was just written is left alone.
    let deadline = Clock.monotonicNanoseconds &+ 10_000_000_000
    var form = ""
    while !form.hasPrefix("zstd "), Clock.monotonicNanoseconds < deadline {
      try? tree.setAttribute(path, CompressedFileTests.door, "zstd")
      form = try tree.text(path, CompressedFileTests.door)
    }
    #expect(form.hasPrefix("zstd "), "\(form)")
    try tree.volume().indexes.dropAll()
    #expect(try tree.shown("de") == ["Ablage"])
  }

  @Test("A directory of more than 200,000 items shows its real names") func manyItems() throws {
    let tree = try Tree(in: Tree.memory, { _ in }) { directory("d") }
    // Names of a few files: as many as every file system lets a file have, and quicker made than as many files.
    let files = 50_000
    for number in 0...200_000 {
      let path = "\(tree.path)/d/\(number).txt"
      if number % files == 0 {
        try "".write(toFile: path, atomically: false, encoding: .utf8)
      } else {
        try #require(Glibc.link("\(tree.path)/d/\(number - number % files).txt", path) == 0)
      }
    }
    let names = try tree.shown("de", "d")
    #expect(names.count == 200_001 && names.allSatisfy { $0.hasSuffix(".txt") })
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/de/d/77") }
    try tree.lookup(".varve/view/de/d/77.txt")
    try tree.remove("d/200000.txt")
    let fewer = try tree.shown("de", "d")
    #expect(fewer.count == 200_000 && fewer.allSatisfy { !$0.hasSuffix(".txt") })
    try tree.lookup(".varve/view/de/d/77")
  }

  @Test(
    "Names of views are canonical, or there is no such view",
    arguments: [
      ("de", true), ("default", true), ("fr-CA+en,all", true), ("zh-Hant,ext=bit", true),
      ("de,ext=known", false),
      ("DE", false), ("de+de", false), ("de,all,all", false), ("de_AT", false), ("", false),
      ("status", false),
    ])
  func viewNames(_ name: String, isThere: Bool) throws {
    let tree = try tree()
    if isThere {
      try tree.lookup(".varve/view/\(name)")
    } else {
      #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/\(name)/Library") }
    }
  }

  @Test("Real names and shown names lead to one object, with the number it has in the ordinary tree")
  func leadsToOne() throws {
    let tree = try tree()
    try tree.at("photo.JPG") { _, node in
      for path in ["de/photo", "de/photo.JPG", "fr/photo"] {
        let found = try tree.numbers(".varve/view/\(path)").node
        #expect(found == node)
      }
    }
    #expect(try tree.read(".varve/view/de/Bibliothek/Caches/a") == "inside")
    #expect(try tree.read(".varve/view/de/Library/Caches/a.md") == "inside")
    let inodes = try ["Library", ".varve/view/de/Library", ".varve/view/de/Bibliothek"].map {
      try tree.numbers($0).inode
    }
    #expect(Set(inodes).count == 1)
  }

  @Test("A listing tells where its directory is, also when that has moved since its names were made")
  func movedDirectory() throws {
    let tree = try tree()
    for (path, above) in [("Library/Caches", "Library"), ("Moved", "")] {
      if above.isEmpty { try tree.rename("Library/Caches", to: path) }
      let numbers = try tree.listing(".varve/view/en/\(path)") { listing in
        while try listing.read(7) {}
        return listing.ownNumbers
      }
      #expect(try numbers == [tree.numbers(path).inode, tree.numbers(above).inode])
    }
  }

  @Test("A directory has a number of its own for each path in a view, and the kernel gives it back")
  func directoryNumbers() throws {
    let tree = try tree()
    try tree.at("Library") { volume, real in
      try tree.at(".varve/view/de/Library") { _, named in
        try tree.at(".varve/view/de/Bibliothek") { _, shown in
          #expect(Set([real, named, shown]).count == 3)
          #expect(volume.views.count == 3, "the root of the view and two ways to the library")
        }
      }
    }
    #expect(try tree.volume().views.count == 0)
    #expect(try tree.volume().nodeCount == 0)
  }

  @Test("Inside a package everything has its real name, and nothing is hidden")
  func packages() throws {
    let tree = try tree()
    #expect(try tree.shown("de", "Foo").sorted() == [".hidden.txt", "Contents", "b.txt"])
    #expect(try tree.shown("de", "Foo.app/Contents") == ["x.txt"])
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/de/Foo/b") }
  }

  @Test("The structure of a view is read-only, before any other check")
  func structure() throws {
    let tree = try tree()
    let view = ".varve/view/de"
    for path in [view, "\(view)/Bibliothek", "\(view)/Foo/Contents"] {
      #expect(throws: Errno.readOnly) { try tree.create("\(path)/new") }
      #expect(throws: Errno.readOnly) { try tree.createUnnamed(in: path) }
      #expect(throws: Errno.readOnly) { try tree.makeDirectory("\(path)/new") }
      #expect(throws: Errno.readOnly) { try tree.makeNode("\(path)/new", .fifo) }
      #expect(throws: Errno.readOnly) { try tree.makeSymbolicLink("\(path)/new", to: "x") }
      #expect(throws: Errno.readOnly) { try tree.link("photo.JPG", as: "\(path)/new") }
      #expect(throws: Errno.readOnly) { try tree.remove("\(path)/nothing") }
      #expect(throws: Errno.readOnly) { try tree.removeDirectory("\(path)/nothing") }
      #expect(throws: Errno.readOnly) { try tree.rename("photo.JPG", to: "\(path)/new") }
      #expect(throws: Errno.readOnly) { try tree.rename("\(path)/nothing", to: "new") }
    }
    #expect(throws: Errno.notPermitted) { try tree.makeDirectory(".varve/view/new") }
  }

  @Test("Content and attributes are changed through a view as anywhere")
  func content() throws {
    let tree = try tree()
    try tree.write(".varve/view/de/report.txt", "more", at: 4)
    #expect(try tree.read("report.txt") == "textmore")
    try tree.change(".varve/view/de/Bibliothek") { $0.mode = 0o700 }
    let library = try tree.at("Library") { volume, node in
      try volume.attributes(of: node, handle: nil, for: tree.caller()).attributes
    }
    #expect(library.mode == 0o700)
  }

  @Test("What the volume keeps for itself is in no view, and without it there are no views")
  func reserved() throws {
    let tree = try tree()
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/de/.varve") }
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/de,all/.varve") }
    #expect(!(try tree.shown("de,all")).contains(".varve"))
    #expect(throws: Errno.accessDenied) { _ = try tree.names(".varve/view") }
    let closed = try Tree({ $0.showsReservedDirectory = false }) { file("a.txt") }
    #expect(throws: Errno.noSuchFile) { try closed.lookup(".varve/view/de") }
  }

  @Test("Nothing of a view is remembered for more than a second, and no directory's attributes by a lookup")
  func remembered() throws {
    let tree = try Tree({ $0.live.cache = .exclusive }) {
      file("a.txt")
      directory("d")
    }
    for (name, isDirectory) in [("a.txt", false), ("a", false), ("d", true)] {
      try tree.at(".varve/view/de") { volume, view in
        let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
          try volume.lookup(name, in: view, for: tree.caller())
        }
        guard case .found(let entry) = answer else { throw Errno.noSuchFile }
        defer { volume.forget(entry.node, references: 1) }
        #expect([.none, .seconds(1)].contains(entry.nameValidity))
        if isDirectory {
          #expect(entry.attributeValidity == .none)
          // Without a way to the kernel nothing could make them stale.
          let answer = try volume.attributes(of: entry.node, handle: nil, for: tree.caller())
          volume.attach(RecordingKernel().link)
          let later = try volume.attributes(of: entry.node, handle: nil, for: tree.caller())
          guard case .nanoseconds = later.validity else { throw Errno.invalid }
          #expect(answer.validity == .none)
        }
      }
    }
  }
}
