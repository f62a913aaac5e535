import Decisions
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// A directory whose name is translated by a file in it.
private func translated(
  _ name: String, owner: UInt32, file mode: UInt16 = 0o644, of fileOwner: UInt32? = nil,
  whole: UInt16 = 0o755, folder: UInt16 = 0o755,
  list: String = ""
) -> TreeItem {
  directory("\(name).localized", mode: whole, owner: owner) {
    directory(".localized", mode: folder, owner: owner) {
      file("fr.strings", "\"\(name)\" = \"Nom \(name)\";", mode: mode, owner: fileOwner ?? owner, list: list)
    }
  }
}

/// A bundle of a user whose name is translated, and the modes of its directories.
private func bundle(
  _ name: String, whole: UInt16 = 0o755, contents: UInt16 = 0o755, resources: UInt16 = 0o755,
  folder: UInt16 = 0o755, information: UInt16 = 0o644, strings: UInt16 = 0o644, isFlat: Bool = false
) -> TreeItem {
  let information = file("Info.plist", "CFBundleName = \(name);", mode: information)
  let translations = directory("fr.lproj", mode: folder, owner: 1001) {
    file("InfoPlist.strings", "CFBundleName = \"Nom \(name)\";", mode: strings)
  }
  if isFlat {
    return directory("\(name).app", mode: whole, owner: 1001) {
      directory("Versions")
      directory("Resources", mode: resources, owner: 1001) {
        information
        translations
      }
    }
  }
  return directory("\(name).app", mode: whole, owner: 1001) {
    directory("Contents", mode: contents, owner: 1001) {
      information
      directory("Resources", mode: resources, owner: 1001) { translations }
    }
  }
}

@Suite("Whose rights names are made with", .enabled(if: Tree.isRoot, "owners need root"))
struct NameRightsTests {
  @Test("A translation counts if the owner of the directory may read it, and root's if a stranger may")
  func ownersEyes() throws {
    let tree = try Tree {
      translated("A", owner: 1001)
      translated("B", owner: 1001, file: 0o600)
      translated("C", owner: 1001, file: 0o600, of: 1002)
      translated("D", owner: 1001, file: 0o640, of: 0)
      translated("E", owner: 0, file: 0o644)
      translated("F", owner: 0, file: 0o600)
      translated("G", owner: 1001, folder: 0o600)
      translated("H", owner: 1001, list: "user:1001 deny read")
      translated("I", owner: 1001, file: 0o600, of: 1002, list: "user:1001 allow read")
      translated("J", owner: 1001, whole: 0o600)
    }
    let wanted = ["C", "D", "F", "G", "H", "J", "Nom A", "Nom B", "Nom E", "Nom I"]
    for user: UInt32 in [0, 1001, 1003] {
      tree.user = user
      #expect(try tree.shown("fr") == wanted, "the names are the same for everybody")
    }
  }

  @Test("No user has the number of the stranger, and no group that of an owner's groups")
  func strangersHaveNothing()
    throws
  {
    let tree = try Tree {
      translated("A", owner: 1001, file: 0o640, of: 0)
      translated("B", owner: 0, file: 0o600, of: 65_534)
      translated("C", owner: 0, file: 0o640, of: 1002)
    }
    for name in ["A", "C"] {
      let path = "\(tree.path)/\(name).localized/.localized/fr.strings"
      try #require(chown(path, .max, 65_534) == 0)
    }
    #expect(try tree.shown("fr") == ["A", "B", "C"])
  }

  @Test("A group that owns an item reads for its name, and the group of an item that a user owns does not")
  func groups() throws {
    let tree = try Tree {
      translated("A", owner: 1001, file: 0o640, of: 0)
      translated("B", owner: 0, file: 0o640)
      translated("C", owner: 1001, file: 0o640, of: 0)
      translated("D", owner: 1001, file: 0o600)
    }
    for name in ["A", "B", "C", "D"] {
      for path in ["", "/.localized", "/.localized/fr.strings"] {
        try #require(chown("\(tree.path)/\(name).localized\(path)", .max, 2001) == 0)
      }
    }
    for name in ["C", "D"] { try tree.setAttribute("\(name).localized", "system.varve.owner", "group:2001") }
    #expect(try tree.shown("fr") == ["A", "B", "D", "Nom C"])
  }

