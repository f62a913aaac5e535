// Layers in memory: inodes with marks, and the calls of Linux on names, each of which happens at once or not at all.

import LayerRules

/// Why a call did not happen.
struct CallFailure: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// The volume was stopped; nothing is wrong.
  static let killed = CallFailure("killed")
}

struct ToyInode: Hashable {
  enum Kind: Hashable { case file, directory, whiteout }

  var kind: Kind
  /// Which item it is; a copy in another layer is the same item.
  var item = 0
  var content = 0
  var links = 0
  var names: [String: Int] = [:]
  var markedOpaque = false
  var flaggedOpaque = false
  var redirect: [UInt8]?
  var isImpure = false
  var hasOrigin = false
  /// A power cut would keep its bytes.
  var isDurable = true
  /// It has the owner, mode and times of what it is a copy of.
  var isDescribed = true
  var time = 0
  /// b7 of its record, and whether b8 says that it counts from this inode.
  var difference: Int32?
  var countsFromUpper = false

  var isClosed: Bool { markedOpaque || flaggedOpaque }
}

struct ToyLayer: Hashable {
  /// Never another layer's.
  var tag: UInt32
  var root: Int
  var index: Int
}

/// All layers, the upper first, and `work/`.
struct ToyDisk: Hashable {
  var inodes: [ToyInode] = []
  var layers: [ToyLayer] = []
  var work = 0
  var lastItem = 0
  private var clock = 0

  init(lowers: Int) {
    work = add(ToyInode(kind: .directory))
    for tag in 0...lowers { layers.append(makeLayer(tag: UInt32(tag))) }
  }

  private mutating func makeLayer(tag: UInt32) -> ToyLayer {
    let root = add(ToyInode(kind: .directory))
    let index = add(ToyInode(kind: .directory))
    return ToyLayer(tag: tag, root: root, index: index)
  }

  /// The upper becomes the topmost lower, under an empty one.
  mutating func rotate() {
    let tag = (layers.map(\.tag).max() ?? 0) + 1
    layers.insert(makeLayer(tag: tag), at: 0)
  }

  mutating func add(_ inode: ToyInode) -> Int {
    inodes.append(inode)
    return inodes.count - 1
  }

  mutating func newItem() -> Int {
    lastItem += 1
    return lastItem
  }

  mutating func newTime() -> Int {
    clock += 1
    return clock
  }

  var upper: ToyLayer { layers[0] }

  /// Every flag `opaque` of the upper cleared.
  var unflagged: ToyDisk {
    var disk = self
    var open = [upper.root]
    while let directory = open.popLast() {
      disk.inodes[directory].flaggedOpaque = false
      open += inodes[directory].names.values.filter { inodes[$0].kind == .directory }
    }
    return disk
  }

  func child(_ name: String, of directory: Int) -> Int? { inodes[directory].names[name] }

  // MARK: Calls

  mutating func enter(_ inode: Int, as name: String, in directory: Int) throws(CallFailure) {
    guard inodes[directory].kind == .directory else { throw CallFailure("ENOTDIR") }
    guard child(name, of: directory) == nil else { throw CallFailure("EEXIST \(name)") }
    put(inode, as: name, in: directory)
  }

  private mutating func put(_ inode: Int, as name: String, in directory: Int) {
    inodes[directory].names[name] = inode
    inodes[inode].links += 1
    inodes[directory].time = newTime()
  }

  private mutating func drop(_ name: String, of directory: Int) {
    guard let inode = inodes[directory].names.removeValue(forKey: name) else { return }
    inodes[inode].links -= 1
    inodes[directory].time = newTime()
  }

  mutating func remove(_ name: String, of directory: Int) throws(CallFailure) {
    guard let inode = child(name, of: directory) else { throw CallFailure("unlink: ENOENT \(name)") }
    guard inodes[inode].kind != .directory else { throw CallFailure("unlink: EISDIR \(name)") }
    drop(name, of: directory)
  }

