// A store on a disk that can lose its power at every write.

import CrashDisk
import LinuxFiles
import Randomness
import SealedFormat

@testable import LayeredVolume

/// One thread uses it at a time, but for what it lets happen during a sync.
final class CrashStore: SealedStore, @unchecked Sendable {
  let disk: CrashDisk
  private(set) var isDead = false
  /// What happens while the disk is busy with a sync; once.
  var duringSync: (() -> Void)?
  /// The next sync fails.
  var failSync: ((CrashDisk) -> Void)?
  /// Those that were none, or failed, do not count.
  var syncs = 0
  private var broken: BrokenRule?
  /// Other bytes for a slot, if a rule of slots is broken: the same for the same slot, as one may be written twice.
  var otherSlot: ((_ slot: Sector) throws -> Sector)?
  private var otherSlots: [Sector: Sector] = [:]

  /// Breaks a rule, if any, while `work` runs.
  func breaking(_ rule: CrashRule?, in phase: CrashPhase, _ work: () throws -> Void) rethrows {
    broken = rule.map { BrokenRule($0, in: phase) }
    defer { broken = nil }
    try work()
  }

  init(_ disk: CrashDisk) { self.disk = disk }

  /// What the disk does until it is interrupted; after that nothing is done.
  private func onDisk(_ work: () throws -> Void) throws(Errno) {
    guard !isDead else { throw .inputOutput }
    do {
      try work()
    } catch {
      isDead = true
      throw .inputOutput
    }
  }

  func read(into bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Int {
    guard !isDead else { throw .inputOutput }
    let count = max(0, min(bytes.count, disk.pages * 4096 - Int(offset)))
    for sector in 0..<(count + 511) / 512 {
      let found = disk.sector(Int(offset) / 512 + sector)
      for index in sector * 512..<min(count, sector * 512 + 512) {
        bytes[index] = found[index - sector * 512]
      }
    }
    return count
  }

  func write(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: UInt64
  ) throws(Errno) {
    let bytes = try withOtherSlots(head.copied() + body.copied() + tail.copied(), at: Int(offset))
    precondition(offset % 512 == 0 && bytes.count % 512 == 0, "half a sector is written")
    if broken?.dropsWrite(at: offset) == true { return }
    var position = 0
    // A kill comes between two pages.
    while position < bytes.count {
      let first = (Int(offset) + position) / 512
      let count = min((bytes.count - position) / 512, 8 - first % 8)
      try onDisk {
        try disk.write(
          (0..<count).filter { broken?.dropsSector(first + $0) != true }
            .map { (first + $0, Array(bytes[position + $0 * 512..<position + $0 * 512 + 512])) })
      }
      position += count * 512
    }
  }

  private func withOtherSlots(_ bytes: [UInt8], at offset: Int) throws(Errno) -> [UInt8] {
    guard let otherSlot else { return bytes }
    var bytes = bytes
    for start in Half.allCases.map({ Slot.offset($0) - offset }) where start >= 0 && start < bytes.count {
      let slot = Array(bytes[start..<start + 512])
      do { otherSlots[slot] = try otherSlots[slot] ?? otherSlot(slot) } catch { throw .inputOutput }
      bytes.replaceSubrange(start..<start + 512, with: otherSlots[slot] ?? slot)
    }
    return bytes
  }

  func size() throws(Errno) -> UInt64 {
    guard !isDead else { throw .inputOutput }
    return UInt64(disk.pages * 4096)
  }

  func synchronize(dataOnly: Bool) throws(Errno) {
    if let failing = failSync {
      failSync = nil
      guard !isDead else { throw .inputOutput }
      failing(disk)
      throw .inputOutput
    }
    if broken?.dropsSync() == true { return }
    syncs += 1
    try onDisk { try disk.beginSync() }
    let during = duringSync
    duringSync = nil
    during?()
    try onDisk { try disk.endSync() }
  }

  func cut(to size: UInt64) throws(Errno) { try onDisk { try disk.cut(to: Int(size) / 4096) } }

  /// Zeros, or what was there: a crash decides.
  func punch(_ range: Range<UInt64>) throws(Errno) {
    for page in Int(range.lowerBound) / 4096..<min(Int(range.upperBound) / 4096, disk.pages) {
      try onDisk { try disk.write((0..<8).map { (page * 8 + $0, CrashDisk.zeros) }) }
    }
  }

  func reserve(_ range: Range<UInt64>) throws(Errno) {}
}
