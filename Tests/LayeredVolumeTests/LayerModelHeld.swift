// What a random history holds open while it goes on: files, and listings that were begun. In the layers and in a plain
// directory alike.

import Foundation
import LinuxFiles
import Randomness

@testable import LayeredVolume

/// What failed, where nothing should.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  /// Instead of an expectation, which would be told of for each of the many runs that a failure is looked for in.
  static func require(_ isSo: Bool, _ what: @autoclosure () -> String) throws {
    if !isSo { throw Unexpected(description: what()) }
  }

  static func saying<R>(_ what: @autoclosure () -> String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as Unexpected {
      throw Unexpected(description: "\(what()): \(error.description)")
    } catch let error as Errno {
      throw Unexpected(description: "\(what()): \(error)")
    }
  }
}

/// The volume holds each node that it is asked for; the plain directory has a descriptor of the same object.
struct LayerModelHeld {
  private static let most = 6

  private struct File {
    let path: String
    let mode: OpenMode
    let (node, handle): (NodeID, HandleID)
    let plain: CInt
  }

  private struct Listing {
    let path: String
    let (node, handle): (NodeID, HandleID)
    let plain: CInt
    /// Where it goes on.
    var next: Int64 = 0
    var listed: [String] = []
    /// The names, with their objects, that were there all the time.
    var lasting: [String: ino_t]
    /// All names that were there at any time.
    var seen: Set<String>
  }

  private var files: [File] = []
  private var listings: [Listing] = []
  private(set) var counts = Counts()

  /// What was done, to see that it was something.
  struct Counts: CustomStringConvertible {
    var (files, changes, listings) = (0, 0, 0)

    var description: String { "\(files) files held open, changed \(changes) times, and \(listings) listings" }

    static func += (one: inout Counts, other: Counts) {
      one.files += other.files
      one.changes += other.changes
      one.listings += other.listings
    }
  }

  enum Deed: CaseIterable {
    case open, begin, close, cut, write, goOn
  }

  /// Begins to hold the first of these paths that can be, or uses something that is held.
  mutating func act(
    _ deed: Deed, _ tree: LayeredTree, _ model: String, _ paths: [String], _ dice: inout Dice
  ) throws {
    switch deed {
    case .open:
      let mode = dice.pick([OpenMode.read, .write, [.read, .write], [.read, .write, .append]])
      for path in paths where try open(tree, model, path, mode) { break }
    case .begin: for path in paths where try begin(tree, model, path) { break }
    case .close where !files.isEmpty: try close(files.remove(at: dice.below(files.count)), tree)
    case .cut where !files.isEmpty: try cut(dice.pick(files), tree, to: dice.below(12))
    case .write where !files.isEmpty:
      try write(dice.pick(files), tree, "\(dice.below(10_000))", at: dice.below(6))
    case .goOn where !listings.isEmpty:
      let index = dice.below(listings.count)
      if try goOn(&listings[index], tree, most: 1 + dice.below(2)) {
        try finish(listings.remove(at: index), tree)
      }
    case .close, .cut, .write, .goOn: break
    }
  }

  /// Whether both sides still show the same by what is held.
  mutating func check(_ tree: LayeredTree) throws {
    for file in files { try compare(file, tree) }
    for index in listings.indices {
      let now = try LayerModelHeld.names(listings[index].plain)
      listings[index].lasting = listings[index].lasting.filter { now[$0.key] == $0.value }
      listings[index].seen.formUnion(now.keys)
    }
  }

  /// Lists to the end, and lets go of everything.
  mutating func end(_ tree: LayeredTree) throws {
    for file in files { try close(file, tree) }
    for var listing in listings {
      while try !goOn(&listing, tree, most: 2) {}
      try finish(listing, tree)
    }
    (files, listings) = ([], [])
    tree.remembers = false
  }

  /// After a failure.
  mutating func abandon() {
    for plain in files.map(\.plain) + listings.map(\.plain) { Glibc.close(plain) }
    (files, listings) = ([], [])
  }

  // MARK: Files

  private mutating func open(
    _ tree: LayeredTree, _ model: String, _ path: String, _ mode: OpenMode
  ) throws -> Bool {
    guard files.count < LayerModelHeld.most else { return true }
    let access = !mode.contains(.write) ? O_RDONLY : mode.contains(.read) ? O_RDWR : O_WRONLY
    let plain = Glibc.open("\(model)/\(path)", access | O_NOFOLLOW | (mode.contains(.append) ? O_APPEND : 0))
    // Directories are listed, and links the kernel follows itself.
    guard plain >= 0 else { return false }
    guard LayerModelHeld.status(plain).st_mode & S_IFMT == S_IFREG else {
      Glibc.close(plain)
      return false
    }
    let caller = tree.caller
    let node = try LayerModelHeld.hold(tree, path)
    let handle = try tree.volume.open(node, mode, for: caller).handle
    files.append(File(path: path, mode: mode, node: node, handle: handle, plain: plain))
    counts.files += 1
    return true
  }

  private func close(_ file: File, _ tree: LayeredTree) throws {
    try compare(file, tree)
    tree.volume.release(file.handle)
    tree.volume.forget(file.node, references: 1)
    Glibc.close(file.plain)
  }

