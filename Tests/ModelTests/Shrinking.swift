// From a long run that ends in a difference to a short one.

import Dispatch

extension Run {
  /// Leaves out what can be left out, until no single operation can or `seconds` have passed.
  func shrunk(_ operations: [Operation], within seconds: Int) -> [Operation] {
    let deadline = DispatchTime.now() + .seconds(seconds)
    var current = operations
    var size = max(1, current.count / 2)
    while DispatchTime.now() < deadline {
      var start = 0
      var isShorter = false
      while start < current.count, DispatchTime.now() < deadline {
        let candidate = Array(current[..<start] + current[min(current.count, start + size)...])
        if !candidate.isEmpty, let shorter = failing(candidate) {
          current = shorter
          isShorter = true
        } else {
          start += size
        }
      }
      if size == 1, !isShorter { break }
      size = max(1, size / 2)
    }
    return current
  }

  /// The operations up to the difference, if there still is one.
  private func failing(_ operations: [Operation]) -> [Operation]? {
    // A mount that fails is no reproduction of anything.
    guard let difference = try? repeated(operations) else { return nil }
    return Array(operations.prefix(difference.number))
  }
}
