// Where bundles have their names, and how much is read for the names of one directory.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("What is read for names") struct ViewLimitTests {
  private static let information = "CFBundleName = Notes;"

  private func translations(_ word: String) -> TreeItem {
    directory("fr.lproj") { file("InfoPlist.strings", "CFBundleName = \"\(word)\";") }
  }

  @Test("A bundle has its list and its translations in the first of three places that has a list")
  func places() throws {
    let tree = try Tree {
      directory("a") {
        directory("Notes.app") {
          directory("Contents") {
            file("Info.plist", ViewLimitTests.information)
            directory("Resources") { translations("Contenu") }
            translations("Faux")
          }
          directory("Resources") { translations("Faux") }
          translations("Faux")
        }
      }
      directory("b") {
        directory("Notes.app") {
          directory("Versions")
          directory("Resources") {
            file("Info.plist", ViewLimitTests.information)
            translations("Ressources")
          }
          translations("Faux")
        }
      }
      directory("c") {
        directory("Notes.app") {
          file("Info.plist", ViewLimitTests.information)
          directory("Resources") { translations("Faux") }
          translations("Plat")
        }
      }
      // Without the directory of versions the second place is none.
      directory("d") {
        directory("Notes.app") {
          directory("Resources") {
            file("Info.plist", ViewLimitTests.information)
            translations("Faux")
          }
        }
      }
      directory("e") {
        directory("Notes.app") {
          file("Versions")
          directory("Resources") {
            file("Info.plist", ViewLimitTests.information)
            translations("Faux")
          }
        }
      }
      // The first list counts alone, also where it says something else.
      directory("f") {
        directory("Notes.app") {
          directory("Contents") { file("Info.plist", "CFBundleName = Other;") }
          file("Info.plist", ViewLimitTests.information)
          translations("Faux")
        }
      }
      // One that cannot be read is none.
      directory("g") {
        directory("Notes.app") {
          directory("Contents") { file("Info.plist", "CFBundleName = ") }
          directory("Versions")
          directory("Resources") { file("Info.plist", ViewLimitTests.information, mode: 0o600) }
          file("Info.plist", ViewLimitTests.information)
          translations("Troisième")
        }
      }
    }
    let shown = try ["a", "b", "c", "d", "e", "f"].map { try tree.shown("fr", $0) }
    #expect(shown == [["Contenu"], ["Ressources"], ["Plat"], ["Notes"], ["Notes"], ["Notes"]])
    if Tree.isRoot { #expect(try tree.shown("fr", "g") == ["Troisième"]) }
  }

  @Test(
    "For one directory 16 MiB of lists are read, in the order of the real names; other bundles stay untranslated"
  )
  func allowance() throws {
    let tree = try Tree {
      directory("d")
      directory("few")
    }
    let size = 262_000
    let strings = "CFBundleName = \"Numéro"
    var read = 0
    var wanted: [String] = []
    func make(_ name: String, in place: String) throws -> Int {
      let path = "\(tree.path)/\(place)/\(name).app/fr.lproj"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let list = "CFBundleName = \(name);"
      let texts = [
        ("../Info.plist", list + String(repeating: " ", count: size - list.utf8.count)),
        ("InfoPlist.strings", "\(strings) \(name)\";"),
      ]
      for (file, text) in texts {
        try text.write(toFile: "\(path)/\(file)", atomically: false, encoding: .utf8)
      }
      return texts.reduce(0) { $0 + $1.1.utf8.count }
    }
    for number in 10..<80 {
      read += try make("\(number)", in: "d")
      wanted.append(read <= 16 << 20 ? "Numéro \(number)" : "\(number)")
    }
    #expect(wanted.contains("10") == false && wanted.contains("79"))
    #expect(try Set(tree.shown("fr", "d")) == Set(wanted))
    // It is so much for each directory, and for each time.
    _ = try make("79", in: "few")
    #expect(try tree.shown("fr", "few") == ["Numéro 79"])
    try FileManager.default.removeItem(atPath: tree.path + "/d/10.app")
    #expect(try tree.shown("fr", "d").contains("Numéro \(10 + wanted.count { $0.hasPrefix("N") })"))
  }
}
