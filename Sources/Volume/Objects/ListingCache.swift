// Whether the kernel may keep the names of a directory from one listing to the next.
//
// A kept listing spares asking for names, and costs those who look at each name, since names no longer come with
// their attributes. So it is for directories that are read for their names alone.
//
// For programs that only want names, such as `find -name`: of 100,000 names they get twice as many in a second as from the
// directory below (docs/performance.md, "readdir").

import LinuxFiles
import Synchronization

/// What an opener of a directory may do with the names the kernel has kept.
package enum ListingUse: Hashable, Sendable {
  /// Ask for all of them, and keep none.
  case asked
  /// Ask, and keep them for others.
  case keptFromNow
  /// Use those that were kept.
  case kept
}

/// What is known of how one directory is read.
struct ListingCache: Sendable {
  /// So many names looked up since it was opened, and its readers want more than names.
  private static let fewLookups = 16
  /// The names of a smaller directory are not kept before anybody is known to want them: to keep is to copy.
  private static let largeSize: UInt64 = 16_384

  private enum Interest {
    case unknown, names, attributes
  }

  /// What the last listing asked for, beyond its first part.
  private var interest = Interest.unknown
  private var lookups = 0
  /// The directory's change time when the kernel began to keep it.
  private var keptAt: Timestamp?

  /// Whether anything has to be looked at when the directory is opened.
  var mayBeKept: Bool { interest != .attributes }

  /// The directory is opened, and `status` read now.
  ///
  /// Only a change time that every later change moves tells whether what is kept is still right. The kernel compares
  /// the modification time as well, but that anybody can set back.
  mutating func open(_ status: FileStatus) -> ListingUse {
    lookups = 0
    let isWanted =
      switch interest {
      case .unknown: status.size >= ListingCache.largeSize
      case .names: true
      case .attributes: false
      }
    guard isWanted, status.isSettled else {
      keptAt = nil
      return .asked
    }
    if keptAt == status.change { return .kept }
    keptAt = status.change
    return .keptFromNow
  }

  mutating func wasRead(forNames: Bool) {
    interest = forNames ? .names : .attributes
    if !forNames { keptAt = nil }
  }

  /// A name in it was looked up.
  mutating func lookedUp() {
    guard interest == .names else { return }
    lookups += 1
    if lookups > ListingCache.fewLookups { wasRead(forNames: false) }
  }
}
