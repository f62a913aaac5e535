// From a root down to items named by paths of any length, a name at a time, never through a link.

import LinuxFiles

/// The directories on the way to the item asked for last.
///
/// Items of a dump follow each other as in a walk, so most steps are there already. Only the first levels stay
/// open; what is deeper is gone to from there each time.
final class DirectoryChain {
  private struct Step {
    let name: [UInt8]
    let place: SharedDescriptor
  }

  private static let mostKept = 128

  private let root: SharedDescriptor
  private var steps: [Step] = []

  init(_ root: consuming Descriptor) {
    self.root = SharedDescriptor(root)
  }

  /// Holds on to the item whose names lead down from the root.
  func place(_ names: [[UInt8]]) throws(Errno) -> SharedDescriptor {
    guard let last = names.last else { return root }
    let directories = names.dropLast()
    var known = 0
    while known < min(steps.count, directories.count), steps[known].name == names[known] { known += 1 }
    steps.removeLast(steps.count - known)
    var place = steps.last?.place ?? root
    for name in directories[known...] {
      let above = place
      place = SharedDescriptor(
        try FileName.with(name) { name throws(Errno) in try above.descriptor.openDirectoryPath(name) })
      if steps.count < DirectoryChain.mostKept { steps.append(Step(name: name, place: place)) }
    }
    let directory = place
    return SharedDescriptor(
      try FileName.with(last) { name throws(Errno) in try directory.descriptor.openPath(name) })
  }
}
