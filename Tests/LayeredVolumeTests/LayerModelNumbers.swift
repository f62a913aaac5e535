// The numbers that a random history of layers shows: what is one object in a plain directory keeps one number, whatever is
// changed, renamed or brought up, and listings show the same.

import Foundation
import LinuxFiles

@testable import LayeredVolume

struct LayerModelNumbers {
  /// An object of the plain directory: its number is given to another one when it is gone, its birth is its own.
  private struct Object: Hashable {
    let inode: UInt64
    let birth: Timestamp?
  }

  private var known: [Object: UInt64] = [:]
  /// A symbolic link takes no attributes of users, so that the copy of one cannot say on a user's volume what it was.
  private let linksStay = geteuid() == 0

  mutating func check(_ tree: LayeredTree, _ model: String) throws {
    var (objects, numbers): ([Object: UInt64], [UInt64: Object]) = ([:], [:])
    try walk(tree, model, "") { path, object, number in
      try Unexpected.require(
        known[object] ?? number == number, "\(path) had the number \(known[object] ?? 0), and has \(number)")
      try Unexpected.require(
        numbers[number] ?? object == object, "\(path) has the number \(number) of something else")
      numbers[number] = object
      if linksStay || !path.hasPrefix("\(FileKind.symbolicLink) ") { objects[object] = number }
    }
    // What is gone may be made anew.
    known = objects
  }

  private func walk(
    _ tree: LayeredTree, _ model: String, _ path: String, _ tell: (String, Object, UInt64) throws -> Void
  ) throws {
    let directory = try Descriptor.directory(atPath: "\(model)/\(path)")
    for listed in try tree.list(path) {
      let inner = path.isEmpty ? listed.name : "\(path)/\(listed.name)"
      let number = try tree.attributes(inner).inode
      try Unexpected.require(listed.inode == number, "\(inner) is listed with another number")
      let status = try FileName.with(Array(listed.name.utf8)) { name throws(Errno) in
        try directory.status(of: name)
      }
      try tell("\(status.kind) \(inner)", Object(inode: status.inode, birth: status.birth), number)
      if status.kind == .directory { try walk(tree, model, inner, tell) }
    }
  }
}
