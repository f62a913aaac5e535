import CLinux

// Three ways to an extended attribute, and when each is taken.
//
// Ordinary descriptors: f*xattr. `O_PATH` descriptors: those answer EBADF (so do the *xattrat calls,
// with an empty path), so the descriptor's path in /proc is next. A name in a directory: the *xattrat
// calls, or else the path of directory and name in /proc.

/// Where attributes are asked for: a descriptor's object, or a name in the directory.
@unsafe struct AttributePlace {
  let descriptor: CInt
  /// Whether the descriptor is known to be an `O_PATH` one.
  let isPath: Bool
  let name: UnsafePointer<CChar>?

  /// Answers the length; with an empty buffer, the length it would have.
  func get(_ attribute: UnsafePointer<CChar>, _ value: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try unsafe choose(
      direct: { unsafe lv_attribute_get(descriptor, attribute, value.baseAddress, value.count) },
      at: { name in
        unsafe lv_attribute_get_at(descriptor, name, attribute, value.baseAddress, value.count)
      },
      byProc: {
        unsafe lv_attribute_get_by_proc(descriptor, name, attribute, value.baseAddress, value.count)
      })
  }

  func set(
    _ attribute: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, _ flags: CInt
  ) throws(Errno) {
    let (start, count) = (value.baseAddress, value.count)
    _ = try unsafe choose(
      direct: { unsafe lv_attribute_set(descriptor, attribute, start, count, flags) },
      at: { name in unsafe lv_attribute_set_at(descriptor, name, attribute, start, count, flags) },
      byProc: {
        unsafe lv_attribute_set_by_proc(descriptor, name, attribute, start, count, flags)
      })
  }

  func list(_ names: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try unsafe choose(
      direct: { unsafe lv_attribute_list(descriptor, names.baseAddress, names.count) },
      at: { name in unsafe lv_attribute_list_at(descriptor, name, names.baseAddress, names.count) },
      byProc: { unsafe lv_attribute_list_by_proc(descriptor, name, names.baseAddress, names.count) })
  }

  func remove(_ attribute: UnsafePointer<CChar>) throws(Errno) {
    _ = try unsafe choose(
      direct: { unsafe lv_attribute_remove(descriptor, attribute) },
      at: { name in unsafe lv_attribute_remove_at(descriptor, name, attribute) },
      byProc: { unsafe lv_attribute_remove_by_proc(descriptor, name, attribute) })
  }

  @inline(__always)
  private func choose(
    direct: () -> Int, at: (UnsafePointer<CChar>) -> Int, byProc: () -> Int
  ) throws(Errno) -> Int {
    if let name = unsafe name {
      if Capabilities.hasAttributeAt {
        do throws(Errno) { return try retrying { unsafe at(name) } } catch .notImplemented {
          Capabilities.hasAttributeAt = false
        }
      }
    } else if unsafe !isPath {
      do throws(Errno) { return try retrying(direct) } catch .badDescriptor {
        // An `O_PATH` descriptor that somebody else opened.
      }
    }
    return try retrying(byProc)
  }
}
