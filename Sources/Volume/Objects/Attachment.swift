// What is kept of an object beside its node. Most objects are looked up, shown and forgotten without it.

import Decisions
import FlagRules
import LinuxFiles
import Synchronization

/// What is kept of an object that is open, is a directory in use, or has lost its name.
final class Attachment: Sendable {
  struct State {
    var directory = DirectoryState()
    var file = FileState()
    var pin = Pin()
  }

  let state = Mutex(State())
  /// What a request asks about a file without a lock.
  let marks = FileMarks()
  /// Looked at by the directory cache's clock.
  let wasUsed = Atomic<Bool>(false)
  /// Set while there is content of an encrypted file: requests for other files take no lock to see that there is none.
  private let isEncrypted = Atomic<Bool>(false)
  private let encryptedContent: Mutex<(any EncryptedContent)?> = Mutex(nil)

  /// The content of an encrypted file, once it was opened.
  var encrypted: (any EncryptedContent)? {
    guard isEncrypted.load(ordering: .acquiring) else { return nil }
    return encryptedContent.withLock { $0 }
  }

  /// The file is stored in another form now.
  func forgetEncrypted() {
    encryptedContent.withLock { kept in
      kept = nil
      isEncrypted.store(false, ordering: .releasing)
    }
  }

  /// The content that is there already, or else `fresh`.
  func encrypted(_ fresh: () -> any EncryptedContent) -> any EncryptedContent {
    encryptedContent.withLock { kept in
      if let kept { return kept }
      let made = fresh()
      kept = made
      isEncrypted.store(true, ordering: .releasing)
      return made
    }
  }

  /// Leads to a file that a process has open.
  var anyHandle: SharedDescriptor? { state.withLock { $0.file.handles.first?.object } }

  var isOpenForWriting: Bool { state.withLock { $0.file.handles.contains { $0.canWrite } } }
}

/// The content of an encrypted file, as far as its object knows it.
protocol EncryptedContent: AnyObject, Sendable {
  /// As it is now; nil while the key is not in memory.
  var head: KnownHead? { get }
  /// Whether nobody uses it, and the file itself says all that is known of it.
  var isAtRest: Bool { get }
}

/// What is kept of a directory.
struct DirectoryState {
  /// Its children are reached by it; owned by ``DirectoryCache``, which may take it away.
  var descriptor: SharedDescriptor?
  /// With lowers, the directories that it is made of; goes with the descriptor.
  var parts: DirectoryParts?
  /// What decides about a search, and until when it is believed.
  var facts: RememberedFacts?
  /// Whether the kernel may keep its names.
  var listing = ListingCache()
  var underWay = ListingsUnderWay()

  /// How many it has open.
  var descriptorCount: Int {
    parts.map { $0.all.count + $0.hidden.count } ?? (descriptor == nil ? 0 : 1)
  }

  mutating func close() {
    descriptor = nil
    parts = nil
  }
}

/// Facts with the moment they were read.
struct RememberedFacts: Sendable {
  let facts: Facts
  let readAt: UInt64
}

/// What is kept of a file.
struct FileState {
  /// Open handles, oldest first; the object can be reached by them when it has no name.
  var handles: [any ObjectHandle] = []
  /// The ways by which the kernel gets at the bytes for them.
  var routes = OpenRoutes()
  /// Leads to a file of a lower that is, or was, open for reading; itself open since the first READ.
  var lowerWay: SharedDescriptor?
  /// Whether ``BackingCache`` has it, resting or in use again.
  var isInBackingCache = false
  /// Whether it began to rest after the last sweep.
  var hasRestedLately = false
  /// How many look whether somebody comes to it (`UnusedFile`).
  var watchers = 0
  /// What is true of it without a name, where the store does not keep that.
  var nameless: NamelessFile?
  /// The change time at the last open: while it stays, the kernel's pages are right.
  var seenAtOpen: Timestamp?
}

extension FileState {
  /// Whether something is kept that nobody uses.
  var isResting: Bool { routes.isResting || lowerWay != nil && handles.isEmpty }

  /// Takes back what nobody uses.
  mutating func endRest() -> RestingBacking? {
    let kept = handles.isEmpty ? lowerWay : nil
    if handles.isEmpty { lowerWay = nil }
    if let resting = routes.endRest() { return resting }
    return kept.map { RestingBacking(id: nil, way: $0) }
  }
}

/// An open handle, as far as its object knows it.
protocol ObjectHandle: AnyObject, Sendable {
  var object: SharedDescriptor? { get }
  var canWrite: Bool { get }
  /// The file was brought up: what is read from now on is read from its copy.
  func follow(_ copy: SharedDescriptor)
}

/// The way to an object without a name while nobody has it open; owned by ``UnlinkedObjects``.
struct Pin {
  var way: SharedDescriptor?
  /// The slot in its queue, from the first pin until the object is forgotten or had to give way.
  var slot: Int?
}

/// What is known of a file, to be asked without a lock.
struct FileMarks: ~Copyable, Sendable {
  /// Whether the file carries an append-only flag; asked at every write through a handle.
  let isAppendOnly = Atomic<Bool>(false)
  /// The error that closes the bytes since the record was read last, also to handles from before; 0 for none.
  let contentObstacle = Atomic<CInt>(0)
  /// Whether a process could map the backing file for writing: then attributes are not remembered any more.
  ///
  /// A mapping outlives the handle it was made with, and nobody tells when it ends.
  let isWrittenUnseen = Atomic<Bool>(false)
  /// Whether set-id bits or a capability may be there to be stripped at the next unprivileged write.
  let mayHavePrivilege = Atomic<Bool>(true)
  /// How often it was opened for writing.
  let writeOpens = Atomic<UInt64>(0)
  /// The ``FileOwner`` when the file was opened last, or was given another owner.
  private let ownerWord = Atomic<UInt64>(0)

  var owner: FileOwner { FileOwner(word: ownerWord.load(ordering: .acquiring)) }

  /// Takes over what is true of the file now.
  func learn(_ facts: Facts) {
    isAppendOnly.store(facts.item.flags.isAppendOnly, ordering: .releasing)
    ownerWord.store(FileOwner(facts.status).word, ordering: .releasing)
    if facts.mayCarryPrivilege { mayHavePrivilege.store(true, ordering: .releasing) }
  }
}

/// Whose a backing file is.
struct FileOwner: Hashable, Sendable {
  let user: UInt32
  let group: UInt32

  init(_ status: FileStatus) {
    (user, group) = (status.user, status.group)
  }

  /// As it is kept in one word, so that it can be read without a lock.
  init(word: UInt64) {
    (user, group) = (UInt32(truncatingIfNeeded: word >> 32), UInt32(truncatingIfNeeded: word))
  }

  var word: UInt64 { UInt64(user) << 32 | UInt64(group) }
}
