// What the names of a layered directory can be before a change, and that directory itself: on a mount, and in a plain directory
// that shows the same.

import Glibc
import LinuxFiles

/// The two places in which everything is done.
enum MatrixSide: CaseIterable {
  case mount, model

  func root(in base: String) -> String { self == .mount ? base + "/mount" : base + "/model" }

  /// Closes a directory to the layers below; a plain one has no flag, and `hide` removes there what the flag hides.
  func close(_ directory: String, hide: () -> Void) {
    if self == .mount { _ = Attribute.set(directory, Attribute.flags, "opaque") } else { hide() }
  }
}

/// What the directory is that names are in.
enum ParentState: CaseIterable {
  case plain
  /// The lowers have it under another name.
  case moved
  /// It is closed by the flag `opaque`, after everything in it was prepared.
  case flagged

  /// What comes before its name in lowers.
  var prefix: String { self == .moved ? "was-" : "" }
}

/// What a name is before an operation.
enum NameState: String, CaseIterable {
  case absent, lowerFile, upperFile, bothFiles, linkedFile, fileGone, directoryGone
  case pureEmpty, pureFull, lowerEmpty, lowerFull, mergedFull, mergedEmptied, closedEmpty, closedFull
  case flaggedEmpty, flaggedFull, movedFull
  case twoFiles, twoDirectories, fileOverDirectory, directoryOverFile

  private enum Item {
    case file
    case directory([String])

    var isDirectory: Bool { if case .directory = self { true } else { false } }

    func make(_ path: String, _ layer: Int) {
      switch self {
      case .file: NameState.write(path, "\(layer) of \(path.suffix(6))")
      case .directory(let names):
        mkdir(path, 0o755)
        for name in names { NameState.write("\(path)/\(name)", "\(name) of \(layer)") }
      }
    }
  }

  /// What lowers have of it, the topmost first.
  private var items: [Item] {
    let full = Item.directory(["x"])
    return switch self {
    case .absent, .upperFile, .pureEmpty, .pureFull: []
    case .lowerFile, .bothFiles, .linkedFile, .fileGone: [.file]
    case .lowerEmpty: [.directory([])]
    case .twoFiles: [.file, .file]
    case .twoDirectories: [full, .directory(["x", "y"])]
    case .fileOverDirectory: [.file, full]
    case .directoryOverFile: [full, .file]
    default: [full]
    }
  }

  var isInTwo: Bool { items.count == 2 }

  /// Makes it in lowers, the topmost first, and what they show together in `model`; each is the directory that has the name.
  func make(_ name: String, in lowers: [String], _ model: String) {
    let name = self == .movedFull ? "was-" + name : name
    for (layer, (item, lower)) in zip(items, lowers).enumerated() {
      item.make("\(lower)/\(name)", layer)
      // Only directories merge, and what is there already stays.
      if layer == 0 || item.isDirectory && items[0].isDirectory { item.make("\(model)/\(name)", layer) }
    }
    guard self == .linkedFile else { return }
    for place in lowers.prefix(1) + [model] { link("\(place)/\(name)", "\(place)/linked-\(name)") }
  }

  /// What is done to that.
  func prepare(_ name: String, in parent: String, of side: MatrixSide) {
    let path = "\(parent)/\(name)"
    switch self {
    case .absent, .lowerFile, .linkedFile, .lowerEmpty, .lowerFull: break
    case .twoFiles, .twoDirectories, .fileOverDirectory, .directoryOverFile: break
    case .upperFile: NameState.write(path, "upper")
    case .bothFiles: NameState.write(path, "changed", O_WRONLY)
    case .fileGone: unlink(path)
    case .directoryGone: removeAll(path)
    case .pureEmpty: mkdir(path, 0o755)
    case .pureFull:
      mkdir(path, 0o755)
      NameState.write(path + "/own", "own")
    case .mergedFull: NameState.write(path + "/own", "own")
    case .mergedEmptied:
      NameState.write(path + "/own", "own")
      unlink(path + "/own")
      unlink(path + "/x")
    case .closedEmpty, .closedFull:
      removeAll(path)
      mkdir(path, 0o755)
      if self == .closedFull { NameState.write(path + "/own", "own") }
    case .flaggedEmpty, .flaggedFull:
      side.close(path) { unlink(path + "/x") }
      if self == .flaggedFull { NameState.write(path + "/own", "own") }
    case .movedFull: rename("\(parent)/was-\(name)", path)
    }
  }

  /// Whether the upper has there what makes it this state.
  func isMade(_ path: String) -> Bool {
    var found = stat()
    let kind = lstat(path, &found) == 0 ? found.st_mode & S_IFMT : 0
    switch self {
    case .absent, .lowerFile, .linkedFile, .lowerEmpty, .lowerFull: return kind == 0
    case .twoFiles, .twoDirectories, .fileOverDirectory, .directoryOverFile: return kind == 0
    case .fileGone, .directoryGone: return kind == S_IFCHR
    case .upperFile, .bothFiles: return kind == S_IFREG
    case .pureEmpty, .pureFull, .mergedFull, .mergedEmptied, .flaggedEmpty, .flaggedFull:
      return kind == S_IFDIR
    case .closedEmpty, .closedFull: return Attribute.get(path, "trusted.overlay.opaque").refusal == nil
    case .movedFull: return Attribute.get(path, "trusted.overlay.redirect").refusal == nil
    }
  }

  /// Removes from a plain directory what shows no more in a directory that is closed: what only lowers have.
  ///
  /// A directory that was moved leads to what it shows by its redirect, which counts also there.
  func hide(_ name: String, in parent: String) {
    let path = "\(parent)/\(name)"
    switch self {
    case .upperFile, .bothFiles, .pureEmpty, .pureFull, .closedEmpty, .closedFull: break
    case .mergedEmptied, .flaggedEmpty, .flaggedFull, .movedFull: break
    case .mergedFull: unlink(path + "/x")
    case .linkedFile:
      unlink(path)
      unlink("\(parent)/linked-\(name)")
    default: removeAll(path)
    }
  }

  private func removeAll(_ path: String) {
    guard rmdir(path) < 0, unlink(path) < 0 else { return }
    for name in ["x", "y"] { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private static func write(_ path: String, _ text: String, _ flags: CInt = O_WRONLY | O_CREAT | O_EXCL) {
    let file = open(path, flags, 0o644)
    guard file >= 0 else { return }
    _ = Glibc.write(file, text, text.utf8.count)
    close(file)
  }
}
