// What a change of class takes away is noted before, so that a crash does not take it: the time of modification, set-id
// bits and a capability, which the kernel moves or strips from whatever is written to, also for root.
//
//   step                                                          a crash then leaves
//   1  the note, in a file that is swept; fsync; renamed to        the file as it was
//      c-INODE-GENERATION; fsync of work/
//   2  the header is written (`SealedFile.changeClass`), and       the file of either class, perhaps without what the note
//      what that takes away is given back; fsync                   says, and the note
//   3  the note is removed; fsync of work/ (`takeAway`)            nothing, or the note
//
// A change that fails on the way takes the same steps: what it took away is given back and synced before the note goes.
//
// The next mount for writing gives back what a note says, and removes it; of a file that has had another path since, and is
// not in the index of hard links, it only removes it. Nobody else writes to the file in 1 to 3: the lock of its node is held. Afterwards anybody does, and a note that came
// back in a crash would take back what that moved and stripped. So the change, or the mount, fails unless the note is gone for good.

import LinuxFiles
import RecordFormat

extension ReplacementSite {
  /// Runs a change that writes to a file, while `note` says what that takes away.
  ///
  /// The change brings to the disk what it wrote and gave back itself. Whether it fails or not, `restore` follows.
  func noting(
    _ note: ReplacementTrailer?, of file: SharedDescriptor, restore: () throws(Errno) -> Void,
    _ change: () throws(Errno) -> Void
  ) throws(Errno) {
    guard let note else {
      do throws(Errno) { try change() } catch {
        try? restore()
        throw error
      }
      return try restore()
    }
    let workshop = try workshop()
    guard let bytes = note.encoded() else { throw .invalid }
    let made = try ReplacementFiles.make(in: workshop)
    // Whichever name it has by now.
    let names = [note.nameOfNote, made.name]
    do throws(Errno) {
      try made.file.descriptor.writeAll(bytes, at: 0)
      try requireLock()
      try ReplacementFiles.publish(made.file, made.name, as: note.nameOfNote, in: workshop)
      do throws(Errno) {
        try change()
        try restore()
      } catch {
        giveBackForGood(file, restore)
        throw error
      }
    } catch {
      // It has been logged if that fails, too.
      try? forget(made.file, names, in: workshop)
      throw error
    }
    try forget(made.file, names, in: workshop)
  }

  /// Gives back what a change that failed took away, before its note goes.
  ///
  /// If that cannot be had the note goes all the same: it would give privileges to what is written to the file from now on.
  private func giveBackForGood(_ file: SharedDescriptor, _ restore: () throws(Errno) -> Void) {
    do throws(Errno) {
      try restore()
      try file.descriptor.reopen([.readOnly, .nonBlocking]).sync()
    } catch {
      Log.error("the time and the privileges of a file whose change of class failed may be lost: \(error)")
    }
  }

  /// Takes a note away so that no crash brings it back.
  private func forget(
    _ note: SharedDescriptor?, _ names: [[UInt8]], in workshop: SharedDescriptor
  ) throws(Errno) {
    do throws(Errno) { try takeAway(note, names, from: workshop) } catch {
      Log.error(
        "the note \(String(decoding: names[0], as: UTF8.self)) of a change of class can neither be emptied nor removed: "
          + "the next mount may give its file back a time and privileges that it has lost since: \(error)")
      throw error
    }
  }

  /// Gives back what changes of class took away that a crash interrupted; of how many files.
  ///
  /// Fails if a note stays: by the next mount its file may have been written to.
  func giveBackNoted(
    beneath root: SharedDescriptor, _ index: inout IndexedFiles
  ) throws(Errno) -> Int {
    let workshop = try workshop()
    var count = 0
    var notes: [(name: [UInt8], file: SharedDescriptor?)] = []
    for name in try ReplacementFiles.notes(in: workshop) {
      var file: SharedDescriptor?
      defer { notes.append((name, file)) }
      do throws(Errno) {
        file = try ReplacementFiles.find(name, in: workshop, [.readWrite, .nonBlocking])
        if let file, try giveBack(name, from: file, beneath: root, &index) { count += 1 }
      } catch {
        Log.error("the time of a file whose class was being changed cannot be given back: \(error)")
      }
    }
    if count > 0 {
      // All of it at once, and also of files that this user may not open.
      try workshop.descriptor.syncFileSystem()
      Log.notice(
        "gave back the times of \(Log.files(count)) of which a crash interrupted the change of class")
    }
    for note in notes { try forget(note.file, [note.name], in: workshop) }
    return count
  }

  private func giveBack(
    _ name: [UInt8], from file: SharedDescriptor, beneath root: SharedDescriptor, _ index: inout IndexedFiles
  ) throws(Errno) -> Bool {
    guard let note = try ReplacementSite.trailer(of: file.descriptor), note.nameOfNote == name,
      let object = try object(of: note, beneath: root, &index)
    else { return false }
    try requireLock()
    try giveBack(note, to: object.descriptor)
    return true
  }
}
