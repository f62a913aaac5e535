// Repeatable randomness: a failing test names its seed.

import AccessControl

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

extension Identity {
  static func random(using generator: inout SeededGenerator) -> Identity {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: .everyone
    case 1: .owner
    case 2: .owningGroup
    case 3: .nobody
    case 4: .user(.random(in: 0...3, using: &generator))
    case 5: .group(.random(in: 0...17, using: &generator))
    case 6: .user(.random(in: 0...UInt32.max, using: &generator))
    default: .group(.random(in: 0...UInt32.max, using: &generator))
    }
  }
}

extension AccessEntry {
  static func random(
    rights: Rights, inheritance: Inheritance, kinds: [Kind] = [.allow, .deny],
    using generator: inout SeededGenerator
  ) -> AccessEntry {
    AccessEntry(
      kinds.randomElement(using: &generator) ?? .allow, .random(using: &generator),
      Rights(rawValue: .random(in: 0...UInt32.max, using: &generator)).intersection(rights),
      Inheritance(rawValue: .random(in: 0...UInt16.max, using: &generator)).intersection(inheritance))
  }
}

extension NameBook {
  /// The accounts of the tests.
  static let testing = NameBook(
    users: [
      "ann": 1, "bob": 2, "ann smith": 3, "both": 4, "1000": 5, "a:b": 6, "everyone": 7, "jo@corp": 8,
      "nobody": 65534,
    ],
    groups: [
      "staff": 1, "everyone": 2, "both": 3, "domain users": 4, "man": 12, "uucp": 10, "tab\tbed": 13,
      " edge": 14,
    ])
}
