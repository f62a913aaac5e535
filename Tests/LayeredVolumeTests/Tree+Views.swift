import Glibc
import LinuxFiles

@testable import LayeredVolume

/// One listing that is read piece by piece.
final class Listing {
  private let volume: Volume
  private let handle: HandleID
  private let caller: Caller
  private var offset: Int64 = 0
  private(set) var names: [String] = []
  /// The offsets behind them.
  private var offsets: [Int64] = []
  /// The numbers of `.` and `..`.
  private(set) var ownNumbers: [UInt64] = []
  /// How many came with what a lookup of them would answer.
  private(set) var entries = 0

  init(_ volume: Volume, _ node: NodeID, _ caller: Caller) throws {
    (self.volume, self.caller) = (volume, caller)
    handle = try volume.openDirectory(node, for: caller).handle
  }

  deinit { volume.release(handle) }

  func rewind() { (offset, names, offsets, ownNumbers) = (0, [], [], []) }

  /// Has no room for the last names, as the kernel where its caller's memory ends: they are asked for again.
  func drop(_ count: Int) {
    names.removeLast(count)
    offsets.removeLast(count)
    offset = offsets.last ?? 0
  }

  /// Reads at most `count` names; false at the end.
  @discardableResult
  func read(_ count: Int, withAttributes: Bool = false) throws -> Bool {
    var taken: [(String, ListedName)] = []
    try volume.readDirectory(handle, from: offset, withAttributes: withAttributes, for: caller) {
      name, listed in
      guard taken.count < count else { return false }
      taken.append((String(decoding: name.indices.map { name[$0] }, as: UTF8.self), listed))
      return true
    }
    for (name, listed) in taken {
      offset = listed.nextOffset
      if let entry = listed.entry {
        volume.forget(entry.node, references: 1)
        entries += 1
      }
      guard name != ".", name != ".." else {
        ownNumbers.append(listed.inode)
        continue
      }
      names.append(name)
      offsets.append(offset)
    }
    return !taken.isEmpty
  }
}

extension Tree {
  /// Where very many items are made quickly: in memory, if there is such a place.
  static let memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

  func listing<R>(_ path: String, _ body: (Listing) throws -> R) throws -> R {
    let caller = caller()
    return try at(path) { volume, node in try body(Listing(volume, node, caller)) }
  }

  /// The names in a directory, in the order in which it lists them.
  func names(_ path: String, withAttributes: Bool = false) throws -> [String] {
    try listing(path) { listing in
      while try listing.read(7, withAttributes: withAttributes) {}
      return listing.names
    }
  }

  /// The same in the view of a language.
  func shown(_ view: String, _ path: String = "") throws -> [String] {
    try names(".varve/view/\(view)/\(path)")
  }

  func setMode(_ path: String, to mode: UInt16) throws {
    var change = AttributeChange()
    change.mode = mode
    let caller = caller()
    _ = try at(path) { volume, node in
      try volume.changeAttributes(of: node, change, handle: nil, for: caller)
    }
  }

  func mode(_ path: String) throws -> UInt16 {
    let caller = caller()
    return try at(path) { volume, node in
      try volume.attributes(of: node, handle: nil, for: caller).attributes.mode & 0o7777
    }
  }

  /// The number of what a path leads to, as the kernel has it and as programs do.
  func numbers(_ path: String) throws -> (node: NodeID, inode: UInt64) {
    let caller = caller()
    return try at(path) { volume, node in
      (node, try volume.attributes(of: node, handle: nil, for: caller).attributes.inode)
    }
  }

  func text(_ path: String, _ attribute: String) throws -> String {
    String(decoding: try self.attribute(path, attribute), as: UTF8.self)
  }

  func attributeNames(_ path: String) throws -> [String] {
    let caller = caller()
    return try at(path) { volume, node in
      try volume.listExtendedAttributes(of: node, for: caller).split(separator: 0).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }
}
