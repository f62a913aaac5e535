// What users see of layers, by the rules of the kernel's overlayfs as its code walks them: one layer after the other, with
// a path that redirects rewrite. It shares no code with the engine. The flag `opaque` is added, which overlayfs does not
// know, and the index as our volume reads it.

import LayerRules

/// What users see of one name.
struct Shown: Hashable {
  var isDirectory: Bool
  var item: Int
  var content = 0
  /// Whether this name leads to the inode that the other names of the item lead to.
  var isWhole = true
  var links: UInt32 = 0
}

typealias TreeView = [String: Shown]

struct ToyView {
  let disk: ToyDisk
  private var objects: [Int: ToyObject] = [:]

  init(disk: ToyDisk) { self.disk = disk }

  static func of(_ disk: ToyDisk) -> TreeView {
    var view: TreeView = [:]
    var reader = ToyView(disk: disk)
    reader.collect(reader.roots, "", into: &view)
    return view
  }

  private var roots: [ToyObject] {
    disk.layers.enumerated().map { ToyObject(layer: $0.offset, inode: $0.element.root) }
  }

  private mutating func collect(_ stack: [ToyObject], _ path: String, into view: inout TreeView) {
    var names: Set<String> = []
    for part in stack { names.formUnion(disk.inodes[part.inode].names.keys) }
    for name in names {
      let child = lookUp(name, in: stack)
      guard let top = child.first else { continue }
      let inode = disk.inodes[top.inode]
      let below = path.isEmpty ? name : path + "/" + name
      if inode.kind == .directory {
        view[below] = Shown(isDirectory: true, item: inode.item)
        collect(child, below, into: &view)
      } else {
        let (object, state) = disk.followed(top)
        let shown = disk.inodes[object.inode]
        let known = objects[shown.item] ?? object
        objects[shown.item] = known
        view[below] = Shown(
          isDirectory: false, item: shown.item, content: shown.content, isWhole: known == object,
          links: state.shown)
      }
    }
  }

  /// The state that `ovl_lookup_data` carries from layer to layer.
  private struct Data {
    /// With slashes in front once an absolute redirect was met.
    var path: [String]
    var isAbsolute = false
    var stops = false
    var isDirectory = false
  }

  func lookUp(_ name: String, in parent: [ToyObject]) -> [ToyObject] {
    var data = Data(path: [name])
    var found: [ToyObject] = []
    var source = parent
    var usesRoots = false
    var place = 0
    while place < source.count, !data.stops {
      let base = source[place]
      place += 1
      guard let inode = walk(&data, from: base.inode) else { continue }
      found.append(ToyObject(layer: base.layer, inode: inode))
      if disk.inodes[inode].kind != .directory { break }
      if data.stops { break }
      if data.isAbsolute, !usesRoots {
        usesRoots = true
        source = roots
        place = base.layer + 1
      }
    }
    return found
  }

  /// `ovl_lookup_layer`: the whole path in one layer.
  private func walk(_ data: inout Data, from base: Int) -> Int? {
    var current = base
    let count = data.path.count
    // Redirects change the path for the next layer, and not the walk in this one.
    let path = data.path
    for (index, name) in path.enumerated() {
      let isLast = index == count - 1
      guard let inode = disk.child(name, of: current) else { return nil }
      let found = disk.inodes[inode]
      switch found.kind {
      case .whiteout:
        data.stops = true
        return nil
      case .file:
        if data.isDirectory || !isLast {
          data.stops = true
          return nil
        }
        data.stops = true
        return inode
      case .directory:
        if isLast { data.isDirectory = true }
        if found.isClosed {
          data.stops = true
        } else if let redirect = found.redirect {
          let text = String(decoding: redirect, as: UTF8.self)
          let rest = Array(path[(index + 1)...])
          if text.hasPrefix("/") {
            data.path = text.split(separator: "/").map(String.init) + rest
            data.isAbsolute = true
            data.stops = false
          } else {
            // What is in front may have been rewritten already.
            data.path = Array(data.path.prefix(data.path.count - count + index)) + [text] + rest
          }
        }
      }
      current = inode
    }
    return current
  }
}
