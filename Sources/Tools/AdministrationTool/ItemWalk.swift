// Going through trees: by descriptors, so that nobody can swap a directory for a link on the way.
//
// A level holds one open directory and one page of names, however large the directory is. Only the
// deepest levels stay open; a level above them remembers its place and is found again through `..`.

import Arguments
import LinuxFiles
import LinuxPrograms
import Verbs

/// One item a walk has come to.
struct VisitedItem {
  /// As it would be typed.
  let path: [UInt8]
  let status: FileStatus
  /// A place in the tree, or an open directory.
  let place: SharedDescriptor
}

/// How a tree is walked.
struct ItemWalk {
  enum Links {
    /// Links are items; with `-R` those that are no items for the verb are passed over.
    case none
    case named
    case all
  }

  enum Order {
    case directoryFirst
    case contentsFirst
  }

  let isRecursive: Bool
  let links: Links
  let order: Order
  /// Whether a link can be an item (`-h`).
  let actsOnLinks: Bool
  let staysOnFileSystem: Bool
  let console: Console

  /// Takes the walk from the options most verbs share.
  init(_ invocation: Invocation, _ order: Order, _ console: Console) {
    isRecursive = invocation.has(.recursive)
    actsOnLinks = invocation.has(.actOnLinks)
    staysOnFileSystem = invocation.has(.oneFileSystem)
    switch isRecursive ? invocation.last(of: [.followNamed, .followAll, .followNone]) : nil {
    case .followNamed: links = .named
    case .followAll: links = .all
    default: links = .none
    }
    self.order = order
    self.console = console
  }

  /// Visits what `path` names and, if asked for, everything below.
  ///
  /// What fails is complained about, and the walk goes on.
  func go(_ path: [UInt8], _ visit: (VisitedItem) -> Void) {
    let follows = isRecursive ? links != .none : !actsOnLinks
    do throws(Errno) {
      let place = try Descriptor.place(path, follows ? .followed : .held)
      let running = Running(walk: self, root: path, device: try place.status().device)
      running.enter(place, path: path, isFollowed: follows, visit)
      while running.isDescending { running.step(visit) }
    } catch {
      console.complain(path, error)
    }
  }
}

/// The state of one walk.
private final class Running {
  /// A directory whose contents are being visited.
  private final class Level {
    let path: [UInt8]
    let status: FileStatus
    /// Nil while it is closed to save descriptors.
    var listing: SharedDescriptor?
    /// Names not visited yet, the last first.
    var page: [Name] = []
    /// Where the listing goes on after the last name visited.
    var offset: Int64 = 0

    init(_ path: [UInt8], _ status: FileStatus, _ listing: SharedDescriptor) {
      self.path = path
      self.status = status
      self.listing = listing
    }
  }

  private struct Name {
    let bytes: [UInt8]
    let nextOffset: Int64
  }

  /// Far below the usual limit of 1,024, and deeper than nearly every tree.
  private static let mostOpenLevels = 64

  let walk: ItemWalk
  let root: [UInt8]
  let device: UInt64
  private var levels: [Level] = []
  private var buffer = EntryBuffer()

  init(walk: ItemWalk, root: [UInt8], device: UInt64) {
    self.walk = walk
    self.root = root
    self.device = device
  }

  var isDescending: Bool { !levels.isEmpty }

  /// Visits an item, and opens it if it is a directory to go into.
  func enter(
    _ place: consuming Descriptor, path: [UInt8], isFollowed: Bool,
    _ visit: (VisitedItem) -> Void
  ) {
    let shared = SharedDescriptor(place)
    do throws(Errno) {
      let status = try shared.descriptor.status()
      if status.kind == .symbolicLink, walk.isRecursive, !walk.actsOnLinks { return }
      if walk.staysOnFileSystem, status.device != device { return }
      let isEntered = walk.isRecursive && status.kind == .directory
      if isEntered, levels.contains(where: { isSame($0.status, status) }) {
        walk.console.complain(path, "this link leads back up; not followed again")
        return
      }
      if !isEntered || walk.order == .directoryFirst {
        visit(VisitedItem(path: path, status: status, place: shared))
      }
      guard isEntered else { return }
      do throws(Errno) {
        levels.append(Level(path, status, SharedDescriptor(try shared.descriptor.listing())))
        closeOneLevel()
      } catch {
        walk.console.complain(path, error)
        if walk.order == .contentsFirst {
          visit(VisitedItem(path: path, status: status, place: shared))
        }
      }
    } catch {
      walk.console.complain(path, error)
    }
  }

