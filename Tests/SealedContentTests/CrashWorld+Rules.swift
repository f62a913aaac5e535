// What the game reads, and rules that it breaks around the content where the store cannot.

import CrashDisk
import LinuxFiles
import SealedFormat
import Synchronization

@testable import LayeredVolume

extension CrashWorld {
  /// What a program reads.
  func content() throws -> Snapshot {
    try requireWholeSectors()
    var snapshot = Snapshot(size: Int(file.size))
    let bytes = try file.get(0..<snapshot.size + 4096)
    for sector in 0..<snapshot.size / 512 {
      let part = bytes[sector * 512..<sector * 512 + 512]
      let word = part.prefix(8).enumerated().reduce(UInt64(0)) {
        $0 | UInt64($1.element) << UInt64(8 * $1.offset)
      }
      guard part.elementsEqual(CrashWorld.bytes(word, 1)) else {
        fail("sector \(sector) is mixed")
        return snapshot
      }
      if word != 0 { snapshot.sectors[sector] = word }
    }
    return snapshot
  }

  // MARK: Rules left out

  /// Slots without what a rule says is in them.
  func breakSlots() {
    guard let leftOut, leftOut.isOfSlots else { return }
    live.otherSlot = { [unowned self] in try self.otherSlot($0, without: leftOut) }
  }

  private func otherSlot(_ bytes: Sector, without rule: CrashRule) throws -> Sector {
    guard var cipher = try file.currentCipher() else { return bytes }
    var slot = try Slot(decoding: bytes.span)
    if rule == .floor { slot.floor = .none } else { slot.committed = slot.highest }
    var sealed = bytes
    var span = sealed.mutableSpan
    try cipher.write(slot, into: &span)
    return sealed
  }

  /// What the store has dropped is not remembered either.
  func breakMemory() {
    if leftOut == .zeroingRecovered { file.state.withLock { $0.index.dropAll() } }
  }

  /// Cuts the file, or leaves its last block as it is.
  func cut(to size: UInt64) throws {
    guard leftOut == .zeroing, size > 0, size < file.size else { return try file.truncate(to: size) }
    let file = file
    while try !file.changing({ (cipher) throws(Errno) -> Bool? in
      let generations = file.state.withLock { state -> Generations? in
        guard let commit = state.commit, commit.mayTruncate(to: size) else { return nil }
        let generations = state.commit?.begin(1)
        if let generations { state.commit?.truncate(to: size, generations) }
        return generations
      }
      guard let generations else { return false }
      defer { file.state.withLock { $0.commit?.end(generations) } }
      try file.writeSlot(&cipher)
      return true
    }) {
      try file.commit()
      try file.commit()
    }
  }

  /// What is written next lies in the pages of versions that were committed.
  func reusePages(of range: Range<Int>) throws {
    guard leftOut == .committedPages, var cipher = try file.currentCipher() else { return }
    for number in range.lowerBound / 8...(range.upperBound - 1) / 8 {
      guard let block = Block(UInt64(number)), let commit = file.state.withLock({ $0.commit }) else { return }
      let pair = try file.pair(of: block, &cipher)
      guard let half = pair.committed(commit.committed), pair.newest != half, let page = pair[half].page
      else { continue }
      let other = [UInt8](repeating: 0xA5, count: Page.size)
      try live.write(other.span, at: page.byteOffset)
    }
  }

  /// What a reader does for which no entry counts whose sector's seal does not hold.
  private func requireWholeSectors() throws {
    guard leftOut == .tornSectors, file.isDoubtful, var cipher = try file.currentCipher() else { return }
    let pages = file.state.withLock { $0.pages }
    for number in 0..<Block.count(file.size) {
      guard let block = Block(number), block.sectorAddress.page.number < pages else { return }
      let address = block.sectorAddress
      let page = try file.indexPage(address.page.number)
      let sector = page.bytes.span.extracting(address.offset..<address.offset + IndexSector.size)
      guard try cipher.holds(sector, of: block) else { throw Errno.inputOutput }
    }
  }

  var firstMoment: CrashMoment {
    switch firstChange {
    case .recovery: return .recovery
    case .nextSession: return .handingOver
    case .firstChange, .commit:
      guard let writer = file.state.withLock({ $0.view?.slot.session }) else { return .creation }
      return writer == surroundings.state.withLock { $0.session } ? .resuming : .announcing
    }
  }

  var firstChange: CrashPhase {
    let (isDoubtful, view) = file.state.withLock { ($0.rules.isDoubtful, $0.view) }
    if isDoubtful { return .recovery }
    return view.map { surroundings.isPending($0.slot.session) } ?? false ? .nextSession : .firstChange
  }
}
