// The rules of docs/SEMANTICS.md on a tree in memory. Verdicts about rights come from the engine; everything an
// operation looks at, asks for and changes is written down here a second time.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles
import MountSupport

/// One object.
final class Thing {
  let kind: Status.Kind
  var user: UInt32
  var group: UInt32
  var mode: UInt16
  var flags: FileFlags = []
  var list: AccessList?
  var bytes: [UInt8] = []
  var target = ""
  var entries: [String: Thing] = [:]
  var attributes: [String: [UInt8]] = [:]
  var links = 1
  /// The directory a directory is in.
  weak var parent: Thing?
  /// Set explicitly and not touched since.
  var accessed: Int64?
  var modified: Int64?
  /// Handles that can write.
  var writers = 0
  /// A handle that could write was closed.
  ///
  /// The kernel tells the daemon about that when it likes.
  var lostWriter = false
  /// The kernel's own check of hard links may go by a mode that is gone.
  var wasStrippedUnseen = false
  /// How the handles on it reach the bytes.
  var routes = HandleRoutes()
  /// Whether a lower has it or had it, so that it depends on the past how the kernel gets at its bytes.
  var mayBeInLower = false
  /// A write was refused that the kernel had put into its pages already: mappings may show it for a moment (SEMANTICS 2.5).
  var mayShowRefused = false
  /// It was opened while it was append-only.
  var wasOpenedToGrow = false
  /// The kernel has yet to write what was written through a mapping, which moves the time of modification.
  var mayBeUnsynced = false
  /// Made by O_TMPFILE and never given a name: the only nameless file that can get one.
  var mayGetFirstName = false

  init(_ kind: Status.Kind, user: UInt32, group: UInt32, mode: UInt16) {
    self.kind = kind
    self.user = user
    self.group = group
    self.mode = mode
  }

  var isDirectory: Bool { kind == .directory }

  var item: Item {
    let itemKind: ItemKind =
      switch kind {
      case .file: .file
      case .directory: .directory
      case .link: .symbolicLink
      case .fifo: .special
      }
    return Item(kind: itemKind, user: user, group: group, mode: Mode(mode), flags: flags, list: list)
  }

  /// Whether this is `other` or a directory above it.
  func contains(_ other: Thing) -> Bool {
    var place: Thing? = other
    while let current = place {
      if current === self { return true }
      place = current.parent
    }
    return false
  }
}

/// A file that is open in a slot.
struct OpenThing {
  var thing: Thing
  var canRead: Bool
  var canWrite: Bool
  var appends: Bool
  var route: HandleRoute
  /// Whether writes go by with the word that set-id bits are to go, so that the kernel does not strip; nil: it depends.
  var isDirect: Bool?
  var position = 0
}

/// The volume as it should be.
final class Model {
  let rules: VolumeRules
  /// The sysctl `fs.protected_hardlinks`.
  let protectsHardLinks: Bool
  /// Whether the kernel reads and writes plain files by itself.
  let passesThrough: Bool
  /// Whether the kernel takes set-id bits away by itself (SEMANTICS 7.8).
  let kernelStrips: Bool
  /// Whether what O_TMPFILE made can get a name: not where the file system below has none of that.
  let namesUnnamed: Bool
  /// Whether records are attributes `user.*`, which only files and directories have (SEMANTICS 12).
  let hasUserRecords: Bool
  /// Whether names can be exchanged (SEMANTICS 20.5).
  let exchangesNames: Bool
  /// Whether there are lowers, so that directories have one link (SEMANTICS 18.1).
  let hasLowers: Bool
  let root: Thing
  var slots: [Int: OpenThing] = [:]
  var mappings: [Int: Mapping] = [:]
  private let judges: [Judge]
  /// Who makes the present call.
  private(set) var userIndex = 0

  init(
    _ rules: VolumeRules, protectsHardLinks: Bool, passesThrough: Bool, kernelStrips: Bool,
    namesUnnamed: Bool = true, hasUserRecords: Bool = false, exchangesNames: Bool = true,
    hasLowers: Bool = false
  ) {
    self.hasLowers = hasLowers
    self.namesUnnamed = namesUnnamed
    self.hasUserRecords = hasUserRecords
    self.exchangesNames = exchangesNames
    self.rules = rules
    self.protectsHardLinks = protectsHardLinks
    self.passesThrough = passesThrough
    self.kernelStrips = kernelStrips
    root = Thing(.directory, user: 0, group: 0, mode: 0o777)
    root.links = 2
    judges = Cast.users.map {
      Judge(
        rules: rules,
        subject: Subject(user: $0.user, group: $0.group, groups: .listed($0.groups), capabilities: .all))
    }
  }

  func carriesRecord(_ kind: Status.Kind) -> Bool {
    !hasUserRecords || kind == .file || kind == .directory
  }

  func scene(_ thing: Thing) -> Scene { Scene(thing.item, carriesRecord: carriesRecord(thing.kind)) }

  var judge: Judge { judges[userIndex] }
  var subject: Subject { judge.subject }
  var isRoot: Bool { subject.user == 0 }

  func perform(_ operation: Operation) -> Outcome {
    userIndex = operation.user
    do throws(Errno) {
      return try answer(operation.call)
    } catch {
      return .failed(error)
    }
  }

