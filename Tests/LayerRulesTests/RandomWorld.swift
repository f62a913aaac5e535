// Random layers.

import LayerRules
import Randomness

struct RandomWorld {
  static let names = ["a", "b", "c", "d", "e"]

  var disk: ToyDisk
  private let usesRedirects: Bool
  private var files: [Int] = []

  /// With redirects also such that show one directory twice, which no history does.
  init(lowers: Int, usesRedirects: Bool, _ dice: inout Dice) {
    disk = ToyDisk(lowers: lowers)
    self.usesRedirects = usesRedirects
    for layer in disk.layers.reversed() {
      files = []
      grow(layer.root, depth: 0, &dice)
    }
  }

  private mutating func grow(_ directory: Int, depth: Int, _ dice: inout Dice) {
    for name in RandomWorld.names {
      switch dice.below(12) {
      case 0, 1: enter(ToyInode(kind: .file, item: disk.newItem()), name, directory)
      case 2 where !files.isEmpty: try? disk.enter(dice.pick(files), as: name, in: directory)
      case 3: enter(ToyInode(kind: .whiteout), name, directory)
      case 4, 5, 6, 7:
        guard depth < 3 else { continue }
        var made = ToyInode(kind: .directory, item: disk.newItem())
        made.markedOpaque = dice.once(in: 10)
        made.flaggedOpaque = dice.once(in: 14)
        if usesRedirects, dice.once(in: 3) { made.redirect = redirect(&dice) }
        grow(enter(made, name, directory), depth: depth + 1, &dice)
      default: break
      }
    }
  }

  private func redirect(_ dice: inout Dice) -> [UInt8] {
    if dice.once(in: 3) { return Array(dice.pick(RandomWorld.names).utf8) }
    var path = ""
    for _ in 0...dice.below(3) { path += "/" + dice.pick(RandomWorld.names) }
    return Array(path.utf8)
  }

  @discardableResult
  private mutating func enter(_ inode: ToyInode, _ name: String, _ directory: Int) -> Int {
    var inode = inode
    inode.content = inode.item
    let number = disk.add(inode)
    try? disk.enter(number, as: name, in: directory)
    if inode.kind == .file { files.append(number) }
    return number
  }
}

extension ToyOperation {
  /// Mostly about what is there.
  static func random(in view: TreeView, _ dice: inout Dice) -> ToyOperation {
    let paths = view.keys.sorted()
    let directories = [""] + paths.filter { view[$0]?.isDirectory ?? false }
    func place() -> String {
      if !paths.isEmpty, !dice.once(in: 3) { return dice.pick(paths) }
      let parent = dice.pick(directories)
      return (parent.isEmpty ? "" : parent + "/") + dice.pick(RandomWorld.names)
    }
    switch dice.below(20) {
    case 0, 1: return .create(place())
    case 2, 3: return .makeDirectory(place())
    case 4: return .publish(place())
    case 5, 6, 7: return .unlink(place())
    case 8, 9, 10: return .removeDirectory(place())
    case 11, 12: return .link(place(), to: place())
    case 13: return .write(place())
    case 14: return .cut(place())
    case 15: return .rename(place(), to: place(), .noReplace)
    case 16: return .rename(place(), to: place(), .exchange)
    default: return .rename(place(), to: place(), .replace)
    }
  }
}
