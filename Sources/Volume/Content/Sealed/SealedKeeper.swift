// What the encrypted files of one volume share: the keys, the memory for indexes, and what is kept of files that nobody
// has open.

import LinuxFiles
import SealedFormat
import Synchronization

/// The encrypted files of a volume.
final class SealedKeeper: Sendable {
  /// Files whose state stays in memory while nobody has them open: a key and an index page each.
  private static let mostResting = 4096

  /// One rest of a file; it may have been used since, and rest again further on in the ring.
  private struct Rest {
    weak var object: SealedObject?
    let node: NodeID
    let number: UInt64
  }

  /// A ring in which the oldest gives way.
  private struct Resting {
    var ring: [Rest] = []
    var next = 0
  }

  /// Places of damage that are remembered, and counted: a disk that fails has more.
  private static let mostDamaged = 4096

  /// A part of a file that cannot be read.
  fileprivate struct Damage: Hashable {
    let inode: UInt64
    let part: SealedEvent.Part
  }

  /// What was met, for `status`.
  struct Counts: Sendable {
    var doubtfulFiles: UInt64 = 0
    /// Where: what is read again and again is damaged once.
    fileprivate var damaged: Set<Damage> = []
    var damagedBlocks: Int { damaged.count }
    var lostBlocks: UInt64 = 0
    var recoveredFiles: UInt64 = 0
  }

  let keyring: Keyring
  /// 32 MiB.
  let budget = IndexBudget(pages: 8192)
  private let resting = Mutex(Resting())
  /// By node: only these can have pages with the kernel.
  private let registered: Mutex<[NodeID: RegisteredContent]> = Mutex([:])
  /// Whether one of them was ever let go of.
  private let hasFormer = Atomic<Bool>(false)
  /// Those of which nothing seems to be in memory any more.
  private let idle: Mutex<[NodeID]> = Mutex([])
  private let idleCount = Atomic(0)
  /// Files that the kernel has forgotten while a last close was on its way, or that a failed sync has left owing something.
  ///
  /// Only their state in memory knows what was written last. Taken after `registered`.
  private let owing: Mutex<[ObjectIdentity: SealedObject]> = Mutex([:])
  /// Files whose state was let go of before they could say what was written last: they are in doubt to this mount, too.
  private let forgotten: Mutex<Set<UInt64>> = Mutex([])
  let left = LeftStates()
  private let counts = Mutex(Counts())
  private let unfinished = Atomic<Bool>(false)
  private let used = Atomic<UInt64>(0)
  /// 0: never.
  private let idleSeconds = Atomic<UInt64>(0)
  private let conversions = Mutex<[[UInt8]]>([])
  private let isEnding = Atomic<Bool>(false)
  private let triedToEnd = Atomic<UInt64>(0)

  /// Tells whether the lock for writing is confirmed.
  let live: LiveOptions

  init(_ keyring: Keyring, _ live: LiveOptions) { (self.keyring, self.live) = (keyring, live) }

  /// After how many seconds without use whoever serves the volume locks it; nil: not by itself.
  var lockAfter: UInt64? {
    get {
      let seconds = idleSeconds.load(ordering: .acquiring)
      return seconds == 0 ? nil : seconds
    }
    set { idleSeconds.store(newValue ?? 0, ordering: .releasing) }
  }

  // MARK: Who is open, or was

  func register(_ object: SealedObject, as node: NodeID) {
    registered.withLock { registered in
      registered[node] = .present(object)
      owing.withLock { owing in
        guard !owing.isEmpty else { return }
        for (identity, owed) in owing where owed === object { owing[identity] = nil }
      }
    }
  }

  /// What was kept of a file that was let go of.
  func former(_ node: NodeID) -> FormerContent? {
    guard hasFormer.load(ordering: .acquiring) else { return nil }
    return registered.withLock { registered in
      guard case .former(let former)? = registered[node] else { return nil }
      return former
    }
  }

  /// Lets go of the content of a file; false if it is not registered any more.
  func replace(_ object: SealedObject, as node: NodeID, by former: FormerContent) -> Bool {
    hasFormer.store(true, ordering: .releasing)
    return registered.withLock { registered in
      guard registered[node]?.object === object else { return false }
      registered[node] = .former(former)
      return true
    }
  }

  /// Whether a node may be registered; `hasContent`: whether it has the content of an encrypted file.
  func mayKnow(_ node: Node, hasContent: Bool) -> Bool {
    hasContent || node.kind == .regular && hasFormer.load(ordering: .acquiring)
  }

  /// The kernel has forgotten the node, and with it all pages.
  func unregister(_ node: NodeID, _ identity: ObjectIdentity) {
    let gone: SealedObject? = registered.withLock { registered in
      guard let gone = registered.removeValue(forKey: node)?.object else { return nil }
      if !gone.forgetUnused() || !gone.isSettled { owing.withLock { $0[identity] = gone } }
      return gone
    }
    _ = gone
  }

  /// Whether a file that the kernel has forgotten still owes something.
  var isOwed: Bool { owing.withLock { owing in owing.values.contains { !$0.isSettled } } }

  /// Lets go of those of them that owe nothing any more.
  func dropSettled() {
    let gone: [SealedObject] = owing.withLock { owing in
      guard !owing.isEmpty else { return [] }
      let settled = owing.filter { $0.value.isSettled }
      for identity in settled.keys { owing[identity] = nil }
      return Array(settled.values)
    }
    for object in gone { object.forgetUnused() }
  }

  /// What is kept of a file that was forgotten, until it is registered for its next node.
  func owing(_ identity: ObjectIdentity) -> SealedObject? { owing.withLock { $0[identity] } }

