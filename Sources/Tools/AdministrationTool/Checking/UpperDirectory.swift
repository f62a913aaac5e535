// From a path to what it names and to the upper directory that is in, followed once: what was found is held, so a name
// that is swapped afterwards changes nothing.

import LayeredVolume
import LinuxFiles
import LinuxPrograms

/// What a path named when it was followed.
struct FollowedPath {
  /// Without links.
  let path: [UInt8]
  let place: SharedDescriptor
  /// The nearest directory with bookkeeping that it is in, or is.
  private(set) var upper: UpperDirectory?

  init(_ typed: [UInt8]) throws(Errno) {
    path = try realPath(typed)
    // A link that appears on the way from now on is ENOTDIR.
    var place = SharedDescriptor(try Descriptor.place([slash], .held))
    upper = UpperDirectory([slash], place)
    let names = path.split(separator: slash).map { Array($0) }
    var way: [UInt8] = []
    for name in names {
      place = SharedDescriptor(try place.descriptor.place(of: name, .held))
      way += [slash] + name
      if let nearer = UpperDirectory(way, place) { upper = nearer }
    }
    guard try place.descriptor.knownStatus().kind != .symbolicLink else { throw .tooManySymbolicLinks }
    self.place = place
  }
}

/// A directory with the bookkeeping of a volume in it.
struct UpperDirectory {
  let path: [UInt8]
  let place: SharedDescriptor

  /// Nil where there is none, or none that may be looked at.
  fileprivate init?(_ path: [UInt8], _ place: SharedDescriptor) {
    guard let bookkeeping = try? place.descriptor.place(of: OwnDirectory.bytes, .held),
      let status = try? bookkeeping.knownStatus(), status.kind == .directory
    else { return nil }
    self.path = path
    self.place = place
  }
}
