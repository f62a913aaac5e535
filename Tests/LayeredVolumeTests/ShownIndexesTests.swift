import DisplayNames
import Foundation
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Indexes of views", .timeLimit(.minutes(1))) struct ShownIndexesTests {
  private func put(_ tree: Tree, _ name: String, _ text: String = "") throws {
    try text.write(toFile: tree.path + "/" + name, atomically: false, encoding: .utf8)
  }

  private static func view(_ name: String) throws -> ViewName { try #require(ViewName(Array(name.utf8))) }

  /// The index of a volume's root in the English view.
  private struct RootIndex: Sendable {
    let volume: Volume
    let view: ViewName

    init(_ volume: Volume) throws { (self.volume, view) = (volume, try ShownIndexesTests.view("en")) }

    func made() throws(Errno) -> DirectoryIndex {
      let directory = IndexedDirectory(
        parts: try volume.resolver.parts(volume.root), isRoot: true)
      return try IndexBuild(volume, directory, mostItems: 100_000, volume.viewRules.rules(of: view)).make()
    }

    /// `before` runs when it has to be made.
    func asked(before: () -> Void = {}) throws(Errno) -> UsableIndex {
      try volume.indexes.index(of: volume.root.backing, in: view, for: .lookup, by: 0) { () throws(Errno) in
        try DirectoryStamp(try volume.resolver.parts(volume.root))
      } make: { (_) throws(Errno) -> DirectoryIndex in
        before()
        return try made()
      }
    }
  }

  @Test("Who waits for another user's indexes is next, however fast that user asks again") func turns() throws
  {
    let tree = try Tree { file("a.txt") }
    let volume = try tree.volume()
    volume.indexes.setMostBuilds(1)
    let identity = volume.root.backing
    let made = try RootIndex(volume).made()
    func ask(_ language: String, by user: UInt32, meanwhile: () -> Void = {}) throws(Errno) {
      guard let view = ViewName(Array(language.utf8)) else { return }
      // A build of a moment is waited for at once; these take longer.
      _ = try volume.indexes.index(
        of: identity, in: view, for: ShownIndexes.Purpose.listing(since: Clock.monotonicNanoseconds), by: user
      ) { () throws(Errno) in
        try DirectoryStamp(try volume.resolver.parts(volume.root))
      } make: { (_) throws(Errno) -> DirectoryIndex in
        meanwhile()
        return made
      }
    }
    let calls = Atomic(0)
    volume.indexes.whenMade { calls.add(1, ordering: .relaxed) }
    try ask("fr", by: 1001) {
      #expect(throws: Errno.delayed(.building)) { try ask("de", by: 1002) }
      #expect(throws: Errno.delayed(.building)) { try ask("sv", by: 1001) }
    }
    #expect(calls.load(ordering: .relaxed) == 1)
    // The first user is told to wait, whatever is asked for.
    for language in ["sv", "fi", "fr"] {
      #expect(throws: Errno.delayed(.building)) { try ask(language, by: 1001) }
    }
    try ask("de", by: 1002)
    for language in ["sv", "fi"] { try ask(language, by: 1001) }
    #expect(calls.load(ordering: .relaxed) == 4)
  }

  private final class Steps: Sendable {
    let hasBegun = Atomic(false)
    let mayGoOn = Atomic(false)
  }

  @Test("While a directory is read for its names, those who ask for them wait without a worker")
  func waiting() throws {
    let tree = try Tree { file("a.txt") }
    let index = try RootIndex(tree.volume())
    let steps = Steps()
    let maker = try PlainThread(name: "maker") {
      _ = try? index.asked {
        steps.hasBegun.store(true, ordering: .releasing)
        while !steps.mayGoOn.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
      }
    }
    let deadline = Clock.monotonicNanoseconds &+ 20_000_000_000
    while !steps.hasBegun.load(ordering: .acquiring), Clock.monotonicNanoseconds < deadline { sched_yield() }
    #expect(throws: Errno.delayed(.building)) { _ = try tree.shown("en") }
    #expect(throws: Errno.delayed(.building)) { try tree.lookup(".varve/view/en/a") }
    // Real names wait for nobody.
    #expect(throws: Never.self) { try tree.lookup(".varve/view/en/a.txt") }
    steps.mayGoOn.store(true, ordering: .releasing)
    maker.join()
    #expect(try tree.shown("en") == ["a"])
  }

  @Test("However fast names change, one index serves all who asked before it was begun")
  func shared() throws {
    let tree = try Tree {}
    for number in 0..<50 { try put(tree, "file \(number).txt") }
    try tree.at(".varve/view/en") { volume, view in
      let caller = tree.caller()
      let handles = try (0..<8).map { _ in try volume.openDirectory(view, for: caller).handle }
      defer { for handle in handles { volume.release(handle) } }
      func read(_ handle: HandleID) throws -> Set<String> {
        var names: Set<String> = []
        try volume.readDirectory(handle, from: 0, withAttributes: false, for: caller) { name, _ in
          names.insert(String(decoding: name.indices.map { name[$0] }, as: UTF8.self))
          return true
        }
        return names
      }
      for handle in handles { _ = try volume.handles.directory(handle).asksForIndex() }
      let before = volume.indexes.builds
      for (number, handle) in handles.enumerated() {
        try put(tree, "new \(number).txt")
        #expect(try read(handle).isSuperset(of: ["file 7", "new 0"]))
      }
      #expect(volume.indexes.builds == before + 1)
      // Whoever begins later sees what has come since.
      #expect(try read(handles[0]).contains("new 7"))
      #expect(volume.indexes.builds == before + 2)
    }
  }

  @Test("An index keeps none of the rules of its view") func rules() throws {
    let tree = try Tree { file("a.txt") }
    let volume = try tree.volume()
    #expect(try tree.shown("de") == ["a"])
    weak var rules: ViewRules?
    rules = volume.viewRules.rules(of: try Self.view("de"))
    #expect(rules != nil)
    // More views than rules are kept of.
    for first in "abc" {
      for second in "abcdefghijklmnopqrstuvwxyz" {
        _ = volume.viewRules.rules(of: try Self.view("\(first)\(second),ext=bit"))
      }
    }
    #expect(rules == nil)
    #expect(volume.indexes.count == 1)
  }

  @Test("Of any number of views as many indexes are kept as there is room for, each with all that it takes")
  func manyViews() throws {
    let tree = try Tree { file("a.txt") }
    let indexes = try tree.volume().indexes
    indexes.setBudget(200_000)
    for first in "abcdefgh" {
      for second in "abcdefghijklmnopqrstuvwxyz" {
        let code = "\(first)\(second)"
        #expect(try tree.shown("\(code)+\(code)-Latn+\(code)-DE+\(code)-FR+\(code)-001,ext=all") == ["a"])
        #expect(indexes.bytes <= 200_000)
      }
    }
    #expect(indexes.bytes >= indexes.count * 1_200, "\(indexes.bytes) for \(indexes.count)")
    #expect(indexes.count < 170)
  }

  @Test("A directory whose names alone take more memory than all indexes may shows its real names")
  func tooLong() throws {
    let tree = try Tree { directory("d") }
    let indexes = try tree.volume().indexes
    indexes.setBudget(20_000)
    let names = (100..<200).map { String(repeating: "x", count: 190) + "\($0).txt" }
    for name in names { try put(tree, "d/\(name)") }
    #expect(try tree.shown("en", "d").sorted() == names)
    #expect(throws: Errno.noSuchFile) { try tree.lookup(".varve/view/en/d/\(names[0].dropLast(4))") }
    #expect(throws: Never.self) { try tree.lookup(".varve/view/en/d/\(names[0])") }
    #expect(indexes.bytes <= 20_000)
    #expect(indexes.directoriesTooLarge == 1)
    // Shorter, it is shown again.
    for name in names.dropFirst(20) { try FileManager.default.removeItem(atPath: "\(tree.path)/d/\(name)") }
    #expect(try tree.shown("en", "d") == names.prefix(20).map { String($0.dropLast(4)) })
  }

  @Test("However soon an index has to give way to others, a listing is one of the view, and names lead on")
  func crowded() throws {
    let tree = try Tree {
      directory("d") { file(".hidden item") }
      directory("e")
    }
    for number in 10..<40 {
      try put(tree, "d/file \(number).txt")
      try put(tree, "e/file \(number).txt")
    }
    let wanted = (10..<40).map { "file \($0)" }
    #expect(try tree.shown("en", "d") == wanted)
    let indexes = try tree.volume().indexes
    // Room for one of them.
    indexes.setBudget(indexes.bytes * 5 / 4)
    let steps = Steps()
    let (volume, caller) = (try tree.volume(), tree.caller())
    try tree.at(".varve/view/en/e") { _, other in
      let reader = try PlainThread(name: "reader") {
        while !steps.mayGoOn.load(ordering: .acquiring) {
          guard let listing = try? Listing(volume, other, caller) else { continue }
          while (try? listing.read(50)) ?? false {}
        }
      }
      var failures: [String] = []
      for round in 0..<1_000 where failures.isEmpty {
        // Now and then files change, so that no index lasts.
        if round % 10 == 0 { utimes(tree.path + "/d", nil) }
        let names = try tree.shown("en", "d")
        if names != wanted { failures.append("listed \(names)") }
        if (try? tree.lookup(".varve/view/en/d/file 22")) == nil { failures.append("file 22 is missing") }
      }
      steps.mayGoOn.store(true, ordering: .releasing)
      reader.join()
      #expect(failures == [])
    }
  }

  @Test("An index takes 96 bytes for an entry at most, beside the names in it") func size() throws {
    let tree = try Tree {}
    for number in 0..<3_000 { try put(tree, "file number \(number).txt") }
    let index = try RootIndex(tree.volume()).made()
    #expect(index.entries.count == 3_000)
    let names = index.entries.indices.reduce(0) { $0 + index.realName(at: $1).count }
    #expect(index.bytes - names <= 3_000 * 96, "\((index.bytes - names) / 3_000)")
  }
}