  @Test("Without lists modes alone tell what is read for a name, and without owners everybody is the owner")
  func options() throws {
    let tree = try Tree {
      translated("A", owner: 1001, list: "user:1001 deny read")
      translated("B", owner: 1001, file: 0o600, of: 1002, list: "user:1001 allow read")
      translated("C", owner: 1001, file: 0o600, of: 1002)
      translated("D", owner: 1001, file: 0o066)
      translated("E", owner: 0, file: 0o600)
    }
    let volume = try tree.volume()
    let usual = volume.live.wanted
    var (withoutLists, withoutOwners) = (usual, usual)
    withoutLists.rules.usesLists = false
    withoutOwners.rules.ignoresOwnership = true
    let rows = [
      (usual, ["A", "C", "D", "E", "Nom B"]), (withoutLists, ["B", "C", "D", "E", "Nom A"]),
      (withoutOwners, ["A", "D", "Nom B", "Nom C", "Nom E"]), (usual, ["A", "C", "D", "E", "Nom B"]),
    ]
    for (wanted, names) in rows {
      try volume.change(to: wanted)
      volume.indexes.dropAll()
      #expect(try tree.shown("fr") == names, "\(wanted.rules)")
    }
  }

  @Test("A bundle has the name that its owner may read in it, searching each directory on the way")
  func bundles() throws {
    let tree = try Tree {
      bundle("A")
      bundle("B", whole: 0o600)
      bundle("C", contents: 0o600)
      bundle("D", resources: 0o600)
      bundle("E", folder: 0o600)
      bundle("F", information: 0o600)
      bundle("G", strings: 0o600)
      bundle("H", isFlat: true)
      bundle("I", resources: 0o600, isFlat: true)
    }
    for user: UInt32 in [0, 1001, 1003] {
      tree.user = user
      #expect(try tree.shown("fr") == ["B", "C", "D", "E", "F", "G", "I", "Nom A", "Nom H"])
    }
  }

  @Test("No link is followed and no other kind of file read to make a name") func onlyFiles() throws {
    let tree = try Tree {
      directory("A.localized") {
        directory(".localized") { symbolicLink("fr.strings", to: "../../secret") }
      }
      directory("B.localized") { symbolicLink(".localized", to: "../folder") }
      directory("folder") { file("fr.strings", "B = Nom;") }
      file("secret", "A = Nom;")
      directory("C.localized") { directory(".localized") }
    }
    try #require(mkfifo(tree.path + "/C.localized/.localized/fr.strings", 0o644) == 0)
    #expect(try tree.shown("fr") == ["A", "B.localized", "C", "folder", "secret"])
  }

  @Test("A list .hidden counts if it is the directory owner's or root's, and the owner may read it")
  func hiddenLists() throws {
    let tree = try Tree {
      directory("own", owner: 1001) {
        file(".hidden", "x", mode: 0o600, owner: 1001)
        file("x")
      }
      directory("roots", owner: 1001) {
        file(".hidden", "x")
        file("x")
      }
      directory("closed", owner: 1001) {
        file(".hidden", "x", mode: 0o600)
        file("x")
      }
      directory("others", owner: 1001) {
        file(".hidden", "x", owner: 1002)
        file("x")
      }
      directory("shut", mode: 0o600, owner: 1001) {
        file(".hidden", "x", owner: 1001)
        file("x")
      }
    }
    let hides = try ["own", "roots", "closed", "others", "shut"].map { try tree.shown("en", $0).isEmpty }
    #expect(hides == [true, true, false, false, false])
  }