  /// Those of some classes.
  func owing(in classes: ClassSet) -> [SealedObject] {
    owing.withLock { owing in owing.values.filter { classes.contains(ClassSet($0.context.format)) } }
  }

  /// All that are registered, and whether one that is not still owes something; at one moment.
  func allAndOwed() -> (registered: [(node: NodeID, object: SealedObject)], isOwed: Bool) {
    registered.withLock { all in (present(in: all), isOwed) }
  }

  /// Those whose content was not let go of, at about this moment.
  var present: [(node: NodeID, object: SealedObject)] { registered.withLock { all in present(in: all) } }

  private func present(in all: [NodeID: RegisteredContent]) -> [(node: NodeID, object: SealedObject)] {
    // Not filtered: that would make a second table of what may be a million files.
    var found: [(node: NodeID, object: SealedObject)] = []
    for (node, content) in all { if let object = content.object { found.append((node, object)) } }
    return found
  }

  /// Those of some classes, at about this moment.
  func registered(in classes: ClassSet) -> [(node: NodeID, content: RegisteredContent)] {
    registered.withLock { all in
      var found: [(node: NodeID, content: RegisteredContent)] = []
      for (node, content) in all where classes.contains(ClassSet(content.protection)) {
        found.append((node, content))
      }
      return found
    }
  }

  /// Nobody uses the file any more; what it is like is remembered for a while.
  func rest(_ object: SealedObject, as node: NodeID) {
    guard let number = object.beginRest() else { return noteIdle(node, object) }
    let displaced: Rest? = resting.withLock { resting in
      let rest = Rest(object: object, node: node, number: number)
      if resting.ring.count < SealedKeeper.mostResting {
        resting.ring.append(rest)
        return nil
      }
      defer { resting.next = (resting.next + 1) % SealedKeeper.mostResting }
      let former = resting.ring[resting.next]
      resting.ring[resting.next] = rest
      return former
    }
    guard let displaced, let object = displaced.object else { return }
    object.forgetUnused(ofRest: displaced.number)
    noteIdle(displaced.node, object)
  }

  /// Lets go of all that nobody uses: the keys of others need the room.
  func endRest() {
    let all: [Rest] = resting.withLock { resting in
      defer { resting = Resting() }
      return resting.ring
    }
    for entry in all {
      guard let object = entry.object else { continue }
      object.forgetUnused()
      noteIdle(entry.node, object)
    }
  }

  /// Takes note of a file that can be let go of, if nothing of it is in memory.
  func noteIdle(_ node: NodeID, _ object: SealedObject) {
    guard object.present == nil else { return }
    idle.withLock { $0.append(node) }
    idleCount.add(1, ordering: .relaxed)
  }

  /// Files that can be let go of, or could a moment ago; none while they are few.
  func takeIdle(atLeast many: Int) -> [NodeID] {
    guard idleCount.load(ordering: .relaxed) >= many else { return [] }
    return idle.withLock { idle in
      defer { idle = [] }
      idleCount.subtract(idle.count, ordering: .relaxed)
      return idle
    }
  }

  // MARK: Noted

  /// Whether it is news: damage is met at each read.
  func count(_ event: SealedEvent, in inode: UInt64) -> Bool {
    counts.withLock { counts in
      switch event {
      case .damaged(let part):
        guard counts.damaged.count < SealedKeeper.mostDamaged else { return false }
        return counts.damaged.insert(Damage(inode: inode, part: part)).inserted
      case .lost: counts.lostBlocks += 1
      case .recovering: counts.recoveredFiles += 1
      case .usedCopy: break
      }
      return true
    }
  }

  /// Whether a read of the file has failed because it is damaged.
  func hasMetDamage(in inode: UInt64) -> Bool {
    counts.withLock { counts in counts.damaged.contains { $0.inode == inode } }
  }

  /// A file was met that a crash may have left as it is.
  func countDoubtful() { counts.withLock { $0.doubtfulFiles += 1 } }

  var counted: Counts { counts.withLock { $0 } }

  /// Something could not be written: the session that wrote it does not end, so that the file counts as in doubt.
  func noteUnfinished() { unfinished.store(true, ordering: .releasing) }

  var hasUnfinished: Bool { unfinished.load(ordering: .acquiring) }

  func noteForgotten(_ inode: UInt64) { forgotten.withLock { _ = $0.insert(inode) } }
  func hasForgotten(_ inode: UInt64) -> Bool {
    hasUnfinished && forgotten.withLock { $0.contains(inode) }
  }

  // MARK: The end of a session

  /// Whether nobody else is at it.
  func beginEnding() -> Bool { !isEnding.exchange(true, ordering: .acquiringAndReleasing) }
  func finishEnding() { isEnding.store(false, ordering: .releasing) }

  /// Whether it was tried less than a minute ago to end a session that has run for long; if not, it is now.
  func hasTriedToEnd() -> Bool {
    let now = Clock.monotonicNanoseconds
    let last = triedToEnd.load(ordering: .relaxed)
    guard last == 0 || now > last &+ 60_000_000_000 else { return true }
    triedToEnd.store(now, ordering: .relaxed)
    return false
  }

  // MARK: Files that become encrypted, or cease to be

  func beginConversion(of path: [UInt8]) { conversions.withLock { $0.append(path) } }

  func endConversion(of path: [UInt8]) {
    conversions.withLock { conversions in
      if let index = conversions.firstIndex(of: path) { conversions.remove(at: index) }
    }
  }

  /// Their last known paths: keys are in use for that.
  var converting: [[UInt8]] { conversions.withLock { $0 } }

  // MARK: When

  /// Content was asked for.
  func noteUse() { used.store(Clock.monotonicNanoseconds, ordering: .relaxed) }

  /// When content was last asked for.
  var lastUse: UInt64 { used.load(ordering: .relaxed) }
}
