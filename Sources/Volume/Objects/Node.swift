// One object the kernel knows: what it is, where it was last seen, and what we keep open for it.
//
// The order of locks, for the whole volume:
//   1. `StripedLocks`: the objects a request is about, taken once per request, in stripe order.
//      Shared by requests that rely on what is true of an object, exclusive for those that change it.
//   2. `Resolver.directoryMoves`: one rename of a directory, or one walk that such a rename led astray.
//   3. a shard of the node table, never across a system call.
//   4. `Node.place`, then `Attachment.state`, never across a system call.
// No lock is held while an answer is sent.

import LinuxFiles
import Synchronization

/// What makes an object the same object: a name that leads to another identity leads to something else.
package struct ObjectIdentity: Hashable, Sendable {
  let inode: UInt64
  /// Nanoseconds since 1970, or 0 where the file system does not tell.
  ///
  /// Tells a reused inode number apart.
  let birth: Int64
  let device: UInt64
  /// Objects are born faster than some clocks tick: a number may come back within one, as something else.
  let kind: FileKind

  init(_ status: FileStatus) {
    inode = status.inode
    kind = status.kind
    device = status.device
    if let birth = status.birth {
      self.birth = birth.seconds &* 1_000_000_000 &+ Int64(birth.nanoseconds)
    } else {
      birth = 0
    }
  }

  /// Spread over all 64 bits; neighbours in a directory have neighbouring inode numbers.
  ///
  /// By a random key: without it one cannot choose a file that shares a lock, or a place in a table, with
  /// another.
  var mixed: UInt64 { mixed(by: ObjectIdentity.key) }

  /// The same on every mount, for programs to see; it tells nothing of the key.
  var generation: UInt32 { UInt32(truncatingIfNeeded: mixed(by: 0)) }

  /// A process serves one mount.
  private static let key = UInt64.random(in: .min ... .max)

  private func mixed(by key: UInt64) -> UInt64 {
    var hash = key ^ (inode &+ UInt64(bitPattern: birth) &* 0x9E37_79B9_7F4A_7C15)
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }
}

/// An object the kernel holds a reference to.
final class Node: Sendable {
  /// Where the object was last seen under a name.
  struct Place {
    /// `nil` for the root, and for an object that lost its name or was made without one.
    var parent: Node?
    var name: [UInt8]
  }

  let id: NodeID
  let identity: ObjectIdentity
  /// Guards the hint only; the object itself is guarded by its stripe.
  let place: Mutex<Place>
  /// What was read of its record; ``RecordMemory`` says when that may be believed.
  let known: Mutex<KnownRecord?> = Mutex(nil)
  private let attached: Mutex<Attachment?>

  init(id: NodeID, identity: ObjectIdentity, parent: Node?, name: [UInt8]) {
    self.id = id
    self.identity = identity
    place = Mutex(Place(parent: parent, name: name))
    attached = Mutex(nil)
  }

  var kind: FileKind { identity.kind }
  var isDirectory: Bool { kind == .directory }

  /// The lock every request about this object takes.
  var stripe: Int { Node.stripe(of: identity) }

  static func stripe(of identity: ObjectIdentity) -> Int {
    Int(truncatingIfNeeded: identity.mixed & UInt64(StripedLocks.count - 1))
  }

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

  /// The object was seen under this name.
  func seen(as name: [UInt8], in parent: Node) {
    place.withLock { place in
      place.parent = parent
      place.name = name
    }
    existingAttachment?.state.withLock { $0.pin = nil }
  }

  /// The name it was seen under is gone.
  func lostName() {
    place.withLock { place in
      place.parent = nil
      place.name = []
    }
  }

  /// Whether exactly this is the hint.
  ///
  /// A parent that the kernel has forgotten is another node than the one it found again.
  func isKnown(as name: borrowing FileName, in parent: Node) -> Bool {
    let known = place.withLock { $0 }
    return known.parent === parent && name.equals(known.name)
  }

  /// Whether this name was the last, by whatever node of the directory.
  func isPlaced(at name: borrowing FileName, in parent: Node) -> Bool {
    let known = place.withLock { $0 }
    return known.parent?.identity == parent.identity && name.equals(known.name)
  }
}

/// What only some nodes need; most are looked up, shown and forgotten without one.
final class Attachment: Sendable {
  struct State {
    /// Directories: a descriptor to reach children by.
    ///
    /// Owned by the cache, which may take it away.
    var directory: SharedDescriptor?
    /// Directories: what decides about a search, and until when it is believed.
    var facts: RememberedFacts?
    /// Directories: whether the kernel may keep their names.
    var listing = ListingCache()
    /// The way to an object without a name while nobody has it open.
    ///
    /// Owned by ``UnlinkedObjects``.
    var pin: SharedDescriptor?
    /// Where in the queue, from the first pin until the object is forgotten or had to give way.
    var pinPlace: Int?
    /// Open handles by which the object can be reached when it has no name, oldest first.
    var openFiles: [OpenFile] = []
    /// The ways by which the kernel gets at the bytes for them.
    var routes = OpenRoutes()
    /// Whether ``BackingCache`` has it, resting or in use again.
    var isKept = false
    /// Whether it began to rest after the last sweep.
    var hasRestedLately = false
    /// The change time at the last open: while it stays, the kernel's pages are right.
    var seenAtOpen: Timestamp?
  }

  let state = Mutex(State())
  /// Whether the file carries an append-only flag; asked at every write through a handle.
  let isAppendOnly = Atomic<Bool>(false)
  /// The error that closes the bytes since the record was read last, also to handles from before; 0 for none.
  let contentObstacle = Atomic<CInt>(0)
  /// Whether somebody could map the backing file for writing: then nobody remembers the attributes any more.
  ///
  /// A mapping outlives the handle it was made with, and nobody tells when it ends.
  let isWrittenUnseen = Atomic<Bool>(false)
  /// Whether set-id bits or a capability may be there to be stripped at the next unprivileged write.
  let mayHavePrivilege = Atomic<Bool>(true)
  /// The ``FileOwner`` when the file was opened last, or was given another owner.
  let owner = Atomic<UInt64>(0)
  /// Looked at by the directory cache's clock.
  let wasUsed = Atomic<Bool>(false)
}

/// Facts with the moment they were read.
struct RememberedFacts: Sendable {
  let facts: Facts
  let readAt: UInt64
}
