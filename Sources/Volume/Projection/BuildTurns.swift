// Who makes an index next, where more want to than may at a time.
//
// Whoever has to wait is told to come again, and may find that others came first, again and again. So those who wait are
// noted, and what is free goes to them: to the user with the fewest under way, and of these to the one who was served
// longest ago. A user who asks for any number of indexes takes turns with the others like one who asks for one.

/// The turns of users; `Key` says what is to be made.
struct BuildTurns<Key: Equatable> {
  private struct Waiter {
    let key: Key
    let user: UInt32
    var cameAt: UInt64
  }

  /// Who has not come again for so many nanoseconds waits no more.
  private let patience: UInt64
  private var waiting: [Waiter] = []
  /// How many each user has under way; nobody with none.
  private var underWay: [UInt32: Int] = [:]
  /// When each user began one last, counted in beginnings, as long as anybody waits.
  private var servedAt: [UInt32: UInt64] = [:]
  private var begun: UInt64 = 0

  init(patience: UInt64 = 1_000_000_000) {
    self.patience = patience
  }

  /// Whether a user may begin to make an index now; if not, the user is noted among those who wait.
  ///
  /// At most `most` are made at a time. `now` is in monotonic nanoseconds.
  mutating func begin(_ key: Key, for user: UInt32, atMost most: Int, at now: UInt64) -> Bool {
    waiting.removeAll { now &- $0.cameAt > patience }
    let place = waiting.firstIndex { $0.user == user && $0.key == key }
    let free = most - underWay.values.reduce(0, +)
    guard free > 0, countAhead(of: user, at: place) < free else {
      if let place {
        waiting[place].cameAt = now
      } else {
        waiting.append(Waiter(key: key, user: user, cameAt: now))
      }
      return false
    }
    if let place { waiting.remove(at: place) }
    underWay[user, default: 0] += 1
    begun += 1
    servedAt[user] = begun
    return true
  }

  /// The index is made, or could not be: nobody waits for a turn to make it any more.
  mutating func end(_ key: Key, for user: UInt32) {
    let left = (underWay[user] ?? 1) - 1
    underWay[user] = left > 0 ? left : nil
    waiting.removeAll { $0.key == key }
    if waiting.isEmpty { servedAt = servedAt.filter { underWay[$0.key] != nil } }
  }

  /// How many of those who wait come before one of a user; `place`: where it waits itself.
  private func countAhead(of user: UInt32, at place: Int?) -> Int {
    let own = rank(of: user)
    return waiting.indices.count { index in
      guard index != place else { return false }
      let other = rank(of: waiting[index].user)
      return other < own || other == own && index < place ?? .max
    }
  }

  private func rank(of user: UInt32) -> (Int, UInt64) { (underWay[user] ?? 0, servedAt[user] ?? 0) }
}
