// What the content of an encrypted file knows, under its lock.

import LinuxFiles

extension SealedObject {
  struct State {
    /// Nil while the key is not in memory.
    var file: SealedFile<BackingStore>?
    /// What was let go of while a request was at work on it: as long as that has not ended, it may still write.
    weak var abandoned: SealedFile<BackingStore>?
    /// Leads to the backing file, while somebody uses it.
    var way: SharedDescriptor?
    var users = 0
    /// The change time of the backing file when it was opened, or when its last user left; what is in memory of it is
    /// true of that.
    var seen: Timestamp?
    /// Of what was read while another mount could write the file: the change time that it is true of; nil inside where it has
    /// to be read anew for each request.
    var readAt: Timestamp??
    /// When it was changed here last, by the clock that never goes back.
    var changedAt: UInt64 = 0
    /// How often something that was written could not be brought to the disk before the key was wiped.
    var losses: UInt64 = 0
    /// No lock has told of that yet.
    var owesReport = false
    /// It was counted as one that a crash may have left as it is.
    var wasDoubtful = false
    /// The keeper has it among those that nobody uses.
    var isResting = false
    /// How often that was so.
    var rests: UInt64 = 0

    mutating func lose() {
      owesReport = true
      losses += 1
    }
  }
}
