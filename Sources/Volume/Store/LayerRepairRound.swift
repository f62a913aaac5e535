// A repair goes on until nothing new is found: what an entry of the index stands for is settled first, and its count after that.

import LinuxFiles

/// The rounds of one check.
final class LayerRepairRound {
  private static let most = 4

  private var told: Set<[UInt8]> = []
  private var rounds = 0
  private var repairs = 0

  func begin() {
    rounds += 1
    repairs = 0
  }

  /// Whether it was not told before.
  func tells(_ finding: LayerFinding) -> Bool {
    told.insert(Array("\(finding.kind.rawValue) \(finding.text) ".utf8) + finding.path).inserted
  }

  /// The same finding; a repair that others depend on is noted.
  func watched(_ finding: LayerFinding) -> LayerFinding {
    guard [.index, .links, .origin].contains(finding.kind) else { return finding }
    var watched = LayerFinding(
      kind: finding.kind, path: finding.path, text: finding.text, remedy: finding.remedy
    ) { () throws(Errno) in
      try finding.repair()
      self.repairs += 1
    }
    (watched.damaged, watched.lowerItem) = (finding.damaged, finding.lowerItem)
    return watched
  }

  var wantsAnother: Bool { repairs > 0 && rounds < LayerRepairRound.most }
}
