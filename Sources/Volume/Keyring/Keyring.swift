// The keys of a mounted volume: which keyfile opens it, which classes are open, and the keys of those that are.
//
// A mount starts without any. A volume without a keybag never asks for one, and never loads libcrypto.
//
// For users whose disk may be stolen, and who lock what they do not use: what is locked, when, and what is left in memory then
// is in SEMANTICS 15.

package import Ciphers
import Decisions
import LinuxFiles
package import SealedFormat
import Synchronization

/// The keys of one mounted volume.
package final class Keyring: Sendable {
  /// What of an unlock is worth telling.
  package struct Unlocking: Equatable, Sendable {
    /// A damaged or missing file of the keybag was made anew from the other one, or from an exported keybag.
    package var healed = false
    /// Why that could not be done; the volume is open all the same.
    package var healingFailure: KeyFailure?
    /// No session counts as ended: every file is in doubt, as after a crash.
    package var lostSessions = false
    /// The exported keybag is older than the volume's own.
    package var isOlderKeybag = false
    /// The volume's own keybag has no slot of the keyfile that the exported one has: it was removed since, unless that one is
    /// the newer.
    package var ownLacksKeyslot = false

    fileprivate mutating func compare(_ exported: Keybag, with own: Keybag, for keyfile: Bytes16) {
      isOlderKeybag = exported.generation < own.generation
      ownLacksKeyslot = exported.hasSlot(of: keyfile) && !own.hasSlot(of: keyfile)
    }
  }

  let directory: VolumeDirectory
  /// What the volume shows below its upper directory.
  let lowers: [SharedDescriptor]
  private let heads: SealedHeads
  /// The contexts that everything of this volume is encrypted with, freed at every lock.
  package let contexts = AeadPool()
  package let sessions: Sessions
  // One unlock, lock or change of slots at a time. Held across calls of the file system below, so never taken on the way
  // of a request. Taken before `keys`.
  let turns = Mutex(())
  // Never held across a system call.
  let keys = Mutex(ClassKeys())
  private let states = Atomic<UInt32>(0)
  private let locks = Atomic<UInt64>(0)
  private let lettingGo = Atomic(0)

  init(
    of directory: VolumeDirectory, over lowers: [SharedDescriptor] = [], heads: SealedHeads = SealedHeads()
  ) {
    self.directory = directory
    self.lowers = lowers
    self.heads = heads
    sessions = Sessions(of: directory)
  }

  package func state(of protection: StaticSector.ProtectionClass) -> ClassState {
    ClassStates(rawValue: states.load(ordering: .sequentiallyConsistent))[protection]
  }

  /// How many locks there were: who reads compares before and after, and then knows that nothing was locked between.
  package var epoch: UInt64 { locks.load(ordering: .acquiring) }

  /// The volume that files of this keybag name; nil while nobody has looked for a keybag, or there is none.
  ///
  /// Not authenticated before the first unlock.
  package var volume: Bytes16? { keys.withLock { $0.volume } }

  /// Looks whether there is a keybag.
  ///
  /// Where none can be used, the log of sessions names the volume, so that its files are known for what they are, and an
  /// export can take its place. Without such a log it is an error: the volume must not be taken for one without
  /// encrypted files.
  @discardableResult
  package func lookForKeybag() throws(KeyFailure) -> Bytes16? {
    if let volume { return volume }
    guard let files = directory.descriptor else { return nil }
    let pair = try KeybagPair(in: files)
    guard let found = pair.likely?.volume else {
      if pair.isMissing { return nil }
      guard let own = pair.own else { throw .keybagsDamaged }
      Log.error(
        "both files of the keybag are damaged, or of another volume: encrypted files stay locked until 'varve unlock --keybag' brings back an "
          + "export, or a copy of .varve/keybag is put back")
      return learn(volume: own)
    }
    // Another unlock may have come meanwhile, and counts.
    return learn(volume: volume ?? found)
  }

  /// Opens all classes.
  ///
  /// `exported`: a keybag to use instead of the volume's, which becomes the volume's if that has none, or none that opens.
  /// Changes nothing on failure.
  package func unlock(
    with secret: consuming HandedSecret, exported: [UInt8]? = nil
  ) throws(KeyFailure) -> Unlocking {
    let secret = secret
    return try turns.withLock { _ throws(KeyFailure) in
      guard let files = directory.descriptor else { throw .noKeybag }
      guard !isDraining, lettingGo.load(ordering: .acquiring) == 0 else { throw .busy }
      var aead = try Keyring.ownContext()
      let pair = try KeybagPair(in: files)
      var outcome = Unlocking()
      if let exported {
        let opened = try OpenKeybag.open(exported, with: secret, &aead)
        // One of another volume would become this one's, and then the right one would be refused.
        guard pair.canBe(of: opened.keybag.volume) else { throw .foreignKeybag }
        if let own = pair.newest(of: opened.keybag.volume) {
          outcome.compare(opened.keybag, with: own, for: Bytes16(secret.keyfile))
        }
        try take(opened, &outcome)
        if directory.isLocked, pair.isBeyondUse(with: secret, &aead) {
          adopt(exported, opened.keybag.volume, pair, in: files, &outcome)
        }
      } else {
        // Without one, is there nothing to open, or was it lost?
        if pair.isMissing { try SessionLogFile(directory).requireUnused() }
        var place = KeybagPair.Place.first
        let opened = try pair.open(with: secret, &aead, from: &place)
        try take(opened, &outcome)
        if directory.isLocked { heal(pair, place, opened, in: files, &outcome) }
      }
      return outcome
    }
  }

  /// A context that is freed with the key in it, and not kept for others: it would open the keybag.
  static func ownContext() throws(KeyFailure) -> Aead {
    try ciphering { () throws(CipherFailure) in try AeadPool().borrow() }
  }

  /// Whether a lock is under way.
  var isDraining: Bool {
    StaticSector.ProtectionClass.allCases.contains { state(of: $0) == .draining }
  }

  /// Derives what stays, and opens the classes.
  private func take(_ opened: borrowing OpenKeybag, _ outcome: inout Unlocking) throws(KeyFailure) {
    let volume = opened.keybag.volume
    // Files that are open were made under the other.
    guard keys.withLock({ $0.publicKey == nil || $0.volume == volume }) else { throw .foreignKeybag }
    var fresh = try ciphering { () throws(CipherFailure) in try ClassKeys(opened) }
    let sessionKey = try ciphering { () throws(CipherFailure) in try opened.sessionKey() }
    outcome.lostSessions = try sessions.use(sessionKey, of: volume)
    // What was there before is wiped with this.
    keys.withLock { swap(&$0, &fresh) }
    learn(volume: volume)
    setStates(of: .all, to: .open)
  }

  /// From now on files of this volume are known for what they are.
  @discardableResult
  func learn(volume: Bytes16) -> Bytes16 {
    keys.withLock { $0.volume = volume }
    heads.volume = volume
    states.bitwiseOr(ClassStates.withKeybag, ordering: .acquiringAndReleasing)
    return volume
  }

  /// Whether files can be encrypted, or are.
  package var hasKeybag: Bool { ClassStates(rawValue: states.load(ordering: .acquiring)).hasKeybag }

  /// Which files can be opened and made now.
  var keysAtHand: KeysAtHand {
    let now = ClassStates(rawValue: states.load(ordering: .acquiring))
    guard now != ClassStates() else { return KeysAtHand() }
    return now.keysAtHand
  }

  private func heal(
    _ pair: KeybagPair, _ place: KeybagPair.Place, _ opened: borrowing OpenKeybag,
    in files: SharedDescriptor, _ outcome: inout Unlocking
  ) {
    do throws(KeyFailure) {
      outcome.healed = try pair.heal(from: place, opened, in: files)
    } catch {
      outcome.healingFailure = error
    }
  }

  private func adopt(
    _ exported: [UInt8], _ volume: Bytes16, _ pair: KeybagPair, in files: SharedDescriptor,
    _ outcome: inout Unlocking
  ) {
    do throws(KeyFailure) {
      try calling { () throws(Errno) in try directory.announceProtectedContent() }
      try pair.write(exported, of: volume, in: files)
      outcome.healed = true
    } catch {
      outcome.healingFailure = error
    }
  }

  /// Begins to lock: from now on no key is given out for these classes; answers which were open.
  ///
  /// Files that are open keep their keys, to bring to the disk what was written.
  package func beginLocking(_ classes: ClassSet) -> ClassSet {
    turns.withLock { _ in
      var begun: ClassSet = []
      for protection in StaticSector.ProtectionClass.allCases
      where classes.contains(ClassSet(protection)) && state(of: protection) == .open {
        begun.insert(ClassSet(protection))
      }
      setStates(of: begun, to: .draining)
      return begun
    }
  }

  /// Wipes the keys of classes that are being locked, and frees all contexts.
  ///
  /// The keys of files are their holders': each lets go of its own before this. What makes new files of class
  /// `completeUnlessOpen`, and tells sessions, stays until the mount ends.
  package func finishLocking(_ classes: ClassSet) {
    turns.withLock { _ in
      keys.withLock { $0.wipe(classes) }
      setStates(of: classes, to: .locked)
      locks.add(1, ordering: .releasing)
      contexts.drain()
    }
  }

  /// Files of classes that are closed are let go of: until that has ended nothing is unlocked.
  ///
  /// Begun before the classes are closed.
  func beginLettingGo() { lettingGo.add(1, ordering: .acquiringAndReleasing) }
  func endLettingGo() { lettingGo.subtract(1, ordering: .acquiringAndReleasing) }

  /// Called with the turn taken, so nobody else writes.
  private func setStates(of classes: ClassSet, to state: ClassState) {
    var next = ClassStates(rawValue: states.load(ordering: .relaxed))
    for protection in StaticSector.ProtectionClass.allCases
    where classes.contains(ClassSet(protection)) {
      next[protection] = state
    }
    next.canMakeUnlessOpen = next.canMakeUnlessOpen || state == .open
    states.store(next.rawValue, ordering: .sequentiallyConsistent)
  }
}
