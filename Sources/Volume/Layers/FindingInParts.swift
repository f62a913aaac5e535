// What the parts of a directory show under a name: `Found.find` with what the system says of each.

import LayerRules
import LinuxFiles

extension Sighting {
  init(_ object: Object, _ status: FileStatus) {
    if status.isWhiteout {
      self = .whiteout
    } else {
      self = status.kind == .directory ? .directory(object) : .file(object)
    }
  }
}

extension Sighting<FileStatus> {
  init(_ status: FileStatus?) { self = status.map { Sighting($0, $0) } ?? .absent }
}

extension Found<FoundObject> {
  /// The same with a descriptor that leads there.
  static func find(_ name: borrowing FileName, in parts: [LayerPart]) throws(Errno) -> Found<FoundObject> {
    try find(inParts: parts.indices) { part throws(Errno) in
      do throws(Errno) {
        let object = try LayerDirectory(parts[part]).findHeld(name)
        return Sighting(object, object.status)
      } catch .noSuchFile {
        return .absent
      }
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