  private func answer(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .makeLower:
      makeLower()
      return .done
    case .open, .openUnnamed, .linkOpen, .close, .read, .readAt, .write, .writeAt, .cutOpen, .statusOfOpen:
      return try answerOnOpen(call)
    case .map, .readMapped, .writeMapped, .unmap:
      return try answerOnMapping(call)
    case .setFlags, .setFlagsText, .removeFlags, .getFlags, .setList, .setListText, .removeList, .getList,
      .setAttribute, .getAttribute, .removeAttribute, .listAttributes:
      return try answerOnAttribute(call)
    case .makeDirectory, .removeDirectory, .unlink, .rename, .link, .makeLink, .makeFIFO:
      return try answerOnName(call)
    default:
      return try answerOnObject(call)
    }
  }

  private func makeLower() {
    for slot in Array(slots.keys) { close(slot) }
    mappings = [:]
    func visit(_ thing: Thing) {
      thing.mayBeInLower = true
      (thing.mayBeUnsynced, thing.wasOpenedToGrow, thing.mayShowRefused) = (false, false, false)
      thing.routes = HandleRoutes()
      thing.entries.values.forEach(visit)
    }
    visit(root)
    // The new upper directory was looked at and filled.
    (root.accessed, root.modified) = (nil, nil)
  }

  /// The count of links that stat shows.
  func shownLinks(_ thing: Thing) -> Int? {
    // The root has the bookkeeping below it, which nobody sees.
    if thing === root { return nil }
    return hasLowers && thing.isDirectory ? 1 : thing.links
  }

  func require(_ verdict: Verdict) throws(Errno) {
    switch verdict.refusal {
    case nil: return
    case .readOnly: throw .readOnly
    case .notPermitted: throw .notPermitted
    case .accessDenied: throw .accessDenied
    case .damaged: throw .inputOutput
    case .unsupported: throw .unsupported
    case .impossible where verdict.obstacle == .noRecord: throw .unsupported
    default: throw .inputOutput
    }
  }

  // MARK: The way to an object

  /// A name in a directory, and what stands there.
  struct Place {
    /// `nil` for the root.
    var directory: Thing?
    var name: String
    var thing: Thing?
  }

  /// One step down: `search` is asked of the directory before anything is said about the name.
  func lookUp(_ name: String, in directory: Thing) throws(Errno) -> Thing? {
    try require(judge.decide(.search, on: directory.item))
    guard let thing = directory.entries[name] else { return nil }
    // SEMANTICS 7.5: a FIFO shows itself only to those who may use or remove it, or could give themselves the right.
    if thing.kind == .fifo {
      try require(judge.decide(.find, on: thing.item, in: directory.item))
    }
    return thing
  }

  /// Walks to `path` as the kernel does.
  func walk(_ path: String, follows: Bool) throws(Errno) -> Place {
    var linksFollowed = 0
    return try walk(path, from: root, follows: follows, &linksFollowed)
  }

  private func walk(
    _ path: String, from start: Thing, follows: Bool, _ linksFollowed: inout Int
  ) throws(Errno) -> Place {
    guard !path.isEmpty else { return Place(directory: nil, name: "", thing: root) }
    var current = start
    let names = path.split(separator: "/").map(String.init)
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if name == ".." {
        // SEMANTICS 5.5: the step up sends no request, so it asks for nothing.
        current = current.parent ?? root
        if isLast { return Place(directory: current.parent, name: "", thing: current) }
        continue
      }
      let found = try lookUp(name, in: current)
      if let link = found, link.kind == .link, !isLast || follows {
        linksFollowed += 1
        guard linksFollowed <= 40 else { throw .tooManySymbolicLinks }
        // SEMANTICS 1.12: READLINK asks for no right.
        link.accessed = nil
        let place = try walk(link.target, from: current, follows: true, &linksFollowed)
        if isLast { return place }
        guard let thing = place.thing else { throw .noSuchFile }
        guard thing.isDirectory else { throw .notDirectory }
        current = thing
        continue
      }
      if isLast { return Place(directory: current, name: name, thing: found) }
      guard let thing = found else { throw .noSuchFile }
      guard thing.isDirectory else { throw .notDirectory }
      current = thing
    }
    throw .noSuchFile
  }

  /// Walks to the directory of the last name only.
  func walkToParent(_ path: String) throws(Errno) -> (directory: Thing, name: String) {
    var names = path.split(separator: "/").map(String.init)
    let name = names.popLast() ?? ""
    guard !names.isEmpty else { return (root, name) }
    guard let thing = try walk(names.joined(separator: "/"), follows: true).thing else {
      throw .noSuchFile
    }
    guard thing.isDirectory else { throw .notDirectory }
    return (thing, name)
  }

  /// The object at `path`.
  func find(_ path: String, follows: Bool = true) throws(Errno) -> Thing {
    guard let thing = try walk(path, follows: follows).thing else { throw .noSuchFile }
    return thing
  }

  /// A place for something new.
  func findFree(_ path: String) throws(Errno) -> (directory: Thing, name: String) {
    let place = try walk(path, follows: false)
    guard place.thing == nil, let directory = place.directory else { throw .exists }
    return (directory, place.name)
  }
}
