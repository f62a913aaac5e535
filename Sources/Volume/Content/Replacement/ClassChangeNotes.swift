// What a change of class takes away is noted before, so that a crash does not take it: the time of modification, set-id
// bits and a capability, which the kernel moves or strips from whatever is written to, also for root.
//
//   step                                                          a crash then leaves
//   1  the note, in a file that is swept; fsync; renamed to        the file as it was
//      c-INODE-GENERATION; fsync of work/
//   2  the header is written (`SealedFile.changeClass`), and       the file of either class, perhaps without what the note
//      what that takes away is given back                          says, and the note
//   3  the note is removed                                         nothing
//
// The next mount for writing gives back what a note says, and removes it; of a file that has had another path since it only
// removes it. Nobody else writes to the file in 1 to 3: the lock of its node is held.

import LinuxFiles
import RecordFormat

extension ReplacementSite {
  /// Runs a change that writes to a file, and gives back itself what that takes away, while `note` says what that is.
  func noting(_ note: ReplacementTrailer?, _ change: () throws(Errno) -> Void) throws(Errno) {
    guard let note else { return try change() }
    let workshop = try workshop()
    guard let bytes = note.encoded() else { throw .invalid }
    let made = try ReplacementFiles.make(in: workshop)
    // Whichever name it has by now.
    defer { discard([note.nameOfNote, made.name], in: workshop) }
    try made.file.descriptor.writeAll(bytes, at: 0)
    try requireLock()
    try ReplacementFiles.publish(made.file, made.name, as: note.nameOfNote, in: workshop)
    try change()
  }

  /// Gives back what changes of class took away that a crash interrupted; of how many files.
  func giveBackNoted(beneath root: SharedDescriptor) throws(Errno) -> Int {
    var count = 0
    for name in try ReplacementFiles.notes(in: try workshop()) {
      do throws(Errno) {
        if try giveBackNoted(name, beneath: root) { count += 1 }
      } catch {
        Log.error("the time of a file whose class was being changed cannot be given back: \(error)")
      }
      // Whatever came of it: by the next mount the file may have been written to.
      discard([name], in: try workshop())
    }
    if count > 0 {
      Log.notice("gave back the times of \(count) files, whose class was being changed in a crash")
    }
    return count
  }

  private func giveBackNoted(_ name: [UInt8], beneath root: SharedDescriptor) throws(Errno) -> Bool {
    guard let work = try ReplacementFiles.find(name, in: try workshop()),
      let note = try ReplacementSite.trailer(of: work.descriptor), note.nameOfNote == name,
      let object = try ReplacementFiles.object(at: note.path, beneath: root), try isObject(object, of: note)
    else { return false }
    try requireLock()
    try giveBack(note, to: object.descriptor)
    return true
  }
}
