// `varve acl restore`: what a dump or an undo file holds, back to where it belongs.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms

func restoreLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let file = invocation.operands[0]
  let restoration = Restoration(
    ItemRestorer(ledger: try ChangeLedger(invocation, console)), console, from: file,
    root: invocation.values(.root).last)
  Interruption.watch()
  do throws(Errno) {
    if file == Word("-".utf8) {
      try restoration.read { () throws(Errno) in try StandardStream.input.read() }
    } else {
      let input = SharedDescriptor(try Descriptor.reading(file))
      try restoration.read { () throws(Errno) in try input.descriptor.readToEnd(limit: 65_536) }
    }
  } catch {
    console.complain(file, error)
  }
  return restoration.finish()
}

/// Reads a dump from front to back and restores item by item.
private final class Restoration {
  /// What is read, for complaints.
  private let file: Word
  private let restorer: ItemRestorer
  private let console: Console
  private let newRoot: Word?
  private let progress: Progress?
  private var reader = DumpReader(names: .machine)
  private var isEnded = false
  private var chain: DirectoryChain?
  /// The root in force, as it would be typed.
  private var root: Word = []
  /// The last root that could not be got at.
  private var lostRoot: Word?
  /// The root the file names, which another one can stand for.
  private var rootInFile: Word?
  /// What objects have got back.
  ///
  /// The first record is the oldest; a later one tells of what was changed already: the object has several names,
  /// or a run came to it twice, as `propagate d/sub d` does, or `--resume` with another change.
  private var restored: [ObjectKey: RestoredParts] = [:]
  /// What has to wait for the end of the file: items that are locked, as a later record may know that they should
  /// not be, and directories that close for the user who restores, as what is in them comes later.
  private var postponed: [Postponed] = []
  private var isPostponing = true
  // Far more than anybody locks between two runs that share a file.
  private static let mostPostponed = 65_536

  private struct Postponed {
    let root: Word
    let record: DumpRecord
    /// What it is to bring back; no other record does.
    let parts: RestoredParts
  }

  init(_ restorer: ItemRestorer, _ console: Console, from file: Word, root: Word?) {
    self.file = file == Word("-".utf8) ? Word("standard input".utf8) : file
    self.restorer = restorer
    self.console = console
    progress = console.progress()
    newRoot = root
  }

  /// Reads lines from pages until one is empty.
  func read(_ page: () throws(Errno) -> [UInt8]) throws(Errno) {
    var goesOn = true
    let line = try pieces(endedBy: UInt8(ascii: "\n"), of: page) { line in
      goesOn = take(line)
      return goesOn && !Interruption.isRequested
    }
    guard goesOn else { return }
    guard !Interruption.isRequested else { return }
    restorePostponed()
    judgeEnd(line)
  }

  /// Says whether the file is whole: `line` is what follows its last newline.
  private func judgeEnd(_ line: [UInt8]) {
    if !reader.hasBegun {
      console.complain(
        file, "is not a dump of access lists: \(DumpReader.expected), and it ends before that")
    } else if !line.isEmpty || reader.isInRecord {
      console.complain(file, "ends inside a record; what is complete in it \(restoredWords)")
    } else if !isEnded {
      console.note(
        file,
        "has no '\(DumpReader.end)' at its end: the program that wrote it was stopped; what is complete in it "
          + restoredWords)
    }
  }

  private var restoredWords: String { restorer.ledger.isDryRun ? "would be restored" : "was restored" }

  /// Takes one line; answers whether to go on.
  private func take(_ line: [UInt8]) -> Bool {
    do throws(DumpFailure) {
      guard let piece = try reader.read(line) else { return true }
      switch piece {
      case .end: isEnded = true
      case .root(let path):
        isEnded = false
        guard newRoot == nil || rootInFile == nil || rootInFile == path else {
          console.complain(
            file,
            "has a second root, \(shown(path)), and --root names one place for both; nothing "
              + "after this line is restored")
          isEnded = true
          return false
        }
        begin(path)
      case .record(let record):
        isEnded = false
        restore(record)
      }
      return true
    } catch {
      console.complain(file, "\(error); nothing after this line is restored")
      isEnded = true
      return false
    }
  }

