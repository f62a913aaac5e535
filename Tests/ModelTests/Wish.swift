// What the environment says about a run.

import Foundation
import Randomness

/// What the environment says about a run.
enum Wish {
  static let seed = Dice.seed
  /// For the plain mount; each set of options gets a part of it.
  static let operations = Int(number("VARVE_MODEL_OPERATIONS") ?? 100_000)

  /// Of what takes longest, ten times as much.
  static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }
}
