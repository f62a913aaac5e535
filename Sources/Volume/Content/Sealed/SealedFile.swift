// The content of one encrypted file, as long as the volume has its key. What may be written where is decided by the
// engine (`SealedFormat`); here are bytes, keys and turns.
//
// The order of locks: `commits`, then `turn`, both held across system calls, then `state`, never across one.
// Readers take no turn: they look up where a block lies, read it, and if its tag fails they look again.
//
// For files that are encrypted: beside gocryptfs, which does the same over FUSE, each row has a target (docs/performance.md,
// "Encrypted files").

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

/// One encrypted file.
final class SealedFile<Store: SealedStore>: Sendable {
  let store: Store
  let surroundings: any SealedSurroundings
  let state: Mutex<SealedState>
  /// Those who change the file take turns.
  let turn = Mutex(())
  /// One commit at a time; held while the disk works.
  let commits = Mutex(())

  /// Opens the file: EIO where it is damaged, ENOKEY where its class is locked.
  ///
  /// `left`: what was remembered of it when it was let go of.
  init(
    _ store: Store, in surroundings: any SealedSurroundings, budget: IndexBudget, left: LeftState? = nil
  ) throws(Errno) {
    self.store = store
    self.surroundings = surroundings
    state = Mutex(SealedState(index: IndexCache(budget)))
    try load()
    if let left { state.withLock { $0.left = left } }
  }

  /// The size as programs see it.
  var size: UInt64 { state.withLock { $0.fileSize } }

  /// The class that the header names; nil for a file without one.
  var foundClass: StaticSector.ProtectionClass? { state.withLock { $0.identity?.sector.protectionClass } }

  /// Whether it was changed since it was opened: then its last slot, and some room, may be owed.
  var isChanged: Bool { state.withLock { $0.commit != nil && $0.pages > 0 } }

  /// Whether what is in memory of it must stay there: the file itself does not say yet what was written last, or a sync
  /// failed.
  var mustStay: Bool {
    state.withLock { state in
      guard let commit = state.commit, state.pages > 0 else {
        return state.isBroken || state.owesAnnouncement
      }
      return state.isBroken || commit.owesAfterFailure || commit.needsSlot
    }
  }

  /// The file itself seems to say that this session writes it, and a crash would show that it does not.
  ///
  /// Nothing is lost by that, but whoever forgot it would write without saying so first.
  var owesAnnouncement: Bool { state.withLock { $0.owesAnnouncement } }

  /// The session that it is changed under, from its first change on.
  var session: UInt64? { state.withLock { $0.commit?.session } }

  /// Whether a crash may have left it as it is, and no change has settled that.
  var isDoubtful: Bool { state.withLock { $0.rules.isDoubtful } }

  /// Whether ``close()`` has something to do.
  var owesFinish: Bool {
    state.withLock { state in
      guard let commit = state.commit, state.pages > 0 else { return false }
      return state.owesPunch || commit.floor != .none || commit.needsSlot || state.wastesRoom
    }
  }

  /// Reads the header, if there is one: a file without bytes has none.
  func load() throws(Errno) {
    let size = try store.size()
    guard size > 0 else { return state.withLock { $0.becomeEmpty() } }
    var page = [UInt8](repeating: 0, count: Page.size)
    var bytes = page.mutableSpan
    guard try store.read(into: &bytes, at: 0) == Page.size else { throw damaged(.header) }
    let identity = try identity(in: page)
    var cipher = try cipher(identity.keys)
    let first = try cipher.slot(in: page.span, .first)
    let second = try cipher.slot(in: page.span, .second)
    let view: FileView
    do {
      view = try FileView(first, second) { surroundings.hasEnded($0) }
    } catch {
      throw damaged(.slots)
    }
    // What was added since is in the slot that was read.
    let mayBeWritten = surroundings.mayBeWrittenElsewhere
    let present = mayBeWritten ? try store.size() : size
    let loaded = mayBeWritten ? SealedFile.sectorsOfFile(page.span) : nil
    state.withLock { state in
      state.becomeEmpty()
      state.identity = identity
      state.view = view
      state.loaded = loaded
      state.pages = present / UInt64(Page.size)
      state.index.learn(0, page, readAt: state.index.changes)
    }
  }

  /// What page 0 says of the file itself: its keys and its size.
  private static func sectorsOfFile(_ page: Span<UInt8>) -> [UInt8] {
    Half.allCases.flatMap { half in
      let (keys, slot) = (StaticSector.offset(half), Slot.offset(half))
      return page.extracting(keys..<keys + StaticSector.size).copied()
        + page.extracting(slot..<slot + Slot.size).copied()
    }
  }

  /// Whether the file was not cut, and got no further slot, since it was loaded; asked where another mount may write to it.
  ///
  /// Then a block that has never been written is a hole. Entries come before the slot that says how long the file is by them.
  func isAsLoaded() throws(Errno) -> Bool {
    guard let loaded = state.withLock({ $0.loaded }) else { return true }
    var page = [UInt8](repeating: 0, count: Page.size)
    var bytes = page.mutableSpan
    guard try store.read(into: &bytes, at: 0) == Page.size else { return false }
    return SealedFile.sectorsOfFile(page.span) == loaded
  }

  /// The static sector, or its copy where the first one does not open.
  private func identity(in page: [UInt8]) throws(Errno) -> SealedState.Identity {
    var refusal: Errno?
    var unknown: FormatDamage.Feature?
    for half in Half.allCases {
      let start = StaticSector.offset(half)
      let bytes = page.span.extracting(start..<start + StaticSector.size)
      let sector: StaticSector
      do throws(FormatDamage) { sector = try StaticSector(decoding: bytes) } catch {
        if case .unknown(let feature) = error { unknown = unknown ?? feature }
        continue
      }
      do throws(Errno) {
        let keys = try surroundings.keys(from: bytes)
        if half == .second { surroundings.report(.usedCopy) }
        return SealedState.Identity(sector: sector, half: half, keys: keys)
      } catch {
        // A flipped bit may make it a sector of another volume, or of a class that is locked.
        refusal = refusal ?? error
      }
    }
    guard let refusal else { throw damaged(unknown.map { .unknownHeader($0) } ?? .header) }
    throw refusal == .inputOutput ? damaged(.header) : refusal
  }

  func cipher(_ keys: FileKeys) throws(Errno) -> FileCipher { try FileCipher(keys, surroundings.contexts) }

  func damaged(_ part: SealedEvent.Part) -> Errno {
    surroundings.report(.damaged(part))
    return .inputOutput
  }

  /// A block that does not verify; that is no damage if it was looked at with the key of a file that is gone.
  func damaged(_ block: Block, _ file: Bytes16) -> Errno {
    isOutdated(file) ? .inputOutput : damaged(.block(block.number))
  }

  /// Runs a change; what it answers nil for waits for the commit under way and is tried again.
  func changing<R: Sendable>(
    _ body: (inout FileCipher) throws(Errno) -> R?
  ) throws(Errno) -> R {
    while true {
      let done = try turn.withLock { (_) throws(Errno) -> R? in
        var cipher = try prepareToChange()
        clearFloorBeforeChange()
        return try body(&cipher)
      }
      if let done { return done }
      try commits.withLock { (_) throws(Errno) in
        guard state.withLock({ $0.commit?.frozen != nil }) else { return }
        // None is under way now, so this one never ends.
        try turn.withLock { (_) throws(Errno) in
          guard state.withLock({ $0.commit?.frozen != nil }) else { return }
          state.withLock { $0.isBroken = true }
          throw .inputOutput
        }
      }
    }
  }
}
