// Random numbers that can be had again.

import Foundation

/// SplitMix64: the same numbers for the same seed, on every machine.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `sides` throws.
  mutating func once(in sides: Int) -> Bool { Int.random(in: 0..<sides, using: &self) == 0 }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }
}

/// What the environment says about a run.
enum Wish {
  static let seed: UInt64 = number("VARVE_SEED") ?? 20_260_101
  /// For the plain mount; each set of options gets a part of it.
  static let operations = Int(number("VARVE_MODEL_OPERATIONS") ?? 100_000)

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }
}
