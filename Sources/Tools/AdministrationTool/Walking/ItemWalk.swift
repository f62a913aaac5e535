// Going through trees: by descriptors, so that nobody can swap a directory for a link on the way, and so that
// no path is too long.
//
// A level holds one open directory and one page of names, however large the directory is. Only the
// deepest levels stay open; a level above them remembers its place and is found again through `..`.
//
// For verbs with `-R`: memory is bounded by the depth of a tree, not by its size (`ToolMemoryTests`).

import Arguments
import DisplayNames
import LinuxFiles
import LinuxPrograms

/// Where an item is: below the root of a walk.
///
/// Paths are put together only when one is needed.
struct ItemLocation: Sendable {
  /// As it was typed.
  let root: [UInt8]
  /// The directory the item is in, below the root.
  let above: [UInt8]
  /// Empty for the root itself.
  let name: [UInt8]

  /// Below the root; empty for the root itself.
  var relative: [UInt8] { above.isEmpty ? name : joined(above, name) }

  /// As it would be typed.
  var path: [UInt8] {
    let relative = relative
    return relative.isEmpty ? root : joined(root, relative)
  }
}

/// One item a walk has come to.
struct VisitedItem: Sendable {
  let location: ItemLocation
  let status: FileStatus
  /// A place in the tree, or an open directory.
  let held: SharedDescriptor
  /// 0 for the root.
  let depth: Int

  var path: [UInt8] { location.path }
}

/// A name in a directory that a walk passes on unopened.
struct LeafItem: Sendable {
  let location: ItemLocation
  let directory: SharedDescriptor
  let depth: Int
}

/// How a tree is walked.
struct ItemWalk {
  enum Links {
    /// Links are items; with `-R` those that are not items for the verb are passed over.
    case none
    case named
    case all
  }

  enum Order {
    case directoryFirst
    case contentsFirst
  }

  /// What comes after a visit.
  enum Descent {
    /// The walk goes into the item, if it is a directory.
    case into
    case past
    /// The item was not reached any more (ESTALE): its name is looked up again.
    case again
  }

  var isRecursive: Bool
  var links = Links.none
  var order: Order
  /// Whether a link can be an item (`-h`).
  var actsOnLinks = false
  var staysOnFileSystem = false
  /// Asked whether the walk may end before it has seen everything.
  var hasEnough: (() -> Bool)?
  /// Told when something of another file system is passed over.
  var passingOver: (() -> Void)?
  let console: Console
  /// Told of each item.
  var progress: Progress?

  init(isRecursive: Bool, order: Order, _ console: Console) {
    self.isRecursive = isRecursive
    self.order = order
    self.console = console
  }

  /// The walk of the verbs about lists: it follows what is named, and stays on one file system.
  static func ofLists(isRecursive: Bool, _ console: Console, _ progress: Progress? = nil) -> ItemWalk {
    var walk = ItemWalk(isRecursive: isRecursive, order: .directoryFirst, console)
    walk.links = .named
    walk.staysOnFileSystem = true
    walk.progress = progress
    return walk
  }

  /// Takes the walk from the options most verbs share.
  init(_ invocation: Invocation, _ order: Order, _ console: Console) {
    self.init(isRecursive: invocation.has(.recursive), order: order, console)
    actsOnLinks = invocation.has(.actOnLinks)
    staysOnFileSystem = invocation.has(.oneFileSystem)
    switch isRecursive ? invocation.last(of: [.followNamed, .followAll, .followNone]) : nil {
    case .followNamed: links = .named
    case .followAll: links = .all
    default: break
    }
  }

  /// Visits what `path` names and, if asked for, everything below, where `visit` says to go into a directory.
  ///
  /// What fails is complained about, and the walk goes on.
  ///
  /// - Parameters:
  ///   - path: the root of the walk.
  ///   - leaf: takes what is not a directory and not a link, without opening it, if it is given.
  ///   - visit: takes everything else.
  func go(_ path: [UInt8], leaf: ((LeafItem) -> Void)?, _ visit: (VisitedItem) -> Descent) {
    go(path, leaf, visit) { isAgain throws(Errno) in
      if isAgain { ItemWalk.renew(path) }
      return try hold(path)
    }
  }

  private static func renew(_ path: [UInt8]) {
    guard let directory = try? Descriptor.item(atPath: path.withoutLastName, .followed) else { return }
    renew(Array(path[(path.lastIndex(of: slash).map { $0 + 1 } ?? 0)...]), in: directory)
  }

  /// Makes the kernel forget what it remembers of a name, if that is ESTALE.
  ///
  /// It looks a name up again when a call by that name is ESTALE, and not for a call by a descriptor. So this asks for
  /// the time of birth, which the kernel does not remember.
  static func renew(_ name: [UInt8], in directory: borrowing Descriptor) {
    // What is wrong with it the next call says.
    try? FileName.with(name) { name throws(Errno) in _ = try directory.status(of: name) }
  }

  /// Holds on to what a walk from `path` begins with.
  func hold(_ path: [UInt8]) throws(Errno) -> SharedDescriptor {
    SharedDescriptor(try Descriptor.item(atPath: path, followsRoot ? .followed : .held))
  }

  private var followsRoot: Bool { isRecursive ? links != .none : !actsOnLinks }

  /// Visits from a place on that is held already; `path` only says how it was come by.
  func go(
    _ path: [UInt8], at held: SharedDescriptor, leaf: ((LeafItem) -> Void)?,
    _ visit: (VisitedItem) -> Descent
  ) {
    go(path, leaf, visit) { _ in held }
  }

  private func go(
    _ path: [UInt8], _ leaf: ((LeafItem) -> Void)?, _ visit: (VisitedItem) -> Descent,
    _ find: (_ isAgain: Bool) throws(Errno) -> SharedDescriptor
  ) {
    let running = RunningWalk(self, root: path)
    do throws(Errno) {
      try running.take(
        ItemLocation(root: path, above: [], name: []), isFollowed: followsRoot, visit, find)
      // One complaint about a daemon that is gone is enough.
      let lostBefore = console.lostDaemons
      while running.isDescending, !Interruption.isRequested, hasEnough?() != true,
        console.lostDaemons == lostBefore
      {
        running.step(leaf, visit)
      }
    } catch {
      console.complain(path, missing(path, error))
    }
  }

  /// A walk through a view sees what that shows, and says so.
  func tellOfHidden(_ path: [UInt8]) {
    guard let table = try? volumeTable(), let view = try? VolumePath(path, table).view,
      ViewName(view)?.showsHidden == false
    else { return }
    console.note(path, "hidden items are left out in a view; name the real path to take them along")
  }

  /// A word such as `-R` behind the first operand is taken for a file, as on every BSD; say so.
  func missing(_ path: [UInt8], _ error: Errno) -> String {
    guard error == .noSuchFile, path.first == UInt8(ascii: "-"), !path.contains(UInt8(ascii: "/")) else {
      return "\(error)\(error.advice(about: path))"
    }
    if path == Array("--".utf8) {
      return "\(error); write '--' before everything else; after it each word is a file"
    }
    return "\(error); write options before everything else, and a file of this name with './' in front"
  }
}

extension FileStatus {
  /// Whether both are of one object.
  func isSame(as other: FileStatus) -> Bool {
    inode == other.inode && device == other.device
  }
}
