// `varve acl restore`: lists from a dump or an undo file, back to where they belong.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import Verbs

func restoreLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve acl restore")
  let names = NameBook.machine(Accounts())
  let file = invocation.operands[0]
  let restoration = Restoration(
    try ListChanger(invocation, console, names), console, names, from: file,
    root: invocation.values(.root).last,
    progress: invocation.has(.quiet) ? nil : Progress("varve acl restore", console))
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
  private let changer: ListChanger
  private let console: Console
  private let names: NameBook
  private let newRoot: Word?
  private let progress: Progress?
  private var reader = DumpReader()
  private var isEnded = false
  private var chain: DirectoryChain?
  /// The root in force, as it would be typed.
  private var root: Word = []
  /// The root the file names, which another one can stand for.
  private var rootInFile: Word?
  /// Objects that had their record.
  ///
  /// The first one is the oldest; a later one tells of a list that was changed already: the object has several
  /// names, or a run came to it twice, as `propagate d/sub d` does, or `--resume` with another list.
  private var restored: Set<ObjectKey> = []

  private struct ObjectKey: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  init(
    _ changer: ListChanger, _ console: Console, _ names: NameBook, from file: Word, root: Word?,
    progress: Progress?
  ) {
    self.file = file == Word("-".utf8) ? Word("standard input".utf8) : file
    self.changer = changer
    self.console = console
    self.names = names
    self.progress = progress
    newRoot = root
  }

  /// Reads lines from pages until one is empty.
  func read(_ page: () throws(Errno) -> [UInt8]) throws(Errno) {
    var line: [UInt8] = []
    while !Interruption.isRequested {
      let bytes = try page()
      if bytes.isEmpty { break }
      var rest = bytes[...]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        line += rest[..<end]
        rest = rest[(end + 1)...]
        guard take(line), !Interruption.isRequested else { return }
        line = []
      }
      line += rest
      // Far more than any line has: a path of a million bytes.
      guard line.count < 1 << 22 else { throw .tooBig }
    }
    if !Interruption.isRequested { judgeEnd(line) }
  }

  /// Says whether the file is whole: `line` is what follows its last newline.
  private func judgeEnd(_ line: [UInt8]) {
    if !reader.hasBegun {
      console.complain(
        file, "is no dump of access lists: '\(DumpReader.header)' was expected, and it ends before that")
    } else if !line.isEmpty || reader.isInRecord {
      console.complain(file, "ends inside a record; what is complete in it was restored")
    } else if !isEnded {
      console.note(
        file,
        "has no '\(DumpReader.end)' at its end: whoever wrote the file was stopped; what is complete in it "
          + "was restored")
    }
  }

  /// Takes one line; answers whether to go on.
  private func take(_ line: [UInt8]) -> Bool {
    do throws(DumpFailure) {
      switch try reader.read(line) {
      case nil: break
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
      let place = try openRoot()
      let resolved = newRoot == nil ? root : try absolute(root)
      changer.undo?.begin(resolved: resolved)
      chain = DirectoryChain(place)
    } catch {
      let isOtherWay = newRoot == nil && (error == .notDirectory || error == .tooManySymbolicLinks)
      console.complain(
        root,
        isOtherWay
          ? "the way to it leads over a link now, or something else that is no directory; if that is meant, "
            + "name it with --root" : "\(error)")
    }
  }

  /// Links were resolved when the path was written down: one that is there now was put there since.
  private func openRoot() throws(Errno) -> SharedDescriptor {
    guard newRoot == nil else { return SharedDescriptor(try Descriptor.place(root, .followed)) }
    return SharedDescriptor(try Descriptor.place(withoutLinks: root))
  }

  private func restore(_ record: DumpRecord) {
    // Without a root there is nothing to restore to, and that was said.
    guard let chain else { return }
    progress?.count()
    let parts = record.path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    let name = parts.last ?? []
    let location = ItemLocation(
      root: root, above: Array(parts.dropLast().joined(separator: [UInt8(ascii: "/")])), name: name)
    do throws(Errno) {
      let place = try chain.item(parts)
      let status = try place.descriptor.status()
      guard (status.kind == .directory) == record.isDirectory, status.kind != .symbolicLink else {
        console.complain(location.path, "is not a \(record.isDirectory ? "directory" : "file") any more")
        return
      }
      let key = ObjectKey(device: status.device, inode: status.inode)
      guard restored.insert(key).inserted else { return }
      apply(record, VisitedItem(location: location, status: status, place: place, depth: parts.count))
    } catch .noSuchFile {
      console.complain(location.path, "is gone (ENOENT)")
    } catch .notDirectory, .tooManySymbolicLinks {
      console.complain(location.path, "the way to it leads over something that is not a directory any more")
    } catch {
      console.complain(location.path, error)
    }
  }

  private func apply(_ record: DumpRecord, _ item: VisitedItem) {
    let list: AccessList?
    do throws(FormatFailure) {
      let read = try ListFormat.macos.list(Array(record.lines.joined(separator: "\n").utf8), names: names)
      list = record.lines.isEmpty ? nil : read
    } catch {
      console.complain(item.path, "its record: \(error)")
      return
    }
    let rule = ListRule(names, replacesDamage: true) { before, _ in
      before == list ? .unchanged : .store(list)
    }
    _ = changer.change(item, by: rule)
  }

  func finish() -> Int32 {
    changer.finish()
  }
}
