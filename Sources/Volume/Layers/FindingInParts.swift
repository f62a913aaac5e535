// What the parts of a directory show under a name: `Found.find` with what the system says of each.

import LayerRules
import LinuxFiles

extension Sighting<FileStatus> {
  init(_ status: FileStatus?) {
    switch status {
    case nil: self = .absent
    case let status? where status.isWhiteout: self = .whiteout
    case let status? where status.kind == .directory: self = .directory(status)
    case let status?: self = .file(status)
    }
  }
}

extension Found<FileStatus> {
  static func find(
    _ name: borrowing FileName, in parts: ArraySlice<LayerPart>
  ) throws(Errno) -> Found<FileStatus> {
    try find(inParts: parts.indices) { part throws(Errno) in
      Sighting(try LayerDirectory(parts[part]).look(name))
    }
  }

  var status: FileStatus? {
    switch self {
    case .missing, .removed: nil
    case .file(let status, _), .directory(let status, _): status
    }
  }
}

extension FoundName {
  /// What shows under a name in these parts, the topmost first; nil if nothing does.
  init?(_ name: borrowing FileName, in parts: ArraySlice<LayerPart>) throws(Errno) {
    switch try Found.find(name, in: parts) {
    case .missing, .removed: return nil
    case .file(let status, let part), .directory(let status, let part):
      self.init(directory: LayerDirectory(parts[part]), status: status)
    }
  }
}
