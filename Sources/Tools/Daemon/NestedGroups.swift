// `/etc/varve/groups`: groups whose members are groups.
//
// One file serves every mount of the machine, so a line that cannot be used costs that line and not the mounts: a group
// may have been removed since. `varve status` and the log tell of it.

import LinuxFiles

/// What the file says.
struct NestedGroups {
  static let path = "/etc/varve/groups"

  /// The groups in each group, by number.
  var members: [UInt32: [UInt32]] = [:]
  /// A sentence for each line that is left out.
  var warnings: [String] = []

  /// Reads the file of this machine; empty without one.
  static func load() throws(ArgumentFailure) -> NestedGroups {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try Descriptor.open(path: path, .readOnly).read(upTo: 1 << 20)
    } catch .noSuchFile {
      return NestedGroups("") { _ in nil }
    } catch {
      throw ArgumentFailure("\(path): \(error)")
    }
    return NestedGroups(String(decoding: bytes, as: UTF8.self)) {
      UInt32($0) ?? UserDatabase.group(named: $0)
    }
  }

  /// Reads lines of the form `name: member-group,…`; `#` begins a comment.
  init(_ text: String, number: (String) -> UInt32?) {
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.prefix { $0 != "#" }
      let words = line.split(whereSeparator: { [":", ",", " ", "\t"].contains($0) }).map(String.init)
      guard let name = words.first else { continue }
      func leaveOut(_ reason: String) {
        warnings.append("\(NestedGroups.path), line \(index + 1) is left out: \(reason)")
      }
      guard line.contains(":") else {
        leaveOut("':' is missing after '\(name)'")
        continue
      }
      // All or nothing of a line: half of its groups would be a rule that nobody wrote.
      if let unknown = words.first(where: { number($0) == nil }) {
        leaveOut("there is no group '\(unknown)'")
        continue
      }
      let numbers = words.compactMap(number)
      if let group = numbers.first { members[group, default: []] += numbers.dropFirst() }
    }
  }
}
