// What comes before the first change of an encrypted file in a mount: the file says whose it is now, or what a crash
// left of it is settled.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Makes the file ready to be changed; under the turn.
  func prepareToChange() throws(Errno) -> FileCipher {
    if state.withLock({ $0.isBroken }) { throw .inputOutput }
    if let keys = state.withLock({ $0.commit == nil ? nil : $0.identity?.keys }) { return try cipher(keys) }
    let session = try surroundings.session()
    guard
      let (view, identity) = state.withLock({ state in
        state.view.flatMap { view in state.identity.map { (view, $0) } }
      })
    else {
      let (sector, keys) = try surroundings.newKeys()
      state.withLock { state in
        state.identity = SealedState.Identity(sector: sector, keys: keys)
        state.commit = CommitState(creatingIn: session)
      }
      return try cipher(keys)
    }
    // Its end was cut off: what is written from now on would make what is missing pass for holes.
    guard !view.isShortened(pages: state.withLock { $0.pages }) else { throw .inputOutput }
    var cipher = try cipher(identity.keys)
    do throws(Errno) {
      let (left, pages) = state.withLock { ($0.left, $0.pages) }
      let known = left.flatMap { left in
        left.fits(view, of: identity.keys.file, in: session, pages: pages) ? left.commit : nil
      }
      // What this session changed and let go of had its last slot written: else it would not have been let go.
      switch view.firstChange(by: session, remembering: known == nil ? .dropped : .commitState) {
      case .nothing: try goOn(known, view, session, &cipher)
      case .announce: try announce(view, session, &cipher)
      case .resume: try resume(view)
      case .recover: try recover(view, session, &cipher)
      }
    } catch {
      state.withLock { $0.commit = nil }
      throw error
    }
    return cipher
  }

  private func announce(_ view: FileView, _ session: UInt64, _ cipher: inout FileCipher) throws(Errno) {
    if surroundings.isPending(view.slot.session) {
      // The slot is about to say that all of it is on the disk.
      try breaking { () throws(Errno) in try store.synchronize(dataOnly: true) }
    }
    begin(CommitState(announcing: view, session: session))
    try writeSlot(&cipher)
    // If the sync fails, the page cache shows a slot that the disk does not have: it is written again before any change.
    state.withLock { $0.owesAnnouncement = true }
    try commitAtOnce()
    state.withLock { $0.owesAnnouncement = false }
    try learnFreePages(&cipher)
  }

  /// Nothing has happened to the file since this mount changed it.
  private func goOn(
    _ known: CommitState?, _ view: FileView, _ session: UInt64, _ cipher: inout FileCipher
  ) throws(Errno) {
    guard let known else { return try announce(view, session, &cipher) }
    begin(known)
    state.withLock { $0.left = nil }
    try learnFreePages(&cipher)
  }

  private func resume(_ view: FileView) throws(Errno) {
    begin(CommitState(resuming: view))
    // What an earlier change left in the page cache may be lost with a sync that fails.
    try breaking { () throws(Errno) in try commitAtOnce() }
    guard var cipher = try currentCipher() else { return }
    try learnFreePages(&cipher)
  }

  private func begin(_ commit: CommitState) {
    state.withLock { state in
      state.commit = commit
      state.commit?.pages = state.pages
      state.free = FreePages(end: state.pages)
    }
  }

  /// Under the turn, and before anybody else can have begun a commit.
  private func commitAtOnce() throws(Errno) {
    try beginCommit()
    try store.synchronize(dataOnly: true)
    synced()
  }

  /// Reads the index of a small file, and of one that has many pages too many; else what is behind the end will do, so
  /// that no first write waits for the index of a large file.
  private func learnFreePages(_ cipher: inout FileCipher) throws(Errno) {
    let (pages, size) = state.withLock { ($0.pages, $0.fileSize) }
    let needed = Block.count(size) / 48 * 49 + 49
    guard pages / 49 <= SealedLimits.indexPagesAtFirstChange || pages > needed + needed / 4,
      let commit = state.withLock({ $0.commit })
    else { return }
    var used: [Page] = []
    try forEachIndexed { (block) throws(Errno) in
      let pair = try pair(of: block, &cipher)
      for half in [pair.newest, pair.committed(commit.committed)] {
        if let half, let page = pair[half].page { used.append(page) }
      }
    }
    state.withLock { state in
      state.free = FreePages(end: state.pages, used: used)
      state.free.forEachRun { _ in state.hasFreed = true }
    }
  }

  /// Runs a sync that cannot be tried again in this mount: the page cache would show what the disk does not have.
  private func breaking<R>(_ work: () throws(Errno) -> R) throws(Errno) -> R {
    do throws(Errno) { return try work() } catch {
      state.withLock { $0.isBroken = true }
      throw error
    }
  }

  // MARK: Recovery

  /// Settles what a crash left of a file, before it is changed.
  ///
  /// What stays may so far be in the page cache only; so it is synced before anything is cleared. Then come the settled
  /// entries, both static sectors, the last block with zeros behind the size, and the slot; all of that is synced, and
  /// committed.
  private func recover(_ view: FileView, _ session: UInt64, _ cipher: inout FileCipher) throws(Errno) {
    surroundings.report(.recovering(pages: state.withLock { $0.pages }))
    var recovery = Recovery(view)
    let (changes, used) = try survey(&recovery, &cipher)
    try breaking { () throws(Errno) in try store.synchronize(dataOnly: true) }
    // Readers are still lenient with sectors that are torn.
    try put(changes, &cipher)
    // Until all of it is committed nothing before the end of the backing file is free: a power cut may still need it.
    begin(CommitState(recovering: recovery, pages: state.withLock { $0.pages }, session: session))
    try healHeader()
    let tail = try zeroTail(of: view.slot.fileSize, &cipher)
    try writeSlot(&cipher)
    try breaking { () throws(Errno) in try commitAtOnce() }
    state.withLock { state in
      state.free = FreePages(end: state.pages, used: used + tail)
      state.hasFreed = true
    }
  }

  /// Which entries change, and the pages that are needed.
  private func survey(
    _ recovery: inout Recovery, _ cipher: inout FileCipher
  ) throws(Errno) -> (changes: [EntryChange], used: [Page]) {
    var changes: [EntryChange] = []
    var used: [Page] = []
    var scratch = try SecretBytes.make(count: Block.size)
    try forEachIndexed { (block) throws(Errno) in
      let (pair, isTorn) = try tornPair(of: block, &cipher)
      var verified: [BlockVersion] = []
      for half in Half.allCases where recovery.mustVerify(pair[half], of: block, isTorn: isTorn) {
        if try scratch.withMutableBytes({ (plain) throws(Errno) in
          try reads(pair[half], of: block, into: &plain, &cipher)
        }) {
          verified.append(pair[half])
        }
      }
      let settled = recovery.settle(pair, of: block, isTorn: isTorn) { verified.contains($0) }
      if settled != pair || isTorn {
        for half in Half.allCases {
          changes.append(EntryChange(block: block, half: half, version: settled[half]))
        }
      }
      if let page = Recovery.pageInUse(settled) { used.append(page) }
    }
    return (changes, used)
  }

  /// The entries of a block as they stand, and whether their sector's seal does not hold.
  private func tornPair(
    of block: Block, _ cipher: inout FileCipher
  ) throws(Errno) -> (pair: Pair, isTorn: Bool) {
    let address = block.sectorAddress
    let page = try indexPage(address.page.number)
    let sector = page.bytes.span.extracting(address.offset..<address.offset + IndexSector.size)
    let isWhole = page.isChecked(address) ? true : try cipher.holds(sector, of: block)
    return (try IndexSector.pairOrDamage(of: block, in: sector), !isWhole)
  }

  /// Whether a block is lost for every reader: it stays so, and shows nobody what it has behind the size.
  private func isDamaged(_ block: Block, _ cipher: inout FileCipher) throws(Errno) -> Bool {
    var scratch = try SecretBytes.make(count: Block.size)
    return try scratch.withMutableBytes { (plain) throws(Errno) in
      let rules = state.withLock { $0.rules }
      let pair = try pair(of: block, &cipher)
      var answer = rules.content(of: block, pair)
      while case .verify(let version) = answer {
        if try reads(version, of: block, into: &plain, &cipher) { return false }
        answer = rules.afterFailure(of: version, of: block, pair)
      }
      return answer == .damage
    }
  }

  /// A last block with bytes behind the size is written again with zeros there; the page it has now.
  private func zeroTail(of size: UInt64, _ cipher: inout FileCipher) throws(Errno) -> [Page] {
    guard let (block, used) = CommitState.tail(of: size), try !isDamaged(block, &cipher),
      let versions = try zeroed(block, from: used, &cipher)
    else { return [] }
    defer { state.withLock { $0.commit?.end(versions.generations) } }
    try enter(versions, size: 0, &cipher)
    return versions.pages
  }
}
