// The items of a large directory, looked at by two threads: what takes longest of making an index is asking the file system
// below about each, and no item waits for another.

import Synchronization

/// Items that are looked at in pieces, by whoever is free, and put together in their order.
final class ItemRound<Name: Sendable, Item: Sendable>: Sendable {
  /// So few that two who take turns end at nearly the same time, and so many that taking them costs nothing.
  private static var pieceSize: Int { 512 }
  private let names: [Name]
  private let look: Look
  private let helpersLook: @Sendable () -> Look
  private let next = Atomic(0)
  /// By the place of the first of them.
  private let pieces: Mutex<[Int: [Item]]> = Mutex([:])

  typealias Look = @Sendable (Name) -> Item

  /// `helpersLook`: how the other thread does it, with what it need not share, because what two threads count references
  /// to is slow for both.
  init(_ names: [Name], _ look: @escaping Look, helper helpersLook: @escaping @Sendable () -> Look) {
    self.names = names
    self.look = look
    self.helpersLook = helpersLook
  }

  func run() -> [Item] {
    guard names.count >= SideBySide.fewestItems else { return names.map(look) }
    // When the caller has done all that was left, one piece at most is still under way there.
    _ = SideBySide.run({ self.work(self.helpersLook()) }, and: { work(look) })
    var items: [Item] = []
    items.reserveCapacity(names.count)
    let pieces = pieces.withLock { $0 }
    for start in stride(from: 0, to: names.count, by: Self.pieceSize) { items += pieces[start] ?? [] }
    return items
  }

  private func work(_ look: Look) {
    while true {
      let start = next.add(Self.pieceSize, ordering: .relaxed).oldValue
      guard start < names.count else { return }
      let piece = names[start..<min(start + Self.pieceSize, names.count)].map(look)
      pieces.withLock { $0[start] = piece }
    }
  }
}
