import Decisions
import Testing

@testable import LayeredVolume

@Suite("The options in force") struct LiveOptionsTests {
  /// Every value of every option, each with all the others at either end.
  private var settings: [LiveSettings] {
    var all: [LiveSettings] = []
    for bits in 0..<128 {
      func isSet(_ place: Int) -> Bool { bits >> place & 1 == 1 }
      for cache in [CacheUse.shared, .exclusive, .none] {
        for level in -1...3 {
          for group in [nil, 0, 1, UInt32.max - 1, UInt32.max] as [UInt32?] {
            var settings = LiveSettings()
            settings.rules.isReadOnly = isSet(0)
            settings.rules.forbidsExecution = isSet(1)
            settings.rules.ignoresOwnership = isSet(2)
            settings.rules.usesLists = isSet(3)
            settings.rules.handsOverOwnership = isSet(4)
            settings.groups = isSet(5) ? .nss : .process
            settings.chattr = isSet(6) ? .user : .system
            settings.debug = isSet(0) != isSet(6)
            settings.cache = cache
            settings.rules.secureLevel = level
            settings.rules.adminGroup = group
            all.append(settings)
          }
        }
      }
    }
    return all
  }

  @Test("All of them fit into one word and come back") func word() {
    for settings in settings where LiveSettings(word: settings.word) != settings {
      Issue.record("\(settings) came back as \(LiveSettings(word: settings.word))")
    }
    #expect(Set(settings.map(\.word)).count == settings.count)
  }
}
