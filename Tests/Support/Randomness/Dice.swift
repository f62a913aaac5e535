// Random numbers that can be had again: a failing test names its seed.

import Foundation

/// SplitMix64: the same numbers for the same seed, on every machine.
package struct Dice: RandomNumberGenerator {
  /// `VARVE_SEED`, or always the same number.
  package static let seed: UInt64 =
    ProcessInfo.processInfo.environment["VARVE_SEED"].flatMap { UInt64($0) } ?? 20_260_101

  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  /// A stream of its own for each test, so that they do not depend on each other.
  package init(for test: String) {
    state = test.utf8.reduce(Dice.seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    print("\(test): VARVE_SEED=\(Dice.seed)")
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `sides` throws.
  package mutating func once(in sides: Int) -> Bool { Int.random(in: 0..<sides, using: &self) == 0 }

  package mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
