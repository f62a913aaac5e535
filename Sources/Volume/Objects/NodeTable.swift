// Every node the kernel knows, by its number and by its backing object.
//
// For trees that are walked through: with a million items known the daemon stays below 300 MB (SEMANTICS 10.2).

import LinuxFiles
import Synchronization

/// Finds nodes by the number the kernel uses and by what they are; counts the kernel's references.
///
/// A million nodes must stay far below 300 MB: a slot is 24 bytes, an index place 4, and neither holds a copy
/// of what the node knows.
final class NodeTable: Sendable {
  private static let shardCount = 16

  private let shards: [Shard]
  /// Nodes whose object was brought up, by the object they have since: their slots stay where they are.
  private let moved: Mutex<[ObjectIdentity: Node]> = Mutex([:])
  private let hasMoved = Atomic(false)

  init() {
    shards = (0..<NodeTable.shardCount).map { Shard(number: UInt64($0)) }
  }

  /// The node of a number the kernel sent; `nil` for a number that is not (or no longer) given out.
  func node(_ id: NodeID) -> Node? {
    shards[Int(id % UInt64(NodeTable.shardCount))].node(id)
  }

  /// The node of an object, without a reference for the kernel.
  func node(of identity: ObjectIdentity) -> Node? {
    shard(of: identity).contents.withLock { $0.find(identity) } ?? movedNode(of: identity)
  }

  private func movedNode(of identity: ObjectIdentity) -> Node? {
    guard hasMoved.load(ordering: .acquiring) else { return nil }
    return moved.withLock { $0[identity] }
  }

  /// The node of an object that was brought up is found by what it is now.
  func move(_ node: Node, to slot: BackingSlot, indexedAs entry: IndexedName? = nil) {
    moved.withLock { $0[slot.identity] = node }
    hasMoved.store(true, ordering: .releasing)
    let isKnown = shards[Int(node.id % UInt64(NodeTable.shardCount))].contents.withLock {
      $0.move(node, to: slot, indexedAs: entry)
    }
    // The kernel has forgotten it meanwhile.
    guard !isKnown else { return }
    moved.withLock { if $0[slot.identity] === node { $0[slot.identity] = nil } }
  }

  /// One more reference to a node that has moved, unless the kernel has forgotten it.
  private func refer(toMoved identity: ObjectIdentity) -> Node? {
    guard let node = movedNode(of: identity) else { return nil }
    return shards[Int(node.id % UInt64(NodeTable.shardCount))].contents.withLock { $0.refer(again: node.id) }
  }

  /// The node of an object that is about to be shown to the kernel under a name; one more reference is held.
  ///
  /// `entry`: by which the object was found, if the name itself leads to another.
  func refer(
    to slot: BackingSlot, number: ItemNumber, name: borrowing FileName, in parent: Node,
    indexedAs entry: IndexedName? = nil
  ) -> (Node, isNew: Bool) {
    if let node = refer(toMoved: slot.identity) {
      // First: the name is no way to it.
      if let entry { node.isIndexed(as: entry) }
      if !node.isKnown(as: name, in: parent) { node.seen(as: name.copy(), in: parent) }
      return (node, false)
    }
    let (node, isNew) = shard(of: slot.identity).contents.withLock { contents in
      let found = contents.refer(to: slot, number: number, parent: parent) { name.copy() }
      if let entry { found.0.isIndexed(as: entry) }
      return found
    }
    if !isNew, !node.isKnown(as: name, in: parent) { node.seen(as: name.copy(), in: parent) }
    return (node, isNew)
  }

  /// The same for an object that has no name (yet): it is reached through what holds it open.
  func referToUnnamed(_ slot: BackingSlot, number: ItemNumber) -> Node {
    shard(of: slot.identity).contents.withLock { contents in
      contents.refer(to: slot, number: number, parent: nil) { [] }.0
    }
  }

  /// The kernel gives references back.
  ///
  /// - Returns: the node, if that was the last one.
  func forget(_ id: NodeID, references: UInt64) -> Node? {
    let forgotten = shards[Int(id % UInt64(NodeTable.shardCount))].contents.withLock {
      $0.forget(id, references: references)
    }
    if let forgotten, hasMoved.load(ordering: .acquiring) {
      let identity = forgotten.backing
      moved.withLock { if $0[identity] === forgotten { $0[identity] = nil } }
    }
    return forgotten
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
    /// Whether its object was brought up: then it is not in the index.
    var hasMoved = false
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

    /// Whether the kernel still knows the node.
    mutating func move(_ node: Node, to other: BackingSlot, indexedAs entry: IndexedName?) -> Bool {
      let former = node.backing.hash
      node.move(to: other, indexedAs: entry)
      guard let slot = position(of: node.id) else { return false }
      guard !slots[slot].hasMoved else { return true }
      slots[slot].hasMoved = true
      index.remove(UInt32(slot), hash: former) { slots[Int($0)].node?.backing.hash ?? 0 }
      return true
    }

    mutating func refer(again id: NodeID) -> Node? {
      guard let slot = position(of: id) else { return nil }
      slots[slot].references += 1
      return slots[slot].node
    }

    mutating func refer(
      to backing: BackingSlot, number itemNumber: ItemNumber, parent: Node?, name: () -> [UInt8]
    ) -> (Node, isNew: Bool) {
      let identity = backing.identity
      let hash = identity.hash
      if let slot = index.first(hash, where: { slots[Int($0)].node?.backing == identity }),
        let known = slots[Int(slot)].node
      {
        slots[Int(slot)].references += 1
        return (known, false)
      }
      let slot = emptySlot()
      let id = UInt64(slots[slot].epoch) << 32 | UInt64(slot * NodeTable.shardCount) | number
      let node = Node(id: id, backing, number: itemNumber, parent: parent, name: name())
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
      if !slots[slot].hasMoved {
        index.remove(UInt32(slot), hash: node.backing.hash) { slots[Int($0)].node?.backing.hash ?? 0 }
      }
      slots[slot] = Slot(node: nil, references: 0, epoch: slots[slot].epoch &+ 1)
      // An epoch that came round would repeat numbers, and the upper half of numbers is of views; such a slot is given up.
      if slots[slot].epoch < 1 << 31 { free.append(UInt32(slot)) }
      count -= 1
      return node
    }
  }
}
