// In which attributes the items of a tree have records, where no volume file says it: looked for, never guessed.
//
// Attributes `trusted.*` only root can have written, so one record there settles it. Those in `user.*` every user who
// may write an item can have made.

import LayerRules
import LinuxFiles

/// A walk through a tree that ends at the first record that settles the question.
struct RecordSearch {
  enum Finding: Equatable {
    case nothing
    case trusted
    /// None in `trusted.*`, and here one in `user.*`; the path below the root, which is empty for the root itself.
    case user(at: [UInt8])
  }

  private struct Pending {
    let parent: SharedDescriptor
    let name: [UInt8]
    let path: [UInt8]
  }

  private let trusted = Array("trusted.varve.m".utf8)
  private let user = Array("user.varve.m".utf8)
  private var pending: [Pending] = []
  private var itemsLeft: Int
  private var userRecord: [UInt8]?

  /// Looks at everything below `root`, or at so many items; not at what is mounted there, and not at the bookkeeping.
  ///
  /// What cannot be looked at is an error: it may have the only record.
  static func look(
    below root: SharedDescriptor, atMost items: Int = .max
  ) throws(VolumeFailure) -> Finding {
    var search = RecordSearch(itemsLeft: items)
    return try search.run(root)
  }

  private init(itemsLeft: Int) { self.itemsLeft = itemsLeft }

  private mutating func run(_ root: SharedDescriptor) throws(VolumeFailure) -> Finding {
    var path: [UInt8] = []
    do throws(Errno) {
      if try settles({ name throws(Errno) in try root.descriptor.attribute(name) }, path) { return .trusted }
      let listing = SharedDescriptor(try root.descriptor.reopen([.readOnly, .directory]))
      if try list(listing, path) { return .trusted }
      while itemsLeft > 0, let next = pending.popLast() {
        path = next.path
        guard let directory = try open(next) else { continue }
        if try list(directory, path) { return .trusted }
      }
    } catch {
      throw VolumeFailure(
        "'.varve/volume' is missing, and where the records are cannot be told: "
          + "\(path.isEmpty ? "." : StoredPath.text(of: path)): \(error)")
    }
    return userRecord.map { Finding.user(at: $0) } ?? .nothing
  }

  /// Nil for what is gone, or is no directory of this file system.
  private func open(_ next: Pending) throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      return try FileName.with(next.name) { name throws(Errno) in
        SharedDescriptor(
          try next.parent.descriptor.openDirectoryPath(name).reopen([.readOnly, .directory]))
      }
    } catch {
      switch error {
      case .noSuchFile, .notDirectory, .tooManySymbolicLinks, .crossDevice: return nil
      default: throw error
      }
    }
  }

  /// Looks at all items of a directory; whether one of them settles it.
  private mutating func list(_ directory: SharedDescriptor, _ path: [UInt8]) throws(Errno) -> Bool {
    var page = EntryBuffer()
    while try directory.descriptor.readEntries(into: &page) > 0 {
      while itemsLeft > 0, let entry = try page.next() {
        guard entry.role == .child else { continue }
        let name = try page.nameBytes(of: entry)
        guard !path.isEmpty || name != OwnDirectory.bytes else { continue }
        itemsLeft -= 1
        let below = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        guard let item = try hold(name, in: directory) else { continue }
        if try settles({ attribute throws(Errno) in try item.descriptor.attribute(attribute) }, below) {
          return true
        }
        // Where the file system does not say, opening it does.
        if entry.kind == .directory || entry.kind == nil {
          pending.append(Pending(parent: directory, name: name, path: below))
        }
      }
      if itemsLeft == 0 { break }
    }
    return false
  }

  /// Nil for what is gone, and for what is mounted there, which is not asked anything: it may never answer.
  private func hold(_ name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      return try FileName.with(name) { name throws(Errno) in
        SharedDescriptor(try directory.descriptor.openPath(name))
      }
    } catch {
      switch error {
      case .noSuchFile, .crossDevice: return nil
      default: throw error
      }
    }
  }

  private mutating func settles(
    _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?, _ path: [UInt8]
  ) throws(Errno) -> Bool {
    if try has(trusted, read) { return true }
    if userRecord == nil, try has(user, read) { userRecord = path }
    return false
  }

  private func has(
    _ attribute: [UInt8], _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> Bool {
    do throws(Errno) {
      return try AttributeName.with(attribute) { name throws(Errno) in try read(name) } != nil
    } catch {
      switch error {
      // What has no such attributes, as links have none of `user.*`.
      case .unsupported, .notPermitted: return false
      default: throw error
      }
    }
  }
}
