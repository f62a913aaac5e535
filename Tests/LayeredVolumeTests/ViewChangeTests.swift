import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// Waits until something is so: for the second in which it is to be, and what the machine takes.
private func eventually(_ isSo: () throws -> Bool) throws -> Bool {
  let deadline = Clock.monotonicNanoseconds &+ 1_500_000_000
  while Clock.monotonicNanoseconds < deadline {
    if try isSo() { return true }
    usleep(10_000)
  }
  return try isSo()
}

@Suite("Views of what changes") struct ViewChangeTests {
  private func put(_ tree: Tree, _ name: String, _ text: String = "") throws {
    try text.write(toFile: tree.path + "/" + name, atomically: false, encoding: .utf8)
  }

  @Test("A new item changes the names of others, and its name is no other item's")
  func arrives() throws {
    let tree = try Tree { file("report.txt", "old") }
    #expect(try tree.shown("en") == ["report"])
    try put(tree, "report.pdf")
    #expect(try eventually { try tree.shown("en") == ["report.pdf", "report.txt"] })
    #expect(try eventually { (try? tree.lookup(".varve/view/en/report")) == nil })
    try put(tree, "report", "new")
    // A real name is found at once, whatever is remembered of shown ones.
    #expect(try tree.read(".varve/view/en/report") == "new")
  }

  @Test(
    "Strings, the list .hidden, flags and x bits count within a moment, also when they change behind the mount"
  )
  func inside() throws {
    let tree = try Tree {
      directory("A.localized") { directory(".localized") { file("fr.strings", "\"A\" = \"Un\";") } }
      file("b.sh")
      file("c.txt")
      file("d.txt")
    }
    #expect(try tree.shown("fr") == ["b", "c", "d", "Un"])
    try put(tree, "A.localized/.localized/fr.strings", "\"A\" = \"Deux\";")
    try put(tree, ".hidden", "c.txt\n")
    chmod(tree.path + "/b.sh", 0o755)
    try tree.setAttribute("d.txt", "system.varve.flags", "hidden")
    #expect(try eventually { try tree.shown("fr") == ["b.sh", "Deux"] })
  }

