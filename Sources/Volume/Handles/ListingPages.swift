// The memory of listings: 32 KiB for each directory that is being read, and not for each that is open.

import LinuxFiles
import Synchronization

/// A page of names between two requests.
final class ListingPage: Sendable {
  let buffer = Mutex(EntryBuffer())
}

/// Hands out pages, and counts how many each user has.
///
/// A directory keeps its page from one request to the next until all names of it are handed out. A user who begins
/// many listings and ends none keeps a bounded number of pages; their other listings read each page anew.
final class ListingPages: Sendable {
  /// How many pages the directories of one user keep between requests: 2 MiB.
  static let mostOfOne = 64
  /// How many wait to be used again.
  private static let mostSpare = 16

  private struct State {
    var spare: [ListingPage] = []
    var counts: [UInt32: Int] = [:]
  }

  private let state = Mutex(State())

  func take(for user: UInt32) -> ListingPage {
    let spare: ListingPage? = state.withLock { state in
      state.counts[user, default: 0] += 1
      return state.spare.popLast()
    }
    return spare ?? ListingPage()
  }

  /// Whether the user may keep the page that was taken, all others included.
  func mayKeep(for user: UInt32) -> Bool {
    state.withLock { ($0.counts[user] ?? 0) <= ListingPages.mostOfOne }
  }

  func giveBack(_ page: ListingPage, of user: UInt32) {
    page.buffer.withLock { $0.clear() }
    state.withLock { state in
      let left = (state.counts[user] ?? 1) - 1
      state.counts[user] = left > 0 ? left : nil
      if state.spare.count < ListingPages.mostSpare { state.spare.append(page) }
    }
  }

  /// How many pages are in use, for tests.
  var count: Int { state.withLock { $0.counts.values.reduce(0, +) } }
}
