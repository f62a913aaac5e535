// The trees of random histories: layers that hide and merge with each other, and a plain directory with what they show.

import Foundation
import LinuxFiles
import Randomness

@testable import LayeredVolume

enum LayerModelTrees {
  static let names = ["a", "b", "c", "d"]

  /// Trees in which names of one layer hide, and merge with, those of another.
  static func makeLower(
    _ path: String, _ dice: inout Dice, depth: Int = 0, links: Bool, _ files: inout [String]
  ) throws {
    mkdir(path, 0o755)
    for name in names {
      switch dice.below(9) {
      case 8:
        guard links, !files.isEmpty else { continue }
        Glibc.link(dice.pick(files), "\(path)/\(name)")
      case 0..<3:
        try "\(name)\(dice.below(1000))".write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
        files.append("\(path)/\(name)")
      case 3..<6 where depth < 2:
        try makeLower("\(path)/\(name)", &dice, depth: depth + 1, links: links, &files)
      case 6: symlink("to\(dice.below(9))", "\(path)/\(name)")
      default: break
      }
    }
  }

  /// What the layers show together, without a mark among them; `seen`: where each of it comes from, by inode.
  static func merge(_ lowers: [String], to path: String, _ seen: inout [ino_t: [String]]) throws {
    mkdir(path, 0o755)
    for name in names {
      let found = lowers.map { "\($0)/\(name)" }.filter { kind($0) != nil }
      guard let first = found.first else { continue }
      if kind(first) == S_IFDIR {
        try merge(Array(found.prefix { kind($0) == S_IFDIR }), to: "\(path)/\(name)", &seen)
      } else if let known = seen[inode(first)]?.first {
        Glibc.link(known, "\(path)/\(name)")
        seen[inode(first), default: []].append(first)
      } else {
        try FileManager.default.copyItem(atPath: first, toPath: "\(path)/\(name)")
        seen[inode(first)] = ["\(path)/\(name)", first]
      }
    }
  }

  /// Makes names that another layer covers names of something else: they would go on counting.
  static func separateCovered(_ path: String, _ seen: [ino_t: [String]]) throws {
    for name in names.map({ "\(path)/\($0)" }) {
      guard let kind = kind(name) else { continue }
      if kind == S_IFDIR { try separateCovered(name, seen) }
      guard kind == S_IFREG, !(seen[inode(name)] ?? []).contains(name) else { continue }
      let text = try String(contentsOfFile: name, encoding: .utf8)
      unlink(name)
      try text.write(toFile: name, atomically: false, encoding: .utf8)
    }
  }

  private static func inode(_ path: String) -> ino_t {
    var found = stat()
    lstat(path, &found)
    return found.st_ino
  }

  /// Which names are of one file, for each that has several.
  private static func groups(_ lines: [String], _ number: (String) throws -> UInt64) rethrows -> Set<[String]>
  {
    var groups: [UInt64: [String]] = [:]
    for line in lines where !line.contains(" directory ") && !line.contains(" -> ") {
      let path = String(line.prefix { $0 != " " })
      groups[try number(path), default: []].append(path)
    }
    return Set(groups.values.filter { $0.count > 1 })
  }

  static func difference(_ tree: LayeredTree, _ model: String) throws -> [String] {
    let (found, expected) = (try tree.state(), try plainState(model))
    if found != expected {
      return found.filter { !expected.contains($0) } + ["instead of"]
        + expected.filter { !found.contains($0) }
    }
    let (one, other) = (
      try groups(found) { try tree.attributes($0).inode },
      groups(expected) { UInt64(inode("\(model)/\($0)")) }
    )
    return one == other ? [] : ["\(one) instead of \(other)"]
  }

  static func kind(_ path: String) -> mode_t? {
    var found = stat()
    return lstat(path, &found) == 0 ? found.st_mode & S_IFMT : nil
  }

  /// Which attributes the volume has given to directories of the upper.
  static func marks(_ upper: String) throws -> Set<String> {
    var marks: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: upper) {
      guard kind("\(upper)/\(path)") == S_IFDIR else { continue }
      let names = try Descriptor.open(path: "\(upper)/\(path)", .readOnly).attributeNames().copies
      marks.formUnion(names.map { String(decoding: $0, as: UTF8.self) })
    }
    return marks
  }
}