  private func begin(_ path: [UInt8]) {
    rootInFile = path
    root = newRoot ?? path
    chain = nil
    do throws(Errno) {
      let held = try openRoot()
      let resolved = newRoot == nil ? root : try absolute(root)
      restorer.ledger.undo?.begin(resolved: resolved)
      chain = DirectoryChain(held)
    } catch  where lostRoot == root {
      // That was said.
    } catch {
      lostRoot = root
      let isOtherWay = newRoot == nil && (error == .notDirectory || error == .tooManySymbolicLinks)
      console.complain(
        root,
        isOtherWay
          ? "the way to it leads over a link now, or something else that is not a directory; if that is meant, "
            + "name it with --root" : "\(error)")
    }
  }

  /// Links were resolved when the path was written down: one that is there now was put there since.
  private func openRoot() throws(Errno) -> SharedDescriptor {
    guard newRoot == nil else { return SharedDescriptor(try Descriptor.item(atPath: root, .followed)) }
    return SharedDescriptor(try Descriptor.item(withoutLinks: root))
  }

  private func restore(_ record: DumpRecord, own: RestoredParts = []) {
    // Without a root there is nothing to restore to, and that was said.
    guard let chain else { return }
    progress?.count()
    restore(record, own, chain)
  }

  private func restore(_ record: DumpRecord, _ own: RestoredParts, _ chain: DirectoryChain) {
    let names = record.path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    let name = names.last ?? []
    let location = ItemLocation(
      root: root, above: Array(names.dropLast().joined(separator: [UInt8(ascii: "/")])), name: name)
    if let unknown = record.facts.unknownAccount {
      return console.complain(location.path, "its record: there is no \(unknown) here")
    }
    do throws(Errno) {
      let held = try chain.item(names)
      let status = try held.descriptor.status()
      guard status.recordKind == record.kind else {
        console.complain(location.path, "is not a \(record.kind.rawValue) any more")
        return
      }
      let key = ObjectKey(status)
      let known = (restored[key] ?? []).subtracting(own)
      let parts = RestoredParts(record).subtracting(known)
      guard !parts.isEmpty else { return }
      restored[key] = known.union(parts)
      let item = VisitedItem(location: location, status: status, held: held, depth: names.count)
      if closes(record, status) || !apply(record, item, known) {
        guard let rootInFile else { return }
        postponed.append(Postponed(root: rootInFile, record: record, parts: parts))
      }
    } catch .noSuchFile {
      console.complain(location.path, "is gone (ENOENT)")
    } catch .notDirectory, .tooManySymbolicLinks {
      console.complain(location.path, "the way to it leads over something that is not a directory any more")
    } catch {
      console.complain(location.path, error)
    }
  }

  private var mayPostpone: Bool { isPostponing && postponed.count < Restoration.mostPostponed }

  /// Whether a directory becomes one that not everybody gets into who does now; root always does.
  private func closes(_ record: DumpRecord, _ status: FileStatus) -> Bool {
    guard mayPostpone, record.kind == .directory, let mode = record.facts.mode, !CurrentProcess.isRoot else {
      return false
    }
    return UInt32(status.mode) & 0o111 & ~mode != 0
  }

  private func restorePostponed() {
    isPostponing = false
    // What is in directories before they close, and the deepest of them first.
    let (directories, others) = (
      postponed.filter { $0.record.kind == .directory }, postponed.filter { $0.record.kind != .directory }
    )
    for late in others + directories.reversed() where !Interruption.isRequested {
      if rootInFile != late.root || chain == nil { begin(late.root) }
      restore(late.record, own: late.parts)
    }
  }

  /// Brings back what a record says; answers whether that is settled, be it as a failure.
  private func apply(
    _ record: DumpRecord, _ item: VisitedItem, _ known: RestoredParts
  ) -> Bool {
    let mayBeUnlocked =
      mayPostpone && !known.contains(.flags) && record.facts.flags == nil
    // A dry run meets no refusal here that could be waited with.
    if restorer.ledger.isDryRun, mayBeUnlocked, item.isLocked { return false }
    do throws(Refusal) {
      try restorer.restore(record, item, known: known)
    } catch {
      if mayBeUnlocked, item.isLocked { return false }
      console.complain(item.path, error.sentence)
    }
    return true
  }

  func finish() -> Int32 {
    restorer.ledger.finish()
  }
}
