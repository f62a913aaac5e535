// In whose name the daemon makes, opens and writes files: its capabilities stay, so that nothing is refused that it
// has allowed, but the backing file system sees the ids of the owner.

import DirectoryModes
import LinuxFiles

extension Volume {
  /// Runs a creation so that the backing file system makes the caller the owner at once.
  ///
  /// The thread stays who it has become: with its capabilities that makes no difference to a file system of this
  /// machine. One that runs in user space, or stands on another, decides by the number of the user: there everything is
  /// made as root, and given away before anybody sees it.
  func actingAsOwner<R: ~Copyable>(_ creation: Creation, _ body: () throws(Errno) -> R) throws(Errno) -> R {
    guard isPrivileged, isOfThisMachine else { return try body() }
    try ThreadIdentity.become(user: creation.item.user, group: creation.item.group)
    guard !isLocal else { return try body() }
    defer { returnToRoot() }
    return try body()
  }

  /// What the daemon makes for itself is root's.
  func returnToRoot() {
    // Going back to root cannot fail: it is the thread's real user.
    if isPrivileged { try? ThreadIdentity.become(user: 0, group: 0) }
  }

  /// Lets what the calling thread opens and writes from now on count as the file's owner's.
  ///
  /// A file system keeps blocks in reserve for root by the file-system user id (ext4), and the kernel writes to a
  /// backing file with the ids of the thread that handed it over. A thread that goes on working on one user's files
  /// makes no system call for this.
  func actAsOwner(_ owner: FileOwner) {
    // Beyond this machine the number of a user may decide about access.
    guard isPrivileged, isLocal else { return }
    do throws(Errno) {
      try ThreadIdentity.become(user: owner.user, group: owner.group)
    } catch {
      // An id without a meaning in the daemon's user namespace cannot be taken.
      returnToRoot()
    }
  }
}
