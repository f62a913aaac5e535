import Decisions
import Testing

@testable import LayeredVolume

@Suite("The options in force") struct LiveOptionsTests {
  /// Gives each option a value, by some bits.
  private struct Choosing: LiveOptionWalk {
    var bits: () -> UInt64

    mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value) {
      value = Value(bits: bits() & (1 << Value.width - 1))
    }
  }

  private struct Measuring: LiveOptionWalk {
    var names: [String] = []
    var width: UInt64 = 0

    mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value) {
      names.append(name)
      width += Value.width
    }
  }

  @Test("All of them fit into one word and come back") func word() {
    // A simple generator, whose upper bits are good: 33 of them are the widest option.
    var seed: UInt64 = 1
    let sources: [() -> UInt64] = [
      { 0 }, { ~0 },
      {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return seed >> 31
      },
    ]
    for source in sources {
      for _ in 0..<10_000 {
        var (settings, choosing) = (LiveSettings(), Choosing(bits: source))
        settings.walk(&choosing)
        guard LiveSettings(word: settings.word) != settings else { continue }
        Issue.record("\(settings) came back as \(LiveSettings(word: settings.word))")
      }
    }
  }

  @Test("Each option is packed, and one bit above them is free for the lease") func completeness() {
    var (settings, measuring) = (LiveSettings(), Measuring())
    settings.walk(&measuring)
    #expect(measuring.width < 64)
    #expect(Set(measuring.names).count == measuring.names.count)
    // All but `rules` itself, and what of the rules is no option: that the lock is not confirmed, and keys.
    let options = Mirror(reflecting: settings).children.count - 1
    #expect(measuring.names.count == options + Mirror(reflecting: settings.rules).children.count - 2)
  }

  @Test("A read-only volume is known by the word alone") func readOnly() {
    var settings = LiveSettings()
    #expect(!LiveSettings.isReadOnly(settings.word))
    settings.rules.isReadOnly = true
    #expect(LiveSettings.isReadOnly(settings.word))
  }
}
