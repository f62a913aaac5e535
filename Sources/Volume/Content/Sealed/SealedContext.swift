// What the content of one encrypted file asks of the volume.

import Ciphers
import Decisions
import LinuxFiles
import SealedFormat
import Synchronization

/// What an encrypted file needs of its volume: keys, sessions, its class, and the log.
final class SealedContext: SealedSurroundings {
  let keeper: SealedKeeper
  let inode: UInt64
  /// Whether it was found in a lower: what our log says is not about who wrote it there.
  private let isOfLower: Bool
  private let number: Atomic<UInt8>
  private let marked: Atomic<Bool>

  init(
    _ keeper: SealedKeeper, inode: UInt64, _ protection: ProtectionClass, isMarked: Bool,
    isOfLower: Bool = false
  ) {
    self.keeper = keeper
    self.inode = inode
    self.isOfLower = isOfLower
    marked = Atomic(isMarked)
    number = Atomic(protection.rawValue)
  }

  /// Whether its record says that it is encrypted: where not, a copy has lost that.
  var isMarked: Bool {
    get { marked.load(ordering: .acquiring) }
    set { marked.store(newValue, ordering: .releasing) }
  }

  /// The class; a file without bytes gets a key of it with the first.
  var protection: ProtectionClass {
    get { ProtectionClass(rawValue: number.load(ordering: .acquiring)) ?? .complete }
    set { number.store(newValue.rawValue, ordering: .releasing) }
  }

  /// The same in the words of the format.
  var format: StaticSector.ProtectionClass { protection.format }

  var contexts: AeadPool { keeper.keyring.contexts }

  func session() throws(Errno) -> UInt64 {
    do throws(KeyFailure) { return try keeper.keyring.sessions.begin() } catch { throw error.number }
  }

  /// Of what this mount forgot before the file could say it, it knows no more than the next mount.
  func hasEnded(_ session: UInt64) -> Bool {
    if isOfLower { return false }
    return keeper.hasForgotten(inode)
      ? keeper.keyring.sessions.hasEndedForOthers(session) : keeper.keyring.sessions.hasEnded(session)
  }

  var mayBeWrittenElsewhere: Bool {
    !isOfLower && keeper.live.forbidsChanges
      && keeper.keyring.directory.mayHaveWriter(lackingLock: keeper.live.lacksLock)
  }

  var isWrittenElsewhere: Bool { keeper.keyring.directory.hasWriter }

  /// Something that was written is in nobody's memory any more, and not on the disk for sure.
  func noteForgotten() {
    keeper.noteUnfinished()
    keeper.noteForgotten(inode)
  }

  func isPending(_ session: UInt64) -> Bool { keeper.keyring.sessions.isPending(session) }

  func newKeys() throws(Errno) -> (StaticSector, FileKeys) {
    let keys: FileKeys
    do throws(KeyFailure) { keys = try keeper.keyring.makeKeys() } catch { throw error.number }
    return (try sector(for: keys, protection), keys)
  }

  /// What tells the keys of a file to those who have the key of a class.
  func sector(for keys: FileKeys, _ protection: ProtectionClass) throws(Errno) -> StaticSector {
    do throws(KeyFailure) {
      return try keeper.keyring.header(for: keys, protection.format)
    } catch {
      throw error.number
    }
  }

  func keys(from sector: Span<UInt8>) throws(Errno) -> FileKeys {
    do throws(KeyFailure) {
      return try keeper.keyring.keys(from: sector)
    } catch {
      throw error.number
    }
  }

  func report(_ event: SealedEvent) {
    // What another mount is just writing is no damage.
    if mayBeWrittenElsewhere, isWrittenElsewhere { return }
    guard keeper.count(event, in: inode) else { return }
    switch event {
    case .damaged(.header): Log.damage("inode \(inode): the header of the encrypted content cannot be read")
    case .damaged(.unknownHeader(let what)):
      Log.damage("inode \(inode): encrypted in a form that this version does not know: \(what)")
    case .damaged(.slots):
      Log.damage("inode \(inode): what the encrypted content says of its size is damaged")
    case .damaged(.block(let block)): Log.damage("inode \(inode): block \(block) of 4096 bytes is damaged")
    case .usedCopy: Log.damage("inode \(inode): the first header is damaged; its copy was used")
    case .lost(let block):
      Log.notice("inode \(inode): a crash took what was written to block \(block) and never synced")
    case .recovering(let pages) where pages > 25_000:
      Log.notice("inode \(inode): \(pages) pages are being looked through after a crash")
    case .recovering: break
    }
  }
}
