// From a long run that fails to a short one.

import Dispatch

package enum Shrinking {
  /// Leaves out what can be left out, until no single step can or `seconds` have passed.
  ///
  /// `failing` does these steps from the beginning; it answers how many it came to, the one that failed included, or nil if none
  /// did.
  package static func shrunk<Step>(
    _ steps: [Step], within seconds: Int, _ failing: ([Step]) -> Int?
  ) -> [Step] {
    let deadline = DispatchTime.now() + .seconds(seconds)
    var current = steps
    var size = max(1, current.count / 2)
    while DispatchTime.now() < deadline {
      var start = 0
      var isShorter = false
      while start < current.count, DispatchTime.now() < deadline {
        let candidate = Array(current[..<start] + current[min(current.count, start + size)...])
        if !candidate.isEmpty, let count = failing(candidate) {
          current = Array(candidate.prefix(count))
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
}
