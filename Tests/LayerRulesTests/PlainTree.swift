// The second model: one plain tree. What an operation does here it has to do on layers.

/// The numbers of errors that the models tell apart.
enum Outcome: Hashable {
  case done
  case missing, exists, isDirectory, notDirectory, notEmpty, unusable, invalid
}

enum ToyStyle: Hashable, CaseIterable { case replace, noReplace, exchange }

struct PlainTree {
  struct Node {
    var isDirectory: Bool
    var item: Int
    var content: Int
    var names: [String: Int] = [:]
    var links = 0
    /// Names that count although no layer shows them.
    var covered = 0
  }

  private var nodes: [Node] = [Node(isDirectory: true, item: 0, content: 0)]

  /// A tree that shows this view.
  init(_ view: TreeView) {
    var byItem: [Int: Int] = [:]
    for path in view.keys.sorted() {
      guard let shown = view[path], let (parent, name) = place(path) else { continue }
      let node: Int
      if let known = byItem[shown.item], !shown.isDirectory {
        node = known
      } else {
        nodes.append(Node(isDirectory: shown.isDirectory, item: shown.item, content: shown.content))
        node = nodes.count - 1
        byItem[shown.item] = node
      }
      nodes[parent].names[name] = node
      nodes[node].links += 1
      nodes[node].covered = Int(shown.links) - nodes[node].links
    }
  }

  var view: TreeView {
    var view: TreeView = [:]
    collect(0, "", &view)
    return view
  }

  private func collect(_ directory: Int, _ path: String, _ view: inout TreeView) {
    for (name, node) in nodes[directory].names {
      let below = path.isEmpty ? name : path + "/" + name
      let found = nodes[node]
      if found.isDirectory {
        view[below] = Shown(isDirectory: true, item: found.item)
        collect(node, below, &view)
      } else {
        view[below] = Shown(
          isDirectory: false, item: found.item, content: found.content,
          links: UInt32(clamping: found.links + found.covered))
      }
    }
  }

  func node(at path: String) -> Int? {
    var current = 0
    for name in path.split(separator: "/").map(String.init) {
      guard let next = nodes[current].names[name] else { return nil }
      current = next
    }
    return current
  }

  func place(_ path: String) -> (parent: Int, name: String)? {
    var names = path.split(separator: "/").map(String.init)
    guard let name = names.popLast(), let parent = node(at: names.joined(separator: "/")),
      nodes[parent].isDirectory
    else { return nil }
    return (parent, name)
  }

  private func child(_ place: (parent: Int, name: String)) -> Int? { nodes[place.parent].names[place.name] }

  private mutating func put(_ node: Int, _ place: (parent: Int, name: String)) {
    if let old = child(place) { nodes[old].links -= 1 }
    nodes[place.parent].names[place.name] = node
    nodes[node].links += 1
  }

  private mutating func drop(_ place: (parent: Int, name: String)) {
    guard let node = nodes[place.parent].names.removeValue(forKey: place.name) else { return }
    nodes[node].links -= 1
  }

  // MARK: Operations

  mutating func perform(_ operation: ToyOperation, item: Int) -> Outcome {
    switch operation {
    case .create(let path), .publish(let path):
      return make(path, Node(isDirectory: false, item: item, content: item))
    case .makeDirectory(let path): return make(path, Node(isDirectory: true, item: item, content: 0))
    case .unlink(let path): return remove(path, directory: false)
    case .removeDirectory(let path): return remove(path, directory: true)
    case .link(let path, let newPath):
      guard let node = node(at: path), let to = place(newPath) else { return .missing }
      if child(to) != nil { return .exists }
      put(node, to)
      return .done
    case .write(let path), .cut(let path):
      guard let node = node(at: path) else { return .missing }
      if case .cut = operation { nodes[node].content = 0 } else { nodes[node].content = item }
      return .done
    case .rename(let path, let newPath, let style): return rename(path, newPath, style)
    }
  }

  private mutating func make(_ path: String, _ fresh: Node) -> Outcome {
    guard let place = place(path) else { return .missing }
    guard child(place) == nil else { return .exists }
    nodes.append(fresh)
    put(nodes.count - 1, place)
    return .done
  }

  private mutating func remove(_ path: String, directory: Bool) -> Outcome {
    guard let place = place(path), let node = child(place) else { return .missing }
    if nodes[node].isDirectory != directory { return directory ? .notDirectory : .isDirectory }
    guard nodes[node].names.isEmpty else { return .notEmpty }
    drop(place)
    return .done
  }

  private mutating func rename(_ path: String, _ newPath: String, _ style: ToyStyle) -> Outcome {
    guard let from = place(path), let to = place(newPath), let source = child(from) else { return .missing }
    let target = child(to)
    if style == .noReplace, target != nil { return .exists }
    if style == .exchange, target == nil { return .missing }
    if source == target { return .done }
    if style == .exchange, let target {
      nodes[from.parent].names[from.name] = target
      nodes[to.parent].names[to.name] = source
      return .done
    }
    if let target {
      switch (nodes[source].isDirectory, nodes[target].isDirectory) {
      case (true, false): return .notDirectory
      case (false, true): return .isDirectory
      default: break
      }
      guard nodes[target].names.isEmpty else { return .notEmpty }
    }
    drop(from)
    put(source, to)
    return .done
  }
}
