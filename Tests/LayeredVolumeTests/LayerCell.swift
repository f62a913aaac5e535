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

  /// What is done to that.
  func preparation(_ parent: String, _ name: String) -> [LayerStep] {
    let path = "\(parent)/\(name)"
    let removeAll: [LayerStep] = [.deed(.remove, path + "/x"), .deed(.removeDirectory, path)]
    let makeOwn = LayerStep.deed(.create, path + "/own", word: "own")
    return switch self {
    case .absent, .lowerFile, .twoFiles, .linkedFile, .lowerEmpty, .lowerFull, .twoDirectories: []
    case .upperFile: [.deed(.create, path, word: "upper")]
    case .bothFiles: [.deed(.write, path, word: "OWE")]
    case .fileGone: [.deed(.remove, path)]
    case .directoryGone: removeAll
    case .pureEmpty: [.deed(.makeDirectory, path)]
    case .pureFull: [.deed(.makeDirectory, path), makeOwn]
    case .mergedFull: [makeOwn]
    case .mergedEmptied: [makeOwn, .deed(.remove, path + "/own"), .deed(.remove, path + "/x")]
    case .closedEmpty: removeAll + [.deed(.makeDirectory, path)]
    case .closedFull: removeAll + [.deed(.makeDirectory, path), makeOwn]
    case .flaggedEmpty: [.close(path, hiding: ["x"])]
    case .flaggedFull: [.close(path, hiding: ["x"]), makeOwn]
    case .movedFull: [.deed(.rename, "\(parent)/was-\(name)", to: path)]
    }
  }
}

/// A change that is made in the layers, and in a plain directory that shows the same.
enum LayerStep {
  case deed(LayerModelDeed, String, to: String = "", word: String = "")
  /// The flag `opaque` of a directory, which hides these names.
  case close(String, hiding: [String])

  func make(in tree: LayeredTree) throws {
    switch self {
    case .deed(let deed, let path, let other, let word):
      if let error = deed.inLayers(tree, path, other, word) { throw error }
    case .close(let path, _): try tree.setAttribute(path, "system.varve.flags", "opaque")
    }
  }

  func make(inPlain model: String) throws {
    switch self {
    case .deed(let deed, let path, let other, let word):
      if let error = deed.inPlain(model, path, other, word) { throw error }
    case .close(let path, let names):
      for name in names { try FileManager.default.removeItem(atPath: "\(model)/\(path)/\(name)") }
    }
  }
}

/// Names in their states, and what is done with them.
struct LayerCell: Sendable, CustomStringConvertible {
  private static let alone: [LayerModelDeed] = [
    .remove, .removeDirectory, .makeDirectory, .create, .symbolicLink, .link, .write, .truncate, .mode,
  ]
  private static let renames: [LayerModelDeed] = [.rename, .noReplace, .exchange]

  let deed: LayerModelDeed
  let source: NameState
  var target = NameState.absent
  /// Into another directory.
  var crosses = false
  /// In directories that were moved, so that the lowers have them elsewhere.
  var isMoved = false
  /// The target is of the last lower, if there are several.
  var lowers = 1

  var description: String {
    let target = deed.isAboutTwo ? " and \(target)" : ""
    return
      "\(deed) of \(source)\(target), \(crosses ? "crossing, " : "")\(isMoved ? "moved, " : "")\(lowers) lowers"
  }

  static let all: [LayerCell] = {
    var cells: [LayerCell] = []
    func add(_ cell: LayerCell) {
      guard cell.lowers > 1 || !(cell.source.isInTwo || cell.target.isInTwo) else { return }
      cells.append(cell)
    }
    for lowers in [1, 3] {
      for isMoved in [false, true] {
        for source in NameState.allCases {
          for deed in alone {
            add(LayerCell(deed: deed, source: source, isMoved: isMoved, lowers: lowers))
          }
          for target in NameState.allCases {
            for deed in renames {
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

  private var step: LayerStep {
    let path = deed == .link ? "p/other" : "p/a"
    let other = deed == .link ? "p/a" : "\(targetParent)/b"
    // What is written to a new file is another change.
    return .deed(deed, path, to: other, word: deed == .create ? "" : "WW")
  }

  private var preparation: [LayerStep] {
    let moves = isMoved ? ["p", "q"].map { LayerStep.deed(.rename, "was-" + $0, to: $0) } : []
    return moves + source.preparation("p", "a") + target.preparation(targetParent, "b")
  }

  /// A volume in which the names are what they are to be; `model`: and the same in a plain directory, which has this name.
  func tree(model: String? = nil) throws -> LayeredTree {
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
        try target.make(
          in: target.isInTwo ? places.suffix(2) : places.reversed(), prefix + targetParent, "b")
        return places
      })
    let model = model.map { "\(tree.base)/\($0)" }
    if let model { try MarkedLayers(tree).copy(to: model) }
    for step in preparation {
      try step.make(in: tree)
      if let model { try step.make(inPlain: model) }
    }
    return tree
  }

  func make(in tree: LayeredTree) throws { try step.make(in: tree) }

  func make(inPlain model: String) throws { try step.make(inPlain: model) }
}
