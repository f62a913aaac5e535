// The state of one walk: a stack of directories, of which the deepest are open.

import LinuxFiles
import LinuxPrograms

/// A walk under way.
final class RunningWalk {
  /// A directory whose contents are being visited.
  private final class Level {
    /// How many bytes of `above` lead here.
    let pathCount: Int
    let status: FileStatus
    /// Whether a link led here, so that `..` does not lead back.
    let isBehindLink: Bool
    /// Nil while it is closed to save descriptors.
    var listing: SharedDescriptor?
    /// Names not visited yet, the last first.
    var page: [Name] = []
    /// Where the listing goes on after the last name visited.
    var offset: Int64 = 0

    init(_ pathCount: Int, _ status: FileStatus, isBehindLink: Bool, _ listing: SharedDescriptor) {
      self.pathCount = pathCount
      self.status = status
      self.isBehindLink = isBehindLink
      self.listing = listing
    }
  }

  /// The attempts to visit what is under one name.
  private struct Search {
    var attempts = 0
    var isNew = true
    /// A directory that was visited, and could not be opened then.
    var visited: FileStatus?
  }

  private struct Name {
    let bytes: [UInt8]
    let kind: FileKind?
    let nextOffset: Int64
  }

  /// Far below the usual limit of 1,024, and deeper than nearly every tree.
  private static let mostOpenLevels = 64
  /// A name that is exchanged without a pause was stale once in a hundred times.
  private static let mostAttempts = 16

  private let walk: ItemWalk
  private let root: [UInt8]
  /// That of the root, once it was found.
  private var device: UInt64?
  private var levels: [Level] = []
  /// The deepest level's path below the root.
  private var above: [UInt8] = []
  private var buffer = EntryBuffer()

  init(_ walk: ItemWalk, root: [UInt8]) {
    self.walk = walk
    self.root = root
  }

  var isDescending: Bool { !levels.isEmpty }

  /// Finds what is under a name, and visits it; opens it if it is a directory to go into.
  ///
  /// What was found is held by its object. If that is moved or replaced behind the mount, the next call is ESTALE. Then
  /// the name is looked up again, and leads to the same object, to another one, or nowhere (ENOENT).
  func take(
    _ location: ItemLocation, isFollowed: Bool, _ visit: (VisitedItem) -> ItemWalk.Descent,
    _ find: (_ isAgain: Bool) throws(Errno) -> SharedDescriptor
  ) throws(Errno) {
    var search = Search()
    while true {
      do throws(Errno) {
        return try enter(try find(search.attempts > 0), location, isFollowed: isFollowed, &search, visit)
      } catch {
        search.attempts += 1
        // What is stale so often is so for another reason, and that has to be told.
        guard error == .stale, search.attempts < RunningWalk.mostAttempts, !Interruption.isRequested else {
          throw error
        }
      }
    }
  }

  private func enter(
    _ held: SharedDescriptor, _ location: ItemLocation, isFollowed: Bool, _ search: inout Search,
    _ visit: (VisitedItem) -> ItemWalk.Descent
  ) throws(Errno) {
    let status = try held.descriptor.knownStatus()
    if device == nil { device = status.device }
    if status.kind == .symbolicLink, walk.isRecursive, !walk.actsOnLinks { return }
    if walk.staysOnFileSystem, status.device != device {
      walk.passingOver?()
      return
    }
    let item = VisitedItem(location: location, status: status, held: held, depth: levels.count)
    let isEntered = walk.isRecursive && status.kind == .directory
    if search.isNew {
      search.isNew = false
      if isEntered, levels.isEmpty { walk.tellOfHidden(root) }
      walk.progress?.count()
    }
    // Without links nothing leads back up.
    if isEntered, walk.links == .all, levels.contains(where: { $0.status.isSame(as: status) }) {
      walk.console.complain(location.path, "this link leads back up; not followed again")
      return
    }
    if !isEntered || walk.order == .directoryFirst, search.visited?.isSame(as: status) != true {
      switch visit(item) {
      case .into: search.visited = status
      case .past: return
      case .again: throw .stale
      }
    }
    if isEntered { try descend(item, isFollowed: isFollowed, visit) }
  }

  private func descend(
    _ item: VisitedItem, isFollowed: Bool, _ visit: (VisitedItem) -> ItemWalk.Descent
  ) throws(Errno) {
    let listing: SharedDescriptor
    do throws(Errno) {
      listing = SharedDescriptor(try item.held.descriptor.listing())
    } catch {
      guard walk.order == .contentsFirst, error != .stale, error != .noSuchFile else { throw error }
      walk.console.complain(item.path, error)
      _ = visit(item)
      return
    }
    if !item.location.name.isEmpty {
      if !above.isEmpty { above.append(slash) }
      above += item.location.name
    }
    levels.append(Level(above.count, item.status, isBehindLink: isFollowed, listing))
    closeOneLevel()
  }

