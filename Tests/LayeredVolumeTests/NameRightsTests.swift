import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// A directory whose name is translated by a file in it.
private func translated(
  _ name: String, owner: UInt32, file mode: UInt16 = 0o644, of fileOwner: UInt32? = nil,
  folder: UInt16 = 0o755,
  list: String = ""
) -> TreeItem {
  directory("\(name).localized", owner: owner) {
    directory(".localized", mode: folder, owner: owner) {
      file("fr.strings", "\"\(name)\" = \"Nom \(name)\";", mode: mode, owner: fileOwner ?? owner, list: list)
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
    }
    let wanted = ["C", "D", "F", "G", "H", "Nom A", "Nom B", "Nom E", "Nom I"]
    for user: UInt32 in [0, 1001, 1003] {
      tree.user = user
      #expect(try tree.shown("fr") == wanted, "the names are the same for everybody")
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
    }
    let hides = try ["own", "roots", "closed", "others"].map { try tree.shown("en", $0).isEmpty }
    #expect(hides == [true, true, false, false])
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
    // Names of which the index knows are found by those who may not list them, as in the ordinary tree.
    #expect(try tree.read(".varve/view/fr/Bibliothèque/b") == "text")
  }
}
