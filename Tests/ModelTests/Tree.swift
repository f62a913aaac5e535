// A whole tree as text, one line for each object: through the mount as root, below it, and in the model.

import FlagRules
import Glibc
import LinuxFiles
import MountSupport

/// The lines of a tree by path.
typealias Tree = [String: String]

enum TreeText {
  /// What is compared below the mount: the plain facts of the backing files.
  static func plain(_ status: Status, _ content: [UInt8]) -> String {
    "\(status) \(content.count) bytes \(hash(content))"
  }

  static func hash(_ content: [UInt8]) -> UInt32 {
    content.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
  }

  /// What else is compared through the mount.
  static func full(
    _ plain: String, flags: [UInt8], list: [UInt8], attributes: [String: [UInt8]]
  ) -> String {
    let named = attributes.sorted { $0.key < $1.key }
      .map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" }
    return "\(plain) {\(String(decoding: flags, as: UTF8.self))} "
      + "[\(String(decoding: list, as: UTF8.self))] \(named)"
  }

  /// The differences, as sentences.
  static func differences(_ place: String, _ model: Tree, _ real: Tree) -> [String] {
    Set(model.keys).union(real.keys).sorted().compactMap { path in
      model[path] == real[path]
        ? nil
        : "\(place) /\(path)\n    model: \(model[path] ?? "nothing")\n    real:  \(real[path] ?? "nothing")"
    }
  }
}

extension Model {
  /// The tree as it should be; `isFull` with what only the mount shows.
  func tree(isFull: Bool) -> Tree {
    var tree: Tree = [:]
    func visit(_ thing: Thing, _ path: String) {
      var shown = Status(
        kind: thing.kind, mode: thing.mode, user: thing.user, group: thing.group,
        links: shownLinks(thing))
      shown.size = nil
      let content = thing.kind == .link ? Array(thing.target.utf8) : thing.bytes
      let plain = TreeText.plain(shown, content)
      tree[path] =
        isFull
        ? TreeText.full(
          plain, flags: Array(thing.flags.text.utf8), list: listText(thing) ?? [],
          attributes: thing.attributes) : plain
      // Looking at it reads it.
      thing.accessed = nil
      for (name, child) in thing.entries { visit(child, path.isEmpty ? name : "\(path)/\(name)") }
    }
    visit(root, "")
    return tree
  }
}

extension RealWorld {
  /// The tree below a directory; the volume's bookkeeping at its root is passed over.
  static func tree(_ root: String, isFull: Bool) -> Tree {
    let world = RealWorld(root)
    var tree: Tree = [:]
    func visit(_ path: String) {
      guard case .status(var status) = world.perform(.status(path, follows: false)) else {
        tree[path] = "no status"
        return
      }
      let content = world.content(path, status.kind)
      status.size = nil
      status.accessed = nil
      status.modified = nil
      if path.isEmpty { status.links = nil }
      let plain = TreeText.plain(status, content)
      tree[path] = isFull ? world.full(plain, path) : plain
      guard status.kind == .directory else { return }
      guard case .names(let names) = world.perform(.list(path)) else {
        tree[path] = "not listed"
        return
      }
      for name in names where !path.isEmpty || name != ".varve" {
        visit(path.isEmpty ? name : "\(path)/\(name)")
      }
    }
    visit("")
    return tree
  }

  private func content(_ path: String, _ kind: Status.Kind) -> [UInt8] {
    switch kind {
    case .directory, .fifo: return []
    case .link: return bytes(perform(.readLink(path)))
    case .file:
      _ = perform(.open(slot: 0, path, OpenWish(reads: true), mode: 0))
      defer { closeAll() }
      return bytes(perform(.readAt(slot: 0, offset: 0, count: 100_000)))
    }
  }

  private func full(_ plain: String, _ path: String) -> String {
    var attributes: [String: [UInt8]] = [:]
    if case .names(let names) = perform(.listAttributes(path)) {
      // Of the doors that are listed, what is behind them is told below.
      for name in names where name != "system.nfs4_acl" && name != "user.com.apple.FinderInfo" {
        attributes[name] = bytes(perform(.getAttribute(path, name)))
      }
    }
    return TreeText.full(
      plain, flags: bytes(perform(.getFlags(path))), list: bytes(perform(.getList(path))),
      attributes: attributes)
  }

  private func bytes(_ outcome: Outcome) -> [UInt8] {
    guard case .bytes(let bytes) = outcome else { return [] }
    return bytes
  }
}
