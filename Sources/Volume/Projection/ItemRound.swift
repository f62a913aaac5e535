// The items of a large directory, looked at by two threads: what takes longest of making an index is asking the file system
// below about each, and no item waits for another.

import LinuxFiles
import Synchronization

/// Items that are looked at in pieces, by whoever is free, and put together in their order.
final class ItemRound<Name: Sendable, Item: Sendable>: Sendable {
  /// So few that two who take turns end at nearly the same time, and so many that taking them costs nothing.
  private static var pieceSize: Int { 512 }
  /// Fewer are done before another thread has begun.
  private static var fewest: Int { 8 * pieceSize }

  private let names: [Name]
  private let look: @Sendable (Name) -> Item
  private let next = Atomic(0)
  /// By the place of the first of them.
  private let pieces: Mutex<[Int: [Item]]> = Mutex([:])

  init(_ names: [Name], _ look: @escaping @Sendable (Name) -> Item) {
    self.names = names
    self.look = look
  }

  func run() -> [Item] {
    guard names.count >= Self.fewest else { return names.map(look) }
    // Where no thread can be had the caller does all of it.
    let helper: PlainThread? = try? PlainThread(name: "varve-index") { self.work() }
    work()
    // One piece at most is still under way there.
    helper?.join()
    var items: [Item] = []
    items.reserveCapacity(names.count)
    let pieces = pieces.withLock { $0 }
    for start in stride(from: 0, to: names.count, by: Self.pieceSize) { items += pieces[start] ?? [] }
    return items
  }

  private func work() {
    while true {
      let start = next.add(Self.pieceSize, ordering: .relaxed).oldValue
      guard start < names.count else { return }
      let piece = names[start..<min(start + Self.pieceSize, names.count)].map(look)
      pieces.withLock { $0[start] = piece }
    }
  }
}
