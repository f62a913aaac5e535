// Every node the kernel knows, by its number and by its backing object.

import LinuxFiles
import Synchronization

/// Finds nodes by the number the kernel uses and by what they are; counts the kernel's references.
///
/// A million nodes must stay far below 300 MB: a slot is 24 bytes, an index place 4, and neither holds a copy
/// of what the node knows.
final class NodeTable: Sendable {
  private static let shardCount = 16

  private let shards: [Shard]

  init() {
    shards = (0..<NodeTable.shardCount).map { Shard(number: UInt64($0)) }
  }

  /// The node of a number the kernel sent; `nil` for a number that is not (or no longer) given out.
  func node(_ id: NodeID) -> Node? {
    shards[Int(id % UInt64(NodeTable.shardCount))].node(id)
  }

  /// The node of an object, without a reference for the kernel.
  func node(of identity: ObjectIdentity) -> Node? {
    shard(of: identity).contents.withLock { $0.find(identity) }
  }

  /// The node of an object that is about to be shown to the kernel under a name; one more reference is held.
  func refer(
    to identity: ObjectIdentity, name: borrowing FileName, in parent: Node
  ) -> (Node, isNew: Bool) {
    let (node, isNew) = shard(of: identity).contents.withLock { contents in
      contents.refer(to: identity, parent: parent) { name.copy() }
    }
    if !isNew, !node.isKnown(as: name, in: parent) { node.seen(as: name.copy(), in: parent) }
    return (node, isNew)
  }

  /// The same for an object that has no name (yet): it is reached through what holds it open.
  func referToUnnamed(_ identity: ObjectIdentity) -> Node {
    shard(of: identity).contents.withLock { contents in
      contents.refer(to: identity, parent: nil) { [] }.0
    }
  }

  /// The kernel gives references back.
  ///
  /// - Returns: the node, if that was the last one.
  func forget(_ id: NodeID, references: UInt64) -> Node? {
    shards[Int(id % UInt64(NodeTable.shardCount))].contents.withLock {
      $0.forget(id, references: references)
    }
  }

  /// The numbers of all nodes at about this moment.
  var identifiers: [NodeID] { shards.flatMap { $0.contents.withLock { $0.identifiers } } }

  /// The number of nodes.
  var count: Int { shards.reduce(0) { $0 + $1.contents.withLock { $0.count } } }

  private func shard(of identity: ObjectIdentity) -> Shard {
    shards[Int(identity.hash >> 32) % NodeTable.shardCount]
  }

  /// A part of the table with a lock of its own.
  private final class Shard: Sendable {
    let contents: Mutex<Contents>

    init(number: UInt64) {
      contents = Mutex(Contents(number: number))
    }

    func node(_ id: NodeID) -> Node? {
      contents.withLock { $0.node(id) }
    }
  }

  /// Where a node is kept.
  private struct Slot {
    var node: Node?
    var references: UInt64
    /// Part of the node's number, so that a number is never given out twice.
    var epoch: UInt32
  }

  private struct Contents {
    let number: UInt64
    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var index = IdentityIndex()
    private(set) var count = 0

    init(number: UInt64) {
      self.number = number
    }

    func node(_ id: NodeID) -> Node? {
      guard let slot = position(of: id) else { return nil }
      return slots[slot].node
    }

    /// The slot of a number, if the number is the one given out for it.
    private func position(of id: NodeID) -> Int? {
      let slot = Int((id & 0xFFFF_FFFF) / UInt64(NodeTable.shardCount))
      guard slots.indices.contains(slot), slots[slot].node?.id == id else { return nil }
      return slot
    }

    var identifiers: [NodeID] { slots.compactMap { $0.node?.id } }

    func find(_ identity: ObjectIdentity) -> Node? {
      index.first(identity.hash) { slots[Int($0)].node?.backing == identity }
        .flatMap { slots[Int($0)].node }
    }

    mutating func refer(
      to identity: ObjectIdentity, parent: Node?, name: () -> [UInt8]
    ) -> (Node, isNew: Bool) {
      let hash = identity.hash
      if let slot = index.first(hash, where: { slots[Int($0)].node?.backing == identity }),
        let known = slots[Int(slot)].node
      {
        slots[Int(slot)].references += 1
        return (known, false)
      }
      let slot = emptySlot()
      let id = UInt64(slots[slot].epoch) << 32 | UInt64(slot * NodeTable.shardCount) | number
      let node = Node(id: id, backing: identity, parent: parent, name: name())
      slots[slot].node = node
      slots[slot].references = 1
      index.insert(UInt32(slot), hash: hash) { slots[Int($0)].node?.backing.hash ?? 0 }
      count += 1
      return (node, true)
    }

    private mutating func emptySlot() -> Int {
      if let slot = free.popLast() { return Int(slot) }
      // Epochs start at 1, so that no number is 0 or 1: nothing and the root.
      slots.append(Slot(node: nil, references: 0, epoch: 1))
      return slots.count - 1
    }

    mutating func forget(_ id: NodeID, references: UInt64) -> Node? {
      guard let slot = position(of: id), let node = slots[slot].node else { return nil }
      guard references >= slots[slot].references else {
        slots[slot].references -= references
        return nil
      }
      index.remove(UInt32(slot), hash: node.backing.hash) { slots[Int($0)].node?.backing.hash ?? 0 }
      slots[slot] = Slot(node: nil, references: 0, epoch: slots[slot].epoch &+ 1)
      // An epoch that came round would repeat numbers, and the upper half of numbers is of views; such a slot is given up.
      if slots[slot].epoch < 1 << 31 { free.append(UInt32(slot)) }
      count -= 1
      return node
    }
  }
}
