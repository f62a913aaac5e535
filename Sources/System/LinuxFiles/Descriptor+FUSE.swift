import CLinux

extension Descriptor {
  /// The number by which the kernel and the daemon know what is held, if it is on a mount of FUSE: the kernel tells it
  /// without asking the daemon.
  ///
  /// Only once it is known whose mount that is: other file systems have handles of their own.
  package borrowing func fuseNode() throws(Errno) -> UInt64 {
    var node: UInt64 = 0
    let number = rawValue
    try retrying { unsafe lv_fuse_node(number, &node) }
    return node
  }
}
