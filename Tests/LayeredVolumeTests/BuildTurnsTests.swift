import Testing

@testable import LayeredVolume

@Suite("Turns of users who make indexes") struct BuildTurnsTests {
  /// Asked in expectations.
  private final class Table<Key: Equatable> {
    private var turns: BuildTurns<Key>

    init(patience: UInt64 = 1_000_000_000) { turns = BuildTurns(patience: patience) }

    func begin(_ key: Key, for user: UInt32, atMost most: Int, at now: UInt64) -> Bool {
      turns.begin(key, for: user, atMost: most, at: now)
    }

    func end(_ key: Key, for user: UInt32) { turns.end(key, for: user) }
  }

  @Test("At most so many are made at a time, and who waits longest is next") func order() {
    let turns = Table<String>()
    #expect(turns.begin("a", for: 1, atMost: 2, at: 0))
    #expect(turns.begin("b", for: 2, atMost: 2, at: 0))
    #expect(!turns.begin("c", for: 3, atMost: 2, at: 1))
    #expect(!turns.begin("d", for: 4, atMost: 2, at: 2))
    turns.end("a", for: 1)
    #expect(!turns.begin("d", for: 4, atMost: 2, at: 3))
    #expect(turns.begin("c", for: 3, atMost: 2, at: 4))
    #expect(!turns.begin("d", for: 4, atMost: 2, at: 5))
    turns.end("b", for: 2)
    #expect(turns.begin("d", for: 4, atMost: 2, at: 6))
  }

  @Test("A user who asks for any number takes turns with others", arguments: [1, 2, 4]) func users(most: Int)
  {
    let turns = Table<Int>()
    var running: [(key: Int, user: UInt32)] = []
    // The first user asks for a hundred at a time, again and again; the others for one at a time.
    var waits: [UInt32: Int] = [:]
    var worst = 0
    for round in 0..<2_000 {
      for key in 0..<100 where !running.contains(where: { $0.key == key }) {
        if turns.begin(key, for: 1, atMost: most, at: UInt64(round)) { running.append((key, 1)) }
      }
      for user in UInt32(2)...4 where !running.contains(where: { $0.user == user }) {
        if turns.begin(1_000 + Int(user), for: user, atMost: most, at: UInt64(round)) {
          running.append((1_000 + Int(user), user))
          worst = max(worst, waits[user] ?? 0)
          waits[user] = 0
        } else {
          waits[user, default: 0] += 1
        }
      }
      #expect(running.count <= most)
      guard !running.isEmpty else { continue }
      // One ends in each round.
      let ended = running.removeFirst()
      turns.end(ended.key, for: ended.user)
    }
    // Those that are under way, and one of each of the others.
    #expect(worst <= most + 4, "\(worst)")
  }

  @Test("Who does not come again, and who finds it made by somebody else, keeps nobody waiting") func gone() {
    let turns = Table<String>(patience: 10)
    #expect(turns.begin("a", for: 1, atMost: 1, at: 0))
    #expect(!turns.begin("b", for: 2, atMost: 1, at: 1))
    turns.end("a", for: 1)
    #expect(!turns.begin("a", for: 1, atMost: 1, at: 11))
    #expect(turns.begin("a", for: 1, atMost: 1, at: 12))
    #expect(!turns.begin("a", for: 2, atMost: 1, at: 13))
    turns.end("a", for: 1)
    #expect(turns.begin("c", for: 1, atMost: 1, at: 14))
  }
}
