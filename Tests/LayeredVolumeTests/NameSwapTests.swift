// What makes a name is exchanged while it is read: for links, pipes, halves of it, and what is too large.

import Foundation
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

/// Puts one thing after the other where a translation is looked for.
private final class Swapper: Sendable {
  private let folder: String
  private let store: String
  private let isOver = Atomic(false)
  private let turns = Atomic(0)

  var rounds: Int { turns.load(ordering: .relaxed) }

  /// `store` has what is put at `folder`/.localized/fr.strings.
  init(_ folder: String, from store: String) { (self.folder, self.store) = (folder, store) }

  func end() { isOver.store(true, ordering: .releasing) }

  func run() {
    let (inside, away) = ("\(folder)/.localized", "\(folder)/away")
    while !isOver.load(ordering: .acquiring) {
      for thing in ["good", "link", "good", "pipe", "half", "good", "large", "directory"] {
        if thing == "directory" {
          // The whole folder is a link to that of somebody else.
          rename(inside, away)
          symlink("../../other/.localized", inside)
          unlink(inside)
          rename(away, inside)
        } else {
          unlink("\(store)/next")
          link("\(store)/\(thing)", "\(store)/next")
          rename("\(store)/next", "\(inside)/fr.strings")
        }
        turns.add(1, ordering: .relaxed)
      }
      // Written in place, piece by piece.
      let file = open("\(store)/own", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
      link("\(store)/own", "\(store)/next")
      rename("\(store)/next", "\(inside)/fr.strings")
      for piece in ["\"A\" = \"", "Un", "\";", "\"A\" = \"Un\";"] {
        write(file, piece, piece.utf8.count)
        sched_yield()
      }
      close(file)
      unlink("\(store)/own")
    }
  }
}

@Suite("Names whose files are exchanged", .timeLimit(.minutes(2))) struct NameSwapTests {
  @Test(
    "What is exchanged while a name is made gives the translation or none, and never that of another file")
  func swapped() throws {
    let foreign = "\"A\" = \"Fremd\";"
    let tree = try Tree {
      directory("d") {
        directory("A.localized") { directory(".localized") { file("fr.strings", "\"A\" = \"Un\";") } }
      }
      directory("other") { directory(".localized") { file("fr.strings", foreign) } }
      directory("store") {
        file("good", "\"A\" = \"Un\";")
        symbolicLink("link", to: "../../../other/.localized/fr.strings")
        file("half", "\"A\" = \"Un\"; \"A\" = \"Fre")
        file("large", String(repeating: foreign + "\n", count: 70_000 / foreign.utf8.count))
      }
    }
    try #require(mkfifo(tree.path + "/store/pipe", 0o644) == 0)
    let swapper = Swapper(tree.path + "/d/A.localized", from: tree.path + "/store")
    let thread = try PlainThread(name: "swapper") { swapper.run() }
    let result = Result { try look(tree) }
    swapper.end()
    thread.join()
    let seen = try result.get()
    print("exchanged \(swapper.rounds) times: \(seen)")
    #expect(Set(seen.keys).isSubset(of: ["Un", "A", "A.localized"]), "\(seen)")
    #expect(seen.count > 1 && seen["Un"] != nil, "the exchange was not met: \(seen)")
    #expect(try tree.shown("fr", "other").isEmpty)
  }

  /// Which names are shown, and how often.
  private func look(_ tree: Tree) throws -> [String: Int] {
    var seen: [String: Int] = [:]
    let rounds = ProcessInfo.processInfo.environment["LONG"] == "1" ? 50_000 : 2_000
    for round in 0..<rounds {
      try tree.volume().indexes.dropAll()
      let names = try tree.shown("fr", "d")
      try #require(names.count == 1, "\(names)")
      seen[names[0], default: 0] += 1
      if round % 8 == 0 {
        seen[try tree.text("d/A.localized", "system.varve.displayname.fr"), default: 0] += 1
      }
    }
    return seen
  }
}
