// How far the walk of a plan gets, where the run would get elsewhere: whoever is not root can close directories to himself
// on the way down, and open others.

import LinuxFiles
import LinuxPrograms

/// The way of a plan through one tree after the other.
final class PlannedWay {
  private let ledger: ChangeLedger
  /// How deep the directory is that could not be searched by then, and with it what is in it.
  private var closedDepth: Int?
  /// Directories that could not be searched by then, on the way to what is named further on.
  private var closed: Set<ObjectKey> = []
  /// Those that could be by then, and cannot be now.
  private var opened: Set<ObjectKey> = []
  /// Those of them into which the run would get.
  private var unseen: Set<ObjectKey> = []
  // Those beyond are planned as they are now, which is said.
  private static let mostKept = 65_536

  init(_ ledger: ChangeLedger) {
    self.ledger = ledger
  }

  /// Begins with the next tree; EACCES if the run would not get to it any more.
  func begin(_ path: [UInt8]) throws(Errno) {
    closedDepth = nil
    guard first(of: closed, onTheWayTo: path) == nil else { throw .accessDenied }
  }

  /// Whether the run would open the way to what could not be got at; then that is counted.
  func isOpened(_ path: [UInt8], _ error: Errno) -> Bool {
    guard error == .accessDenied, let above = first(of: opened, onTheWayTo: path) else { return false }
    countUnseen(above)
    return true
  }

  private func first(of directories: Set<ObjectKey>, onTheWayTo path: [UInt8]) -> ObjectKey? {
    guard !directories.isEmpty else { return nil }
    let here = [UInt8(ascii: ".")]
    let ways = (path.first == slash || path == here ? [] : [here]) + waysAbove(path)
    // What cannot be looked at now is none that was.
    return ways.lazy.compactMap { try? ObjectKey(Descriptor.place($0, .followed).knownStatus()) }
      .first { directories.contains($0) }
  }

  private func keep(_ key: ObjectKey, in directories: inout Set<ObjectKey>) {
    guard directories.count < PlannedWay.mostKept else {
      ledger.objects?.overflow()
      return
    }
    directories.insert(key)
  }

  private func countUnseen(_ directory: ObjectKey) {
    guard unseen.insert(directory).inserted else { return }
    ledger.count { $0.unseen += 1 }
  }

  /// Whether the run would still get to what is that deep; things come in the order of a walk.
  func reaches(_ depth: Int) -> Bool {
    guard let closed = closedDepth else { return true }
    if depth > closed { return false }
    closedDepth = nil
    return true
  }

  /// What becomes of a directory after its change.
  enum Entrance {
    case open
    /// The run would be refused to list it.
    case closed
    /// The run would get in, and a plan does not: it is counted.
    case unseen
  }

  /// `isEntered`: whether the walk is about to go into it.
  func entrance(of item: VisitedItem, isEntered: Bool) -> Entrance {
    guard !ThisProgram.isRoot, item.status.kind == .directory,
      let refused = ledger.foreseeEntrance(of: item)
    else { return .open }
    let isClosed = refused.byThen.contains(.search)
    let opens = !refused.now.isSubset(of: refused.byThen)
    let key = ObjectKey(item.status)
    if isClosed { keep(key, in: &closed) }
    if opens { keep(key, in: &opened) }
    guard isEntered else { return .open }
    if refused.byThen.contains(.list) { return .closed }
    if opens {
      countUnseen(key)
      return .unseen
    }
    if isClosed { closedDepth = item.depth }
    return .open
  }
}

/// What getting into a directory takes.
enum EntranceDeed: String, CaseIterable {
  case list
  case search
}