  /// Takes the next name of the deepest level, or leaves that level.
  func step(_ visit: (VisitedItem) -> Void) {
    guard let level = levels.last else { return }
    guard let listing = level.listing else {
      // It could not be found again, and that was said.
      levels.removeLast()
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
      let path = level.path + (level.path.last == slash ? [] : [slash]) + name.bytes
      do throws(Errno) {
        let isFollowed = walk.links == .all
        let place = try place(name.bytes, in: listing, isFollowed: isFollowed)
        enter(place, path: path, isFollowed: isFollowed, visit)
      } catch .noSuchFile {
        // Somebody removed it in the meantime.
      } catch {
        walk.console.complain(path, error)
      }
    } catch {
      walk.console.complain(level.path, error)
      leave(level, listing, visit)
    }
  }

  /// With `-L`, a link that leads nowhere is held instead.
  private func place(
    _ name: [UInt8], in listing: SharedDescriptor, isFollowed: Bool
  ) throws(Errno) -> Descriptor {
    guard isFollowed else { return try listing.descriptor.place(of: name, .held) }
    do throws(Errno) {
      return try listing.descriptor.place(of: name, .followed)
    } catch .noSuchFile {
      return try listing.descriptor.place(of: name, .held)
    }
  }

  private func fill(_ level: Level, _ listing: SharedDescriptor) throws(Errno) {
    // A page may hold nothing but "." and "..".
    while level.page.isEmpty, try listing.descriptor.readEntries(into: &buffer) > 0 {
      while let entry = try buffer.next() {
        guard entry.role == .child || entry.role == .unusable else { continue }
        var name: [UInt8] = []
        try buffer.withNameBytes(of: entry) { span in
          for index in span.indices { name.append(span[index]) }
        }
        level.page.append(Name(bytes: name, nextOffset: entry.nextOffset))
      }
    }
    level.page.reverse()
  }

  private func leave(
    _ level: Level, _ listing: SharedDescriptor, _ visit: (VisitedItem) -> Void
  ) {
    levels.removeLast()
    if let above = levels.last, above.listing == nil { reopen(above, from: listing) }
    if walk.order == .contentsFirst {
      visit(VisitedItem(path: level.path, status: level.status, place: listing))
    }
  }

  private func closeOneLevel() {
    guard levels.count > Running.mostOpenLevels else { return }
    let level = levels[levels.count - 1 - Running.mostOpenLevels]
    level.listing = nil
    level.page = []
  }

  /// Finds a closed level again: above the one that was left, or by its path if a link led here.
  private func reopen(_ level: Level, from below: SharedDescriptor?) {
    do throws(Errno) {
      var place = try below.map { below throws(Errno) in SharedDescriptor(try below.descriptor.parent()) }
      if try place.map({ place throws(Errno) in isSame(try place.descriptor.status(), level.status) }) != true
      {
        place = SharedDescriptor(try Descriptor.place(level.path, .followed))
      }
      guard let place, isSame(try place.descriptor.status(), level.status) else {
        walk.console.complain(level.path, "moved in the meantime; the rest of it is left out")
        return
      }
      let listing = try place.descriptor.listing()
      try listing.seekDirectory(to: level.offset)
      level.listing = SharedDescriptor(listing)
    } catch {
      walk.console.complain(level.path, error)
    }
  }

  private func isSame(_ first: FileStatus, _ second: FileStatus) -> Bool {
    first.inode == second.inode && first.device == second.device
  }
}

private let slash = UInt8(ascii: "/")