  private mutating func write(_ file: File, _ tree: LayeredTree, _ text: String, at offset: Int) throws {
    guard file.mode.contains(.write) else { return }
    let appends = file.mode.contains(.append)
    var bytes = Array(text.utf8)
    try Unexpected.require(
      pwrite(file.plain, bytes, bytes.count, off_t(offset)) == bytes.count, "a write to the plain file")
    var span = bytes.mutableSpan
    let place =
      appends
      ? try tree.volume.attributes(of: file.node, handle: file.handle, for: tree.caller).attributes.size
      : UInt64(offset)
    _ = try tree.volume.write(
      file.handle, at: place, &span, appends: appends, clearsSetID: false, for: tree.caller)
    counts.changes += 1
  }

  private mutating func cut(_ file: File, _ tree: LayeredTree, to size: Int) throws {
    guard file.mode.contains(.write) else { return }
    try Unexpected.require(ftruncate(file.plain, off_t(size)) == 0, "a cut of the plain file")
    var change = AttributeChange()
    change.size = UInt64(size)
    _ = try tree.volume.changeAttributes(of: file.node, change, handle: file.handle, for: tree.caller)
    counts.changes += 1
  }

  private func compare(_ file: File, _ tree: LayeredTree) throws {
    let (plain, caller) = (LayerModelHeld.status(file.plain), tree.caller)
    let found = try Unexpected.saying("fstat of \(file.path), opened as \(file.mode.rawValue)") {
      try tree.volume.attributes(of: file.node, handle: file.handle, for: caller).attributes
    }
    let (shown, expected) = (
      [UInt64(found.mode), UInt64(found.linkCount), found.size],
      [UInt64(plain.st_mode & 0o7777), UInt64(plain.st_nlink), UInt64(plain.st_size)]
    )
    try Unexpected.require(
      shown == expected,
      "mode, links and size by a descriptor of \(file.path) are \(shown) instead of \(expected)")
    guard file.mode.contains(.read) else { return }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = pread(file.plain, &bytes, bytes.count, 0)
    let text = String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
    let read = try tree.read(file.handle)
    try Unexpected.require(read == text, "a descriptor of \(file.path) reads \(read) instead of \(text)")
  }

  // MARK: Listings

  private mutating func begin(_ tree: LayeredTree, _ model: String, _ path: String) throws -> Bool {
    guard listings.count < LayerModelHeld.most else { return true }
    let plain = Glibc.open("\(model)/\(path)", O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    guard plain >= 0 else { return false }
    let node = try LayerModelHeld.hold(tree, path)
    let handle = try tree.volume.openDirectory(node, for: tree.caller).handle
    let names = try LayerModelHeld.names(plain)
    listings.append(
      Listing(path: path, node: node, handle: handle, plain: plain, lasting: names, seen: Set(names.keys)))
    return true
  }

  /// The next few names; whether there were none any more.
  private func goOn(_ listing: inout Listing, _ tree: LayeredTree, most: Int) throws -> Bool {
    // Of a directory that was removed the kernel asks for no names.
    guard LayerModelHeld.status(listing.plain).st_nlink > 0 else { return true }
    let more = try Unexpected.saying("listing \(listing.path) from \(listing.next)") {
      try tree.names(of: listing.handle, from: listing.next, most: most)
    }
    listing.next = more.last?.next ?? listing.next
    listing.listed += more.map(\.name).filter { $0 != "." && $0 != ".." }
    return more.isEmpty
  }

  private mutating func finish(_ listing: Listing, _ tree: LayeredTree) throws {
    tree.volume.release(listing.handle)
    tree.volume.forget(listing.node, references: 1)
    Glibc.close(listing.plain)
    let listed = listing.listed
    for name in listing.lasting.keys {
      let times = listed.count { $0 == name }
      try Unexpected.require(
        times == 1, "\(name), which was there all the time, is \(times) times in \(listed) of \(listing.path)"
      )
    }
    try Unexpected.require(
      listing.seen.isSuperset(of: listed),
      "\(listed) of \(listing.path), where only \(listing.seen) ever were")
    counts.listings += 1
  }

  // MARK: Both

  /// A node with a reference that is the caller's.
  private static func hold(_ tree: LayeredTree, _ path: String) throws -> NodeID {
    let parts = path.split(separator: "/").map(String.init)
    tree.remembers = true
    return try tree.at(parts.dropLast().joined(separator: "/")) { parent in
      guard let entry = try tree.entry(parts.last ?? "", in: parent) else { throw Errno.noSuchFile }
      return entry.node
    }
  }

  private static func status(_ descriptor: CInt) -> stat {
    var found = stat()
    fstat(descriptor, &found)
    return found
  }

  /// What a plain directory has now, also one that has no name any more.
  private static func names(_ descriptor: CInt) throws -> [String: ino_t] {
    let path = "/proc/self/fd/\(descriptor)"
    guard LayerModelHeld.status(descriptor).st_nlink > 0 else { return [:] }
    var names: [String: ino_t] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      var found = stat()
      if lstat("\(path)/\(name)", &found) == 0 { names[name] = found.st_ino }
    }
    return names
  }
}
