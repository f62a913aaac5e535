// From a root down to items named by paths of any length, a name at a time.

import LinuxFiles
import LinuxPrograms

/// The directories on the way to the item asked for last.
///
/// Items mostly follow each other as in a walk, so most steps are there already. Only the first levels stay open;
/// what is deeper is gone to from there each time.
final class DirectoryChain {
  private struct Step {
    let name: [UInt8]
    let held: SharedDescriptor
  }

  private static let mostKept = 128

  private let root: SharedDescriptor
  private let followsLinks: Bool
  private var steps: [Step] = []

  init(_ root: SharedDescriptor, followingLinks followsLinks: Bool = false) {
    self.root = root
    self.followsLinks = followsLinks
  }

  /// Holds on to the directory whose names lead down from the root; also across a mount point.
  func directory(_ names: [[UInt8]]) throws(Errno) -> SharedDescriptor {
    try descend(names[...]) { name, above throws(Errno) in
      try above.descriptor.item(named: name, followsLinks ? .followed : .held)
    }
  }

  /// Holds on to an item of the same file system, never through a link.
  func item(_ names: [[UInt8]]) throws(Errno) -> SharedDescriptor {
    guard let last = names.last else { return root }
    let directory = try descend(names.dropLast()) { name, above throws(Errno) in
      try FileName.with(name) { name throws(Errno) in try above.descriptor.openDirectoryPath(name) }
    }
    return SharedDescriptor(
      try FileName.with(last) { name throws(Errno) in try directory.descriptor.openPath(name) })
  }

  private func descend(
    _ names: ArraySlice<[UInt8]>, _ open: ([UInt8], SharedDescriptor) throws(Errno) -> Descriptor
  ) throws(Errno) -> SharedDescriptor {
    var known = 0
    while known < min(steps.count, names.count), steps[known].name == names[known] { known += 1 }
    steps.removeLast(steps.count - known)
    var held = steps.last?.held ?? root
    for name in names[known...] {
      held = SharedDescriptor(try open(name, held))
      if steps.count < DirectoryChain.mostKept { steps.append(Step(name: name, held: held)) }
    }
    return held
  }
}
