// Which classes are open: read by every request that wants content, without a lock.

import Decisions
package import SealedFormat

/// The classes of protected files.
package struct ClassSet: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let complete = ClassSet(.complete)
  package static let completeUnlessOpen = ClassSet(.completeUnlessOpen)
  package static let untilFirstUnlock = ClassSet(.untilFirstUnlock)

  /// What a lock closes.
  package static let locking: ClassSet = [.complete, .completeUnlessOpen]
  /// What `lock --all` closes.
  package static let all: ClassSet = [.complete, .completeUnlessOpen, .untilFirstUnlock]

  package init(_ protection: StaticSector.ProtectionClass) {
    self.init(rawValue: 1 << protection.rawValue)
  }
}

/// The state of one class.
package enum ClassState: UInt32, Sendable {
  case locked = 0
  case open = 1
  /// A lock has begun: what was written is still brought to the disk, and nothing new begins.
  case draining = 2
}

/// The states of all classes in one number.
struct ClassStates: Equatable, Sendable {
  private(set) var rawValue: UInt32

  init(rawValue: UInt32 = 0) { self.rawValue = rawValue }

  subscript(protection: StaticSector.ProtectionClass) -> ClassState {
    get { ClassState(rawValue: rawValue >> ClassStates.shift(protection) & 3) ?? .locked }
    set {
      let shift = ClassStates.shift(protection)
      rawValue = rawValue & ~(3 << shift) | newValue.rawValue << shift
    }
  }

  private static let makingBit: UInt32 = 1 << 31
  private static let keybagBit: UInt32 = 1 << 30

  static let withKeybag: UInt32 = keybagBit

  /// Whether there is a keybag.
  var hasKeybag: Bool {
    get { rawValue & ClassStates.keybagBit != 0 }
    set { rawValue = newValue ? rawValue | ClassStates.keybagBit : rawValue & ~ClassStates.keybagBit }
  }

  /// Whether the public key is there that files of `completeUnlessOpen` are made with: since the first unlock.
  var canMakeUnlessOpen: Bool {
    get { rawValue & ClassStates.makingBit != 0 }
    set { rawValue = newValue ? rawValue | ClassStates.makingBit : rawValue & ~ClassStates.makingBit }
  }

  var keysAtHand: KeysAtHand {
    var keys = KeysAtHand(exist: hasKeybag)
    for protection in StaticSector.ProtectionClass.allCases where self[protection] == .open {
      keys.opening.insert(ProtectionClasses(rawValue: ClassSet(protection).rawValue))
    }
    keys.making = keys.opening
    if canMakeUnlessOpen { keys.making.insert(ProtectionClasses(.completeUnlessOpen)) }
    return keys
  }

  private static func shift(_ protection: StaticSector.ProtectionClass) -> UInt32 {
    2 * UInt32(protection.rawValue)
  }
}
