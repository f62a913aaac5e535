// From a long run that ends in a difference to a short one.

import Randomness

extension Run {
  func shrunk(_ operations: [Operation], within seconds: Int) -> [Operation] {
    Shrinking.shrunk(operations, within: seconds) { candidate in
      // A mount that fails is no reproduction of anything.
      (try? repeated(candidate))?.number
    }
  }
}
