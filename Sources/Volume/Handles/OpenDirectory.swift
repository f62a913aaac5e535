// An open directory: a position in a listing.

import LinuxFiles
import Synchronization

/// One open directory.
///
/// Two requests on one handle take turns: the position belongs to the descriptor.
final class OpenDirectory: Sendable {
  struct Stream: ~Copyable {
    /// What was read and not handed out yet; the next request begins with it.
    var page: ListingPage?
    /// Whether the descriptor stands at `position` when there is no page.
    var isAtPosition = true
    /// The offset after the entry that was handed out last; what the kernel asks for next, normally.
    var position: Int64 = 0
    /// Whether the kernel asks for names without their attributes.
    ///
    /// It begins every listing with attributes, and continues without them unless a program looks at the names.
    var isForNames = false
    /// Whether the last answer had entries, which the kernel may be taking over.
    var isUnderWay = false
    /// Where several layers have the directory: how far they were read.
    var merged: MergedListing?
    /// In a view: what the listing reads from.
    var shown: ShownListing?
    /// In a view: whether it was begun as one of real names.
    ///
    /// A file server may begin anywhere, with an offset that another handle was given.
    var isRaw = false
    /// In a view: since when a request waits for names that are still to be made, in monotonic nanoseconds.
    var askedAt: UInt64?
  }

  /// A listing in the order of a view.
  struct ShownListing {
    let index: any ListedIndex
    /// The name that was handed out last, and the offset behind it.
    var last: [UInt8]?
    var end = 0
    /// The name in front of the last answer, and hashes of those in it: the kernel drops what its caller has no room for,
    /// and asks for that again.
    var before: [UInt8]?
    var answered: [Int] = []
  }

  let node: Node
  /// By which way the directory was opened, if that is in a view.
  let view: ViewDirectory?
  /// Open for listing.
  let backing: LayerDirectory
  let stream: Mutex<Stream>
  /// Where its page goes back to, and whose it is.
  private let pages: ListingPages
  private let user: UInt32

  init(
    node: Node, in view: ViewDirectory? = nil, _ backing: LayerDirectory, merged: MergedListing? = nil,
    pages: ListingPages, user: UInt32
  ) {
    var stream = Stream()
    stream.merged = merged
    self.stream = Mutex(stream)
    self.node = node
    self.view = view
    self.backing = backing
    self.pages = pages
    self.user = user
  }

  /// Since when the names of a view are asked for: a request that has to wait asks again, and still means those of then.
  func asksForIndex() -> UInt64 {
    stream.withLock { stream in
      let asked = stream.askedAt ?? Clock.monotonicNanoseconds
      stream.askedAt = asked
      return asked
    }
  }

  deinit {
    let page = stream.withLock { stream in
      endAnswer(&stream)
      return stream.page.take()
    }
    if let page { pages.giveBack(page, of: user) }
  }

  /// The page of the listing, for one request; an empty one if there is none.
  func takePage(_ stream: inout Stream) -> ListingPage {
    stream.page.take() ?? pages.take(for: user)
  }

  /// Keeps the page for the next request, if there are names left and its user has not too many pages.
  func putBack(_ page: ListingPage, _ stream: inout Stream, isOver: Bool) {
    stream.isAtPosition = isOver
    if !isOver, pages.mayKeep(for: user) {
      stream.page = page
    } else {
      pages.giveBack(page, of: user)
    }
  }
}

// MARK: - Entries under way

extension OpenDirectory {
  /// Whether an answer may have entries; from then on it is under way.
  func mayGiveEntries(_ stream: inout Stream) -> Bool {
    if !stream.isUnderWay {
      stream.isUnderWay = node.attachment.state.withLock { $0.directory.underWay.beginAnswer() }
    }
    return stream.isUnderWay
  }

  func endAnswer(_ stream: inout Stream) {
    guard stream.isUnderWay else { return }
    stream.isUnderWay = false
    node.attachment.state.withLock { $0.directory.underWay.endAnswer() }
  }
}
