// `why --all`: an answer that does not end at the first refusal.

import Decisions

extension Walk {
  /// Writes down refusals with what lifts them; answers whether all of them could be lifted.
  ///
  /// Of an object whose rules may not be told, only what refuses first is: the error number tells as much.
  @discardableResult mutating func tellAll(
    _ refusals: [RemediedRefusal], _ scene: Scene,
    _ words: (RemediedRefusal) -> (path: [UInt8], asked: String)
  ) -> Bool {
    for (index, refusal) in refusals.enumerated() {
      let item = scene[refusal.verdict.role]
      let isTold = view.mayRead(item)
      guard isTold || index == 0 else { return false }
      let (path, asked) = words(refusal)
      add(
        path, asked, .judged(refusal.verdict, item: isTold ? item : nil),
        remedy: isTold ? refusal.remedy : nil)
      guard isTold else { return false }
    }
    return refusals.last.map { $0.remedy != nil } ?? true
  }
}
