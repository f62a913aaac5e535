// The steps of a replacement that are the same when they are taken for the first time and when they are taken again:
// the bytes are copied, the rest of the file is given back, the record says so.

import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

/// A file whose record says b10, with what its content is to be.
///
/// As long as there is one the volume does not become read-only, as if the file were open for writing.
final class HalfReplaced: Sendable {
  /// Open for writing; with a lease, unless somebody reads a compressed file that is expanded.
  let file: SharedDescriptor
  let work: SharedDescriptor
  let trailer: ReplacementTrailer
  private let site: ReplacementSite

  init(
    _ file: SharedDescriptor, from work: SharedDescriptor, _ trailer: ReplacementTrailer,
    at site: ReplacementSite
  ) {
    (self.file, self.work, self.trailer, self.site) = (file, work, trailer, site)
    site.writing.add(1, ordering: .relaxed)
  }

  deinit { site.writing.subtract(1, ordering: .releasing) }
}

extension ReplacementSite {
  /// Step 3: the bytes, and what writing them takes away.
  func copyOver(_ half: HalfReplaced) throws(Errno) {
    try asOwner(user: half.trailer.user, group: half.trailer.group) { () throws(Errno) in
      try SparseCopy.copy(half.trailer.storedSize, of: half.work.descriptor, to: half.file.descriptor) {
        () throws(Errno) in try requireLock()
      }
    }
    try requireLock()
    try giveBack(half.trailer, to: half.file.descriptor)
    try half.file.descriptor.sync()
  }

  /// Steps 4 and 5; what is between them when it cannot fail any more, and the work file is there still.
  ///
  /// Who reads the work file has to leave it then. It stays if the lock is lost by now: the next mount finds that its file
  /// needs none.
  func settle(_ half: HalfReplaced, whenSettled: () -> Void = {}) throws(Errno) {
    try requireLock()
    let workshop = try workshop()
    try settleRecord(of: half.file, half.trailer)
    whenSettled()
    takeAway(workFile: half.work, [half.trailer.name], from: workshop)
  }

  /// Step 4: the bytes are on the disk, and now the record says what they are.
  private func settleRecord(of opened: SharedDescriptor, _ trailer: ReplacementTrailer) throws(Errno) {
    let present = try record(of: opened)
    do throws(Errno) {
      try store.write(
        present.core.withForm(of: trailer.record), list: .keep, over: present, to: opened.descriptor)
      try opened.descriptor.sync()
    } catch {
      // Which of the two the disk has is not known. So nobody gets at the content before it is settled.
      do throws(Errno) {
        try store.write(
          present.core.whileReplacing(by: trailer), list: .keep, over: present, to: opened.descriptor)
      } catch {
        Log.error("the record of a file whose content was replaced may be lost in a crash: \(error)")
      }
      throw error
    }
  }

  func record(of opened: SharedDescriptor) throws(Errno) -> StoredRecord {
    let stored = try store.record(of: try opened.descriptor.status()) { attribute throws(Errno) in
      try opened.descriptor.attribute(attribute)
    }
    guard stored.soundness != .damaged else { throw .inputOutput }
    return stored
  }

  /// Gives back what writing takes away from a file: its capability, its set-id bits, and its time of modification.
  ///
  /// A user who has got the file since does not get the privileges that it had; and a mode that was changed since stays.
  func giveBack(_ trailer: ReplacementTrailer, to file: borrowing Descriptor) throws(Errno) {
    let status = try file.status()
    if status.user == trailer.user, status.group == trailer.group {
      if status.mode != trailer.mode, status.mode | 0o6000 == trailer.mode | 0o6000 {
        try file.changeMode(trailer.mode)
      }
      if !trailer.capability.isEmpty {
        try file.setAttribute(try AttributeName("security.capability"), to: trailer.capability)
      }
    }
    let modified = Timestamp(
      seconds: trailer.modified.seconds, nanoseconds: trailer.modified.nanoseconds)
    try file.changeTimes(access: .omit, modification: .set(modified))
  }

  /// Opens a file for writing, which nobody else gets while it is open, if nobody else has it.
  ///
  /// `alone`: EBUSY if somebody has.
  static func open(_ object: SharedDescriptor, alone: Bool = true) throws(Errno) -> SharedDescriptor {
    do throws(Errno) {
      let opened = SharedDescriptor(try object.descriptor.reopen([.readWrite, .nonBlocking]))
      do throws(Errno) { try leaseAlone(opened.descriptor) } catch { if alone { throw error } }
      return opened
    } catch {
      // A lease of another process, or a program that runs from it.
      throw error == .again || error == .textBusy ? .busy : error
    }
  }

  /// Leases are for the owner of a file, unless the process may have any.
  static func leaseAlone(_ file: borrowing Descriptor) throws(Errno) {
    do throws(Errno) {
      do throws(Errno) {
        try file.leaseAlone()
      } catch .accessDenied {
        guard CurrentProcess.isRoot else { throw .accessDenied }
        let owner = try file.status()
        try ThreadIdentity.become(user: owner.user, group: owner.group)
        // What comes next is for the daemon itself.
        defer { try? ThreadIdentity.become(user: 0, group: 0) }
        try file.leaseAlone()
      }
    } catch .again {
      throw .busy
    }
  }

  /// A file without bytes: there is nothing to replace, only the record changes.
  ///
  /// With the lock of the node. EBUSY if anybody has the file, or if it has bytes.
  func changeEmpty(_ file: ReplacedFile, isInUse: () -> Bool) throws(Errno) {
    guard !isInUse(), !file.present.core.isReplacing else { throw .busy }
    let opened = try ReplacementSite.open(file.object)
    guard try opened.descriptor.status().size == 0 else { throw .busy }
    let wanted = file.present.core.withForm(of: file.final)
    try store.write(wanted, list: .keep, over: file.present, to: opened.descriptor)
    do throws(Errno) { try opened.descriptor.sync() } catch {
      // Empty it is sound either way; the caller is told that nothing was done.
      try? store.write(file.present.core, list: .keep, over: file.present, to: opened.descriptor)
      throw error
    }
  }
}