  @Test("Rights are those of the real directories, whichever name leads there") func rights() throws {
    let tree = try Tree {
      directory("Library", mode: 0o711) {
        file(".localized")
        file("a.txt", "text", mode: 0o600)
        file("b.txt", "text")
      }
      directory("Pictures", mode: 0o700) {
        file(".localized")
        file("c.txt")
      }
    }
    tree.user = 1001
    for view in ["", ".varve/view/fr/"] {
      let (library, pictures) = view.isEmpty ? ("Library", "Pictures") : ("Bibliothèque", "Images")
      #expect(throws: Errno.accessDenied) { _ = try tree.names(view + library) }
      #expect(throws: Errno.accessDenied) { try tree.open(view + library + "/a.txt") }
      #expect(try tree.read(view + library + "/b.txt") == "text")
      #expect(throws: Errno.accessDenied) { try tree.lookup(view + pictures + "/c.txt") }
      #expect(throws: Errno.accessDenied) { try tree.lookup(view + pictures + "/c") }
      #expect(throws: Errno.accessDenied) { try tree.lookup(view + pictures + "/nothing") }
    }
    // A shown name tells of real ones, which only those may know who may list them.
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/fr/Bibliothèque/b") }
    tree.user = 0
    #expect(try tree.read(".varve/view/fr/Bibliothèque/b") == "text")
    try tree.at(".varve/view/fr/Bibliothèque") { volume, directory in
      let answer = try FileName.with(Array("b".utf8)) { name throws(Errno) in
        try volume.lookup(name, in: directory, for: tree.caller())
      }
      guard case .found(let entry) = answer else { throw Errno.noSuchFile }
      defer { volume.forget(entry.node, references: 1) }
      #expect(entry.nameValidity == .none, "the kernel would tell others")
    }
    // Nor for whoever comes after those who may, when the names in memory are old enough to be believed as they are.
    let deadline = time(nil) + 20
    while time(nil) < deadline,
      try !Descriptor.open(path: tree.path + "/Library", [.readOnly, .directory]).status().isSettled
    {
      sched_yield()
    }
    try tree.at(".varve/view/fr/Bibliothèque") { volume, directory in
      func finds(_ user: UInt32) throws -> Bool {
        let answer = try FileName.with(Array("b".utf8)) { name throws(Errno) in
          try volume.lookup(name, in: directory, for: Caller(user: user, group: user, thread: getpid()))
        }
        guard case .found(let entry) = answer else { return false }
        volume.forget(entry.node, references: 1)
        return true
      }
      volume.indexes.dropAll()
      let found = try [0, 0, 1001, 0, 1001].map(finds)
      #expect(found == [true, true, false, true, false])
    }
  }

  @Test(
    "The state of an extension is changed by those who may set an attribute of an owner's, and by nobody else"
  )
  func extensionRights() throws {
    let tree = try Tree {
      file("own.txt", mode: 0o644, owner: 1001)
      file("shared.txt", mode: 0o666, owner: 1001)
      file("given.txt", mode: 0o644, owner: 1001, list: "user:1003 allow writeextattr")
      file("denied.txt", mode: 0o666, owner: 1001, list: "user:1003 deny writeextattr")
      file("locked.txt", mode: 0o666, owner: 1001, flags: "uchg")
      directory("Own.app", mode: 0o755, owner: 1001)
      directory("Shared.app", mode: 0o777, owner: 1001)
    }
    func refusal(_ change: () throws -> Void) throws -> Errno? {
      do { try change() } catch let error as Errno { return error }
      return nil
    }
    let rows: [(String, [UInt32: Errno?])] = [
      ("own.txt", [0: nil, 1001: nil, 1003: .accessDenied]),
      ("shared.txt", [0: nil, 1001: nil, 1003: nil]),
      ("given.txt", [0: nil, 1001: nil, 1003: nil, 1004: .accessDenied]),
      ("denied.txt", [0: nil, 1001: nil, 1003: .accessDenied, 1004: nil]),
      ("locked.txt", [0: .notPermitted, 1001: .notPermitted, 1003: .notPermitted]),
      ("Own.app", [0: nil, 1001: nil, 1003: .accessDenied]),
      ("Shared.app", [0: nil, 1003: nil]),
    ]
    let door = "system.varve.extension"
    for (path, answers) in rows {
      for (user, wanted) in answers {
        tree.user = user
        // From one state to the other by all that there is: the bit, the record, and neither.
        for value in ["hide", "show", "", "show", "hide"] {
          let answer = try refusal { try tree.setAttribute(path, door, value) }
          #expect(answer == wanted, "\(user), \(path): \(value)")
        }
        #expect(try refusal { try tree.removeAttribute(path, door) } == wanted, "\(user), \(path)")
        let note = try refusal { try tree.setAttribute(path, "user.note", "x") }
        #expect(note == wanted, "\(user), \(path): an attribute of an owner")
      }
      tree.user = 0
      #expect(try tree.text(path, door) == "")
    }
  }