  mutating func removeDirectory(_ name: String, of directory: Int) throws(CallFailure) {
    guard let inode = child(name, of: directory) else { throw CallFailure("rmdir: ENOENT \(name)") }
    guard inodes[inode].kind == .directory else { throw CallFailure("rmdir: ENOTDIR \(name)") }
    guard inodes[inode].names.isEmpty else { throw CallFailure("rmdir: ENOTEMPTY \(name)") }
    drop(name, of: directory)
  }

  mutating func rename(
    _ name: String, of directory: Int, to newName: String, of newDirectory: Int, _ call: RenameCall
  ) throws(CallFailure) {
    guard let source = child(name, of: directory) else { throw CallFailure("rename: ENOENT \(name)") }
    if let target = child(newName, of: newDirectory) {
      if call.noReplace { throw CallFailure("rename: EEXIST \(newName)") }
      if source == target { return }
      switch (inodes[source].kind == .directory, inodes[target].kind == .directory) {
      case (true, false): throw CallFailure("rename: ENOTDIR \(newName)")
      case (false, true): throw CallFailure("rename: EISDIR \(newName)")
      case (true, true) where !inodes[target].names.isEmpty: throw CallFailure("rename: ENOTEMPTY \(newName)")
      default: break
      }
      drop(newName, of: newDirectory)
    }
    drop(name, of: directory)
    if call.leavesWhiteout { put(add(ToyInode(kind: .whiteout)), as: name, in: directory) }
    put(source, as: newName, in: newDirectory)
  }

  mutating func exchange(
    _ name: String, of directory: Int, with newName: String, of newDirectory: Int
  ) throws(CallFailure) {
    guard let one = child(name, of: directory) else { throw CallFailure("exchange: ENOENT \(name)") }
    guard let other = child(newName, of: newDirectory) else {
      throw CallFailure("exchange: ENOENT \(newName)")
    }
    inodes[directory].names[name] = other
    inodes[newDirectory].names[newName] = one
    let time = newTime()
    inodes[directory].time = time
    inodes[newDirectory].time = time
  }
}

// MARK: The entries of the index

extension ToyDisk {
  /// What an entry in the index of a layer is called that stands for an object of a lower one.
  func indexName(of object: ToyObject) -> String {
    String(
      decoding: IndexName(tag: layers[object.layer].tag, inode: UInt64(object.inode), generation: 0).bytes,
      as: UTF8.self)
  }

  func entry(of object: ToyObject, in layer: Int) -> Int? {
    child(indexName(of: object), of: layers[layer].index)
  }

  /// The inode that took the place of a lower object in some layer above, and how many names all of it has.
  func followed(_ object: ToyObject) -> (object: ToyObject, state: LinkState) {
    var current = object
    var count = own(current.inode)
    // An inode of an index may have no other name left; names in the layers below lead to it all the same.
    guard inodes[object.inode].links > 1 || inodes[object.inode].countsFromUpper || object.layer == 0 else {
      return (object, LinkState(lowerLinks: count, entry: .none))
    }
    for layer in stride(from: object.layer - 1, through: 0, by: -1) {
      guard let entry = entry(of: current, in: layer) else { continue }
      let inode = inodes[entry]
      guard let difference = inode.difference else { continue }
      if layer == 0 {
        let state = LinkState(
          lowerLinks: count,
          entry: inode.countsFromUpper
            ? .inode(links: UInt32(inode.links), difference: difference)
            : .counts(difference: difference))
        return (inode.countsFromUpper ? ToyObject(layer: 0, inode: entry) : current, state)
      }
      if inode.countsFromUpper {
        current = ToyObject(layer: layer, inode: entry)
        count = own(entry)
      } else {
        count = UInt32(clamping: Int64(count) + Int64(difference))
      }
    }
    return (current, LinkState(lowerLinks: count, entry: .none))
  }

  private func own(_ inode: Int) -> UInt32 {
    UInt32(
      clamping: inodes[inode].links + (inodes[inode].countsFromUpper ? Int(inodes[inode].difference ?? 0) : 0)
    )
  }
}

/// An inode, with the layer it was found in.
struct ToyObject: Hashable {
  var layer: Int
  var inode: Int
}
