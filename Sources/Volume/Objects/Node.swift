// One object the kernel knows: what it is, where it was last seen, and what we keep open for it.
//
// The order of locks, for the whole volume:
//   1. `StripedLocks`: the objects a request is about, taken once per request, in stripe order.
//      Shared by requests that rely on what is true of an object, exclusive for those that change it.
//   2. `Resolver.directoryMoves`: one rename of a directory, or one walk that such a rename led astray.
//   3. a shard of the node table, never across a system call.
//   4. `Node.lastName`, then `Attachment.state`, never across a system call.
// No lock is held while an answer is sent.

import LinuxFiles
import Synchronization

/// An object the kernel holds a reference to.
final class Node: Sendable {
  /// What only an item has that was brought up, is reached by an index, or has a number that its inode does not tell:
  /// others must not pay for it, of which there may be millions.
  private final class Layered: Sendable {
    /// Where the object is since it was brought up.
    final class MovedSlot: Sendable {
      let slot: BackingSlot
      let indexed = AtomicLazyReference<IndexedName>()
      init(_ slot: BackingSlot) { self.slot = slot }
    }

    let number: ItemNumber
    let moved = AtomicLazyReference<MovedSlot>()
    let indexed = AtomicLazyReference<IndexedName>()
    /// Whether no name of it is left, whatever the count of its inode in a lower says.
    let isNameless = Atomic(false)

    init(_ number: ItemNumber) { self.number = number }
  }

  /// Where the object was last seen under a name.
  struct LastKnownName {
    /// `nil` for the root, and for an object that lost its name or was made without one.
    var parent: Node?
    var name: [UInt8]
  }

  let id: NodeID
  /// Moves once, when the object is brought up: under the exclusive locks of the object and of the directory it is in.
  private let first: BackingSlot
  /// The highest byte of its number, which else is that of its inode.
  private let numberPrefix: UInt8
  /// Set once there is something in `layeredFacts`: to look there costs more than what most nodes are asked.
  private let isLayered = Atomic(false)
  /// The age of names (``KernelLink/nameAge``) in which a lookup told the kernel one of this object, to be remembered for
  /// good; 0: none did.
  ///
  /// A listing of layers does not tell such a name again, as what it tells lasts for a second.
  let toldForGood = Atomic<UInt8>(0)
  private let layeredFacts = AtomicLazyReference<Layered>()
  /// Guards the hint only; the object itself is guarded by its stripe.
  let lastName: Mutex<LastKnownName>
  /// What was read of its record; ``RecordMemory`` says when that may be believed.
  let known: Mutex<KnownRecord?> = Mutex(nil)
  private let attached: Mutex<Attachment?>

  init(id: NodeID, _ slot: BackingSlot, number: ItemNumber, parent: Node?, name: [UInt8]) {
    self.id = id
    first = slot
    let (prefix, inode) = (number.value >> Node.inodeBits, slot.identity.number.value)
    numberPrefix = UInt8(prefix)
    lastName = Mutex(LastKnownName(parent: parent, name: name))
    attached = Mutex(nil)
    if number.value != prefix << Node.inodeBits | inode { _ = keep(Layered(number)) }
  }

  private static let inodeBits: UInt64 = 56

  private var layered: Layered? { isLayered.load(ordering: .acquiring) ? layeredFacts.load() : nil }

  private func keep(_ fresh: Layered) -> Layered {
    defer { isLayered.store(true, ordering: .releasing) }
    return layeredFacts.storeIfNil(fresh)
  }

  /// Made when it is needed first; nil for what was made in the upper.
  private func neededLayered() -> Layered? {
    if let layered { return layered }
    return first.layer > 0 ? keep(Layered(number)) : nil
  }

  var slot: BackingSlot { layered?.moved.load()?.slot ?? first }
  /// What the node is found by.
  var backing: ObjectIdentity { slot.identity }
  /// The layer its object is in; 0 is the upper.
  var layer: UInt8 { slot.layer }

  /// Asked of ``NodeTable``, which finds it by the other object from then on.
  func move(to slot: BackingSlot, indexedAs entry: IndexedName?) {
    let moved = Layered.MovedSlot(slot)
    if let entry { _ = moved.indexed.storeIfNil(entry) }
    _ = neededLayered()?.moved.storeIfNil(moved)
  }

  /// The entry of an index that its object is reached by, if names of it may be in lowers.
  var indexed: IndexedName? {
    guard let layered else { return nil }
    if let moved = layered.moved.load() { return moved.indexed.load() }
    return layered.indexed.load()
  }

  /// The object was found by an entry of an index.
  func isIndexed(as entry: IndexedName) {
    guard entry.layer == layer, let layered = neededLayered() else { return }
    if let moved = layered.moved.load() {
      _ = moved.indexed.storeIfNil(entry)
    } else {
      _ = layered.indexed.storeIfNil(entry)
    }
  }

  /// No name leads to the object any more, although its inode in a lower has some.
  var isNameless: Bool { layered?.isNameless.load(ordering: .acquiring) ?? false }
  func lostAllNames() { neededLayered()?.isNameless.store(true, ordering: .releasing) }

  /// What programs see, and the lock goes by.
  var number: ItemNumber {
    layered?.number
      ?? ItemNumber(UInt64(numberPrefix) << Node.inodeBits | first.identity.number.value)
  }
  var kind: FileKind { first.identity.kind }

  var isDirectory: Bool { kind == .directory }

  /// The lock every request about this object takes.
  var stripe: Int { number.stripe }

  /// What is kept for objects that are open, are directories in use, or have lost their name.
  var attachment: Attachment {
    attached.withLock { kept in
      if let kept { return kept }
      let fresh = Attachment()
      kept = fresh
      return fresh
    }
  }

  /// The attachment, if there is one already.
  var existingAttachment: Attachment? { attached.withLock { $0 } }

  /// Lets go of the attachment, if it is this one.
  func detach(_ attachment: Attachment) {
    let former: Attachment? = attached.withLock { kept in
      guard kept === attachment else { return nil }
      defer { kept = nil }
      return kept
    }
    _ = former
  }

  /// The object was seen under this name.
  func seen(as name: [UInt8], in parent: Node) {
    lastName.withLock { $0 = LastKnownName(parent: parent, name: name) }
    layered?.isNameless.store(false, ordering: .releasing)
    existingAttachment?.state.withLock { state in
      state.pin.way = nil
      state.file.nameless = nil
    }
  }

  /// The name it was seen under is gone.
  func lostName() {
    lastName.withLock { $0 = LastKnownName(parent: nil, name: []) }
  }

  /// Whether exactly this is the hint.
  ///
  /// A parent that the kernel has forgotten is another node than the one it found again.
  func isKnown(as name: borrowing FileName, in parent: Node) -> Bool {
    let known = lastName.withLock { $0 }
    return known.parent === parent && name.equals(known.name)
  }

  /// Whether this name was the last, by whatever node of the directory.
  func wasLastSeen(as name: borrowing FileName, in parent: Node) -> Bool {
    let known = lastName.withLock { $0 }
    return known.parent?.backing == parent.backing && name.equals(known.name)
  }
}
