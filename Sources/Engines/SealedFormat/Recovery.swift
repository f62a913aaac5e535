// Which versions of a doubtful file survive. The caller reads the whole index, also behind the size, verifies what it
// is told to, and then writes what was settled (`SealedFile.recover`).

/// A walk over the index of a doubtful file.
package struct Recovery: Sendable {
  package let view: FileView
  /// Above every generation seen; becomes the file's.
  package private(set) var highest: UInt64
  private let rules: ReadingRules

  package init(_ view: FileView) {
    self.view = view
    highest = view.slot.highest
    rules = ReadingRules(
      isDoubtful: true, committed: view.slot.committed, floor: view.slot.floor,
      blocks: Block.count(view.slot.fileSize))
  }

  /// Whether it depends on its tag if this version stays, and how.
  ///
  /// `isTorn`: the seal of its sector does not hold, so its entry may be another one than was written.
  package func mustVerify(_ version: Version, of block: Block, isTorn: Bool = false) -> Bool {
    rules.isLive(version, of: block) && (isTorn || version.generation > rules.committed)
      && version.target != .invalid
  }

  /// No session writes so many blocks: a generation further away than this is damage, and counting it would leave none.
  private static let plausibleStep: UInt64 = 1 << 48

  /// The pair as it stays, given which versions verified.
  ///
  /// A pair that comes back changed, and each sector whose seal did not hold, is written in the plan. A committed version
  /// that does not verify stays: it is damage, and reading says so. So does the older of two that both fail. In a torn sector it stays without its page, which may
  /// be another block's.
  package mutating func settle(
    _ pair: Pair, of block: Block, isTorn: Bool = false, verified: (Version) -> Bool
  ) -> Pair {
    var settled = pair
    for half in Half.allCases where pair[half].exists {
      let version = pair[half]
      if version.generation > highest, version.generation - highest < Recovery.plausibleStep {
        highest = version.generation
      }
      guard rules.isLive(version, of: block) else {
        settled[half] = .none
        continue
      }
      if version.generation > rules.committed, !(mustVerify(version, of: block) && verified(version)) {
        settled[half] = .none
      } else if isTorn, mustVerify(version, of: block, isTorn: true), !verified(version) {
        settled[half] = version.withoutPage
      }
    }
    if let older = failedPredecessor(pair, of: block, settled) {
      settled[older] = pair[older].withoutPage
    }
    // A generation that was not counted must not stay.
    for half in Half.allCases where settled[half].generation > highest { settled[half] = .none }
    return settled
  }

  /// Of a pair of which nothing would stay, the version that was durable.
  private func failedPredecessor(_ pair: Pair, of block: Block, _ settled: Pair) -> Half? {
    guard settled.isEmpty, rules.isLive(pair.first, of: block), rules.isLive(pair.second, of: block),
      let newest = pair.newest
    else { return nil }
    return newest.other
  }

  /// The page that a settled pair needs; those of all others are free when the plan is done.
  package static func pageInUse(_ settled: Pair) -> Page? {
    settled.newest.flatMap { settled[$0].page }
  }
}
