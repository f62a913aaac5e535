// A plain directory that no volume has anything to do with: what it shows, and changes of it.

import Foundation
import LinuxFiles

/// The lines that ``LayeredTree/state(_:)`` has of a volume.
func plainState(_ root: String, _ path: String = "") throws -> [String] {
  var lines: [String] = []
  for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(path)").sorted() {
    let inner = path.isEmpty ? name : "\(path)/\(name)"
    var found = stat()
    guard lstat("\(root)/\(inner)", &found) == 0 else { throw Errno.current }
    let mode = String(found.st_mode & 0o7777, radix: 8)
    switch found.st_mode & S_IFMT {
    case S_IFDIR:
      lines.append("\(inner) directory \(mode)")
      lines += try plainState(root, inner)
    case S_IFLNK:
      lines.append(
        "\(inner) -> \(try FileManager.default.destinationOfSymbolicLink(atPath: "\(root)/\(inner)"))")
    default:
      let text = String(
        decoding: try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(inner)")), as: UTF8.self)
      lines.append("\(inner) \(mode) \(found.st_nlink) '\(text)'")
    }
  }
  return lines
}

/// A line for each object of a plain directory, itself included, that changes with the object.
func stamps(_ root: String) throws -> [String] {
  func time(_ time: timespec) -> String { "\(time.tv_sec).\(time.tv_nsec)" }
  let paths = try FileManager.default.subpathsOfDirectory(atPath: root).sorted()
  return try ([""] + paths).map { path in
    var found = stat()
    guard lstat("\(root)/\(path)", &found) == 0 else { throw Errno.current }
    return "\(path) \(found.st_ino) \(found.st_mode) \(time(found.st_ctim)) \(time(found.st_mtim))"
  }
}

/// Sets an attribute behind every mount.
func setPlainAttribute(_ path: String, _ name: String, _ value: String) throws {
  let object = try Descriptor.open(path: path, .readOnly)
  try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
    try object.setAttribute(name, to: Array(value.utf8))
  }
}

func plainAttribute(_ path: String, _ name: String) throws -> [UInt8]? {
  let object = try Descriptor.open(path: path, .readOnly)
  return try AttributeName.with(Array(name.utf8)) { name throws(Errno) in try object.attribute(name) }
}

/// renameat2(2) in a plain directory.
func renamePlain(_ path: String, to newPath: String, _ flags: RenameFlags) -> Errno? {
  func parts(_ path: String) -> (String, [UInt8]) {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return (String(path.dropLast(name.count + 1)), Array(name.utf8))
  }
  do throws(Errno) {
    let from = try Descriptor.directory(atPath: parts(path).0)
    let to = try Descriptor.directory(atPath: parts(newPath).0)
    try FileName.with(parts(path).1) { name throws(Errno) in
      try FileName.with(parts(newPath).1) { newName throws(Errno) in
        try from.rename(name, to: to, as: newName, flags)
      }
    }
    return nil
  } catch {
    return error
  }
}
