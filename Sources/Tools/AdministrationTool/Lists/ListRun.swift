// A walk that changes lists: directories one after the other, files beside it on several threads.
//
// For administrators of large trees: what a run over 10,000 items takes beside `chmod -R` and setfacl is in docs/performance.md,
// "Whole trees".

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms

/// Goes through trees and changes lists by rules.
///
/// A directory is changed before anything in it. Its files go to threads in small groups: asking a volume is mostly
/// waiting, and two or more questions at once are answered in the time of one. What is printed must come in
/// order, so then there are no threads.
final class ListRun {
  /// A group of files for one thread.
  typealias Group = [(item: LeafItem, rule: ListRule)]

  private static let groupSize = 32
  /// When the daemon itself does the work for a whole group.
  private static let largeGroupSize = 512
  /// Directories kept open by files that wait, at most.
  private static let mostDirectories = 8
  /// With the files and directories of all groups, those that wait included, some 600 descriptors: the usual limit
  /// is 1,024, and a walk needs 64 of them.
  private static let mostThreads = 8
  /// One less than a user has seats at the control socket.
  private static let mostQuestions = 3

  private let changer: ListChanger
  private let progress: Progress?
  /// Whether files inherit from the directory they are in, and nothing has to be told of each: then the daemon is asked
  /// once for many.
  private let handsDown: Bool
  /// What is being walked.
  private var tree: Word = []
  private var queue: WorkQueue<Group>?
  private var group: Group = []
  private var directoriesInGroup = 0

  init(_ changer: ListChanger, inherits: Bool = false) {
    self.changer = changer
    handsDown = inherits && !changer.ledger.tells
    progress = changer.console.progress()
    Interruption.watch()
  }

  /// Changes what `path` names and, if asked for, everything below, by one rule.
  func go(_ path: Word, isRecursive: Bool, by rule: ListRule) {
    go(path, isRecursive: isRecursive) { item in
      // What is below has rules of its own: a list that is left alone stops nothing here.
      let answer = item.depth == 0 ? ListChanger.Answer.atOnce : .withOthers
      if case .outside = self.changer.change(item, by: rule, answer) { return .past }
      return .into
    } ruleForFiles: { _ in
      rule
    }
  }

  /// The walk itself, for callers that carry rules from level to level.
  func go(
    _ path: Word, isRecursive: Bool, _ visit: (VisitedItem) -> ItemWalk.Descent,
    ruleForFiles: @escaping (LeafItem) -> ListRule?
  ) {
    do throws(Errno) {
      try changer.undo?.begin(path)
    } catch {
      changer.console.complain(path, error)
      return
    }
    tree = path
    let walk = ItemWalk.ofLists(isRecursive: isRecursive, changer.console, progress)
    walk.go(path, leaf: isRecursive ? { self.add($0, ruleForFiles($0)) } : nil, visit)
    finish()
  }

  private func add(_ item: LeafItem, _ rule: ListRule?) {
    guard let rule else { return }
    guard !changer.ledger.tells else {
      changer.change([(item, rule)])
      return
    }
    if group.last.map({ $0.item.directory !== item.directory }) ?? true { directoriesInGroup += 1 }
    group.append((item, rule))
    if group.count >= (handsDown ? ListRun.largeGroupSize : ListRun.groupSize)
      || directoriesInGroup >= ListRun.mostDirectories
    {
      send()
    }
  }

  private func send() {
    let full = group
    group = []
    directoriesInGroup = 0
    if queue == nil {
      let (changer, daemon) = (changer, handsDown ? findDaemon() : nil)
      // Not fatal: without threads the work is done here.
      let most = daemon == nil ? ListRun.mostThreads : ListRun.mostQuestions
      queue = try? WorkQueue(threads: min(2 * CurrentProcess.processors, most)) { group in
        guard !Interruption.isRequested else { return }
        if let daemon { changer.handDown(group, daemon) } else { changer.change(group) }
      }
    }
    if let queue { queue.add(full) } else { changer.change(full) }
  }

  /// Nil where it cannot be asked: then files are changed one by one.
  private func findDaemon() -> ControlAddress? {
    // The reason would be told about an item that can be changed all the same.
    try? ControlAddress(VolumePath(tree, volumeTable()).mount)
  }

  /// Waits until everything under way is done.
  private func finish() {
    if !group.isEmpty { send() }
    queue?.finish()
    queue = nil
  }
}