  /// Takes the next name of the deepest level, or leaves that level.
  func step(_ leaf: ((LeafItem) -> Void)?, _ visit: (VisitedItem) -> ItemWalk.Descent) {
    guard let level = levels.last else { return }
    guard let listing = level.listing else {
      // It could not be found again, and that was said.
      drop()
      if let above = levels.last, above.listing == nil { reopen(above, from: nil) }
      return
    }
    do throws(Errno) {
      if level.page.isEmpty { try fill(level, listing) }
      guard let name = level.page.popLast() else {
        leave(level, listing, visit)
        return
      }
      level.offset = name.nextOffset
      let location = ItemLocation(root: root, above: above, name: name.bytes)
      if let leaf, let kind = name.kind, kind != .directory {
        guard kind != .symbolicLink else { return }
        walk.progress?.count()
        leaf(LeafItem(location: location, directory: listing, depth: levels.count))
        return
      }
      do throws(Errno) {
        // What is a link comes from the listing; a name of unknown kind is followed as if it were one.
        let isFollowed = walk.links == .all && (name.kind ?? .symbolicLink) == .symbolicLink
        try take(location, isFollowed: isFollowed, visit) { isAgain throws(Errno) in
          if isAgain { ItemWalk.renew(name.bytes, in: listing.descriptor) }
          return SharedDescriptor(try hold(name.bytes, in: listing, isFollowed: isFollowed))
        }
      } catch .noSuchFile {
        // It was removed or moved in the meantime.
      } catch {
        walk.console.complain(location.path, error)
      }
    } catch {
      walk.console.complain(path(of: level), error)
      leave(level, listing, visit)
    }
  }

  /// With `-L`, a link that leads nowhere is held instead.
  private func hold(
    _ name: [UInt8], in listing: SharedDescriptor, isFollowed: Bool
  ) throws(Errno) -> Descriptor {
    guard isFollowed else { return try listing.descriptor.item(named: name, .held) }
    do throws(Errno) {
      return try listing.descriptor.item(named: name, .followed)
    } catch .noSuchFile {
      return try listing.descriptor.item(named: name, .held)
    }
  }

  private func fill(_ level: Level, _ listing: SharedDescriptor) throws(Errno) {
    // A page may hold nothing but "." and "..".
    while level.page.isEmpty, try listing.descriptor.readEntries(into: &buffer) > 0 {
      while let entry = try buffer.next() {
        guard entry.role == .child || entry.role == .unusable else { continue }
        let name = try buffer.nameBytes(of: entry)
        level.page.append(Name(bytes: name, kind: entry.kind, nextOffset: entry.nextOffset))
      }
    }
    level.page.reverse()
  }

  private func leave(
    _ level: Level, _ listing: SharedDescriptor, _ visit: (VisitedItem) -> ItemWalk.Descent
  ) {
    let location = location(of: level)
    drop()
    if let above = levels.last, above.listing == nil { reopen(above, from: listing) }
    if walk.order == .contentsFirst {
      _ = visit(
        VisitedItem(location: location, status: level.status, held: listing, depth: levels.count))
    }
  }

  private func drop() {
    levels.removeLast()
    above.removeLast(above.count - (levels.last?.pathCount ?? 0))
  }

  private func location(of level: Level) -> ItemLocation {
    let end = level.pathCount
    let index = levels.firstIndex { $0 === level } ?? 0
    let start = index > 0 ? levels[index - 1].pathCount : 0
    let name = above[start..<end].drop { $0 == slash }
    return ItemLocation(root: root, above: Array(above[..<start]), name: Array(name))
  }

  private func path(of level: Level) -> [UInt8] { location(of: level).path }

  private func closeOneLevel() {
    let candidate = levels.count - 1 - RunningWalk.mostOpenLevels
    // Behind a link there is no way back up: the directory that held the link stays open.
    guard candidate >= 0, !levels[candidate + 1].isBehindLink else { return }
    levels[candidate].listing = nil
    levels[candidate].page = []
  }

  /// Finds a closed level again: above the one that was left.
  private func reopen(_ level: Level, from below: SharedDescriptor?) {
    do throws(Errno) {
      guard let below else { throw .stale }
      let held = try below.descriptor.parent()
      guard try held.knownStatus().isSame(as: level.status) else { throw .stale }
      let listing = try held.listing()
      try listing.seekDirectory(to: level.offset)
      level.listing = SharedDescriptor(listing)
    } catch .stale {
      walk.console.complain(path(of: level), "moved in the meantime; the rest of it is left out")
    } catch {
      walk.console.complain(path(of: level), error)
    }
  }
}
