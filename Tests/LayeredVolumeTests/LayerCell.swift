// Every state that two names of a layered directory can be in, and everything that can be done with them, on a volume without a
// mount.

import FlagRules
import Foundation
import LinuxFiles

@testable import LayeredVolume

/// What a name is before a change.
enum NameState: String, CaseIterable, Sendable {
  case absent, lowerFile, upperFile, bothFiles, twoFiles, linkedFile, fileGone, directoryGone
  case pureEmpty, pureFull, lowerEmpty, lowerFull, mergedFull, mergedEmptied, twoDirectories
  case closedEmpty, closedFull, flaggedEmpty, flaggedFull, movedFull

  /// Whether it takes two lowers that have the name.
  var isInTwo: Bool { self == .twoFiles || self == .twoDirectories }

  /// What lowers have of it; the upper one comes first.
  func make(in lowers: [String], _ parent: String, _ name: String) throws {
    let full = directory(name) { file("x", "x") }
    let items: [TreeItem] =
      switch self {
      case .absent, .upperFile, .pureEmpty, .pureFull: []
      case .lowerFile, .bothFiles, .twoFiles, .linkedFile, .fileGone: [file(name, "lower")]
      case .lowerEmpty: [directory(name)]
      case .movedFull: [directory("was-" + name) { file("x", "x") }]
      default: [full]
      }
    try LayeredTree.make(items, at: "\(lowers[0])/\(parent)")
    switch self {
    case .twoFiles: try LayeredTree.make([file(name, "lowest")], at: "\(lowers[1])/\(parent)")
    case .twoDirectories:
      try LayeredTree.make(
        [
          directory(name) {
            file("x", "lowest"); file("y", "y")
          }
        ], at: "\(lowers[1])/\(parent)")
    case .linkedFile:
      Glibc.link("\(lowers[0])/\(parent)/\(name)", "\(lowers[0])/\(parent)/linked-\(name)")
    default: break
    }
  }

  /// What is done to that on the volume.
  func prepare(_ tree: LayeredTree, _ parent: String, _ name: String) throws {
    let path = "\(parent)/\(name)"
    func removeAll() throws {
      try tree.remove(path + "/x")
      try tree.removeDirectory(path)
    }
    switch self {
    case .absent, .lowerFile, .twoFiles, .linkedFile, .lowerEmpty, .lowerFull, .twoDirectories: break
    case .upperFile: try tree.create(path, "upper")
    case .bothFiles: try tree.write(path, "LOW")
    case .fileGone: try tree.remove(path)
    case .directoryGone: try removeAll()
    case .pureEmpty: try tree.makeDirectory(path)
    case .pureFull:
      try tree.makeDirectory(path)
      try tree.create(path + "/own", "own")
    case .mergedFull: try tree.create(path + "/own", "own")
    case .mergedEmptied:
      try tree.create(path + "/own", "own")
      try tree.remove(path + "/own")
      try tree.remove(path + "/x")
    case .closedEmpty, .closedFull:
      try removeAll()
      try tree.makeDirectory(path)
      if self == .closedFull { try tree.create(path + "/own", "own") }
    case .flaggedEmpty, .flaggedFull:
      try tree.setAttribute(path, "system.varve.flags", "opaque")
      if self == .flaggedFull { try tree.create(path + "/own", "own") }
    case .movedFull: try tree.rename("\(parent)/was-\(name)", to: path)
    }
  }
}

/// Names in their states, and what is done with them.
struct LayerCell: Sendable, CustomStringConvertible {
  enum Deed: Hashable, Sendable {
    case unlink, rmdir, mkdir, create, symlink, link, write, mode
    case rename(RenameStyle)

    static let alone: [Deed] = [.unlink, .rmdir, .mkdir, .create, .symlink, .link, .write, .mode]
    static let renames: [Deed] = [.rename(.replace), .rename(.noReplace), .rename(.exchange)]
  }

  let deed: Deed
  let source: NameState
  var target = NameState.absent
  /// Into another directory.
  var crosses = false
  /// In directories that were moved, so that the lowers have them elsewhere.
  var isMoved = false
  /// The target is of the second lower, if there are two.
  var lowers = 1

  var description: String {
    let target = if case .rename = deed { " and \(target)" } else { "" }
    return
      "\(deed) of \(source)\(target), \(crosses ? "crossing, " : "")\(isMoved ? "moved, " : "")\(lowers) lowers"
  }

  static let all: [LayerCell] = {
    var cells: [LayerCell] = []
    func add(_ cell: LayerCell) {
      guard cell.lowers == 2 || !(cell.source.isInTwo || cell.target.isInTwo) else { return }
      cells.append(cell)
    }
    for lowers in [1, 2] {
      for isMoved in [false, true] {
        for source in NameState.allCases {
          for deed in Deed.alone {
            add(LayerCell(deed: deed, source: source, isMoved: isMoved, lowers: lowers))
          }
          for target in NameState.allCases {
            for deed in Deed.renames {
              for crosses in [false, true] {
                add(
                  LayerCell(
                    deed: deed, source: source, target: target, crosses: crosses, isMoved: isMoved,
                    lowers: lowers))
              }
            }
          }
        }
      }
    }
    return cells
  }()

  private var targetParent: String { crosses ? "q" : "p" }

  /// A volume in which the names are what they are to be.
  func tree() throws -> LayeredTree {
    let tree = try LayeredTree(
      in: "/dev/shm",
      making: { base in
        let places = (1...lowers).map { "\(base)/lower\($0)" }
        let prefix = isMoved ? "was-" : ""
        for place in places {
          try LayeredTree.make(
            [directory(prefix + "p") { file("other", "other") }, directory(prefix + "q")], at: place)
        }
        try source.make(in: places, prefix + "p", "a")
        try target.make(in: target.isInTwo ? places : places.reversed(), prefix + targetParent, "b")
        return places
      })
    if isMoved {
      try tree.rename("was-p", to: "p")
      try tree.rename("was-q", to: "q")
    }
    try source.prepare(tree, "p", "a")
    try target.prepare(tree, targetParent, "b")
    return tree
  }

  func make(in tree: LayeredTree) throws {
    switch deed {
    case .unlink: try tree.remove("p/a")
    case .rmdir: try tree.removeDirectory("p/a")
    case .mkdir: try tree.makeDirectory("p/a")
    case .create: try tree.create("p/a")
    case .symlink: try tree.makeSymbolicLink("p/a", to: "to")
    case .link: try tree.link("p/other", as: "p/a")
    case .write: try tree.write("p/a", "W")
    case .mode: try tree.change("p/a") { $0.mode = 0o700 }
    case .rename(let style): try tree.rename("p/a", to: "\(targetParent)/b", style)
    }
  }
}
