// The content of encrypted files of a volume that nobody has mounted: verified and mended from below.

package import Ciphers
import Decisions
package import LinuxFiles
package import SealedFormat
import Synchronization

/// The encrypted files of an unmounted volume.
package final class OfflineContent {
  private let directory: VolumeDirectory
  private let keyring: Keyring
  private let budget = IndexBudget(pages: 2048)

  /// Writes only where the inspection is for a repair.
  package init(_ inspection: VolumeInspection, root: SharedDescriptor) throws(VolumeFailure) {
    directory = try inspection.volumeDirectory(of: root)
    keyring = Keyring(of: directory)
  }

  /// What can be told of the two files of the keybag without a keyfile.
  package enum KeybagState: Sendable {
    /// There never was one, as far as is known.
    case none
    case whole
    case differing
    /// Both are gone, and the log of sessions tells that there was one.
    case lost
    /// Both are damaged, or of another volume than the log of sessions names.
    case unusable
  }

  /// Looks for the keybag, and for the volume that encrypted files name.
  package func lookForKeybag() throws(KeyFailure) -> (state: KeybagState, volume: Bytes16?) {
    guard let files = directory.descriptor else { return (.none, nil) }
    let pair = try KeybagPair(in: files)
    if let volume = pair.likely?.volume {
      keyring.learn(volume: volume)
      return (pair.areAlike ? .whole : .differing, volume)
    }
    guard let volume = pair.own else {
      if pair.isMissing { return (.none, nil) }
      throw .keybagsDamaged
    }
    return (pair.isMissing ? .lost : .unusable, volume)
  }

  /// Whether there is a keybag and no session log: then no session ended, as far as is known.
  ///
  /// Only a key tells whether a log is genuine.
  package func lacksSessionLog() throws(KeyFailure) -> Bool {
    guard let files = directory.descriptor, try !KeybagPair(in: files).isMissing else { return false }
    return try SessionLogFile.isMissing(in: files)
  }

  /// Opens all classes; in a repair the keybag is healed by that, as by any unlock.
  package func unlock(with secret: consuming HandedSecret) throws(KeyFailure) -> Keyring.Unlocking {
    try keyring.unlock(with: secret)
  }

  /// Everything that is wrong with the content of a file.
  ///
  /// `isDoubted`: whatever its slot says, a crash may have left it as it is.
  package func verify(
    _ way: SharedDescriptor, isDoubted: Bool, until isInterrupted: () -> Bool
  ) throws(Errno) -> ContentFindings {
    var findings = ContentFindings()
    let (store, surroundings) = (BackingStore(way), OfflineSurroundings(keyring, isDoubted: isDoubted))
    findings.header = try SealedFile.headerFindings(of: store, in: surroundings)
    guard findings.header.isDisjoint(with: [.header, .unknownForm, .slots, .slot]) else { return findings }
    let file = try SealedFile(store, in: surroundings, budget: budget)
    if try file.verifyContent(into: &findings, until: isInterrupted) != nil { throw .interrupted }
    return findings
  }

  /// Makes both headers alike, and settles what a crash left; what a write moves or takes away is given back.
  ///
  /// What is damaged stays so.
  package func mend(_ way: SharedDescriptor, isDoubted: Bool) throws(Errno) {
    guard directory.isLocked else { throw .readOnly }
    let before = try BackingState(of: way.descriptor)
    if let obstacle = before.obstacle { throw obstacle }
    let file = try SealedFile(
      BackingStore(way), in: OfflineSurroundings(keyring, isDoubted: isDoubted), budget: budget)
    do throws(Errno) {
      try file.mend()
    } catch {
      try before.giveBack(to: way.descriptor)
      throw error
    }
    try before.giveBack(to: way.descriptor)
  }

  /// After a repair: its own session ends; `isWhole`: no file is in doubt any more, so that no session is.
  package func finish(isWhole: Bool) throws(KeyFailure) {
    guard directory.isLocked else { return }
    guard isWhole || keyring.sessions.current != nil else { return }
    if let files = directory.descriptor {
      do throws(Errno) { try files.descriptor.syncFileSystem() } catch { throw .system(error) }
    }
    try isWhole ? keyring.sessions.endAll() : keyring.sessions.end()
  }
}

extension SealedFile {
  /// What a repair does to a file that opens.
  fileprivate func mend() throws(Errno) {
    if state.withLock({ $0.rules.isDoubtful }) {
      try changing { (_) throws(Errno) in () }
      _ = try close()
    }
    try turn.withLock { (_) throws(Errno) in try healHeader() }
    try store.synchronize(dataOnly: true)
  }
}

/// What a file asks of a volume that nobody has mounted.
private struct OfflineSurroundings: SealedSurroundings {
  let keyring: Keyring
  let isDoubted: Bool

  init(_ keyring: Keyring, isDoubted: Bool) { (self.keyring, self.isDoubted) = (keyring, isDoubted) }

  var contexts: AeadPool { keyring.contexts }

  func session() throws(Errno) -> UInt64 {
    do throws(KeyFailure) { return try keyring.sessions.begin() } catch { throw error.number }
  }

  func hasEnded(_ session: UInt64) -> Bool {
    keyring.sessions.current == session || (!isDoubted && keyring.sessions.hasEnded(session))
  }

  /// Nothing is made here.
  func newKeys() throws(Errno) -> (StaticSector, FileKeys) { throw .noKey }

  func keys(from sector: Span<UInt8>) throws(Errno) -> FileKeys {
    do throws(KeyFailure) { return try keyring.keys(from: sector) } catch { throw error.number }
  }

  /// What was found is what is answered.
  func report(_ event: SealedEvent) {}
}
