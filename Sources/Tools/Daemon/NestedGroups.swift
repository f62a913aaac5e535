// `/etc/varve/groups`: groups whose members are groups.

import LinuxFiles

enum NestedGroups {
  static let path = "/etc/varve/groups"

  /// The file's contents by number; empty without the file.
  static func load() throws(ArgumentFailure) -> [UInt32: [UInt32]] {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try Descriptor.open(path: path, .readOnly).read(upTo: 1 << 20)
    } catch .noSuchFile {
      return [:]
    } catch {
      throw ArgumentFailure("\(path): \(error)")
    }
    return try parse(String(decoding: bytes, as: UTF8.self)) { name in
      UInt32(name) ?? UserDatabase.group(named: name)
    }
  }

  /// Reads lines of the form `name: member-group,…`; `#` begins a comment.
  static func parse(
    _ text: String, number: (String) -> UInt32?
  ) throws(ArgumentFailure) -> [UInt32: [UInt32]] {
    var members: [UInt32: [UInt32]] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.prefix { $0 != "#" }
        .split(whereSeparator: { $0 == ":" || $0 == "," || $0 == " " || $0 == "\t" }).map(String.init)
      guard let name = words.first else { continue }
      guard line.contains(":") else {
        throw ArgumentFailure("\(path), line \(index + 1): ':' is missing after '\(name)'")
      }
      func resolved(_ name: String) throws(ArgumentFailure) -> UInt32 {
        guard let number = number(name) else {
          throw ArgumentFailure("\(path), line \(index + 1): there is no group '\(name)'")
        }
        return number
      }
      let group = try resolved(name)
      for word in words.dropFirst() { members[group, default: []].append(try resolved(word)) }
    }
    return members
  }
}