  @Test("A listing under change has every name that stays exactly once, in order")
  func listingUnderChange() throws {
    let tree = try Tree {}
    for number in 0..<40 { try put(tree, "stays \(number).txt") }
    for number in 0..<40 { try put(tree, "goes \(number).txt") }
    try tree.listing(".varve/view/en") { listing in
      try listing.read(30)
      for number in 0..<40 {
        try FileManager.default.removeItem(atPath: tree.path + "/goes \(number).txt")
        try put(tree, "comes \(number).txt")
      }
      // What other listings read has no say in this one.
      _ = try tree.shown("en")
      while try listing.read(9) {}
      let stays = listing.names.filter { $0.hasPrefix("stays") }
      #expect(stays == (0..<40).map { "stays \($0)" })
      #expect(Set(listing.names).count == listing.names.count)
      listing.rewind()
      #expect(
        try eventually {
          listing.rewind()
          while try listing.read(50) {}
          return listing.names.filter { $0.hasPrefix("comes") }.count == 40
        })
      #expect(!listing.names.contains { $0.hasPrefix("goes") })
    }
  }

  @Test("A listing whose index had to go goes on behind the last name, in the order of the present one")
  func indexGone() throws {
    let tree = try Tree {}
    for number in 0..<50 { try put(tree, "stays \(number).txt") }
    for number in 0..<50 { try put(tree, "a \(number).txt") }
    try tree.listing(".varve/view/en") { listing in
      try listing.read(70)
      try tree.volume().indexes.dropAll()
      #expect(try tree.volume().indexes.bytes == 0)
      for number in 0..<50 { try FileManager.default.removeItem(atPath: tree.path + "/a \(number).txt") }
      try put(tree, "stays 17.5.txt")
      while try listing.read(9) {}
      #expect(
        listing.names.filter { $0.hasPrefix("stays") && !$0.hasSuffix(".5") }
          == (0..<50).map { "stays \($0)" })
    }
  }

  @Test("What the kernel had no room for is handed out again, though the index had to go", arguments: 0...20)
  func indexGoneInAnAnswer(_ dropped: Int) throws {
    let tree = try Tree {}
    for number in 0..<50 { try put(tree, "stays \(number).txt") }
    for number in 0..<50 { try put(tree, "a \(number).txt") }
    try tree.listing(".varve/view/en") { listing in
      try listing.read(50)
      try listing.read(20)
      listing.drop(dropped)
      let taken = listing.names
      try tree.volume().indexes.dropAll()
      for number in 0..<50 { try FileManager.default.removeItem(atPath: tree.path + "/a \(number).txt") }
      // Of what stood before the offset the last two names are gone.
      for name in taken.suffix(2) where name.hasPrefix("stays") {
        try FileManager.default.removeItem(atPath: tree.path + "/\(name).txt")
      }
      while try listing.read(9) {}
      #expect(listing.names.filter { $0.hasPrefix("stays") } == (0..<50).map { "stays \($0)" })
    }
  }

  @Test("All indexes together keep within their budget, and what is listed is complete all the same")
  func budget() throws {
    let tree = try Tree {}
    let indexes = try tree.volume().indexes
    for number in 0..<200 { try put(tree, String(repeating: "x", count: 200) + "\(number).txt") }
    indexes.setBudget(400_000)
    for view in ["de", "fr", "en", "it", "es", "da", "sv", "pl", "ru", "ja", "ko", "tr"] {
      #expect(try tree.shown(view).count == 200)
      #expect(indexes.bytes <= 400_000)
    }
    #expect(indexes.count < 12)
  }

  @Test("An index is used again while nothing changed, and not made for real names")
  func usedAgain() throws {
    let tree = try Tree {
      file("a.txt")
      directory("d") { file("b.txt") }
    }
    try tree.lookup(".varve/view/en/a.txt")
    try tree.lookup(".varve/view/en/d/b.txt")
    #expect(try tree.volume().indexes.count == 0)
    try tree.lookup(".varve/view/en/a")
    #expect(try tree.volume().indexes.count == 1)
    try tree.lookup(".varve/view/en/d/b")
    #expect(try tree.volume().indexes.count == 2)
  }

  @Test("A directory with too many items shows its real names, and says so")
  func tooLarge() throws {
    let tree = try Tree { directory("d") }
    try tree.volume().indexes.setMostItems(50)
    for number in 0..<51 { try put(tree, "d/file \(number).txt") }
    #expect(try tree.shown("en", "d").sorted() == (0..<51).map { "file \($0).txt" }.sorted())
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/en/d/file 1") }
    #expect(try tree.volume().indexes.directoriesTooLarge == 1)
    #expect(try tree.volume().statusText().contains("\"tooLarge\":1"))
  }

  @Test("A listing that begins in the middle, as a file server begins one, goes on in the view")
  func middle() throws {
    let tree = try Tree {
      file("b.txt")
      file("a.txt")
      file("C.txt")
      directory("Foo.app") {
        file("z.txt")
        file("y.txt")
        file("x.txt")
      }
    }
    for path in [".varve/view/en", ".varve/view/en/Foo"] {
      let caller = tree.caller()
      try tree.at(path) { volume, node in
        func read(from offset: Int64) throws -> [(name: String, next: Int64)] {
          let handle = try volume.openDirectory(node, for: caller).handle
          defer { volume.release(handle) }
          var names: [(String, Int64)] = []
          var offset = offset
          while true {
            let count = names.count
            try volume.readDirectory(handle, from: offset, withAttributes: false, for: caller) {
              name, listed in
              guard names.count < count + 2 else { return false }
              names.append(
                (String(decoding: name.indices.map { name[$0] }, as: UTF8.self), listed.nextOffset))
              return true
            }
            guard names.count > count else { return names }
            offset = names[names.count - 1].1
          }
        }
        let whole = try read(from: 0)
        for (index, entry) in whole.enumerated() {
          #expect(try read(from: entry.next).map(\.name) == whole[(index + 1)...].map(\.name), "\(path)")
        }
      }
    }
  }

  @Test("Only so many directories are read for names at a time; others wait without holding anybody up")
  func builds() throws {
    let tree = try Tree { file("a.txt") }
    let indexes = try tree.volume().indexes
    indexes.setMostBuilds(0)
    #expect(throws: Errno.delayed(.building)) { _ = try tree.shown("en") }
    #expect(throws: Errno.delayed(.building)) { try tree.lookup(".varve/view/en/a") }
    try tree.lookup(".varve/view/en/a.txt")
    indexes.setMostBuilds(1)
    #expect(try tree.shown("en") == ["a"])
    #expect(try tree.shown("de") == ["a"])
  }
}
