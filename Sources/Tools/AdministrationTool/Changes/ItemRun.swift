// What chmod, chflags and chown share: the walk, the way back, the dry run, the count.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

/// One run of such a verb.
final class ItemRun {
  let console: Console
  let ledger: ChangeLedger
  private let paths: PathOperands
  private let isForced: Bool
  private let undoRoot: UndoRoot?
  /// Nil where nobody wants to see it.
  let progress: Progress?
  /// Whether the ledger counts the item being visited.
  private var isCounted = false

  /// With `-f` nothing that fails is said from now on.
  init(
    _ invocation: Invocation, _ console: Console, _ paths: PathOperands,
    repetition: ChangeLedger.Repetition = .harmless, tells: Bool? = nil
  ) throws(UsageError) {
    self.console = console
    self.paths = paths
    ledger = try ChangeLedger(invocation, console, repetition: repetition, tells: tells)
    progress = console.progress()
    undoRoot = ledger.undo.map { UndoRoot($0) }
    isForced = invocation.has(.force)
    Interruption.watch()
  }

  /// Goes through the paths, and through what is below them if the walk does.
  ///
  /// `begin` is told of each path before anything is visited.
  func go(
    _ walk: ItemWalk, _ begin: (Word, SharedDescriptor) throws(Refusal) -> Void = { _, _ in },
    _ visit: (VisitedItem) throws(Refusal) -> Void
  ) {
    // Only now: what is wrong with the words is said in any case.
    console.isSilent = isForced
    var walk = walk
    walk.progress = progress
    paths.forEach(console) { path in
      do throws(Errno) {
        let held = try walk.hold(path)
        var isOutside = false
        do throws(Refusal) { try begin(path, held) } catch {
          console.complain(path, error.sentence)
          return
        }
        try undoRoot?.begin(path, held, followsEverything: walk.links == .all && walk.isRecursive)
        ledger.beginTree()
        walk.go(path, at: held, leaf: nil) { item in
          isCounted = false
          do throws(Refusal) {
            try visit(item)
            if !isCounted { ledger.count { $0.unchanged += 1 } }
          } catch {
            guard error.isAboutVolume else {
              console.complain(item.path, error.sentence)
              return .into
            }
            // Once for a tree: the first thing that comes may be at its bottom, and the rest is no different.
            if isOutside {
              ledger.count { $0.left += 1 }
            } else {
              console.complain(held.descriptor.isOnVolume() ? item.path : path, error.sentence)
            }
            isOutside = true
          }
          return .into
        }
      } catch {
        console.complain(path, walk.missing(path, error))
      }
    }
  }

  /// Changes an item: first the way back is kept, where there is one, then `call` is made.
  ///
  /// `changes` are its calls, for a dry run, which ends here; `refusal` makes a sentence of their errors, and `tell` says
  /// what came of them. Without `facts` and `lines` nothing changes, and nothing is kept.
  func change(
    _ item: VisitedItem, facts: ItemFacts = ItemFacts(), lines: [String]? = nil, changes: [AskedChange],
    refusal: @escaping @Sendable (Errno) -> Refusal, tell: @escaping @Sendable (Prospect) -> ToldChange?,
    _ call: () throws(Errno) -> Void
  ) throws(Refusal) {
    var record: DumpRecord?
    if let undoRoot, !facts.isEmpty || lines != nil {
      let path = try undoRoot.path(of: item)
      record = DumpRecord(item.status.recordKind, path: path, facts: facts, lines: lines)
    }
    let change = ItemChange(
      location: item.location, held: item.held, changes: changes, refusal: { error, _ in refusal(error) },
      tell: tell)
    try ledger.change(change, keeping: record) { () throws(Refusal) in try attempt(call(), refusal) }
    isCounted = true
  }

  /// The item being visited is none for this run.
  func ignore() { isCounted = true }

  func finish(_ addition: () -> ChangeLedger.Addition = { ChangeLedger.Addition() }) -> Int32 {
    ledger.finish(addition)
  }
}

/// Where the items of a run belong in its undo file.
private final class UndoRoot {
  private let undo: UndoFile
  /// The root of the walk: its path, and the name behind it if it is a link.
  private var root: [UInt8] = []
  private var name: [UInt8] = []
  private var device: UInt64 = 0
  private var followsEverything = false
  /// Whether the last root written is that of the walk.
  private var isInForce = false

  init(_ undo: UndoFile) {
    self.undo = undo
  }

  func begin(_ path: Word, _ held: SharedDescriptor, followsEverything: Bool) throws(Errno) {
    let status = try held.descriptor.status()
    device = status.device
    self.followsEverything = followsEverything
    isInForce = false
    do throws(Errno) {
      (root, name) = split(try held.descriptor.heldPath(), status)
    } catch {
      // A path too long for the system to tell.
      guard status.kind != .symbolicLink else { throw error }
      (root, name) = (try absolute(path), [])
    }
  }

  /// Nobody restores through a link, so a link is an item of the directory it is in.
  private func split(_ path: [UInt8], _ status: FileStatus) -> (root: [UInt8], name: [UInt8]) {
    guard status.kind == .symbolicLink, let end = path.lastIndex(of: slash) else { return (path, []) }
    return (end == 0 ? [slash] : Array(path[..<end]), Array(path[(end + 1)...]))
  }

  /// The path of an item below the root in force, which is written if it is another one.
  func path(of item: VisitedItem) throws(Refusal) -> [UInt8] {
    var path = name.isEmpty ? item.location.relative : name
    // Behind a link and across a mount point the way down from the root is none that is gone again.
    if item.depth > 0, followsEverything || item.status.device != device {
      do throws(Errno) {
        let (root, name) = split(try item.held.descriptor.heldPath(), item.status)
        undo.begin(resolved: root)
        path = name
      } catch {
        throw Refusal("its path cannot be written to the undo file: \(error); left alone")
      }
      isInForce = false
    } else if !isInForce {
      undo.begin(resolved: root)
      isInForce = true
    }
    return path
  }
}