  @Test("What is in a directory is in no fact for those who may not search it") func closedDirectories()
    throws
  {
    func zeros(_ count: Int) -> String { String(repeating: "\0", count: count) }
    let customIcon = ["user.com.apple.FinderInfo": zeros(8) + "\u{4}" + zeros(23)]
    let tree = try Tree {
      directory("Notes.app", mode: 0o700, owner: 1001) {
        file("Info.plist", "")
        file("Icon\r", "")
      }
      directory("Deep.app", owner: 1001) {
        directory("Contents", mode: 0o700, owner: 1001) { file("Info.plist", "") }
      }
      directory("Wide.app", owner: 1001) {
        directory("Versions")
        directory("Resources", mode: 0o700, owner: 1001) { file("Info.plist", "") }
      }
      directory("Plain", mode: 0o700, owner: 1001, attributes: customIcon) { file("Icon\r", "") }
      directory("Other", mode: 0o700, owner: 1001, attributes: customIcon)
      directory("Empty.app", mode: 0o700, owner: 1001)
    }
    func facts(_ path: String) throws -> [String] {
      try ["package", "uti", "icon"].map { try tree.text(path, "system.varve.\($0)") }
    }
    for user: UInt32 in [0, 1001] {
      tree.user = user
      #expect(try facts("Notes.app")[0] == "2")
      #expect(try facts("Deep.app")[0] == "2")
      #expect(try facts("Wide.app")[0] == "2")
      #expect(try facts("Notes.app") != facts("Empty.app"))
      #expect(try facts("Plain") != facts("Other"))
    }
    tree.user = 1003
    #expect(try facts("Notes.app") == facts("Empty.app"))
    #expect(try facts("Deep.app")[0] == "1")
    #expect(try facts("Wide.app")[0] == "1")
    #expect(try facts("Plain") == facts("Other"))
  }

  @Test("Content that takes a key is in no name, whether its class is locked or not") func keys() throws {
    let tree = try Tree.vault()
    for name in ["a", "plain"] {
      try tree.makeDirectory("\(name)/Fotos.localized")
      try tree.makeDirectory("\(name)/Fotos.localized/.localized")
      try tree.make("\(name)/Fotos.localized/.localized/fr.strings", "Fotos = Photos;")
      try tree.makeDirectory("\(name)/Notes.app")
      try tree.make("\(name)/Notes.app/Info.plist", "{ CFBundleName = Notes; }")
      try tree.makeDirectory("\(name)/Notes.app/fr.lproj")
      try tree.make("\(name)/Notes.app/fr.lproj/InfoPlist.strings", "CFBundleName = \"Mémos\";")
      try tree.makeDirectory("\(name)/Library")
      // The marker counts by being there.
      try tree.make("\(name)/Library/.localized", "")
      try tree.make("\(name)/report.txt", "text")
      try tree.make("\(name)/list.md", "text")
      try tree.make("\(name)/.hidden", "list.md")
    }
    let plain = ["Bibliothèque", "letter", "Mémos", "Photos", "report"]
    let sealed = ["Bibliothèque", "Fotos", "list", "Notes", "report", "sub"]
    func check() throws {
      #expect(try tree.shown("fr", "plain") == plain)
      #expect(try tree.shown("fr", "a") == sealed)
      #expect(try tree.text("a/Fotos.localized", "system.varve.displayname.fr") == "Fotos")
      #expect(try tree.text("a/report.txt", "system.varve.uti") == "public.plain-text")
      #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/fr/a/Photos") }
    }
    try check()
    #expect(try tree.read(".varve/view/fr/a/report") == "text")
    try tree.lock()
    try check()
    #expect(throws: Errno.noKey) { _ = try tree.read(".varve/view/fr/a/report") }
    try tree.unlock()
    try check()
    #expect(try tree.read(".varve/view/fr/a/report") == "text")
  }
}
