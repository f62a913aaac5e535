// From a path to what it names and to the upper directory that is in, followed once: what was found is held, so a name
// that is swapped afterwards changes nothing.

import LayeredVolume
import LinuxFiles
import LinuxPrograms

/// What a path named when it was followed.
struct FollowedPath {
  /// Without links.
  let path: [UInt8]
  let held: SharedDescriptor
  /// The nearest directory with bookkeeping that it is in, or is.
  private(set) var upper: UpperDirectory?

  init(_ typed: [UInt8]) throws(Errno) {
    path = try realPath(typed)
    // A link that appears on the way from now on is ENOTDIR.
    var held = SharedDescriptor(try Descriptor.item(atPath: [slash], .held))
    upper = UpperDirectory([slash], held)
    let names = path.split(separator: slash).map { Array($0) }
    var way: [UInt8] = []
    for name in names {
      held = SharedDescriptor(try held.descriptor.item(named: name, .held))
      way += [slash] + name
      if let nearer = UpperDirectory(way, held) { upper = nearer }
    }
    guard try held.descriptor.knownStatus().kind != .symbolicLink else { throw .tooManySymbolicLinks }
    self.held = held
  }
}

/// A directory with the bookkeeping of a volume in it.
struct UpperDirectory {
  let path: [UInt8]
  let held: SharedDescriptor

  /// Nil where there is none, or none that may be looked at.
  fileprivate init?(_ path: [UInt8], _ held: SharedDescriptor) {
    guard let bookkeeping = try? held.descriptor.item(named: OwnDirectory.bytes, .held),
      let status = try? bookkeeping.knownStatus(), status.kind == .directory
    else { return nil }
    self.path = path
    self.held = held
  }
}
