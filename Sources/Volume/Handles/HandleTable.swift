// What is open, by the number the kernel uses.

import LinuxFiles
import Synchronization

/// Open files and directories.
///
/// A number is a slot and an epoch, so a stale one finds nothing.
final class HandleTable: Sendable {
  private enum Opened {
    case file(OpenFile)
    case directory(OpenDirectory)

    /// Whether it takes some of the memory that keys are in.
    var holdsKey: Bool {
      guard case .file(let file) = self else { return false }
      return file.content.isSecret
    }
  }

  private struct Slot {
    var opened: Opened?
    var user: UInt32
    var epoch: UInt32
  }

  private struct Contents {
    var slots: [Slot] = []
    var free: [Int] = []
    /// How many are open, by who opened them.
    var counts: [UInt32: Int] = [:]
    /// How many of them hold keys.
    var keys: [UInt32: Int] = [:]
    var allKeys = 0

    mutating func countKeys(_ change: Int, of user: UInt32) {
      let count = (keys[user] ?? 0) + change
      keys[user] = count > 0 ? count : nil
      allKeys += change
    }
  }

  private let contents = Mutex(Contents())
  private let limit: Int
  /// The user who mounted shares with no other user: a user's own mount has none.
  private let owner: UInt32

  init(limit: Int, owner: UInt32) {
    self.limit = limit
    self.owner = owner
  }

  /// Refuses one more open file before it costs the descriptors that everybody else's requests need.
  ///
  /// One user gets no more than half of them (EMFILE), and the last tenth is root's: nobody shuts the volume to others.
  func requireRoom(for user: UInt32) throws(Errno) {
    let (all, own) = contents.withLock { ($0.slots.count - $0.free.count, $0.counts[user] ?? 0) }
    guard all < limit else { throw .fileTableFull }
    guard user != 0, user != owner else { return }
    guard own < limit / 2, all < limit - limit / 10 else { throw .tooManyOpenFiles }
  }

  /// The same for the memory that keys are in, which has room for so many files: also what is written and locked by
  /// others needs some of it.
  func requireKeyRoom(for user: UInt32, of capacity: Int) throws(Errno) {
    guard capacity > 0, user != 0, user != owner else { return }
    let (all, own) = contents.withLock { ($0.allKeys, $0.keys[user] ?? 0) }
    guard own < capacity / 2, all < capacity - capacity / 10 else { throw .tooManyOpenFiles }
  }

  func add(_ file: OpenFile, for user: UInt32) -> HandleID { add(.file(file), user) }

  func add(_ directory: OpenDirectory, for user: UInt32) -> HandleID { add(.directory(directory), user) }

  private func add(_ opened: Opened, _ user: UInt32) -> HandleID {
    contents.withLock { contents in
      let slot: Int
      if let free = contents.free.popLast() {
        slot = free
      } else {
        contents.slots.append(Slot(opened: nil, user: user, epoch: 1))
        slot = contents.slots.count - 1
      }
      contents.slots[slot].opened = opened
      contents.slots[slot].user = user
      contents.counts[user, default: 0] += 1
      if opened.holdsKey { contents.countKeys(1, of: user) }
      return UInt64(contents.slots[slot].epoch) << 32 | UInt64(slot)
    }
  }

  func file(_ handle: HandleID) throws(Errno) -> OpenFile {
    guard case .file(let file) = opened(handle) else { throw .badDescriptor }
    return file
  }

  func directory(_ handle: HandleID) throws(Errno) -> OpenDirectory {
    guard case .directory(let directory) = opened(handle) else { throw .badDescriptor }
    return directory
  }

  private func opened(_ handle: HandleID) -> Opened? {
    contents.withLock { contents in
      let slot = Int(handle & 0xFFFF_FFFF)
      guard contents.slots.indices.contains(slot),
        contents.slots[slot].epoch == UInt32(handle >> 32)
      else { return nil }
      return contents.slots[slot].opened
    }
  }

  /// Takes a handle out; the file, if it was one, for its node to let go of.
  func remove(_ handle: HandleID) -> OpenFile? {
    let removed: Opened? = contents.withLock { contents in
      let slot = Int(handle & 0xFFFF_FFFF)
      guard contents.slots.indices.contains(slot),
        contents.slots[slot].epoch == UInt32(handle >> 32)
      else { return nil }
      let opened = contents.slots[slot].opened
      contents.slots[slot].opened = nil
      contents.slots[slot].epoch &+= 1
      contents.free.append(slot)
      let user = contents.slots[slot].user
      let left = (contents.counts[user] ?? 1) - 1
      contents.counts[user] = left > 0 ? left : nil
      if let opened, opened.holdsKey { contents.countKeys(-1, of: user) }
      return opened
    }
    guard case .file(let file) = removed else { return nil }
    return file
  }

  /// How many files are open for writing.
  ///
  /// Not how many are mapped: a mapping of the backing file outlives the handle it was made with. Where there are such
  /// mappings only root can remount, and the kernel, which is asked first, refuses on account of them.
  var writers: Int {
    contents.withLock { contents in
      contents.slots.count { slot in
        guard case .file(let file) = slot.opened else { return false }
        return file.canWrite
      }
    }
  }

  var count: Int { contents.withLock { $0.slots.count - $0.free.count } }
}
