// What is made of many numbers.

import Glibc

/// The middle one; of an even number the mean of the two in the middle; nil if there is none.
package func median(_ numbers: [Double]) -> Double? {
  guard !numbers.isEmpty else { return nil }
  let sorted = numbers.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// The mean for ratios: twice as fast and half as fast cancel out.
package func geometricMean(_ ratios: [Double]) -> Double? {
  guard !ratios.isEmpty, ratios.allSatisfy({ $0 > 0 }) else { return nil }
  return exp(ratios.reduce(0) { $0 + log($1) } / Double(ratios.count))
}
