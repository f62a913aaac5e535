// Slots and headers: what an encrypted file says about itself.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// The slot to write next, for a size that may be larger; the caller has made sure that none is in a commit.
  ///
  /// The file has that size when the slot is written (`SealedState.wrote`): a write that failed makes no file longer.
  func nextSlot(growingTo size: UInt64 = 0) throws(Errno) -> (half: Half, slot: Slot) {
    let next = state.withLock { state -> (half: Half, slot: Slot)? in
      guard var commit = state.commit else { return nil }
      if size > commit.fileSize { commit.grow(to: size) }
      return commit.nextSlot()
    }
    guard let next else { throw .inputOutput }
    return next
  }

  func writeSlot(growingTo size: UInt64 = 0, _ cipher: inout FileCipher) throws(Errno) {
    let next = try nextSlot(growingTo: size)
    try put([], slot: next, &cipher)
    state.withLock { $0.wrote(next.slot) }
  }

  /// Page 0 of a file that is new: both static sectors, slots that say it is empty, no entries.
  func makeHeader(in page: inout MutableSpan<UInt8>, _ cipher: inout FileCipher) throws(Errno) {
    guard
      let (sector, session) = state.withLock({ state in
        state.identity.flatMap { identity in state.commit.map { (identity.sector, $0.session) } }
      })
    else { throw .inputOutput }
    page.wipe()
    for half in Half.allCases {
      let start = StaticSector.offset(half)
      var part = page._mutatingExtracting(start..<start + StaticSector.size)
      try encode(sector, into: &part)
    }
    let (first, second) = CommitState.firstSlots(session)
    for (half, slot) in [(Half.first, first), (Half.second, second)] {
      let start = Slot.offset(half)
      var part = page._mutatingExtracting(start..<start + Slot.size)
      try cipher.write(slot, into: &part)
    }
  }

  func encode(_ sector: StaticSector, into bytes: inout MutableSpan<UInt8>) throws(Errno) {
    do { try sector.encode(into: &bytes) } catch { throw .inputOutput }
  }

  /// Gives a new file its header before anything else is written.
  func writeHeaderIfNew(_ cipher: inout FileCipher) throws(Errno) {
    guard state.withLock({ $0.pages == 0 }) else { return }
    var page = [UInt8](repeating: 0, count: Page.size)
    var bytes = page.mutableSpan
    try makeHeader(in: &bytes, &cipher)
    try storeHeader(page)
  }

  private func storeHeader(_ page: [UInt8]) throws(Errno) {
    do throws(Errno) { try store.write(page.span, at: 0) } catch {
      try? store.cut(to: 0)
      throw error
    }
    tookHeader(page)
  }

  func tookHeader(_ page: [UInt8]) {
    state.withLock { state in
      state.index.learn(0, page, readAt: state.index.changes)
      state.grew(to: 1)
    }
  }

  /// Makes both static sectors say the same, after a crash: byte by byte, so that nothing of a later version is lost.
  func healHeader() throws(Errno) {
    guard let good = state.withLock({ $0.identity?.half }) else { return }
    var page = try indexPage(0)
    let (from, to) = (StaticSector.offset(good), StaticSector.offset(good.other))
    let wanted = Array(page.bytes[from..<from + StaticSector.size])
    guard !page.bytes[to..<to + StaticSector.size].elementsEqual(wanted) else { return }
    try store.write(wanted.span, at: UInt64(to))
    page.bytes.replaceSubrange(to..<to + StaticSector.size, with: wanted)
    state.withLock { $0.index.wrote(0, page) }
  }
}
