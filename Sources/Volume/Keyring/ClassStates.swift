// Which classes are open: read by every request that wants content, without a lock.

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

extension StaticSector.ProtectionClass: CaseIterable {
  package static let allCases: [StaticSector.ProtectionClass] = [
    .complete, .completeUnlessOpen, .untilFirstUnlock,
  ]
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

  private static func shift(_ protection: StaticSector.ProtectionClass) -> UInt32 {
    2 * UInt32(protection.rawValue)
  }
}
