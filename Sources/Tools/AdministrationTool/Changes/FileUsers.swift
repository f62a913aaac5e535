// Who keeps a file from being stored in another form, in words, and what to do about it: the same for `varve compress`,
// `varve protect` and a repair.

import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// Looks for the users of the files of one run.
final class FileUsers: Sendable {
  /// Looking for the users of a file means looking at every process.
  private static let mostSearches = 32
  /// Processes that are named.
  private static let mostNamed = 3

  private let searches = Atomic(0)

  /// Whether a process that can be seen has a file open.
  static func areSeen(of item: VisitedItem) -> Bool { !users(of: FileUsers.files(of: item)).isEmpty }

  /// `process 4711 (less) has it open; close it there, and run this again`.
  func sentence(about item: VisitedItem) -> String {
    let mayLook = searches.add(1, ordering: .relaxed).newValue <= FileUsers.mostSearches
    guard mayLook else { return "a program has it open or mapped; run this again when it is closed" }
    guard let named = FileUsers.named(FileUsers.files(of: item)) else {
      return CurrentProcess.isRoot
        ? "no process seen from here has it open, but one in a container or an NFS server may, or it was changed just "
          + "now; run this again later"
        : "none of your processes has it open, but one of another user may, or it was changed just now; run this again "
          + "later, or as root to see whose process it is"
    }
    return "\(named), and run this again"
  }

  /// `process 4711 (less) has it open; close it there`, of a file that is looked at where it is stored; nil if no such process is
  /// found.
  static func named(storedAs status: FileStatus) -> String? { named([ObjectKey(status)]) }

  private static func named(_ files: Set<ObjectKey>) -> String? {
    let openers = users(of: files)
    // Only those who can be seen by no descriptor are looked for by their memory, which takes longer.
    let holders = openers.isEmpty ? mappers(of: files) : openers
    guard !holders.isEmpty else { return nil }
    var sentences = holders.prefix(mostNamed).map(\.sentence)
    if holders.count > sentences.count { sentences.append("and \(holders.count - sentences.count) more do") }
    let remedy = openers.isEmpty ? "end it" : "close it there"
    return sentences.joined(separator: ", ") + "; \(remedy)"
  }

  /// The file, and the one in the upper directory that it is stored in: a program may have that open, below the mount.
  private static func files(of item: VisitedItem) -> Set<ObjectKey> {
    var files: Set = [ObjectKey(item.status)]
    guard let path = try? item.held.descriptor.heldPath(), let table = try? volumeTable(),
      let place = try? VolumePath(held: path, table), place.mount.source.first == slash,
      let stored = try? Descriptor.item(atPath: joined(place.mount.source, place.path), .held).knownStatus(),
      // A copy from a lower has another number, and so has what is no longer there.
      stored.kind == .regular, stored.inode == item.status.inode
    else { return files }
    files.insert(ObjectKey(stored))
    return files
  }
}
