import CAllocationCounter
import DisplayNames
import ItemKinds
import NameVectors
import Testing

@Suite("What names cost", .serialized) struct CostTests {
  private let french = rules("fr")

  /// Allocations of a second round over these names, and the best time of one.
  private func cost(_ items: [(String, FileKind)]) -> (allocations: UInt, nanoseconds: Double) {
    let items = items.map { (name: Array($0.0.utf8), facts: ItemFacts($0.1)) }
    var scratch = NameScratch()
    var best = Duration.seconds(1)
    var allocations: UInt = 0
    for _ in 0..<200 {
      let before = lv_allocation_count()
      let elapsed = ContinuousClock().measure {
        for item in items {
          scratch.clear()
          _ = french.ownName(of: item.name.span, item.facts, &scratch)
        }
      }
      allocations = lv_allocation_count() - before
      best = min(best, elapsed)
    }
    return (allocations, Double(best.components.attoseconds) / 1e9 / Double(items.count))
  }

  @Test("An ASCII name that stays asks for no memory") func unchanged() {
    let found = cost([
      ("README", .regular), ("data.qqq", .regular), (".bashrc", .regular), ("archive.tar.gz", .regular),
      ("src", .directory), ("node_modules.d", .directory), ("link.txt", .link), ("Makefile", .regular),
    ])
    print("unchanged: \(found)")
    #expect(found.allocations == 0)
    #expect(found.nanoseconds < 500)
  }

  @Test("Neither do names that lose their extension, nor those in other scripts") func others() {
    let found = cost([
      ("report.txt", .regular), ("Foo.app", .directory), ("IMG_0001.JPEG", .regular),
      ("вопросы и ответы.txt", .regular),
      ("ユーザガイド.pdf", .regular), ("über uns.html", .regular), ("한국어 이름.md", .regular),
    ])
    print("other names: \(found)")
    #expect(found.allocations == 0)
    #expect(found.nanoseconds < 3000)
  }

  @Test("Names that are normalised or escaped take less than 3 µs") func written() {
    let found = cost([
      ("cafe\u{301}.txt", .regular), ("👩\u{200D}💻.md", .regular), ("ann\u{202E}gpj.exe", .regular),
      ("हिन्दी में नाम.txt", .regular), ("a\nb", .regular),
    ])
    print("written names: \(found)")
    #expect(found.nanoseconds < 3000)
  }

  @Test("100,000 items that all collide are settled in time") func collisions() {
    // Two ways to write each name, neither of them in NFC: all of them get a tag.
    var entries: [Entry] = []
    for number in 0..<50_000 {
      entries.append(Entry("e\u{323}\u{301}\(number)"))
      entries.append(Entry("e\u{301}\u{323}\(number)"))
    }
    var shown: [Shown?] = []
    let elapsed = ContinuousClock().measure { shown = names(entries, french) }
    print("100,000 collisions: \(elapsed)")
    #expect(Set(shown.compactMap { $0?.name }).count == entries.count)
    // Most of it is the digest of the tests.
    #expect(elapsed < .seconds(30))
  }

  @Test("100,000 ordinary items") func ordinary() {
    var best = Duration.seconds(100)
    let items = (0..<100_000).map { number in
      [
        Array("IMG_\(number).jpeg".utf8), Array("notes \(number)".utf8),
        Array("Bericht über \(number).txt".utf8),
      ][number % 3]
    }
    for _ in 0..<5 {
      let elapsed = ContinuousClock().measure {
        var directory = DirectoryNames()
        directory.reserve(items.count)
        for item in items { _ = directory.add(item.span, ItemFacts(.regular), isShown: true, french) }
        directory.settle(french)
      }
      best = min(best, elapsed)
    }
    print("100,000 ordinary items: \(best)")
    #expect(best < .milliseconds(400))
  }
}
