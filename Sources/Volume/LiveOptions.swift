// The options that can change while the volume is mounted, and how a change takes effect: all at once, between two
// requests.

package import Decisions
package import LinuxFiles
import Synchronization

/// The options in force at one moment.
package struct LiveSettings: Hashable, Sendable {
  package var rules = VolumeRules()
  package var cache = CacheUse.shared
  package var groups = GroupSource.process
  package var chattr = ChattrDomain.system
  package var debug = false

  package init() {}

  package var isReadOnly: Bool { rules.isReadOnly }
}

/// Holds the settings in one word, so that every request gets all of one moment by one load.
final class LiveOptions: Sendable {
  // Written with every stripe held exclusively, so whoever holds one sees the same word until he lets go of it.
  private let word: Atomic<UInt64>

  init(_ settings: LiveSettings) {
    word = Atomic(settings.word)
  }

  var current: LiveSettings { LiveSettings(word: word.load(ordering: .acquiring)) }

  func set(_ settings: LiveSettings) {
    word.store(settings.word, ordering: .releasing)
  }
}

extension LiveSettings {
  /// Whether the kernel may remember names for longer than by `other` settings.
  ///
  /// Which names it may remember is the same by all rules (`PublicAnswers`); for how long is the one thing that
  /// an option decides about.
  fileprivate func remembersLonger(than other: LiveSettings) -> Bool {
    switch cache {
    case .exclusive: other.cache != .exclusive
    case .shared: other.cache == .none
    case .none: false
    }
  }

  /// All settings in 64 bits; the group takes the lower half.
  var word: UInt64 {
    var bits = UInt64(rules.adminGroup ?? 0)
    func set(_ isOn: Bool, _ place: UInt64) { if isOn { bits |= 1 << place } }
    set(rules.adminGroup != nil, 32)
    set(rules.isReadOnly, 33)
    set(rules.forbidsExecution, 34)
    set(rules.ignoresOwnership, 35)
    set(rules.usesLists, 36)
    set(rules.handsOverOwnership, 37)
    set(groups == .nss, 38)
    set(chattr == .user, 39)
    set(debug, 40)
    set(cache == .exclusive, 41)
    set(cache == .none, 42)
    // From -1 to 3.
    bits |= UInt64(min(max(rules.secureLevel, -1), 3) + 1) << 43
    return bits
  }

  init(word: UInt64) {
    func isSet(_ place: UInt64) -> Bool { word >> place & 1 == 1 }
    rules.adminGroup = isSet(32) ? UInt32(truncatingIfNeeded: word) : nil
    rules.isReadOnly = isSet(33)
    rules.forbidsExecution = isSet(34)
    rules.ignoresOwnership = isSet(35)
    rules.usesLists = isSet(36)
    rules.handsOverOwnership = isSet(37)
    groups = isSet(38) ? .nss : .process
    chattr = isSet(39) ? .user : .system
    debug = isSet(40)
    cache = isSet(41) ? .exclusive : isSet(42) ? .none : .shared
    rules.secureLevel = Int(word >> 43 & 7) - 1
  }
}

/// Why options were not changed.
package enum ChangeRefusal: Error, Sendable {
  /// Files are open for writing, and a volume with such files does not become read-only.
  case openForWriting(files: Int)
  case volume(VolumeFailure)
  case system(Errno)
}

extension Volume {
  /// Puts other options in force.
  ///
  /// When this returns, no request is at work that was decided by the former ones, and nothing the kernel
  /// remembers from then lets anybody through who is refused now. Files that are open stay open, with what they were
  /// opened for.
  package func change(to wanted: LiveSettings) throws(ChangeRefusal) {
    if let failure = changing.withLock({ _ in changed(to: wanted) }) { throw failure }
  }

  private func changed(to wanted: LiveSettings) -> ChangeRefusal? {
    let present = live.current
    let hadLock = directory.isLocked
    if present.isReadOnly, !wanted.isReadOnly, let failure = becomeWritable() { return failure }
    do throws(Errno) {
      let writers = try put(wanted, over: present, hadLock: hadLock)
      guard writers == 0 else { return .openForWriting(files: writers) }
    } catch {
      return .system(error)
    }
    // Not with the locks held: the kernel may be about to drop a node, and to write its pages back first. That is
    // a request, and whoever tells the kernel about the node waits for it.
    for node in [Volume.rootNode] + nodes.identifiers { link?.expireAttributes(node) }
    return nil
  }

  /// Changes the word with nobody else at work; answers how many files stand in the way.
  private func put(
    _ wanted: LiveSettings, over present: LiveSettings, hadLock: Bool
  ) throws(Errno) -> Int {
    let closes = wanted.isReadOnly && !present.isReadOnly
    // The kernel tells us of a close when it has returned already: an open file may be on its way out.
    var attempts = 20
    while true {
      let writers = try locks.holdingAll { () throws(Errno) -> Int in
        let writers = closes ? handles.writers : 0
        guard writers == 0 else { return writers }
        // Whoever had the lock until now may have changed anything, and what is remembered need not ever grow old.
        if present.isReadOnly, !wanted.isReadOnly { forgetAllFacts() }
        live.set(wanted)
        // Only where names may be wrong now, or are kept too long: the kernel takes away whatever is mounted
        // on or below a name that is made stale.
        if !hadLock || present.remembersLonger(than: wanted) { link?.expireNames() }
        return 0
      }
      attempts -= 1
      if writers == 0 || attempts == 0 { return writers }
      Clock.pause(milliseconds: 10)
    }
  }

  private func forgetAllFacts() {
    forgetFacts(of: root)
    for identifier in nodes.identifiers {
      if let node = nodes.node(identifier) { forgetFacts(of: node) }
    }
  }

  private func becomeWritable() -> ChangeRefusal? {
    do {
      if let exist = try directory.becomeWritable() {
        store.settleRecords(exist)
        if let workshop = directory.workshop { unnamedFiles.probe(workshop) }
      }
      return nil
    } catch let failure as VolumeFailure {
      return .volume(failure)
    } catch {
      return .system(error as? Errno ?? .inputOutput)
    }
  }
}
