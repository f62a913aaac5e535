// What an upper directory with marks shows over plain lowers, worked out from the disk by other means than the volume's: for
// models of histories that set and clear the flag `opaque`.

import FlagRules
import Foundation
import LinuxFiles
import RecordFormat

@testable import LayeredVolume

struct MarkedLayers {
  /// The upper directory, then the lowers, the topmost first.
  private let roots: [String]

  /// A directory of a layer.
  private struct Part {
    var layer: Int
    var path: String
  }

  init(_ tree: LayeredTree) { roots = [tree.upper] + tree.lowers }

  private func status(_ path: String) -> stat? {
    var found = stat()
    return lstat(path, &found) == 0 ? found : nil
  }

  private func isWhiteout(_ status: stat) -> Bool {
    status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == 0
  }

  /// Whether nothing below a directory of the upper shows in it.
  private func isClosed(_ path: String) throws -> Bool {
    if try plainAttribute(path, "trusted.overlay.opaque") == [UInt8(ascii: "y")] { return true }
    guard let bytes = try plainAttribute(path, "trusted.varve.m") else { return false }
    return try CoreRecord(decoding: bytes.span).flags.contains(.opaque)
  }

  /// What a directory consists of that was found as `part`, where the parts below it are `below`.
  private func parts(_ part: Part, _ below: [Part]) throws -> [Part] {
    guard part.layer == 0 else { return [part] + below }
    if try isClosed(part.path) { return [part] }
    guard let redirect = try plainAttribute(part.path, "trusted.overlay.redirect") else {
      return [part] + below
    }
    // Always absolute: from the root of what the layers below show together. They have no marks.
    let path = String(decoding: redirect, as: UTF8.self)
    var found: [Part] = []
    for layer in roots.indices.dropFirst() {
      guard isDirectory(layer, path) else {
        // A file hides the directories below it.
        if status(roots[layer] + path) != nil || hasFileOnTheWay(layer, path) { break }
        continue
      }
      found.append(Part(layer: layer, path: roots[layer] + path))
    }
    return [part] + found
  }

  private func isDirectory(_ layer: Int, _ path: String) -> Bool {
    !hasFileOnTheWay(layer, path)
      && status(roots[layer] + path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }

  private func hasFileOnTheWay(_ layer: Int, _ path: String) -> Bool {
    var way = roots[layer]
    for name in path.split(separator: "/").dropLast() {
      way += "/\(name)"
      guard let found = status(way) else { return false }
      if found.st_mode & S_IFMT != S_IFDIR { return true }
    }
    return false
  }

  /// Makes a plain tree of what there is.
  func copy(to path: String) throws {
    var seen: [ino_t: String] = [:]
    let all = roots.enumerated().map { Part(layer: $0.offset, path: $0.element) }
    try copy(parts(all[0], Array(all.dropFirst())), to: path, isRoot: true, &seen)
  }

  private func copy(
    _ parts: [Part], to path: String, isRoot: Bool = false, _ seen: inout [ino_t: String]
  ) throws {
    mkdir(path, 0o755)
    var names: Set<String> = []
    for part in parts { names.formUnion(try FileManager.default.contentsOfDirectory(atPath: part.path)) }
    if isRoot { names.remove(".varve") }
    for name in names.sorted() {
      var standing = parts.compactMap { part in
        status("\(part.path)/\(name)").map { (Part(layer: part.layer, path: "\(part.path)/\(name)"), $0) }
      }
      guard let (top, found) = standing.first, !isWhiteout(found) else { continue }
      let target = "\(path)/\(name)"
      switch found.st_mode & S_IFMT {
      case S_IFDIR:
        standing = Array(standing.prefix { $0.1.st_mode & S_IFMT == S_IFDIR })
        try copy(self.parts(top, standing.dropFirst().map(\.0)), to: target, &seen)
        chmod(target, found.st_mode & 0o7777)
      case _ where seen[found.st_ino] != nil:
        if let other = seen[found.st_ino] { Glibc.link(other, target) }
      case S_IFLNK:
        symlink(try FileManager.default.destinationOfSymbolicLink(atPath: top.path), target)
        seen[found.st_ino] = target
      default:
        try FileManager.default.copyItem(atPath: top.path, toPath: target)
        chmod(target, found.st_mode & 0o7777)
        seen[found.st_ino] = target
      }
    }
  }
}
