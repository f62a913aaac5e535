// What stands in the way of an operation whatever rights the caller has.

/// A fact by which an operation cannot be done, in words said of the object; no rule refuses it.
package enum Obstacle: String, Hashable, Sendable {
  case missing = "does not exist"
  case taken = "already exists"
  case notDirectory = "is not a directory"
  case isDirectory = "is a directory"
  case replacesDirectory = "is a directory, which only a directory can replace"
  case intoItself = "a directory cannot be moved into itself"
  case root = "is the root of the volume"
  case nameless = "a name is needed, not a step by . or .."
  case notFile = "is not a regular file"
  /// FIFOs, sockets and devices.
  case notOpenable = "is opened by the kernel alone"
  case linkMode = "a symbolic link has no mode"
  case noLists = "the volume is mounted with noacl"
  case noRecord = "a volume without root keeps none on this kind of item"
  /// The name `.varve` at the root of the volume, and what is below.
  case reserved = "the name is the volume's own"

  package var words: String { rawValue }
}

extension Verdict {
  package static func refused(by obstacle: Obstacle, on place: Place = .item) -> Verdict {
    .refused(.impossible, .obstacle(obstacle), on: place)
  }

  /// The obstacle, if no rule refuses.
  package var obstacle: Obstacle? {
    if case .obstacle(let obstacle) = reason { obstacle } else { nil }
  }

  /// This verdict, or a refusal where it allows what an obstacle stands against.
  func unless(_ isHindered: Bool, _ obstacle: Obstacle, _ tell: (Step) -> Void) -> Verdict {
    isAllowed && isHindered ? Verdict.refused(by: obstacle).told(.operation, tell) : self
  }
}

extension VolumeRules {
  /// What stands against every list.
  package var obstacleToLists: Obstacle? { usesLists ? nil : .noLists }
}
