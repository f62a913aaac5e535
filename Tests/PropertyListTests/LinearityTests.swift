// That time grows with the size of a file, and not with its square, whatever is in it.

import PropertyLists
import Stopwatch
import Testing

@Suite("Time in proportion to the size", .serialized, .timeLimit(.minutes(2))) struct LinearityTests {
  /// These let the most in: any number of pairs of a few keys.
  private static let limits = PropertyListLimits.bundleInformation

  /// Each four times the one before.
  private static let sizes = [15_000, 60_000, 240_000]

  /// Less than this many seconds say nothing: what is refused at once takes no longer when there is more of it.
  private static let least = 20e-6

  /// Compares two sizes in turn, until the larger one took no more than so many times as long; the last ratio.
  ///
  /// In proportion it is four, with the square 16. A machine that is busy has time to come to rest.
  private func ratio(
    _ small: [UInt8], _ large: [UInt8], below bound: Double
  ) -> Double {
    var (bestSmall, bestLarge) = (Double.infinity, Double.infinity)
    var ratio = Double.infinity
    for round in 0..<40 where round < 3 || ratio > bound {
      bestSmall = min(
        bestSmall,
        processorTime(of: { _ = try? PropertyList.strings(in: small, within: LinearityTests.limits) }))
      bestLarge = min(
        bestLarge,
        processorTime(of: { _ = try? PropertyList.strings(in: large, within: LinearityTests.limits) }))
      ratio = bestLarge / max(bestSmall, LinearityTests.least)
      // No machine is so busy for so long.
      if bestLarge > 1 { break }
    }
    return ratio
  }

  @Test(
    "Four times as much takes no more than seven times as long, in every form and shape",
    arguments: LongShape.all)
  func proportion(shape: LongShape) {
    var former: [UInt8] = []
    for size in LinearityTests.sizes {
      let bytes = shape.make(size)
      #expect(bytes.count < 262_144 && bytes.count > size / 2, "\(bytes.count) bytes for \(size)")
      #expect(
        ((try? PropertyList.strings(in: bytes, within: LinearityTests.limits)) != nil) == shape.isAccepted)
      defer { former = bytes }
      guard !former.isEmpty else { continue }
      let ratio = ratio(former, bytes, below: 7)
      #expect(ratio <= 7, "\(size) bytes")
      if ratio > 7 { return }
    }
  }
}
