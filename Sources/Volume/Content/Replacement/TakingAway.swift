// How files are taken out of the workshop that a mount or a repair would believe: work files, and notes of changes of class.
//
// Their file is written to afterwards. One that was there then, because it could not be removed, or came back in a power cut,
// would give the file what it had before. So it is removed for good, or else emptied: an empty one says nothing.

import LinuxFiles

extension ReplacementSite {
  /// Takes a file away so that nothing brings it back; it may have any of `names`.
  ///
  /// Fails if it may be there later with all that is in it. Without the lock it may be another mount's by now, and stays.
  func takeAway(
    _ file: SharedDescriptor?, _ names: [[UInt8]], from workshop: SharedDescriptor
  ) throws(Errno) {
    guard !lacksLock() else { return }
    do throws(Errno) {
      for name in names {
        do throws(Errno) {
          try ReplacementFiles.remove(name, from: workshop)
        } catch .noSuchFile, .isDirectory {
          // The other name, then; and a directory says nothing.
        }
      }
      try workshop.descriptor.sync()
    } catch {
      guard let file, (try? empty(file)) != nil else { throw error }
      Log.error(
        "what a replacement or a class change left stays until the next mount, without its content: \(error)")
    }
  }

  /// The same for a work file that nobody needs any more: what was done is done, whatever comes of this.
  func takeAway(workFile file: SharedDescriptor, _ names: [[UInt8]], from workshop: SharedDescriptor) {
    do throws(Errno) { try takeAway(file, names, from: workshop) } catch {
      Log.error(
        "the work file \(String(decoding: names[0], as: UTF8.self)) of a file whose content was replaced can neither be removed "
          + "nor emptied: unless the next mount does, a repair of a damaged record may give its file back the content that it "
          + "has now: \(error)")
    }
  }

  private func empty(_ file: SharedDescriptor) throws(Errno) {
    try file.descriptor.truncate(to: 0)
    try file.descriptor.sync()
  }
}
