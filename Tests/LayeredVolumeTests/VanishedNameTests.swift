// Names that are removed while a listing stands before them.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Names that vanish during a listing", .enabled(if: Tree.isRoot)) struct VanishedNameTests {
  /// The names of a directory in the order in which the file system has them.
  private func order(of path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      names.append(String(decoding: name, as: UTF8.self))
    }
    return names
  }

  /// Lists a directory, and removes two names behind the mount after the third; what was listed, `.` and `..` left out.
  private func list(
    _ path: String, _ tree: LayeredTree, of names: [String], in plain: String
  ) throws -> (
    listed: [String], removed: [String]
  ) {
    try tree.at(path) { node in
      let handle = try tree.volume.openDirectory(node, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      var listed: [String] = []
      var removed: [String] = []
      var offset: Int64 = 0
      while true {
        let former = offset
        var left = removed.isEmpty ? 5 : Int.max
        try tree.volume.readDirectory(handle, from: offset, withAttributes: true, for: tree.caller) {
          name, entry in
          guard left > 0 else { return false }
          left -= 1
          listed.append(String(decoding: name.indices.map { name[$0] }, as: UTF8.self))
          offset = entry.nextOffset
          return true
        }
        guard offset != former else { break }
        guard removed.isEmpty else { continue }
        // Not the last of them: where nothing is left behind an offset, tmpfs of Linux 6.18 begins anew.
        let last = order(of: plain).last { names.contains($0) }
        removed = Array(names.filter { !listed.contains($0) && $0 != last }.prefix(2))
        for name in removed { #expect(unlink("\(plain)/\(name)") == 0) }
      }
      return (listed.filter { $0 != "." && $0 != ".." }, removed)
    }
  }

  @Test("A name that was removed before a listing comes to it is left out, and all others are there once")
  func removed() throws {
    let names = (0..<20).map { "f\($0)" }
    let tree = try LayeredTree(names.map { file($0) }, [file("g")])
    try tree.makeDirectory("own")
    for name in names { try tree.create("own/\(name)") }
    for (path, plain, others) in [("", tree.lowers[0], ["g", "own"]), ("own", tree.upper + "/own", [])] {
      let (listed, removed) = try list(path, tree, of: names, in: plain)
      #expect(removed.count == 2)
      #expect(listed.sorted() == (names.filter { !removed.contains($0) } + others).sorted(), "'\(path)'")
    }
  }
}
